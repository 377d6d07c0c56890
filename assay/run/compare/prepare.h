// What is done to a tensor between its file and the comparison, where a request says so.
#pragma once

#include "assay/model/pairing.h"
#include "assay/tensor/operand.h"

#include <functional>

namespace assay {

// Given the file of the tensor; any thread. Gives back the same operand where nothing is to be done. A row
// whose tensor cannot be prepared was not compared.
using Prepare = std::function<Result<OperandPtr>(Side side, const fs::path& file, OperandPtr data)>;

}  // namespace assay
