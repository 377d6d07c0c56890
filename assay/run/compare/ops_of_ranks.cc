#include "assay/run/compare/ops_of_ranks.h"

#include "assay/base/cancel.h"
#include "assay/dump/atb_calls.h"
#include "assay/dump/atb_op_params.h"
#include "assay/dump/atb_place.h"
#include "assay/model/graph.h"

namespace assay {
namespace {

constexpr int kMostRanks = 65536;

// Different for parameters that differ.
std::string text_of(const OpParam& param) {
  std::string text = fmt::format("{}{}", param.key, param.is_list ? "[" : "=");
  for (const Value& value : param.values)
    text += std::visit(
        [&](const auto& each) {
          using T = std::decay_t<decltype(each)>;
          if constexpr (std::is_same_v<T, std::monostate>)
            return std::string("-,");
          else
            return fmt::format("{}:{},", value.index(), each);
        },
        value);
  return text;
}

}  // namespace

std::shared_ptr<const KnownRanks::Folders> KnownRanks::beside(const fs::path& rank) {
  const std::scoped_lock lock(guard_);
  std::shared_ptr<const Folders>& known = known_[rank.parent_path().native()];
  if (known != nullptr) return known;
  const std::vector<fs::path> all = sibling_ranks(rank);
  const std::vector<int> numbers = rank_numbers(all);
  Folders found;
  for (size_t i = 0; i < all.size(); ++i) found.emplace(numbers[i], all[i]);
  return known = std::make_shared<const Folders>(std::move(found));
}

OpsOfRanks::Op OpsOfRanks::op_of(const Plan& plan, std::span<const OpParam> params) const {
  const GoldenParams told(params);
  const int of_dump = std::max(frames_.frame(Side::mine, plan.from.front().item).at.rank, 0);
  Op op{&plan, {params.begin(), params.end()}, of_dump};
  // Those that are no numbers are the error of the operator, which reads them again.
  const auto small = [&](const char* key, int otherwise) {
    const auto number = told.integer_or({key}, otherwise);
    return number && *number >= 0 && *number < kMostRanks ? static_cast<int>(*number) : otherwise;
  };
  op.own = small("rank", of_dump);
  op.size = small("rankSize", 0);
  op.first = of_dump - op.own;
  return op;
}

void OpsOfRanks::tell(const Plan& plan, std::span<const OpParam> own, GoldenCall& call) const {
  const auto op = std::make_shared<const Op>(op_of(plan, own));
  call.in_of_rank = [this, op](int rank) { return inputs_of(*op, rank); };
  call.params_of_rank = [this, op](int rank) { return params_of(*op, rank); };
  call.calls_on_rank = [this, op](int rank, std::string_view type) { return calls_of(*op, rank, type); };
  call.of_all_ranks = [this, op](int ranks, const std::function<Result<Expected>()>& make) {
    return ranks_.results.find_or_make(key_of(*op), ranks, memory_ / 2, make);
  };
}

Error OpsOfRanks::missing(const Op& op, int rank) const {
  return {ErrorKind::not_found, fmt::format("Cannot find data on rank {}! {} needs tensors on all devices!",
                                            rank, frames_.node(Side::mine, op.plan->from.front().item).type)};
}

std::string OpsOfRanks::key_of(const Op& op) const {
  // The round, the operator, its inputs (of before or after it ran), and all it was told but its own number.
  const fs::path round = own_round(*op.plan);
  std::string key = fmt::format("{}\n{}", op.first, round.parent_path().parent_path().native());
  for (const PlanSource& source : op.plan->from) {
    const fs::path file = loader_.file_of(Side::mine, source.item)->lexically_relative(round.parent_path());
    key += fmt::format("\n{}", file.native());
  }
  for (const OpParam& param : op.params)
    if (param.key != "rank") key += fmt::format("\n{}", text_of(param));
  return key;
}

fs::path OpsOfRanks::own_round(const Plan& plan) const {
  const ItemId& output = plan.from.front().item;
  const Frame& frame = frames_.frame(Side::mine, output);
  const auto ops = frame.ops_of(static_cast<size_t>(output.node));
  fs::path round = op_folder(*loader_.file_of(Side::mine, output));
  for (fs::path below(frame.graph->at(ops.front()).path); !below.empty(); below = below.parent_path())
    round = round.parent_path();
  return round;
}

Result<fs::path> OpsOfRanks::round_of(const Op& op, int rank) const {
  const fs::path own = own_round(*op.plan);
  const auto ranks = ranks_.beside(own.parent_path());
  // Groups stand beside each other: ranks 4 to 7 of a dump are 0 to 3 of theirs. Of others it cannot be told
  // who belongs together, but where there is one group alone.
  const bool is_alone =
      !ranks->empty() && ranks->begin()->first >= op.first && ranks->rbegin()->first < op.first + op.size;
  if (op.first < 0 || (op.size > 0 && op.first % op.size != 0 && !is_alone))
    return fail(ErrorKind::mismatch, "which {} ranks of the dump work together cannot be told", op.size);
  const auto found = ranks->find(op.first + rank);
  if (found == ranks->end()) return tl::unexpected(missing(op, rank));
  return found->second / own.filename();
}

Result<fs::path> OpsOfRanks::file_of(const Op& op, const ItemId& item, int rank) const {
  ASSAY_TRY(const fs::path round, round_of(op, rank));
  const fs::path file = round / loader_.file_of(Side::mine, item)->lexically_relative(own_round(*op.plan));
  if (!is_there(file)) return tl::unexpected(missing(op, rank));
  return file;
}

Result<std::vector<OperandPtr>> OpsOfRanks::inputs_of(const Op& op, int rank) const {
  ASSAY_TRY_DO(check_cancelled());
  std::vector<OperandPtr> in;
  for (size_t i = 1; i < op.plan->from.size(); ++i) {
    ASSAY_TRY(const fs::path file, file_of(op, op.plan->from[i].item, rank));
    if (i == 1) ASSAY_TRY_DO(check_number(op, file, rank));
    ASSAY_TRY(OperandPtr data, load(file));
    in.push_back(std::move(data));
  }
  return in;
}

Result<void> OpsOfRanks::check_number(const Op& op, const fs::path& input, int rank) const {
  const OpParams params = read_op_params(op_folder(input), memory_);
  const auto says = GoldenParams(params.list).integer_or({"rank"}, rank);
  if (!says || *says == rank) return {};
  return fail(ErrorKind::mismatch,
              "rank {} of the dump says that it is rank {} of its group, where rank {} was looked for: which "
              "work together cannot be told",
              op.first + rank, *says, rank);
}

Result<OperandPtr> OpsOfRanks::load(const fs::path& file) const {
  ASSAY_TRY(OperandPtr data, loader_.load_alone(file));
  if (!prepare_) return data;
  return prepare_(Side::mine, file, std::move(data));
}

Result<std::vector<OpParam>> OpsOfRanks::params_of(const Op& op, int rank) const {
  if (op.plan->from.size() < 2) return tl::unexpected(missing(op, rank));
  ASSAY_TRY(const fs::path file, file_of(op, op.plan->from[1].item, rank));
  OpParams params = read_op_params(op_folder(file), memory_);
  if (!params.trouble.empty()) return fail(ErrorKind::bad_format, "{}", params.trouble);
  return std::move(params.list);
}

Result<std::vector<RankCall>> OpsOfRanks::calls_of(const Op& op, int rank, std::string_view type) const {
  ASSAY_TRY_DO(check_cancelled());
  const fs::path own = op_folder(*loader_.file_of(Side::mine, op.plan->from.front().item));
  ASSAY_TRY(const fs::path round, round_of(op, rank));
  ASSAY_TRY(const FoundCalls known, find_calls(round, type));
  std::vector<RankCall> calls;
  for (const FoundCall& each : *known) {
    RankCall call{each.params, {}, each.folder == own};
    call.first_input = [this, folder = each.folder]() -> Result<OperandPtr> {
      ASSAY_TRY(const fs::path file, atb_input_file(folder, 0));
      return load(file);
    };
    calls.push_back(std::move(call));
  }
  return calls;
}

Result<OpsOfRanks::FoundCalls> OpsOfRanks::find_calls(const fs::path& round, std::string_view type) const {
  // Under the lock: all that are received from one rank ask for the same.
  const std::scoped_lock lock(guard_);
  FoundCalls& known = found_[{round.native(), std::string(type)}];
  if (known != nullptr) return known;
  std::vector<FoundCall> calls;
  for (const fs::path& folder : atb_operators_of(round, type)) {
    OpParams params = read_op_params(folder, memory_);
    if (!params.trouble.empty()) return fail(ErrorKind::bad_format, "{}", params.trouble);
    calls.push_back({folder, std::move(params.list)});
  }
  known = std::make_shared<const std::vector<FoundCall>>(std::move(calls));
  return known;
}

}  // namespace assay
