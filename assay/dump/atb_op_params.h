// What the operators of an ATB round were told: op_param.json in the folder of each.
#pragma once

#include "assay/base/path_kind.h"
#include "assay/model/dump.h"

namespace assay {

inline constexpr std::string_view kAtbOpParams = "op_param.json";

// Fills frame.params. Where an operator has no file, what the topology says of it.
void read_op_params(Frame& frame, const fs::path& round, int64_t memory);

// Of one operator, by its folder. Where there is no file, that is the trouble.
OpParams read_op_params(const fs::path& op, int64_t memory);
// Of a node that ran in this folder; where that has no file, what the topology says.
OpParams op_params_of(const Frame& frame, size_t node, const fs::path& op, int64_t memory);

// The same from a text, as a table of operators has it. `name`: of the file, for messages.
OpParams parse_op_params(std::string text, std::string_view name);

}  // namespace assay
