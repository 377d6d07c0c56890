// What an operator does, in one vocabulary for everything that names operators. Who wants to know asks for
// the kind, never for the letters of a type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

enum class OpKind : uint8_t {
  unknown,
  given,       // a weight, a constant, what the model was called with: nothing computed it
  product,     // of matrices: linear, matmul, convolution
  attention,   // with its products inside
  norm,        // divided by its own size: RMS norm, batch norm
  layer_norm,  // … and shifted by its mean
  softmax,
  rope,  // rotary position embedding
  activation,
  sum,          // or difference, element by element
  elementwise,  // another function of single elements
  exponential,  // … that makes of absolute errors relative ones
  reduction,    // a mean or a sum of elements
  selection,    // the largest, the order, a comparison: which of its elements, or whether
  gather,       // rows of a table: an embedding
  split,
  concat,
  view,    // the same elements in another shape or order
  layout,  // … as they lie in memory
  cast,
  quantise,
  dequantise,
  all_reduce,  // what the ranks have, added up
  collective,  // another exchange between ranks
  dispatch,    // rows in the order of the experts they are for
  combine,     // what the experts made of them, added up row by row
};

// Long sums of products are where runs differ most.
constexpr bool multiplies_matrices(OpKind kind) {
  return kind == OpKind::product || kind == OpKind::attention;
}
constexpr bool is_norm(OpKind kind) { return kind == OpKind::norm || kind == OpKind::layer_norm; }
// The elements of its input once more, one by one.
constexpr bool hands_on(OpKind kind) { return kind == OpKind::view || kind == OpKind::layout; }
// … in another type or layout, which is all that a compiler puts in by itself.
constexpr bool changes_form_only(OpKind kind) { return kind == OpKind::cast || kind == OpKind::layout; }

// "LinearOperation"; of an element-wise operation its number says what it does.
OpKind kind_of_atb(std::string_view type, std::optional<int64_t> elewise_type = {});
bool is_atb_elementwise(std::string_view type);
// What an operator launches, "MatMulF16Kernel": it has no parameters of its own, and no golden.
constexpr bool is_atb_kernel(std::string_view name) { return name.ends_with("Kernel"); }
OpKind kind_of_ge(std::string_view type);  // "BatchMatMulV2"
// Of those that are given: it is the same in every run. What a model is called with, and variables, may hold
// what was computed before.
bool is_ge_constant(std::string_view type);
OpKind kind_of_fx(std::string_view target);          // "aten.mm.default"
OpKind kind_of_module(std::string_view class_name);  // of torch: "LlamaRMSNorm"
OpKind kind_of_entry(
    std::string_view msprobe_name);  // "Functional.linear.0.forward", "Module.layers.0.fc.Linear.forward.0"

// What more is told apart of a function, since it changes what becomes of the errors that it is given.
enum class OpTrait : uint8_t {
  none,
  convolution,  // of products
  bend,         // a slope that jumps: relu, the largest of several
  gate,         // an activation that multiplies halves of its input
  power,
  mean,       // of reductions
  logarithm,  // of softmax
};
bool is_module_entry(std::string_view msprobe_name);  // of a module or cell, and not of a function
OpTrait trait_of_entry(std::string_view msprobe_name);
bool is_exchange_entry(std::string_view msprobe_name);  // hands tensors from rank to rank
// … of two ranks alone, where this one is given what another has sent.
bool is_receive_entry(std::string_view msprobe_name);
OpTrait trait_of(std::string_view framework, std::string_view type);  // as kind_of()

// What an element-wise operation of ATB does, by its number; those that are told apart.
namespace atb_elewise {
inline constexpr int kCast = 1, kQuantise = 6, kAdd = 8, kSubtract = 15, kQuantisePerChannel = 17,
                     kDequantise = 18, kDynamicQuantise = 19;
}
// What an operation of a quantised graph of ATB is called in one of floats: "LinearQuantOperation" is a
// "LinearOperation".
std::string_view float_type(std::string_view atb_type);
// Where several ranks share a linear operation: it also adds up what they give.
bool is_atb_row_parallel(std::string_view type);
// Writes new keys and values into caches: its inputs stay apart.
bool is_atb_cache(std::string_view type);
// What users call the operators that contain others, as far as roles follow from it. One may be several.
enum class AtbBlock : uint8_t { layer, query_key_value, attention, mlp, embedding, logits };
bool is_atb_block(std::string_view type, AtbBlock block);
bool names_quantisation(std::string_view type);  // LinearQuantOperation, but not LinearNoQuant

// `framework`: as Frame::framework. "pytorch" may be the class of a module or a name of msprobe.
OpKind kind_of(std::string_view framework, std::string_view type);

}  // namespace assay
