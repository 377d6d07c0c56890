#include "assay/run/compare/golden_step.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/match/ops/golden_op.h"
#include "assay/model/graph.h"

#include <algorithm>

namespace assay {
namespace {

// The folder "{device}_{pid}" in which two paths of one tensor on two ranks part: its device.
std::optional<int> rank_in(const fs::path& file, const fs::path& of_other_rank) {
  auto own = file.begin(), other = of_other_rank.begin();
  while (own != file.end() && other != of_other_rank.end() && *own == *other) ++own, ++other;
  if (own == file.end()) return std::nullopt;
  const std::string name = own->native();
  const auto number = parse_int(name.substr(0, name.find('_')));
  return number && *number >= 0 && *number < 1 << 20 ? std::optional(static_cast<int>(*number))
                                                     : std::nullopt;
}

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

Result<Expected> GoldenSteps::run(const Plan& plan, const PlanStep& step) {
  const int64_t wanted = step.args[0];
  const ItemId& output = plan.from.front().item;
  const Node& node = frames_.node(Side::mine, output);
  if (wanted == kNoOutput)
    return fail(ErrorKind::unsupported, "{} has no output in the dump to check", node.name);
  ASSAY_TRY(const auto outputs, outputs_of(plan, step));
  const std::string_view type = node.type;
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
  const bool is_from_after = std::ranges::any_of(plan.from, [&](const PlanSource& source) {
    const Port& port = frames_.item(Side::mine, source.item).port;
    return port.direction == Direction::input && port.phase == Phase::after;
  });
  const std::string told = in_short(params_of(output).list);
  expected.computed = told.empty() ? std::string(type) : fmt::format("{} with {}", type, told);
  if (find_golden_op(type)->in_place.leaves_rest && is_from_after) {
    expected.is_partial = true;
    say("its inputs were dumped after it ran: that it wrote nothing else cannot be told");
  }
  return expected;
}

Result<std::shared_ptr<const GoldenOutputs>> GoldenSteps::outputs_of(const Plan& plan, const PlanStep& step) {
  const int64_t dumped = step.args[1];
  const ItemId& output = plan.from.front().item;
  const std::pair<int32_t, int32_t> key(output.frame, output.node);
  {
    const std::scoped_lock lock(guard_);
    if (const auto found = kept_.find(key); found != kept_.end()) {
      const auto outputs = found->second.outputs;
      if (--found->second.wanted == 0) kept_.erase(found);
      return outputs;
    }
  }
  ASSAY_TRY(GoldenOutputs computed, compute(plan));
  const auto outputs = std::make_shared<const GoldenOutputs>(std::move(computed));
  if (dumped > 1) {
    const std::scoped_lock lock(guard_);
    kept_.emplace(key, Kept{outputs, dumped - 1});
  }
  return outputs;
}

Result<GoldenOutputs> GoldenSteps::compute(const Plan& plan) const {
  const ItemId& output = plan.from.front().item;
  const Frame& frame = frames_.frame(Side::mine, output);
  const Node& node = frames_.node(Side::mine, output);
  const GoldenOp* const op = find_golden_op(node.type);
  if (op == nullptr) return fail(ErrorKind::unsupported, "there is no golden for {}", node.type);
  const OpParams& params = params_of(output);
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
    ASSAY_TRY(Loaded loaded, loader_.load(Side::mine, input));
    ASSAY_TRY(OperandPtr data, prepared(input, std::move(loaded.data)));
    call.in.push_back(std::move(data));
  }
  const auto sum = op->in_place.added_to == nullptr ? std::nullopt : op->in_place.added_to(call.params);
  if (sum && *sum < call.in.size()) {
    const bool is_from_after = frames_.item(Side::mine, plan.from[*sum + 1].item).port.phase == Phase::after;
    ASSAY_TRY(const Loaded written, loader_.load(Side::mine, output));
    ASSAY_TRY(const bool is_result, are_equal(*call.in[*sum], *written.data));
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
  // Found out once, where any other rank is asked for.
  call.in_of_rank = [this, &plan, ranks = std::optional<RanksOfInputs>()](int rank) mutable {
    if (!ranks) ranks = ranks_of_inputs(plan);
    return inputs_of_rank(plan, *ranks, rank);
  };
  return op->compute(call);
}

const OpParams& GoldenSteps::params_of(const ItemId& output) const {
  const OpParams& own = frames_.frame(Side::mine, output).params[static_cast<size_t>(output.node)];
  if (options_.params == nullptr || !own.list.empty() || !own.trouble.empty()) return own;
  const auto given = options_.params->find(op_id(frames_.node(Side::mine, output).name));
  return given == options_.params->end() ? own : given->second;
}

Result<OperandPtr> GoldenSteps::prepared(const ItemId& input, OperandPtr data) const {
  const fs::path* const file = loader_.file_of(Side::mine, input);
  return prepare_ ? prepare_(Side::mine, file == nullptr ? fs::path() : *file, std::move(data)) : data;
}

RanksOfInputs GoldenSteps::ranks_of_inputs(const Plan& plan) const {
  const Frame& frame = frames_.frame(Side::mine, plan.from.front().item);
  RanksOfInputs ranks;
  for (size_t i = 1; i < plan.from.size(); ++i) {
    const std::span<const TensorRef> shards = frames_.item(Side::mine, plan.from[i].item).shards();
    const auto path_of = [&](size_t k) -> const fs::path& {
      return frame.files[static_cast<size_t>(shards[k].file)].path;
    };
    std::map<int, size_t>& own = ranks.emplace_back();
    for (size_t k = 0; k < shards.size() && shards.size() > 1; ++k)
      if (const auto rank = rank_in(path_of(k), path_of(k == 0 ? 1 : 0))) own.emplace(*rank, k);
  }
  return ranks;
}

Result<std::vector<OperandPtr>> GoldenSteps::inputs_of_rank(const Plan& plan, const RanksOfInputs& ranks,
                                                            int rank) const {
  ASSAY_TRY_DO(check_cancelled());
  std::vector<OperandPtr> in;
  for (size_t i = 1; i < plan.from.size(); ++i) {
    const ItemId& input = plan.from[i].item;
    const auto found = ranks[i - 1].find(rank);
    if (found == ranks[i - 1].end())
      return fail(ErrorKind::not_found, "Cannot find data on rank {}! {} needs tensors on all devices!", rank,
                  frames_.node(Side::mine, plan.from.front().item).type);
    ASSAY_TRY(OperandPtr shard, loader_.load_shard(Side::mine, input, found->second));
    ASSAY_TRY(OperandPtr data, prepared(input, std::move(shard)));
    in.push_back(std::move(data));
  }
  return in;
}

}  // namespace assay
