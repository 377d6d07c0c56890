// Every output of an operator against what the operator should have given: mine feeds both sides.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

// Stands for the number of an output where an operator has none in the dump.
constexpr int kNoOutput = -1;

// Which operators are checked. Empty lists: all.
struct OpSelection {
  std::vector<std::string> ids;         // "0_6": that operator and all inside of it, by their numbers
  std::vector<std::string> types;       // globs over types: "Linear*"
  std::vector<std::string> name_parts;  // of what stands behind the last '_' of a folder; in lower case
  std::vector<std::string> exact_ids;   // … and nothing inside; of a table:
  std::string table;                    // … its name, for those that are not in the dump
  int64_t dropped = 0;                  // … rows of it that list no operator
  std::string below;                    // the folder of an operator: it and all inside of it; empty: all
  bool broadcasts = false;              // one element stands against any number of them
  bool in_order_of_text = false;        // by their ids as texts, 0_10 before 0_2; else as they ran
};

// "0_Decoder/6_Mlp/10_LinearOperation" is 0_6_10.
std::string op_id(std::string_view path);
// … and LinearOperation.
std::string_view op_name(std::string_view path);
bool is_selected(const OpSelection& selection, std::string_view path, std::string_view type);

// Of operators that work on their inputs and have no outputs: which inputs hold the results, in the order of
// their golden.
using ResultsInPlace = std::span<const int> (*)(std::string_view type);

// What runs the operator of a node again, for each of its outputs. None: it has others inside that are
// operators themselves, it is a kernel of one, or it has no output in the dump.
struct OutputPlan {
  int32_t item;  // of the node
  Plan plan;
};
std::vector<OutputPlan> plans_of_outputs(const Frame& frame, int32_t frame_number, int32_t node,
                                         ResultsInPlace in_place);

std::shared_ptr<const Matcher> golden_op_matcher(OpSelection selection, ResultsInPlace in_place);

}  // namespace assay
