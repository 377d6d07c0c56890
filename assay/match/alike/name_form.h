// What a name says once the accidents of files, wrappers and ranks are taken off it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct NameForm {
  // "mp_rank_01/model.pt:module.model.layers.3.mlp/w" is "layers.3.mlp.w" of rank 1.
  std::string plain;
  int64_t rank = -1;           // that its path tells; -1: none
  int64_t stage = -1;          // of a pipeline, likewise: each may count its layers from 0
  int64_t layer_of_file = -1;  // where a file holds one layer, whose names do not tell it

  // plain with every number as '#', and the numbers: names of one kind in all layers have one pattern.
  std::string pattern;
  std::vector<int64_t> numbers;
};

// given_as: the path above the name, where its ranks are to be read from (Frame::given_as).
NameForm form_of(std::string_view item_name, std::string_view given_as = {});
int64_t rank_of(std::string_view item_name);  // that of its form

// Layers that every stage of a pipeline counts from 0, numbered through. Forms of one side.
void number_through_stages(std::vector<NameForm>& forms);

// Of a pair whose names tell different ranks.
std::string other_ranks_note(int64_t of_mine, int64_t of_golden);

// What two names differ by, in a few words: "the prefix 'model.'".
std::string difference_of(std::string_view mine, std::string_view golden);

// How alike two plain names are: 1 for equal ones, 0 for those that share no word.
double likeness(std::string_view a, std::string_view b);

// The words of a plain name: "layers", "3", "mlp", "w".
std::vector<std::string_view> words_of(std::string_view plain);

}  // namespace assay
