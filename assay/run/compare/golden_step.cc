#include "assay/run/compare/golden_step.h"

#include "assay/base/text.h"
#include "assay/dump/atb_op_params.h"
#include "assay/match/ops/golden_op.h"
#include "assay/model/graph.h"
#include "assay/model/torch_call.h"
#include "assay/run/compare/torch_step.h"

#include <algorithm>

namespace assay {
namespace {

// What is not zero and not empty, as many as a line can bear: "layerType 1, normParam.epsilon 1e-05".
std::string in_short(std::span<const OpParam> params) {
  constexpr size_t kMostBytes = 120, kMostOfList = 4;
  std::string out;
  const auto text_of = [](const Value& value) -> std::string {
    if (const auto* const number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
    if (const auto* const real = std::get_if<double>(&value)) return fmt::format("{:g}", *real);
    if (const auto* const flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const auto* const text = std::get_if<std::string>(&value)) return printable(*text);
    return {};
  };
  for (const OpParam& param : params) {
    std::string value;
    for (size_t i = 0; i < std::min(param.values.size(), kMostOfList); ++i)
      value += fmt::format("{}{}", i == 0 ? "" : ", ", text_of(param.values[i]));
    if (value.empty() || value == "0" || value == "false") continue;
    if (param.values.size() > kMostOfList) value += ", …";
    if (param.is_list) value = fmt::format("[{}]", value);
    const std::string entry = fmt::format("{}{} {}", out.empty() ? "" : ", ", printable(param.key), value);
    if (out.size() + entry.size() > kMostBytes) return out + (out.empty() ? "…" : ", …");
    out += entry;
  }
  return out;
}

Result<bool> are_equal(const Operand& a, const Operand& b) {
  if (a.meta != b.meta) return false;
  Scratch of_a, of_b;
  const int64_t count = a.meta.shape.count();
  for (int64_t first = 0; first < count; first += kBlockElements) {
    const int64_t n = std::min(kBlockElements, count - first);
    ASSAY_TRY(const Block left, a.block(first, n, of_a));
    ASSAY_TRY(const Block right, b.block(first, n, of_b));
    if (!std::ranges::equal(left.bytes(), right.bytes())) return false;
  }
  return true;
}

}  // namespace

Result<Expected> GoldenSteps::run_on(int32_t rank, const Plan& plan, const PlanStep& step) {
  const int64_t wanted = step.args[0];
  const ItemId& output = plan.from.front().item;
  const Node& node = frames_.node(Side::mine, output);
  if (wanted == kNoOutput) {
    const GoldenOp* const op = find_golden_op(node.type);
    if (op != nullptr && !op->no_output.empty()) return fail(ErrorKind::unsupported, "{}", op->no_output);
    return fail(ErrorKind::unsupported, "{} has no output in the dump to check", node.name);
  }
  ASSAY_TRY(const auto outputs, outputs_of(rank, plan, step));
  const std::string function = torch_function(frames_.frame(Side::mine, output), node);
  const std::string_view type = function.empty() ? node.type : std::string_view(function);
  if (wanted >= std::ssize(*outputs))
    return fail(ErrorKind::mismatch, "{} gives {} with these parameters; the dump has an output {}", type,
                outputs->size() == 1 ? "1 output" : fmt::format("{} outputs", outputs->size()), wanted);
  Expected expected = (*outputs)[static_cast<size_t>(wanted)];
  const auto say = [&](std::string_view text) {
    expected.note += fmt::format("{}{}", expected.note.empty() ? "" : "; ", text);
  };
  if (const int64_t missing = std::ssize(*outputs) - step.args[1]; missing > 0) {
    if (step.args[2] != 0) expected.not_dumped = missing;
    say(fmt::format("the operator gives {} outputs, of which the dump has {}", outputs->size(),
                    step.args[1]));
  }
  if (!function.empty()) {
    expected.computed = function;
    return expected;
  }
  const bool is_from_after = std::ranges::any_of(plan.from, [&](const PlanSource& source) {
    const Port& port = frames_.item(Side::mine, source.item).port;
    return port.direction == Direction::input && port.phase == Phase::after;
  });
  const std::string told = in_short(params_of(rank, output).list);
  expected.computed = told.empty() ? std::string(type) : fmt::format("{} with {}", type, told);
  if (find_golden_op(type)->in_place.leaves_rest && is_from_after) {
    expected.is_partial = true;
    say("its inputs were dumped after it ran: that it wrote nothing else cannot be told");
  }
  return expected;
}

Result<std::shared_ptr<const GoldenOutputs>> GoldenSteps::outputs_of(int32_t rank, const Plan& plan,
                                                                     const PlanStep& step) {
  const int64_t dumped = step.args[1];
  const ItemId& output = plan.from.front().item;
  const Operator key(output.frame, output.node, rank);
  {
    const std::scoped_lock lock(guard_);
    if (const auto found = kept_.find(key); found != kept_.end()) {
      const auto outputs = found->second.outputs;
      if (--found->second.wanted == 0) kept_.erase(found);
      return outputs;
    }
  }
  ASSAY_TRY(GoldenOutputs computed, compute(rank, plan));
  const auto outputs = std::make_shared<const GoldenOutputs>(std::move(computed));
  if (dumped > 1) {
    const std::scoped_lock lock(guard_);
    kept_.emplace(key, Kept{outputs, dumped - 1});
  }
  return outputs;
}

void GoldenSteps::forget() {
  const std::scoped_lock lock(guard_);
  kept_.clear();
  params_.clear();
}

Result<OperandPtr> GoldenSteps::load(int32_t rank, const ItemId& item) {
  if (rank != kOwnRank) {
    const size_t ranks = frames_.item(Side::mine, item).shards().size();
    if (static_cast<size_t>(rank) >= ranks)
      return fail(ErrorKind::not_found, "{} is not there on every rank", frames_.item(Side::mine, item).name);
    return loader_.load_shard(Side::mine, item, static_cast<size_t>(rank));
  }
  ASSAY_TRY(Loaded loaded, loader_.load(Side::mine, item));
  if (!prepare_) return std::move(loaded.data);
  return prepare_(Side::mine, *loader_.file_of(Side::mine, item), std::move(loaded.data));
}

Result<bool> GoldenSteps::has_overwritten_input(int32_t rank, const Plan& plan, const Operand& output) {
  for (size_t i = 1; i < plan.from.size(); ++i) {
    const Item& item = frames_.item(Side::mine, plan.from[i].item);
    // A call says nothing of when its inputs were dumped.
    if (item.port.phase == Phase::before || !item.data) continue;
    if (item.port.phase == Phase::not_said && !is_torch_call(plan)) continue;
    ASSAY_TRY(const OperandPtr input, load(rank, plan.from[i].item));
    ASSAY_TRY(const bool is_same, are_equal(*input, output));
    if (is_same) return true;
  }
  return false;
}

bool GoldenSteps::is_torch_call(const Plan& plan) const {
  const ItemId& output = plan.from.front().item;
  return !torch_function(frames_.frame(Side::mine, output), frames_.node(Side::mine, output)).empty();
}

Result<GoldenOutputs> GoldenSteps::compute(int32_t rank, const Plan& plan) {
  const ItemId& output = plan.from.front().item;
  const Frame& frame = frames_.frame(Side::mine, output);
  if (is_torch_call(plan)) {
    ASSAY_TRY(TorchCall call,
              torch_call_of(frame, output, [&](const ItemId& item) { return load(rank, item); }));
    call.memory = options_.memory;
    return torch_golden(call);
  }
  const Node& node = frames_.node(Side::mine, output);
  const GoldenOp* const op = find_golden_op(node.type);
  if (op == nullptr) return fail(ErrorKind::unsupported, "there is no golden for {}", node.type);
  const OpParams& params = params_of(rank, output);
  if (!params.trouble.empty()) return fail(ErrorKind::bad_format, "{}", params.trouble);
  GoldenCall call;
  call.type = node.type;
  call.params = GoldenParams(params.list);
  call.soc = options_.soc;
  call.memory = options_.memory;
  for (size_t i = 1; i < plan.from.size(); ++i) {
    const ItemId& input = plan.from[i].item;
    const Item& item = frames_.item(Side::mine, input);
    if (item.port.index != static_cast<int>(i) - 1)
      return fail(ErrorKind::not_found, "input {} of {} is not in the dump", i - 1, node.name);
    if (!item.trouble.empty()) return fail(ErrorKind::bad_format, "{}", item.trouble);
    if (!item.data)
      return fail(ErrorKind::not_found, "{} has no data: the operator cannot be run again", item.name);
    ASSAY_TRY(OperandPtr data, load(rank, input));
    call.in.push_back(std::move(data));
  }
  const auto sum = op->in_place.added_to == nullptr ? std::nullopt : op->in_place.added_to(call.params);
  if (sum && *sum < call.in.size()) {
    const bool is_from_after = frames_.item(Side::mine, plan.from[*sum + 1].item).port.phase == Phase::after;
    ASSAY_TRY(const OperandPtr written, load(rank, output));
    ASSAY_TRY(const bool is_result, are_equal(*call.in[*sum], *written));
    if (is_from_after && is_result)
      return fail(ErrorKind::unsupported,
                  "input {} was dumped after {} had added to it: what it was before is needed (before/)",
                  *sum, node.type);
  }
  for (const Item& item : node.items)
    if (item.port.direction == Direction::output && item.meta != nullptr) {
      if (std::ssize(call.out) <= item.port.index && item.port.index < 64)
        call.out.resize(static_cast<size_t>(item.port.index) + 1);
      if (item.port.index < std::ssize(call.out)) call.out[static_cast<size_t>(item.port.index)] = *item.meta;
    }
  call.rank = std::max(frame.at.rank, 0);
  if (rank == kOwnRank) ranks_.tell(plan, params.list, call);
  return op->compute(call);
}

const OpParams& GoldenSteps::params_of(int32_t rank, const ItemId& output) {
  const Frame& frame = frames_.frame(Side::mine, output);
  const auto node = static_cast<size_t>(output.node);
  if (frame.params.empty()) {
    const std::scoped_lock lock(guard_);
    const auto [known, is_new] = params_.try_emplace(Operator(output.frame, output.node, rank));
    if (is_new) {
      const auto shards = frames_.item(Side::mine, output).shards();
      const fs::path& tensor =
          rank == kOwnRank ? *loader_.file_of(Side::mine, output)
                           : frame.files[static_cast<size_t>(shards[static_cast<size_t>(rank)].file)].path;
      known->second = op_params_of(frame, node, op_folder(tensor), options_.memory);
    }
    return known->second;
  }
  const OpParams& own = frame.params[node];
  if (options_.params == nullptr || !own.list.empty() || !own.trouble.empty()) return own;
  const auto given = options_.params->find(op_id(frames_.node(Side::mine, output).name));
  return given == options_.params->end() ? own : given->second;
}

}  // namespace assay
