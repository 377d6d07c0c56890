#include "assay/run/compare/stated_comparison.h"

#include "assay/base/checked.h"
#include "assay/metric/band.h"
#include "assay/metric/numpy_stats.h"
#include "assay/model/blocks.h"
#include "assay/model/fact_keys.h"
#include "assay/model/scalar_of.h"
#include "assay/run/compare/quantised_rows.h"
#include "assay/run/compare/stated_parts.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

namespace assay {
namespace {

// Borrows from what it is given.
Stated as_stated(const Stats& stats) {
  Stated stated;
  stated.max = scalar_of(stats.max);
  stated.min = scalar_of(stats.min);
  stated.mean = scalar_of(stats.mean);
  stated.norm = scalar_of(stats.norm);
  stated.checksum = stats.checksum;
  stated.nonfinite = &stats.nonfinite;
  stated.decimals = stats.decimals;
  return stated;
}

bool has_checksum(const SideFacts& side) {
  const Stated* const stated = side.stated();
  return stated != nullptr && !stated->checksum.empty();
}

Result<Stats> statistics_of(const Operand& data, bool with_checksum, int64_t* zeros = nullptr) {
  ASSAY_TRY(const auto sums, gather_one(data));
  if (zeros != nullptr) *zeros = sums.zeros;
  Stats stats =
      with_checksum ? exact_statistics(sums, data.meta.dtype) : numpy_statistics(sums, data.meta.dtype);
  ASSAY_TRY_DO(add_exact_extremes(data, stats));
  Scratch scratch;
  if (with_checksum)
    if (auto checksum = crc32_of(data, scratch)) stats.checksum = std::move(*checksum);
  return stats;
}

// As the statistics that took the place of a file count them.
std::optional<int64_t> zeros_of(const Item& item) {
  if (item.facts == nullptr) return std::nullopt;
  for (const Fact& fact : *item.facts)
    if (const auto* const count = std::get_if<int64_t>(&fact.value);
        count != nullptr && fact.key == kZerosKey)
      return *count;
  return std::nullopt;
}

// What the dump says of a tensor, or else what its data say: as NumPy does. Against the statistics that took
// the place of a file, the data is asked, and as such a file says it. How many elements are 0; nothing where
// that is not known.
std::optional<int64_t> find_statistics(SideFacts& side, const OperandPtr& data, const SideFacts& other) {
  const Stated* const stated = other.stated();
  // A dump of checksums tells more than the statistics of a full one do.
  const bool has_crc = has_checksum(other) && stated->checksum.size() == 8 && is_checksum(stated->checksum);
  const bool asks_data = other.computed != nullptr ||
                         (has_crc && side.item->stated != nullptr && side.item->stated->checksum.empty());
  if (data == nullptr || (says_something(side.item->stated) && !asks_data)) return zeros_of(*side.item);
  int64_t zeros = 0;
  auto stats = statistics_of(*data, has_checksum(other), &zeros);
  if (!stats) return std::nullopt;
  side.computed = keep_stated(std::move(*stats));
  return zeros;
}

// Where the smallest and the largest element are all that one side keeps, they are all that can be compared.
void leave_extremes(SideFacts& side) {
  const Stated* const known = side.stated();
  if (known == nullptr) return;
  Stated extremes;
  extremes.max = known->max;
  extremes.min = known->min;
  side.computed = std::make_shared<const Stated>(extremes);
}

// How many elements the dump says there are, whatever the shape.
std::optional<int64_t> stated_count(const SideFacts& side) {
  if (side.item->facts == nullptr || states_blocks(*side.item)) return std::nullopt;
  for (const Fact& fact : *side.item->facts)
    if (const auto* const count = std::get_if<int64_t>(&fact.value); count != nullptr && fact.key == "count")
      return *count;
  return std::nullopt;
}

// Where a table does not know the shape it may still know how many elements there are.
bool states_other_count(Comparison& row) {
  if (states_blocks(*row.mine.item) || states_blocks(*row.golden.item)) return false;
  std::optional<int64_t> mine = stated_count(row.mine), golden = stated_count(row.golden);
  if (mine && !golden && !row.mine.meta && row.golden.meta) golden = row.golden.meta->shape.count();
  if (golden && !mine && !row.golden.meta && row.mine.meta) mine = row.mine.meta->shape.count();
  if (!mine || !golden || *mine == *golden) return false;
  row.note +=
      fmt::format("{}{} elements of mine, {} of golden", row.note.empty() ? "" : "; ", *mine, *golden);
  return true;
}

// Whether the ranks hold shares of a tensor, `count` elements each, that are as many together as the other
// side has, or as its ranks have together.
bool are_shares(int64_t count, int64_t ranks, const SideFacts& other) {
  if (ranks < 2 || !other.meta) return false;
  const int64_t in_other = other.meta->shape.count();
  const int64_t other_ranks = std::max<int64_t>(1, std::ssize(other.item->shards()));
  const auto together = checked_multiply(count, ranks);
  return together && (*together == in_other || together == checked_multiply(in_other, other_ranks));
}

// How far two tensors are apart, by what is said of them: the largest relative difference of a statistic.
double distance(const Stated& mine, const Stated& golden) {
  double worst = 0;
  for (const auto member : {&Stated::max, &Stated::min, &Stated::mean, &Stated::norm}) {
    const auto a = number_of(mine.*member), b = number_of(golden.*member);
    if (a == b || (a && b && std::isnan(*a) && std::isnan(*b))) continue;
    if (!a || !b) return std::numeric_limits<double>::infinity();
    const double apart = std::abs(*a - *b) / std::max(std::abs(*a), std::abs(*b));
    worst = std::isnan(apart) ? std::numeric_limits<double>::infinity() : std::max(worst, apart);
  }
  return worst;
}

// A side is made of its tensors in a way that their statistics do not follow. Rows that are all of them are
// no such case.
bool is_lost_in_statistics(const Comparison& row) {
  const bool has_same_count =
      row.mine.meta && row.golden.meta && row.mine.meta->shape.count() == row.golden.meta->shape.count();
  for (const Side side : {Side::mine, Side::golden})
    if (const Plan* const plan = row.pair.plan(side))
      for (const PlanStep& step : plan->steps)
        if (!keeps_statistics(step.op) && !(step.op == PlanOp::last_rows && has_same_count)) return true;
  return false;
}

}  // namespace

std::shared_ptr<const Stated> keep_stated(Stats stats) {
  struct Kept {
    explicit Kept(Stats s) : stats(std::move(s)), stated(as_stated(stats)) {}
    const Stats stats;
    const Stated stated;
  };
  const auto kept = std::make_shared<const Kept>(std::move(stats));
  return {kept, &kept->stated};
}

bool says_something(const Stated* stated) {
  return stated != nullptr && !(stated->max.is_absent() && stated->min.is_absent() &&
                                stated->norm.is_absent() && stated->checksum.empty());
}

StatedComparison::StatedComparison(const Matched& matched, const MetricPlan& metrics, Loader& loader)
    : matched_(matched), metrics_(metrics), loader_(loader) {
  for (const Side side : {Side::mine, Side::golden})
    for (const Frame& frame : matched.frames.frames(side))
      dumped_with_data_ |= frame.content == Content::data;
}

void StatedComparison::compare(const OperandPtr& mine_data, const OperandPtr& golden_data,
                               Comparison& row) const {
  if (is_lost_in_statistics(row)) {
    row.is_excused = true;
    row.note = "statistics do not tell those of a part, or of a sum over ranks";
    return;
  }
  const auto mine_zeros = find_statistics(row.mine, mine_data, row.golden);
  const auto golden_zeros = find_statistics(row.golden, golden_data, row.mine);
  if (has_checksum(row.mine) && has_checksum(row.golden) && mine_zeros && golden_zeros &&
      row.mine.stated()->checksum == row.golden.stated()->checksum && *mine_zeros != *golden_zeros) {
    row.status = Status::unreadable;
    row.note = fmt::format(
        "the checksums are equal ({}), and yet {} elements of mine are 0, {} of golden: one of the dumps is "
        "wrong",
        row.mine.stated()->checksum, *mine_zeros, *golden_zeros);
    return;
  }
  bool has_parts = false, has_terms = false, is_range = false, is_made_real = false;
  bool mine_joined = false, golden_joined = false;
  for (const Side side : {Side::mine, Side::golden}) {
    const Plan* const plan = row.pair.plan(side);
    if (plan == nullptr) continue;
    is_range |= plan->has(PlanOp::extremes);
    is_made_real |= plan->has(PlanOp::dequantise);
    has_terms |= plan->has(PlanOp::add_ranks);
    const std::vector<PlanSource> parts = plan->parts();
    if (parts.empty()) continue;
    has_parts = true;
    SideFacts &joined = side == Side::mine ? row.mine : row.golden,
              &other = side == Side::mine ? row.golden : row.mine;
    const Joined how = join_parts(parts, joined, other);
    if (how == Joined::not_at_all) return;
    (side == Side::mine ? mine_joined : golden_joined) = how == Joined::of_all_ranks;
  }
  if (has_terms) {
    row.is_excused = true;
    row.note = "each rank holds a term of a sum: statistics of terms cannot be added up";
    return;
  }
  const Side of_golden = row.pair.golden_side();
  mine_joined = mine_joined || join_ranks(Side::mine, *row.pair.mine, row.mine, row.golden);
  golden_joined = golden_joined || join_ranks(of_golden, *row.pair.golden, row.golden, row.mine);
  const int64_t mine_left = ranks_left_out(Side::mine, *row.pair.mine, mine_joined);
  const int64_t golden_left = ranks_left_out(of_golden, *row.pair.golden, golden_joined);
  if (is_range) {
    leave_extremes(row.mine);
    leave_extremes(row.golden);
  }
  const Stated *const mine = row.mine.stated(), *const golden = row.golden.stated();
  if (mine == nullptr || golden == nullptr) return;
  if (row.mine.meta && row.golden.meta &&
      (is_made_real || is_left_quantised(matched_.pairing, *row.mine.meta, *row.golden.meta))) {
    refuse_int8(row, "statistics cannot be made real");
    return;
  }
  const bool is_tensor = row.mine.meta && row.golden.meta && row.golden.meta->shape.count() > 0;
  row.basis = Basis::stated;
  row.metrics =
      is_beside(row) ? std::vector<Value>(metrics_.columns.size()) : metrics_.finish_stated(*mine, *golden);
  if (is_tensor && (!says_something(mine) || !says_something(golden))) {
    row.note = "neither data nor statistics to compare";
    row.is_excused = is_range;  // of complex numbers, and of nothing, there are no extremes
    return;
  }
  // Where one side was dumped with data, its absence deserves a word.
  if (is_tensor && dumped_with_data_)
    row.note += "; compared by statistics";
  else
    row.note.clear();
  if (mine_left != golden_left) {
    // A table that numbers its pairs is another tool's, which looks at the first rank only.
    if (row.pair.number >= 0) {
      row.left_out += mine_left + golden_left;
      row.note += fmt::format("{}the first rank of each side", row.note.empty() ? "" : "; ");
    } else if (!compare_copies(row, mine_left, golden_left)) {
      return;
    }
  }
  const bool other_shape =
      !is_range && ((row.mine.meta && row.golden.meta && !may_be_same(row.mine, row.golden)) ||
                    (!mine_joined && !golden_joined && !has_parts && states_other_count(row)));
  row.status = other_shape ? Status::shape_mismatch : Status::compared;
  if (!other_shape) note_stated_evidence(is_range, row);
}

// Of all parts together, and of all ranks where each holds a share of them; the shape is theirs side by side.
StatedComparison::Joined StatedComparison::join_parts(const std::vector<PlanSource>& sources,
                                                      SideFacts& facts, const SideFacts& other) const {
  std::deque<SideFacts> sides;
  std::vector<StatedPart> parts;
  int64_t width = 0, last = 0, count = 0;
  size_t ranks = 1;
  TensorMeta whole;
  for (const PlanSource& source : sources) {
    SideFacts& side = sides.emplace_back();
    side.item = &matched_.item(source.side, source.item);
    ranks = std::max(ranks, side.item->shards().size());
    OperandPtr data;
    if (side.item->data)
      if (auto loaded = loader_.load(source.side, source.item)) data = loaded->data;
    find_statistics(side, data, {});
    const TensorMeta* const meta = data ? &data->meta : side.item->meta;
    if (meta == nullptr) return Joined::not_at_all;
    parts.push_back({side.stated(), meta->shape.count()});
    count += meta->shape.count();
    last = meta->shape.dims.empty() ? 1 : meta->shape.dims.back();
    width += last;
    if (last > 0) whole = {meta->dtype, Shape{{meta->shape.count() / last, width}}};
  }
  if (last == 0) return Joined::not_at_all;
  const bool has_shares = are_shares(count, static_cast<int64_t>(ranks), other);
  std::deque<std::vector<ShardStatistics>> of_shards;
  std::deque<Stated> stated;
  if (has_shares) {
    parts.clear();
    for (const PlanSource& source : sources) {
      auto shards = shard_statistics(source.side, source.item, false);
      if (!shards) return Joined::not_at_all;
      const auto& of_ranks = of_shards.emplace_back(std::move(*shards));
      for (const auto& [stats, meta] : of_ranks) {
        if (!meta || meta != of_ranks.front().meta) return Joined::not_at_all;
        parts.push_back({&stated.emplace_back(as_stated(stats)), meta->shape.count()});
      }
    }
    if (parts.size() != sources.size() * ranks) return Joined::not_at_all;
    whole.shape.dims.back() *= static_cast<int64_t>(ranks);
  }
  const auto joined = join_stated(parts);
  if (!joined) return Joined::not_at_all;
  facts.meta = whole;
  facts.computed = std::make_shared<const Stated>(*joined);
  return has_shares ? Joined::of_all_ranks : Joined::of_one_rank;
}

// As the files of the shards state them, or else of their data.
Result<std::vector<ShardStatistics>> StatedComparison::shard_statistics(Side side, const ItemId& id,
                                                                        bool with_checksum) const {
  std::vector<ShardStatistics> found;
  for (size_t i = 0; i < matched_.item(side, id).shards().size(); ++i) {
    ASSAY_TRY(auto stated, loader_.find_shard_statistics(side, id, i));
    if (!stated) {
      ASSAY_TRY(const OperandPtr shard, loader_.load_shard(side, id, i));
      ASSAY_TRY(Stats stats, statistics_of(*shard, with_checksum));
      stated = ShardStatistics{std::move(stats), shard->meta};
    }
    found.push_back(std::move(*stated));
  }
  return found;
}

// Each rank of a side holds the tensor whole: all of them have to agree. The row is that of the worst; false
// where one of them cannot be compared.
bool StatedComparison::compare_copies(Comparison& row, int64_t mine_left, int64_t golden_left) const {
  const auto give_up = [&](Status status, std::string why) {
    row.status = status;
    row.note = std::move(why);
    row.basis = Basis::nothing;
    row.metrics.clear();
    return false;
  };
  double worst = distance(*row.mine.stated(), *row.golden.stated());
  for (const Side side : {Side::mine, Side::golden}) {
    if ((side == Side::mine ? mine_left : golden_left) == 0) continue;
    SideFacts &facts = side == Side::mine ? row.mine : row.golden,
              &other = side == Side::mine ? row.golden : row.mine;
    const Side of_item = side == Side::mine ? Side::mine : row.pair.golden_side();
    const ItemId& id = side == Side::mine ? *row.pair.mine : *row.pair.golden;
    const auto copies = shard_statistics(of_item, id, has_checksum(other));
    if (!copies) return give_up(Status::unreadable, copies.error().message);
    for (size_t rank = 1; rank < copies->size(); ++rank) {
      const ShardStatistics& copy = (*copies)[rank];
      const std::string which = fmt::format("rank {} of {} of {}", rank + 1, copies->size(),
                                            side == Side::mine ? "mine" : "golden");
      if (copy.meta && facts.meta && *copy.meta != *facts.meta)
        return give_up(
            copy.meta->shape == facts.meta->shape ? Status::unreadable : Status::shape_mismatch,
            fmt::format("{} holds {} {} where another one holds {} {}", which, name(copy.meta->dtype),
                        copy.meta->shape.text(), name(facts.meta->dtype), facts.meta->shape.text()));
      const auto stated = keep_stated(copy.stats);
      const double apart =
          side == Side::mine ? distance(*stated, *other.stated()) : distance(*other.stated(), *stated);
      if (apart <= worst) continue;
      worst = apart;
      facts.computed = stated;
      row.metrics = metrics_.finish_stated(*row.mine.stated(), *row.golden.stated());
      row.note += fmt::format("{}{}", row.note.empty() ? "" : "; ", which);
    }
  }
  return true;
}

// Where each rank holds a part of what the other side holds whole.
bool StatedComparison::join_ranks(Side side, const ItemId& id, SideFacts& facts,
                                  const SideFacts& other) const {
  const auto ranks = static_cast<int64_t>(matched_.item(side, id).shards().size());
  if (!facts.meta || facts.meta->shape.dims.empty()) return false;
  if (!are_shares(facts.meta->shape.count(), ranks, other)) return false;
  std::deque<Stated> stated;
  std::vector<StatedPart> parts;
  const auto of_shards = shard_statistics(side, id, false);
  if (!of_shards) return false;
  for (const auto& [stats, meta] : *of_shards) {
    if (!meta || *meta != *facts.meta) return false;  // nothing of which they would be shares
    parts.push_back({&stated.emplace_back(as_stated(stats)), meta->shape.count()});
  }
  const auto joined = join_stated(parts);
  if (!joined) return false;
  TensorMeta whole = *facts.meta;
  whole.shape.dims.back() *= ranks;
  facts.meta = std::move(whole);
  facts.computed = std::make_shared<const Stated>(*joined);
  return true;
}

// Of a tensor that each rank holds whole the first was compared.
int64_t StatedComparison::ranks_left_out(Side side, const ItemId& id, bool is_joined) const {
  const auto ranks = std::ssize(matched_.item(side, id).shards());
  return is_joined || ranks < 2 ? 0 : ranks - 1;
}

// Whether tensors of these shapes can have the same statistics. Inference engines drop and merge dimensions.
bool StatedComparison::may_be_same(const SideFacts& mine, const SideFacts& golden) const {
  const Shape &a = mine.meta->shape, &b = golden.meta->shape;
  if (same_but_for_ones(a, b) || states_blocks(*mine.item) || states_blocks(*golden.item)) return true;
  const bool lenient = matched_.pairing.dequantises;
  return lenient && a.count() == b.count();
}

}  // namespace assay
