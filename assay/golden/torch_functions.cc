#include "assay/golden/torch_functions.h"

#include "assay/golden/elements.h"
#include "assay/tensor/cast.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

// The arguments of a call. Each is asked for by its place and its name; one that nobody asks for may change
// what the call does.
class TorchArguments {
 public:
  explicit TorchArguments(const TorchCall& call) : call_(call), is_known_(call.arguments.size(), false) {}

  const TorchCall& call() const { return call_; }
  DType out() const { return call_.out[0].dtype; }

  bool has(int place, std::string_view name) {
    const TorchArgument* const found = find(place, name);
    return found != nullptr && !found->is_nothing;
  }
  // As autocast and the promotion of types have it, operands are made what the result is before anything is
  // computed of them.
  Result<OperandPtr> tensor(int place, std::string_view name) {
    ASSAY_TRY(OperandPtr found, as_it_is(place, name));
    if (!is_real(found->meta.dtype) || found->meta.dtype == out()) return found;
    return cast(std::move(found), out());
  }
  Result<OperandPtr> as_it_is(int place, std::string_view name) {
    const TorchArgument* const found = find(place, name);
    if (found == nullptr || found->tensor == nullptr)
      return fail(ErrorKind::not_found, "argument {} of {} is not in the dump", name, call_.function);
    return found->tensor;
  }
  // A number, or a tensor that is one. FX writes its numbers as tensors.
  Result<std::optional<double>> number(int place, std::string_view name) {
    const TorchArgument* const found = find(place, name);
    if (found == nullptr || found->is_nothing) return std::nullopt;
    if (found->tensor != nullptr) {
      if (!found->tensor->meta.shape.dims.empty()) return std::nullopt;
      ASSAY_TRY(const Numbers numbers, numbers_of(*found->tensor, call_.memory));
      return numbers.values.at(0);
    }
    if (const auto truth = found->value.boolean()) return *truth ? 1.0 : 0.0;
    return number_of(found->value);
  }
  Result<double> number_or(int place, std::string_view name, double otherwise) {
    ASSAY_TRY(const std::optional<double> found, number(place, name));
    if (!found && has(place, name))
      return fail(ErrorKind::unsupported, "argument {} of {} is no number", name, call_.function);
    return found.value_or(otherwise);
  }
  std::string_view text(int place, std::string_view name) {
    const TorchArgument* const found = find(place, name);
    if (found == nullptr) return {};
    std::string_view word = found->value.text().value_or("");
    if (word.size() > 1 && word.front() == '\'' && word.back() == '\'')
      word = word.substr(1, word.size() - 2);
    return word;
  }
  // How many numbers a list has; a number is a list of one.
  int64_t length(int place, std::string_view name) {
    int64_t count = 0;
    for (size_t i = 0; i < call_.arguments.size(); ++i)
      if (is_at(call_.arguments[i], place, name)) {
        is_known_[i] = true;
        ++count;
      }
    return count;
  }
  // It is there, and does not matter.
  void pass_over(int place, std::string_view name) { length(place, name); }
  void pass_over_all() { is_known_.assign(is_known_.size(), true); }

  Result<void> check_all_known() const {
    for (size_t i = 0; i < is_known_.size(); ++i) {
      const TorchArgument& argument = call_.arguments[i];
      if (is_known_[i] || argument.is_nothing) continue;
      return fail(ErrorKind::unsupported, "what {} does with its argument {} is not known", call_.function,
                  argument.name.empty() ? fmt::format("{}", argument.place) : std::string(argument.name));
    }
    return {};
  }

 private:
  static bool is_at(const TorchArgument& argument, int place, std::string_view name) {
    return argument.name.empty() ? argument.place >= 0 && argument.place == place : argument.name == name;
  }
  const TorchArgument* find(int place, std::string_view name) {
    for (size_t i = 0; i < call_.arguments.size(); ++i)
      if (is_at(call_.arguments[i], place, name)) {
        is_known_[i] = true;
        return call_.arguments[i].part < 0 ? &call_.arguments[i] : nullptr;
      }
    return nullptr;
  }

  const TorchCall& call_;
  std::vector<bool> is_known_;
};

// The call of a golden operator that does the same.
struct SameCall {
  std::string_view type;
  std::vector<OpParam> params = {};
  std::vector<OperandPtr> in = {};
};

OpParam param(std::string key, Value value) { return {std::move(key), {std::move(value)}}; }

OpParam list(std::string key, std::initializer_list<int64_t> numbers) {
  OpParam made{std::move(key), {}, true};
  for (const int64_t number : numbers) made.values.emplace_back(number);
  return made;
}

// ----- products

SameCall product_call(OperandPtr a, OperandPtr b, bool transposes_b) {
  return {"LinearOperation",
          {param("transposeA", false), param("transposeB", transposes_b)},
          {std::move(a), std::move(b)}};
}

Result<SameCall> linear(TorchArguments& given, int64_t) {
  ASSAY_TRY(OperandPtr x, given.tensor(0, "input"));
  ASSAY_TRY(OperandPtr weight, given.tensor(1, "weight"));
  if (x->meta.shape.dims.size() == 1) x = reshaped(x, Shape{{1, x->meta.shape.dims[0]}});
  SameCall same = product_call(std::move(x), std::move(weight), true);
  const bool has_bias = given.has(2, "bias");
  same.params.push_back(param("hasBias", has_bias));
  if (!has_bias) return same;
  ASSAY_TRY(OperandPtr bias, given.tensor(2, "bias"));
  same.in.push_back(std::move(bias));
  return same;
}

// Of matrices, and of as many of them on both sides.
Result<SameCall> matrix_product(TorchArguments& given, int64_t) {
  ASSAY_TRY(OperandPtr a, given.tensor(0, "input"));
  const bool is_second = given.has(1, "mat2");
  ASSAY_TRY(OperandPtr b, given.tensor(1, is_second ? "mat2" : "other"));
  const std::vector<int64_t>&of_a = a->meta.shape.dims, &of_b = b->meta.shape.dims;
  if (of_a.size() < 2 || of_b.size() < 2)
    return fail(ErrorKind::unsupported, "a product of shapes {} and {}", a->meta.shape.text(),
                b->meta.shape.text());
  if (of_b.size() > 3) {
    if (!std::equal(of_a.begin(), of_a.end() - 2, of_b.begin(), of_b.end() - 2))
      return fail(ErrorKind::unsupported, "a product of shapes {} and {}, one of which is repeated",
                  a->meta.shape.text(), b->meta.shape.text());
    int64_t batches = 1;
    for (size_t i = 0; i + 2 < of_b.size(); ++i) batches *= of_b[i];
    b = reshaped(b, Shape{{batches, of_b[of_b.size() - 2], of_b.back()}});
  }
  return product_call(std::move(a), std::move(b), false);
}

Result<SameCall> sum_and_product(TorchArguments& given, int64_t) {
  ASSAY_TRY(const double beta, given.number_or(3, "beta", 1));
  ASSAY_TRY(const double alpha, given.number_or(4, "alpha", 1));
  ASSAY_TRY(OperandPtr bias, given.tensor(0, "input"));
  ASSAY_TRY(OperandPtr a, given.tensor(1, "mat1"));
  ASSAY_TRY(OperandPtr b, given.tensor(2, "mat2"));
  if (beta != 1 || alpha != 1 || bias->meta.shape.dims.size() != 1)
    return fail(ErrorKind::unsupported, "addmm with factors, or of matrices");
  SameCall same = product_call(std::move(a), std::move(b), false);
  same.params.push_back(param("hasBias", true));
  same.in.push_back(std::move(bias));
  return same;
}

// ----- norms, softmax, activations

// A weight or bias, or what stands for none.
Result<OperandPtr> weight_or(TorchArguments& given, int place, std::string_view name, double otherwise,
                             const Shape& shape) {
  if (given.has(place, name)) return given.tensor(place, name);
  return constant(given.out(), otherwise, shape);
}

// The dimensions that are normalised together: as many as the weight has, or as the list of them.
Result<Shape> normalised_shape(TorchArguments& given, const Shape& x) {
  const int64_t listed = given.length(1, "normalized_shape");
  size_t count = static_cast<size_t>(std::max<int64_t>(listed, 0));
  if (given.has(2, "weight")) {
    ASSAY_TRY(const OperandPtr weight, given.as_it_is(2, "weight"));
    count = weight->meta.shape.dims.size();
  }
  if (count == 0 || count > x.dims.size())
    return fail(ErrorKind::unsupported, "which dimensions are normalised is not in the dump");
  return Shape{{x.dims.end() - static_cast<ptrdiff_t>(count), x.dims.end()}};
}

Result<SameCall> layer_norm(TorchArguments& given, int64_t) {
  ASSAY_TRY(OperandPtr x, given.tensor(0, "input"));
  ASSAY_TRY(const Shape shape, normalised_shape(given, x->meta.shape));
  ASSAY_TRY(OperandPtr weight, weight_or(given, 2, "weight", 1, shape));
  ASSAY_TRY(OperandPtr bias, weight_or(given, 3, "bias", 0, shape));
  ASSAY_TRY(const double epsilon, given.number_or(4, "eps", 1e-5));
  given.pass_over(5, "cudnn_enable");
  const int64_t first = std::ssize(x->meta.shape.dims) - std::ssize(shape.dims);
  return SameCall{"LayerNormOperation",
                  {param("layerType", int64_t{1}), param("normParam.epsilon", epsilon),
                   param("normParam.beginNormAxis", first)},
                  {std::move(x), std::move(weight), std::move(bias)}};
}

Result<SameCall> rms_norm_of(TorchArguments& given, int of_weight, int of_epsilon,
                             std::string_view weight_name, std::string_view epsilon_name,
                             std::optional<double> epsilon) {
  ASSAY_TRY(OperandPtr x, given.tensor(0, "input"));
  if (x->meta.shape.dims.empty()) return fail(ErrorKind::unsupported, "the norm of a number");
  ASSAY_TRY(OperandPtr weight,
            weight_or(given, of_weight, weight_name, 1, Shape{{x->meta.shape.dims.back()}}));
  if (weight->meta.shape.dims.size() != 1)
    return fail(ErrorKind::unsupported, "a norm over several dimensions");
  const double step = std::ldexp(1.0, -info(x->meta.dtype).mantissa_bits);
  ASSAY_TRY(const double own, given.number_or(of_epsilon, epsilon_name, epsilon.value_or(step)));
  return SameCall{"RmsNormOperation",
                  {param("layerType", int64_t{1}), param("normParam.epsilon", own)},
                  {std::move(x), std::move(weight)}};
}

Result<SameCall> rms_norm(TorchArguments& given, int64_t) {
  ASSAY_TRY(const OperandPtr x, given.as_it_is(0, "input"));
  ASSAY_TRY(const Shape shape, normalised_shape(given, x->meta.shape));
  if (shape.dims.size() != 1) return fail(ErrorKind::unsupported, "a norm over several dimensions");
  return rms_norm_of(given, 2, 3, "weight", "eps", std::nullopt);
}

Result<SameCall> npu_rms_norm(TorchArguments& given, int64_t) {
  return rms_norm_of(given, 1, 2, "gamma", "epsilon", 1e-6);
}

Result<SameCall> softmax(TorchArguments& given, int64_t) {
  ASSAY_TRY(OperandPtr x, given.tensor(0, "input"));
  ASSAY_TRY(const std::optional<double> dim, given.number(1, "dim"));
  if (!dim) return fail(ErrorKind::unsupported, "along which dimension is not in the dump");
  given.pass_over(2, "_stacklevel");
  given.pass_over(3, "dtype");
  return SameCall{"SoftmaxOperation", {list("axes", {static_cast<int64_t>(*dim)})}, {std::move(x)}};
}

Result<SameCall> activation(TorchArguments& given, int64_t number) {
  ASSAY_TRY(OperandPtr x, given.tensor(0, "input"));
  ASSAY_TRY(const double in_place, given.number_or(1, "inplace", 0));
  if (in_place != 0) return fail(ErrorKind::unsupported, "it worked in place");
  return SameCall{"ActivationOperation", {param("activationType", number)}, {std::move(x)}};
}

Result<SameCall> gelu(TorchArguments& given, int64_t number) {
  ASSAY_TRY(OperandPtr x, given.tensor(0, "input"));
  const bool is_by_tanh = given.text(1, "approximate") == "tanh";
  return SameCall{"ActivationOperation",
                  {param("activationType", number), param("geluMode", int64_t{is_by_tanh ? 0 : 1})},
                  {std::move(x)}};
}

Result<SameCall> swiglu(TorchArguments& given, int64_t number) {
  ASSAY_TRY(OperandPtr x, given.tensor(0, "input"));
  ASSAY_TRY(const double dim, given.number_or(1, "dim", -1));
  return SameCall{"ActivationOperation",
                  {param("activationType", number), param("dim", static_cast<int64_t>(dim))},
                  {std::move(x)}};
}

// ----- place by place: numbers as ElewiseOperation has them

enum Elewise : int64_t {
  kCast = 1,
  kMuls = 2,
  kCos = 3,
  kSin = 4,
  kNeg = 5,
  kAdd = 8,
  kMul = 9,
  kRealDiv = 10,
  kSub = 15,
  kTanh = 20
};

SameCall elewise_call(int64_t number, std::vector<OperandPtr> in) {
  return {"ElewiseOperation", {param("elewiseType", number)}, std::move(in)};
}

Result<SameCall> of_each(TorchArguments& given, int64_t number) {
  ASSAY_TRY(OperandPtr x, given.tensor(0, "input"));
  return elewise_call(number, {std::move(x)});
}

// Of tensors of the type of the result, and no number that the type cannot hold: torch keeps it as it is.
Result<SameCall> with_number(TorchArguments& given, OperandPtr x, double number, int64_t operation) {
  if (operation == kMul || operation == kRealDiv) {
    SameCall same = elewise_call(kMuls, {std::move(x)});
    same.params.push_back(param("mulsParam.varAttr", operation == kMul ? number : 1 / number));
    return same;
  }
  const bool is_short = given.out() == DType::f16 || given.out() == DType::bf16;
  if (is_short && rounded_to(given.out(), number) != number)
    return fail(ErrorKind::unsupported, "the number {} is none of {}", number, name(given.out()));
  ASSAY_TRY(OperandPtr other, constant(given.out(), number, Shape{{1}}));
  return elewise_call(operation, {std::move(x), std::move(other)});
}

Result<SameCall> of_two(TorchArguments& given, int64_t operation) {
  ASSAY_TRY(const double factor, given.number_or(2, "alpha", 1));
  if (factor != 1) return fail(ErrorKind::unsupported, "{} with a factor", given.call().function);
  ASSAY_TRY(OperandPtr a, given.tensor(0, "input"));
  ASSAY_TRY(const std::optional<double> number, given.number(1, "other"));
  const bool is_number = a->meta.shape.dims.empty();
  if (number && !is_number) return with_number(given, std::move(a), *number, operation);
  ASSAY_TRY(OperandPtr b, given.tensor(1, "other"));
  if (is_number && (operation == kAdd || operation == kMul)) {
    ASSAY_TRY(const std::optional<double> first, given.number(0, "input"));
    return with_number(given, std::move(b), first.value_or(1), operation);
  }
  if (is_number) return fail(ErrorKind::unsupported, "a number less or over a tensor");
  return elewise_call(operation, {std::move(a), std::move(b)});
}

Result<SameCall> squared(TorchArguments& given, int64_t) {
  ASSAY_TRY(const double exponent, given.number_or(1, "exponent", 2));
  if (exponent != 2) return fail(ErrorKind::unsupported, "the power {}", exponent);
  ASSAY_TRY(OperandPtr x, given.tensor(0, "input"));
  return elewise_call(kMul, {x, x});
}

// Its operand is the type of the result already.
Result<SameCall> cast_to(TorchArguments& given, int64_t) {
  ASSAY_TRY(OperandPtr x, given.as_it_is(0, "input"));
  if (!is_real(x->meta.dtype)) return fail(ErrorKind::unsupported, "a cast of {}", name(x->meta.dtype));
  given.pass_over_all();
  const int64_t code = given.out() == DType::f32 ? 0 : given.out() == DType::f16 ? 1 : 27;
  if (given.out() == DType::f64) return fail(ErrorKind::unsupported, "a cast to f64");
  ASSAY_TRY(OperandPtr made, cast(std::move(x), given.out()));
  SameCall same = elewise_call(kCast, {std::move(made)});
  same.params.push_back(param("outTensorType", code));
  return same;
}

// ----- rows of a table

Result<SameCall> embedding(TorchArguments& given, int64_t) {
  ASSAY_TRY(OperandPtr first, given.as_it_is(0, "input"));
  ASSAY_TRY(OperandPtr second, given.as_it_is(1, "weight"));
  if (given.has(3, "max_norm")) return fail(ErrorKind::unsupported, "an embedding with a largest norm");
  given.pass_over_all();
  // aten has the table first.
  const bool is_table_first = is_real(first->meta.dtype);
  if (is_table_first) std::swap(first, second);
  return SameCall{"GatherOperation",
                  {param("axis", int64_t{0}), param("batchDims", int64_t{0})},
                  {std::move(second), std::move(first)}};
}

Result<SameCall> index_select(TorchArguments& given, int64_t) {
  ASSAY_TRY(OperandPtr table, given.as_it_is(0, "input"));
  ASSAY_TRY(const std::optional<double> dim, given.number(1, "dim"));
  ASSAY_TRY(OperandPtr index, given.as_it_is(2, "index"));
  if (!dim) return fail(ErrorKind::unsupported, "along which dimension is not in the dump");
  return SameCall{"GatherOperation",
                  {param("axis", static_cast<int64_t>(*dim)), param("batchDims", int64_t{0})},
                  {std::move(table), std::move(index)}};
}

// ----- attention

constexpr std::string_view kTorchAttention = "scaled_dot_product_attention";

Result<SameCall> attention(TorchArguments& given, int64_t) {
  SameCall same{kTorchAttention};
  for (const auto& [place, name] : {std::pair(0, "query"), std::pair(1, "key"), std::pair(2, "value")}) {
    ASSAY_TRY(OperandPtr each, given.tensor(place, name));
    same.in.push_back(std::move(each));
  }
  if (given.has(3, "attn_mask")) {
    ASSAY_TRY(OperandPtr mask, given.as_it_is(3, "attn_mask"));
    same.in.push_back(std::move(mask));
  }
  ASSAY_TRY(const double dropout, given.number_or(4, "dropout_p", 0));
  if (dropout != 0) return fail(ErrorKind::unsupported, "attention with dropout");
  ASSAY_TRY(const double is_causal, given.number_or(5, "is_causal", 0));
  const std::vector<int64_t>& dims = same.in[0]->meta.shape.dims;
  const double depth = dims.empty() ? 1 : static_cast<double>(std::max<int64_t>(1, dims.back()));
  ASSAY_TRY(const double scale, given.number_or(6, "scale", 1 / std::sqrt(depth)));
  same.params = {param("scale", scale), param("isCausal", is_causal != 0)};
  return same;
}

struct TorchFunction {
  std::string_view name;
  Result<SameCall> (*same)(TorchArguments& given, int64_t number);
  int64_t number = 0;  // of the kind of the golden operator
};

constexpr TorchFunction kTorchFunctions[] = {
    {"linear", linear},
    {"matmul", matrix_product},
    {"mm", matrix_product},
    {"bmm", matrix_product},
    {"addmm", sum_and_product},
    {"layer_norm", layer_norm},
    {"native_layer_norm", layer_norm},
    {"rms_norm", rms_norm},
    {"npu_rms_norm", npu_rms_norm},
    {"softmax", softmax},
    {"_softmax", softmax},
    {"relu", activation, 1},
    {"gelu", gelu, 2},
    {"silu", activation, 4},
    {"log", activation, 5},
    {"npu_swiglu", swiglu, 6},
    {"sigmoid", activation, 8},
    {"add", of_two, kAdd},
    {"radd", of_two, kAdd},
    {"sub", of_two, kSub},
    {"mul", of_two, kMul},
    {"rmul", of_two, kMul},
    {"div", of_two, kRealDiv},
    {"truediv", of_two, kRealDiv},
    {"true_divide", of_two, kRealDiv},
    {"pow", squared},
    {"square", squared},
    {"neg", of_each, kNeg},
    {"cos", of_each, kCos},
    {"sin", of_each, kSin},
    {"tanh", of_each, kTanh},
    {"to", cast_to},
    {"float", cast_to},
    {"half", cast_to},
    {"bfloat16", cast_to},
    {"_to_copy", cast_to},
    {"type_as", cast_to},
    {"embedding", embedding},
    {"index_select", index_select},
    {kTorchAttention, attention},
};

const TorchFunction* find_torch_function(std::string_view name) {
  const auto found = std::ranges::find(kTorchFunctions, name, &TorchFunction::name);
  return found == std::end(kTorchFunctions) ? nullptr : &*found;
}

}  // namespace

bool has_torch_golden(std::string_view function) { return find_torch_function(function) != nullptr; }

Result<GoldenOutputs> torch_golden(const TorchCall& call) {
  const TorchFunction* const function = find_torch_function(call.function);
  if (function == nullptr) return fail(ErrorKind::unsupported, "there is no golden for {}", call.function);
  if (call.out.empty() || !is_real(call.out[0].dtype))
    return fail(ErrorKind::unsupported, "{} of what are no real numbers", call.function);
  TorchArguments given(call);
  ASSAY_TRY(const SameCall same, function->same(given, function->number));
  ASSAY_TRY_DO(given.check_all_known());
  GoldenCall golden;
  golden.type = same.type;
  golden.params = GoldenParams(same.params);
  golden.in = same.in;
  golden.out = call.out;
  golden.soc = Soc::ascend_910b;  // tensors are as their shapes say
  golden.memory = call.memory;
  if (same.type == kTorchAttention) return golden_torch_attention(golden);
  return find_golden_op(same.type)->compute(golden);
}

}  // namespace assay
