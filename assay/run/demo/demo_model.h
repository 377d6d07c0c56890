// The model behind `assay demo`: a decoder-only transformer small enough to run in a moment and built like
// the large ones (RMSNorm, rotary positions, causal attention, gated MLP, residual stream). Weights come from
// a fixed random sequence.
#pragma once

#include "assay/tensor/operand.h"

#include <string>
#include <string_view>
#include <vector>

namespace assay {

// The output of one operator.
struct DemoTensor {
  std::string name;  // "layers.2.mlp.activation"
  Shape shape;
  std::vector<float> values;
};

struct DemoSettings {
  bool bf16 = false;    // weights and every output rounded to bf16, sums in f32; otherwise f32 throughout
  bool faulty = false;  // the operator kDemoFault computes GELU instead of SiLU
};

inline constexpr std::string_view kDemoFault = "layers.2.mlp.activation";

// Every operator output, in execution order.
std::vector<DemoTensor> run_demo_model(const DemoSettings& settings);

}  // namespace assay
