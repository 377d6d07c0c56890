// Functions of torch as golden operators: what a call of one should have given. One line of a table each.
#pragma once

#include "assay/golden/golden.h"
#include "assay/model/value.h"

#include <string>

namespace assay {

struct TorchArgument {
  int place = -1;              // -1: it was named
  int part = -1;               // of a list
  std::string_view name = {};  // where it was named
  OperandPtr tensor = nullptr;
  Scalar value = {};        // where it is no tensor
  bool is_nothing = false;  // None
};

// One run of a function.
struct TorchCall {
  std::string function;  // "linear"
  std::vector<TorchArgument> arguments;
  std::vector<TensorMeta> out;
  int64_t memory = int64_t{2} << 30;
};

bool has_torch_golden(std::string_view function);

// Errors: as those of a GoldenOp; `unsupported` also where the call has an argument that the table does not
// know.
Result<GoldenOutputs> torch_golden(const TorchCall& call);

// softmax(q k^T * scale + mask) v of [samples, heads, tokens, depth]; in: q, k, v and, where there is one, a
// mask to be added. Parameters: scale, isCausal.
Result<GoldenOutputs> golden_torch_attention(const GoldenCall& call);  // torch_attention.cc

}  // namespace assay
