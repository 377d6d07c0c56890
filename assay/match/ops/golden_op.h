// Every output of an operator against what the operator should have given: mine feeds both sides.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

// Which operators are checked. Empty lists: all.
struct OpSelection {
  std::vector<std::string> ids;         // "0_6": that operator and all inside of it, by their numbers
  std::vector<std::string> types;       // globs over types: "Linear*"
  std::vector<std::string> name_parts;  // of what stands behind the last '_' of a folder; in lower case
  std::vector<std::string> exact_ids;   // … and nothing inside
  std::string below;                    // the folder of an operator: it and all inside of it; empty: all
  bool broadcasts = false;              // one element stands against any number of them
  bool in_order_of_text = false;        // by their ids as texts, 0_10 before 0_2; else as they ran
};

// "0_Decoder/6_Mlp/10_LinearOperation" is 0_6_10.
std::string op_id(std::string_view path);
// … and LinearOperation.
std::string_view op_name(std::string_view path);
bool is_selected(const OpSelection& selection, std::string_view path, std::string_view type);

std::shared_ptr<const Matcher> golden_op_matcher(OpSelection selection);

}  // namespace assay
