// What a name says once the accidents of files, wrappers and ranks are taken off it.
#pragma once

#include <cstdint>
#include <optional>
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

// Reads the names of many tensors; quickest where those of one file come one after another.
class FormReader {
 public:
  // given_as: the path above the names, where their ranks are to be read from (Frame::given_as). Outlives
  // this.
  explicit FormReader(std::string_view given_as = {}) : given_as_(given_as) {}
  NameForm form_of(std::string_view item_name);

 private:
  void look_at_file(std::string_view file);
  NameForm in_path(const NameForm& of_file, std::string_view tensor);

  const std::string_view given_as_;
  bool has_file_ = false;
  std::string file_, stem_;             // the last one, with its suffix and without
  bool holds_names_ = false;            // it is a file of tensors whose names may be full
  NameForm of_file_;                    // what its path tells
  std::optional<NameForm> of_nothing_;  // … and what given_as alone does
  std::vector<std::string_view> words_;
};

// Of one name.
NameForm form_of(std::string_view item_name, std::string_view given_as = {});
int64_t rank_of(std::string_view item_name);  // that of its form

// What FSDP calls the parameters of a module that it laid flat; a full name, however short.
bool is_flat_name(std::string_view word);

// Layers that every stage of a pipeline counts from 0, numbered through; and those of files that hold a layer
// each, whose numbers count what stands before the layers too. All forms of one side.
void number_through(std::vector<NameForm>& forms);

// Of a pair whose names tell different ranks.
std::string other_ranks_note(int64_t of_mine, int64_t of_golden);

// What two names differ by, in a few words: "the prefix 'model.'".
std::string difference_of(std::string_view mine, std::string_view golden);

// How alike two plain names are: 1 for equal ones, 0 for those that share no word.
double likeness(std::string_view a, std::string_view b);

// The words of a plain name: "layers", "3", "mlp", "w".
std::vector<std::string_view> words_of(std::string_view plain);

}  // namespace assay
