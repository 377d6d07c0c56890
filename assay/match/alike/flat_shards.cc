#include "assay/match/alike/flat_shards.h"

#include "assay/match/alike/group_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <unordered_map>

namespace assay {
namespace {

// The shares of one name, by rank.
struct Shards {
  Holder together;
  std::vector<int64_t> counts;
  std::string module;    // the tensors below it lie in them
  bool is_flat = false;  // else: rows of one tensor

  int64_t total() const {
    int64_t sum = 0;
    for (const int64_t count : counts) sum += count;
    return sum;
  }
};

// "layers.3" of "layers.3._flat_param"; nothing for what is no flat tensor.
std::optional<std::string> module_of_flat(std::string_view plain) {
  constexpr std::array<std::string_view, 2> kGroups = {"fp32_flat_groups.0",
                                                       "single_partition_of_fp32_groups.0"};
  for (const std::string_view group : kGroups)
    if (plain.ends_with(group)) return std::string();
  const size_t dot = plain.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? plain : plain.substr(dot + 1);
  if (!is_flat_name(last)) return std::nullopt;
  return std::string(plain.substr(0, dot == std::string_view::npos ? 0 : dot));
}

// Of more than one group nobody knows which tensor went into which.
bool is_second_group(std::string_view plain) {
  return plain.ends_with("fp32_flat_groups.1") || plain.ends_with("single_partition_of_fp32_groups.1");
}

constexpr int64_t kMostInOne = int64_t{1} << 40;  // of one: sums of all fit
constexpr ptrdiff_t kMostShards = 65'536;

class FlatShards {
 public:
  FlatShards(PairingBuilder& builder, const Contents& contents)
      : builder_(builder), contents_(contents), solver_(contents) {}

  void run() {
    for (const Side side : {Side::mine, Side::golden}) {
      std::vector<Shards> found = collect(side);
      if (found.empty()) continue;
      const Side other = other_side(side);
      for (Shards& shards : found)
        if (std::vector<Holder> parts = parts_of(shards, found, other); !parts.empty())
          join(side, shards, parts);
    }
  }

 private:
  using Layout = std::vector<Arrangement>;

  // Flat tensors, and names whose ranks hold different numbers of rows.
  std::vector<Shards> collect(Side side) {
    std::unordered_map<std::string_view, std::vector<std::pair<size_t, const NameForm*>>> by_name;
    std::vector<std::string_view> in_order;
    bool has_second_group = false;
    for (const auto& [position, form] : unjoined_forms(builder_, side)) {
      if (form->rank < 0 || !is_waiting(builder_, side, position)) continue;
      has_second_group |= is_second_group(form->plain);
      const auto [named, is_new] = by_name.try_emplace(form->plain);
      if (is_new) in_order.push_back(form->plain);
      named->second.emplace_back(position, form);
    }
    std::vector<Shards> found;
    for (const std::string_view plain : in_order) {
      auto& ranks = by_name[plain];
      if (ranks.size() < 2 || std::ssize(ranks) > kMostShards) continue;
      std::ranges::sort(ranks, {}, [](const auto& each) { return each.second->rank; });
      Shards shards;
      const auto module = module_of_flat(plain);
      shards.is_flat = module.has_value();
      shards.module = module.value_or("");
      if (shards.is_flat && shards.module.empty() && has_second_group) continue;
      if (auto whole = gather(side, ranks, shards)) found.push_back(std::move(*whole));
    }
    return found;
  }

  std::optional<Shards> gather(Side side, const UnjoinedForms& ranks, Shards shards) {
    bool are_even = true;
    Holder& together = shards.together;
    for (const auto& [position, form] : ranks) {
      const auto meta = contents_.meta({side, builder_.items(side)[position]});
      if (!meta || meta->shape.dims.empty() || meta->shape.count() > kMostInOne) return std::nullopt;
      if (!together.ranks.empty() && form->rank == together.ranks.back()) return std::nullopt;
      if (together.ranks.empty()) {
        together.form = *form;
        together.shape = meta->shape;
      } else {
        const auto &rows = meta->shape.dims, &first = together.shape.dims;
        if (!std::equal(rows.begin() + 1, rows.end(), first.begin() + 1, first.end())) return std::nullopt;
        are_even &= rows == first;
        together.shape.dims[0] = std::max(rows[0], first[0]);
      }
      together.positions.push_back(position);
      together.ranks.push_back(form->rank);
      shards.counts.push_back(meta->shape.count());
    }
    if (shards.is_flat ? together.shape.dims.size() != 1 : are_even) return std::nullopt;
    together.sums.count = shards.total();
    return shards;
  }

  // The tensors of the other side, in their order, that lie below the module of these and of no other.
  std::vector<Holder> parts_of(const Shards& shards, const std::vector<Shards>& all, Side other) {
    const auto is_below = [](std::string_view plain, const std::string& module) {
      return module.empty() ||
             (plain.starts_with(module) && plain.size() > module.size() && plain[module.size()] == '.');
    };
    std::vector<Holder> parts;
    for (const auto& [position, form] : unjoined_forms(builder_, other)) {
      if (!is_waiting(builder_, other, position)) continue;
      if (!shards.is_flat && form->plain != shards.together.form.plain) continue;
      const bool is_nearer_another = shards.is_flat && std::ranges::any_of(all, [&](const Shards& each) {
                                       return each.is_flat && each.module.size() > shards.module.size() &&
                                              is_below(form->plain, each.module);
                                     });
      if (is_nearer_another || (shards.is_flat && !is_below(form->plain, shards.module))) continue;
      const auto meta = contents_.meta({other, builder_.items(other)[position]});
      if (!meta || meta->shape.count() == 0 || meta->shape.count() > kMostInOne) return {};
      Holder& part = parts.emplace_back();
      part.positions = {position};
      part.ranks = {form->rank};
      part.form = *form;
      part.shape = meta->shape;
      part.sums.count = part.shape.count();
    }
    if (!shards.is_flat && parts.size() > 1) parts.clear();
    return parts;
  }

  // How tensors follow each other: one behind the other, each beginning at a multiple of so many elements; or
  // every tensor shared out by itself, with zeros behind it, as ZeRO 3 does.
  struct Way {
    int64_t aligned_to = 1;
    bool is_each_by_itself = false;
  };

  // The part where it begins at element `first` of all shards together, or of each of them.
  static Arrangement place(const Shards& shards, const Way& way, const Holder& part, int64_t first) {
    const auto ranks = std::ssize(shards.counts);
    const int64_t count = part.shape.count();
    Arrangement arrangement;
    if (way.is_each_by_itself) {
      const int64_t share = share_of(part, ranks);
      for (int64_t rank = 0; rank < ranks && rank * share < count; ++rank)
        arrangement.pieces.push_back(
            {static_cast<size_t>(rank), first, {std::min(share, count - rank * share)}, {1}});
      arrangement.text = fmt::format("cat({{}}[{}:{}] of each of {} ranks)", first, first + share, ranks);
      return arrangement;
    }
    int64_t begin = 0;
    for (size_t source = 0; source < shards.counts.size(); ++source) {
      const int64_t from = std::max(first, begin),
                    to = std::min(first + count, begin + shards.counts[source]);
      if (from < to) arrangement.pieces.push_back({source, from - begin, {to - from}, {1}});
      begin += shards.counts[source];
    }
    arrangement.text = fmt::format("cat({{}} of {} ranks)", ranks);
    if (shards.is_flat) arrangement.text += fmt::format("[{}:{}]", first, first + count);
    return arrangement;
  }

  static int64_t share_of(const Holder& part, int64_t ranks) {
    return (part.shape.count() + ranks - 1) / ranks;
  }
  static int64_t end_of(const Shards& shards, const Way& way, const Holder& part, int64_t first) {
    if (way.is_each_by_itself) return first + share_of(part, std::ssize(shards.counts));
    return first + part.shape.count();
  }
  static int64_t next_after(const Way& way, int64_t end) {
    return (end + way.aligned_to - 1) / way.aligned_to * way.aligned_to;
  }

  // Empty where the sizes say that they do not lie so, or what lies between them is not zero.
  Layout lay_out(Side side, const Shards& shards, const Way& way, const std::vector<Holder*>& parts) const {
    const bool are_even =
        std::ranges::adjacent_find(shards.counts, std::not_equal_to()) == shards.counts.end();
    if (way.is_each_by_itself && (!shards.is_flat || !are_even)) return {};
    const int64_t total = way.is_each_by_itself ? shards.counts[0] : shards.total();
    // So much do FSDP and ZeRO add so that all ranks have as much.
    const int64_t most_padding = shards.is_flat && !way.is_each_by_itself ? 4 * std::ssize(shards.counts) : 1;
    Layout layout;
    int64_t end = 0;
    std::vector<int64_t> gaps;
    for (const Holder* part : parts) {
      const int64_t first = next_after(way, end);
      if (end_of(shards, way, *part, first) > total) return {};
      for (; end < first; ++end) gaps.push_back(end);
      layout.push_back(place(shards, way, *part, first));
      end = end_of(shards, way, *part, first);
    }
    if (total - end >= most_padding) return {};
    for (; end < total; ++end) gaps.push_back(end);
    const bool are_zero = std::ranges::all_of(gaps, [&](int64_t at) { return is_zero(side, shards, at); });
    return are_zero ? layout : Layout();
  }

  bool is_zero(Side side, const Shards& shards, int64_t at) const {
    size_t source = 0;
    for (; at >= shards.counts[source]; ++source) at -= shards.counts[source];
    const std::vector<double> values = contents_.elements(
        {side, builder_.items(side)[shards.together.positions[source]]}, std::span(&at, 1));
    return values.size() == 1 && values[0] == 0;
  }

  // Files may list tensors by name, and modules in another order. A tensor that fits nowhere, since it is
  // wrong, is the one behind which another fits. Empty: the data show no order.
  std::vector<Holder*> order_of(const Shards& shards, const Way& way, const PartGroup& group,
                                const GroupOnRank& on_rank) const {
    constexpr int64_t kMostLooks = 200'000;
    int64_t looks = 0, first = 0;
    std::vector<size_t> left(group.parts.size());
    std::iota(left.begin(), left.end(), size_t{0});
    const auto fits = [&](size_t part, int64_t at) {
      const int64_t end = end_of(shards, way, *group.parts[part], at);
      if (end > (way.is_each_by_itself ? shards.counts[0] : shards.total())) return false;
      ++looks;
      return solver_.is_likely({&on_rank.parts[part], 1}, on_rank.sources,
                               {place(shards, way, *group.parts[part], at)});
    };
    const auto next_behind = [&](size_t part) {
      return next_after(way, end_of(shards, way, *group.parts[part], first));
    };
    struct Guess {
      size_t part, at;  // of the group, and of those that are ordered
      int64_t first;
    };
    std::vector<Guess> guesses;
    std::vector<Holder*> ordered;
    while (!left.empty()) {
      auto found = std::ranges::find_if(left, [&](size_t part) { return fits(part, first); });
      const bool is_guessed = found == left.end();
      if (found == left.end() && left.size() > 1)
        found = std::ranges::find_if(left, [&](size_t part) {
          const int64_t behind = next_behind(part);
          return std::ranges::any_of(left,
                                     [&](size_t other) { return other != part && fits(other, behind); });
        });
      else if (found == left.end())
        found = left.begin();
      if (found == left.end() || looks > kMostLooks) return {};
      if (is_guessed) guesses.push_back({*found, ordered.size(), first});
      ordered.push_back(group.parts[*found]);
      first = next_behind(*found);
      left.erase(found);
    }
    // Of those that fit nowhere, one that fits in the place of another as large was guessed wrongly.
    for (Guess& a : guesses)
      for (Guess& b : guesses)
        if (a.at != b.at && ordered[a.at]->shape.count() == ordered[b.at]->shape.count() &&
            !fits(a.part, a.first) && fits(a.part, b.first)) {
          std::swap(ordered[a.at], ordered[b.at]);
          std::swap(a.part, b.part);
        }
    return ordered;
  }

  std::optional<Layout> solve(const PartGroup& group, const std::vector<Layout>& candidates) const {
    const std::vector<GroupOnRank> ranks = on_ranks(builder_, group);
    if (ranks.size() != 1 || candidates.empty()) return std::nullopt;
    const auto solved = solver_.solve(ranks[0].parts, ranks[0].sources, candidates, PartsThatFit::some);
    return solved ? std::optional(candidates[solved->which]) : std::nullopt;
  }

  void join(Side side, Shards& shards, std::vector<Holder>& parts) {
    constexpr Way kWays[] = {{1}, {4}, {8}, {1, true}};  // 16 bytes of f32, or of a half
    PartGroup group{other_side(side), {}, &shards.together};
    for (Holder& part : parts) group.parts.push_back(&part);
    std::vector<Layout> candidates;
    for (const Way& way : kWays)
      if (Layout layout = lay_out(side, shards, way, group.parts); !layout.empty())
        candidates.push_back(std::move(layout));
    // One tensor under its own name needs no elements to tell where it lies.
    if (!shards.is_flat) {
      if (!candidates.empty())
        join_group(builder_, group, candidates[0], Why::alike_name, "rows of ranks", {});
      return;
    }
    auto found = solve(group, candidates);
    const std::vector<GroupOnRank> ranks = on_ranks(builder_, group);
    for (const Way& way : kWays) {
      if (found || ranks.size() != 1) break;
      std::vector<Holder*> ordered = order_of(shards, way, group, ranks[0]);
      if (ordered.empty()) continue;
      PartGroup other = group;
      other.parts = std::move(ordered);
      const Layout layout = lay_out(side, shards, way, other.parts);
      if (!layout.empty()) found = solve(other, {layout});
      if (found) group = std::move(other);
    }
    if (found) join_group(builder_, group, *found, Why::known_name, "laid flat, one behind the other", {});
  }

  PairingBuilder& builder_;
  const Contents& contents_;
  const Solver solver_;
};

}  // namespace

void join_flat_shards(PairingBuilder& builder, const Contents& contents) {
  FlatShards(builder, contents).run();
}

}  // namespace assay
