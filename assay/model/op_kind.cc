#include "assay/model/op_kind.h"

#include "assay/base/text.h"

#include <span>
#include <string>
#include <utility>

namespace assay {
namespace {

using enum OpKind;

enum class Part : uint8_t { whole, begin, any };

struct Word {
  std::string_view text;
  OpKind kind;
  Part part = Part::any;
};

// The first that fits.
OpKind find(std::string_view type, std::span<const Word> words) {
  for (const Word& word : words) {
    const bool fits = word.part == Part::whole   ? type == word.text
                      : word.part == Part::begin ? type.starts_with(word.text)
                                                 : type.find(word.text) != std::string_view::npos;
    if (fits) return word.kind;
  }
  return unknown;
}

// In small letters: users name their blocks as they like.
constexpr Word kAtb[] = {
    {"layernorm", layer_norm},
    {"norm", norm},
    {"unpermute", combine},
    {"finalizerouting", combine},
    {"initrouting", dispatch},
    {"tokenpermute", dispatch},
    {"gating", dispatch, Part::whole},
    {"attention", attention},
    {"linear", product},
    {"w8a8", product},
    {"matmul", product},
    {"rope", rope},
    {"split", split},
    {"concat", concat},
    {"activation", activation},
    {"softmax", softmax},
    {"allreduce", all_reduce},
    {"allgather", collective},
    {"alltoall", collective},
    {"reducescatter", collective},
    {"broadcast", collective},
    {"gather", gather},
    {"transdata", layout},
    {"transpose", view},
    {"reshape", view},
    {"dequant", dequantise},
    {"quant", quantise},
    {"elewise", elementwise},
};

OpKind kind_of_elewise(int64_t number) {
  using namespace atb_elewise;
  switch (number) {
    case kCast:
      return cast;
    case kQuantise:
    case kQuantisePerChannel:
    case kDynamicQuantise:
      return quantise;
    case kDequantise:
      return dequantise;
    case kAdd:
    case kSubtract:
      return sum;
    default:
      return elementwise;
  }
}

constexpr Word kGe[] = {
    {"Data", given, Part::whole},
    {"Const", given, Part::whole},
    {"Constant", given, Part::whole},
    {"ConstPlaceHolder", given, Part::whole},
    {"FileConstant", given, Part::whole},
    {"Variable", given, Part::whole},
    {"RefData", given, Part::whole},
    {"Placeholder", given, Part::whole},
    {"MatMul", product},
    {"Matmul", product},
    {"Conv", product},
    {"Attention", attention},
    {"Linear", product},
    {"Cast", cast},
    {"TransData", layout},
    {"Reshape", view, Part::begin},
    {"Squeeze", view, Part::begin},
    {"Unsqueeze", view, Part::begin},
    {"ExpandDims", view, Part::begin},
    {"Flatten", view, Part::begin},
    {"Identity", view, Part::begin},
    {"TensorMove", view, Part::begin},
    {"Transpose", view, Part::begin},
    {"Add", sum, Part::whole},
    {"AddV2", sum, Part::whole},
    {"AddN", sum, Part::whole},
    {"BiasAdd", sum, Part::whole},
    {"Sub", sum, Part::whole},
    {"SubV2", sum, Part::whole},
    {"LayerNorm", layer_norm},
    {"Norm", norm},
    {"Softmax", softmax},
    {"SoftMax", softmax},
    {"Rotary", rope},
    {"Rope", rope},
    {"AllReduce", all_reduce},
    {"Hcom", collective, Part::begin},
    {"Gather", gather, Part::begin},
    {"Embedding", gather, Part::begin},
    {"Split", split, Part::begin},
    {"Concat", concat, Part::begin},
    {"Dequant", dequantise},
    {"Quant", quantise},
    {"Gelu", activation},
    {"Swish", activation},
    {"Silu", activation},
    {"SwiGlu", activation},
    {"Relu", activation},
    {"Sigmoid", activation},
    {"Mul", elementwise, Part::whole},
    {"Div", elementwise, Part::whole},
    {"RealDiv", elementwise, Part::whole},
    {"Exp", exponential, Part::whole},
    {"Rsqrt", elementwise, Part::whole},
    {"Pow", elementwise, Part::whole},
    {"Square", elementwise, Part::whole},
    {"ReduceMean", reduction, Part::begin},
    {"ReduceSum", reduction, Part::begin},
    {"ArgMax", selection, Part::begin},
    {"TopK", selection, Part::begin},
    {"Greater", selection, Part::begin},
    {"Less", selection, Part::begin},
    {"StridedSlice", split, Part::begin},
};

// Functions of torch and MindSpore, in small letters.
constexpr Word kFunctions[] = {
    {"mm", product, Part::whole},
    {"bmm", product, Part::whole},
    {"addmm", product, Part::whole},
    {"baddbmm", product, Part::whole},
    {"einsum", product, Part::whole},
    {"matmul", product},
    {"conv", product},
    {"attention", attention},
    {"linear", product},
    {"dense", product, Part::whole},
    {"add", sum, Part::whole},
    {"addv2", sum, Part::whole},
    {"addn", sum, Part::whole},
    {"biasadd", sum, Part::whole},
    {"sub", sum, Part::whole},
    {"subv2", sum, Part::whole},
    {"rsub", sum, Part::whole},
    {"layer_norm", layer_norm},
    {"layernorm", layer_norm},
    {"norm", norm},
    {"softmax", softmax},
    {"rotary", rope},
    {"embedding", gather},
    {"index_select", gather, Part::whole},
    {"gather", gather, Part::whole},
    {"topk", selection, Part::whole},
    {"argmax", selection, Part::whole},
    {"argmin", selection, Part::whole},
    {"sort", selection, Part::whole},
    {"argsort", selection, Part::whole},
    {"max", selection, Part::whole},
    {"min", selection, Part::whole},
    {"gt", selection, Part::whole},
    {"ge", selection, Part::whole},
    {"lt", selection, Part::whole},
    {"le", selection, Part::whole},
    {"greater", selection, Part::begin},
    {"less", selection, Part::begin},
    {"all_reduce", all_reduce, Part::whole},
    {"all_gather", collective, Part::begin},
    {"all_to_all", collective, Part::begin},
    {"reduce_scatter", collective, Part::begin},
    {"broadcast", collective, Part::whole},
    {"_to_copy", cast, Part::whole},
    {"to", cast, Part::whole},
    {"float", cast, Part::whole},
    {"half", cast, Part::whole},
    {"bfloat16", cast, Part::whole},
    {"view", view, Part::begin},
    {"reshape", view, Part::begin},
    {"permute", view, Part::begin},
    {"transpose", view, Part::begin},
    {"t", view, Part::whole},
    {"squeeze", view, Part::begin},
    {"unsqueeze", view, Part::begin},
    {"expand", view, Part::begin},
    {"flatten", view, Part::begin},
    {"contiguous", view, Part::whole},
    {"clone", view, Part::whole},
    {"split", split, Part::begin},
    {"chunk", split, Part::whole},
    {"getitem", split, Part::whole},
    {"narrow", split, Part::whole},
    {"select", split, Part::whole},
    {"slice", split, Part::whole},
    {"unbind", split, Part::whole},
    {"cat", concat, Part::whole},
    {"concat", concat, Part::whole},
    {"stack", concat, Part::whole},
    {"mean", reduction, Part::whole},
    {"sum", reduction, Part::whole},
    {"avg_pool", reduction},
    {"dequant", dequantise},
    {"quant", quantise},
    {"gelu", activation},
    {"silu", activation},
    {"swiglu", activation},
    {"relu", activation},
    {"sigmoid", activation},
    {"tanh", activation, Part::whole},
    {"mul", elementwise, Part::whole},
    {"div", elementwise, Part::whole},
    {"truediv", elementwise, Part::whole},
    {"rtruediv", elementwise, Part::whole},
    {"rmul", elementwise, Part::whole},
    {"exp", exponential, Part::whole},
    {"rsqrt", elementwise, Part::whole},
    {"pow", elementwise, Part::whole},
    {"square", elementwise, Part::whole},
};

constexpr Word kModules[] = {
    {"rotary", rope},      {"layernorm", layer_norm}, {"norm", norm},       {"attention", attention},
    {"attn", attention},   {"linear", product},       {"conv", product},    {"dense", product},
    {"embedding", gather}, {"softmax", softmax},      {"gelu", activation}, {"silu", activation},
    {"relu", activation},  {"sigmoid", activation},   {"tanh", activation}, {"activation", activation},
    {"identity", view},    {"flatten", view},
};

// "__matmul__" is matmul, "add_" is add.
std::string function_name(std::string_view word) {
  std::string name = to_lower(word);
  if (name.starts_with("__") && name.ends_with("__") && name.size() > 4)
    name = name.substr(2, name.size() - 4);
  if (name.size() > 1 && name.ends_with('_')) name.pop_back();
  if (name.starts_with("iadd") || name == "radd") name = "add";
  return name;
}

struct EntryType {
  bool is_module = false;
  std::string_view name = {};  // of its class or function
};

// "Functional.linear.0.forward", "Module.layers.0.fc.Linear.forward.0": the class stands before the
// direction.
EntryType type_of_entry(std::string_view msprobe_name) {
  const auto words = assay::split(msprobe_name, '.');
  if (words.size() < 2) return {};
  if (words[0] != "Module" && words[0] != "Cell") return {false, words[1]};
  for (size_t i = 2; i < words.size(); ++i)
    if (words[i] == "forward" || words[i] == "backward" || words[i] == "parameters_grad")
      return {true, words[i - 1]};
  return {true, {}};
}

// Of a name in small letters.
OpTrait trait_of_function(std::string_view name) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  if (has("conv")) return OpTrait::convolution;
  if (has("glu")) return OpTrait::gate;
  if (has("mean") || has("avg_pool") || has("avgpool")) return OpTrait::mean;
  if (has("relu") || has("max_pool") || has("maxpool") || has("clamp") || name == "abs") return OpTrait::bend;
  if (name == "pow" || name == "square") return OpTrait::power;
  return name.starts_with("log") ? OpTrait::logarithm : OpTrait::none;
}

// Behind the name space, and without the overload: "aten.add.Tensor" is add.
std::string function_of_fx(std::string_view target) {
  if (const size_t aten = target.find("aten."); aten != std::string_view::npos) target.remove_prefix(aten);
  const auto words = assay::split(target, '.');
  return function_name(words.size() > 1 ? words[1] : words[0]);
}

}  // namespace

bool is_atb_elementwise(std::string_view type) { return to_lower(type).find("elewise") != std::string::npos; }

OpKind kind_of_atb(std::string_view type, std::optional<int64_t> elewise_type) {
  if (elewise_type) return kind_of_elewise(*elewise_type);
  std::string name = to_lower(type);
  if (name.ends_with("operation")) name.resize(name.size() - 9);  // GatherOperation is no rope
  return find(name, kAtb);
}

std::string_view float_type(std::string_view atb_type) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"LinearQuantOperation", "LinearOperation"},
      {"LinearDequantOnly", "LinearNoQuant"},
      {"LinearRowParallelNoAdd", "LinearRowParallelAndAdd"},
      {"W8A8Operation", "LinearOperation"},
  };
  for (const auto& [quantised, plain] : kNames)
    if (atb_type == quantised) return plain;
  return atb_type;
}

bool is_atb_row_parallel(std::string_view type) { return type.starts_with("LinearRowParallel"); }

bool is_atb_cache(std::string_view type) { return to_lower(type).find("cache") != std::string::npos; }

bool is_atb_block(std::string_view type, AtbBlock block) {
  const std::string name = to_lower(type);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  switch (block) {
    case AtbBlock::layer:
      return has("layer");
    case AtbBlock::query_key_value:
      return has("qkv");
    case AtbBlock::attention:
      return has("attention");
    case AtbBlock::mlp:
      return has("mlp") || has("ffn") || has("moe");
    case AtbBlock::embedding:
      return has("embedding") && !has("position");
    case AtbBlock::logits:
      return has("lmhead") || has("lm_head");
  }
  return false;
}

bool names_quantisation(std::string_view type) {
  const std::string name = to_lower(type);
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  return has("quant") && !has("noquant") && !has("unquant");
}

OpKind kind_of_ge(std::string_view type) { return find(type, kGe); }

bool is_ge_constant(std::string_view type) {
  return type == "Const" || type == "Constant" || type == "ConstPlaceHolder" || type == "FileConstant";
}

OpKind kind_of_fx(std::string_view target) { return find(function_of_fx(target), kFunctions); }

OpKind kind_of_module(std::string_view class_name) { return find(to_lower(class_name), kModules); }

OpKind kind_of_entry(std::string_view msprobe_name) {
  const EntryType type = type_of_entry(msprobe_name);
  return type.is_module ? kind_of_module(type.name) : find(function_name(type.name), kFunctions);
}

bool is_module_entry(std::string_view msprobe_name) { return type_of_entry(msprobe_name).is_module; }

OpTrait trait_of_entry(std::string_view msprobe_name) {
  return trait_of_function(function_name(type_of_entry(msprobe_name).name));
}

bool is_exchange_entry(std::string_view msprobe_name) { return msprobe_name.starts_with("Distributed."); }

bool is_receive_entry(std::string_view msprobe_name) {
  return is_exchange_entry(msprobe_name) && msprobe_name.find("recv") != std::string_view::npos;
}

OpTrait trait_of(std::string_view framework, std::string_view type) {
  if (framework == "fx") return trait_of_function(function_of_fx(type));
  if (framework == "atb" || framework == "ge" || type.find('.') == std::string_view::npos)
    return trait_of_function(to_lower(type));
  return trait_of_entry(type);
}

OpKind kind_of(std::string_view framework, std::string_view type) {
  if (framework == "atb") return kind_of_atb(type);
  if (framework == "ge") return kind_of_ge(type);
  if (framework == "fx") return kind_of_fx(type);
  return type.find('.') == std::string_view::npos ? kind_of_module(type) : kind_of_entry(type);
}

}  // namespace assay
