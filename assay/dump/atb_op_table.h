// operation_tensors_{n}.csv: the operators of a round as ATB lists them for its own test tool, with their
// parameters. docs/formats/atb.md
#pragma once

#include "assay/base/file.h"
#include "assay/base/result.h"

#include <string>
#include <vector>

namespace assay {

struct OpTableRow {
  std::string type;    // "LinearOperation"
  std::string id;      // "1_1_0_0"
  std::string params;  // JSON
};

// Rows without a name of an operator or without types of its outputs are dropped, and counted.
Result<std::vector<OpTableRow>> read_op_table(const fs::path& path, int64_t* dropped = nullptr);

}  // namespace assay
