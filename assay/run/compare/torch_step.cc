#include "assay/run/compare/torch_step.h"

#include "assay/model/torch_call.h"
#include "assay/tensor/rounded_values.h"

#include <algorithm>

namespace assay {
namespace {

constexpr int kMostOutputs = 64;

bool is_tensor(const Item& item) {
  return item.stated == nullptr || item.stated->given == Given::tensor || item.data.has_value();
}

ItemId id_of(const ItemId& node, size_t item) {
  ItemId made = node;
  made.item = static_cast<int32_t>(item);
  return made;
}

// FX writes NumPy's files, which have no bf16: its numbers stand there as f32.
Result<DType> computed_type(const Item& item, const ItemId& id, const LoadItem& load) {
  constexpr int64_t kLeastToTell = 16;
  const TensorMeta& meta = *item.meta;
  if (meta.dtype != DType::f32) return meta.dtype;
  if (meta.shape.count() < kLeastToTell || !item.data)
    return fail(ErrorKind::unsupported, "{} may be bf16 kept as f32, and has too few elements to tell",
                item.name);
  ASSAY_TRY(const OperandPtr output, load(id));
  Scratch scratch;
  ASSAY_TRY(const std::optional<DType> rounded, find_rounded_type(*output, scratch));
  return rounded == DType::bf16 ? DType::bf16 : meta.dtype;
}

}  // namespace

std::vector<OutputPlan> plans_of_torch_call(const Frame& frame, int32_t frame_number, int32_t node) {
  const Node& call = frame.nodes[static_cast<size_t>(node)];
  if (!has_torch_golden(torch_function(frame, call))) return {};
  ItemId id;
  id.frame = static_cast<decltype(id.frame)>(frame_number);
  id.node = node;
  std::vector<PlanSource> inputs;
  std::vector<OutputPlan> plans;
  int64_t outputs = 0;
  for (size_t i = 0; i < call.items.size(); ++i) {
    const Item& item = call.items[i];
    outputs += item.port.direction == Direction::output;
    if (item.port.direction == Direction::input && item.data && is_tensor(item))
      inputs.push_back({Side::mine, id_of(id, i)});
  }
  for (size_t i = 0; i < call.items.size(); ++i) {
    const Item& item = call.items[i];
    if (item.port.direction != Direction::output || !item.data || item.port.is_again) continue;
    Plan plan = as_it_stands(Side::mine, id_of(id, i));
    plan.add_with(PlanOp::golden, inputs, {item.port.index, outputs, plans.empty()});
    plans.push_back({static_cast<int32_t>(i), std::move(plan)});
  }
  return plans;
}

Result<TorchCall> torch_call_of(const Frame& frame, const ItemId& output, const LoadItem& load) {
  const Node& node = frame.nodes[static_cast<size_t>(output.node)];
  TorchCall call;
  call.function = torch_function(frame, node);
  for (size_t i = 0; i < node.items.size(); ++i) {
    const Item& item = node.items[i];
    if (item.port.direction == Direction::output) {
      const auto at = static_cast<size_t>(std::clamp(item.port.index, 0, kMostOutputs));
      if (item.meta == nullptr || at == kMostOutputs) continue;
      if (call.out.size() <= at) call.out.resize(at + 1);
      call.out[at] = *item.meta;
      if (frame.framework == "fx") {
        ASSAY_TRY(call.out[at].dtype, computed_type(item, id_of(output, i), load));
      }
    } else if (item.port.direction == Direction::input) {
      const ArgumentPlace place = argument_place(frame, node, item);
      if (!place.is_known())
        return fail(ErrorKind::unsupported, "which argument {} is, is not known", item.name);
      if (!item.trouble.empty()) return fail(ErrorKind::bad_format, "{}", item.trouble);
      TorchArgument argument{place.place, place.part, place.name};
      if (!is_tensor(item)) {
        argument.value = item.stated->max;
        argument.is_nothing = item.stated->given == Given::nothing;
      } else if (!item.data) {
        return fail(ErrorKind::not_found, "{} has no data: the call cannot be run again", item.name);
      } else {
        ASSAY_TRY(argument.tensor, load(id_of(output, i)));
      }
      call.arguments.push_back(std::move(argument));
    }
  }
  return call;
}

}  // namespace assay
