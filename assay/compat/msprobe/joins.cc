#include "assay/compat/msprobe/joins.h"

#include "assay/compat/msprobe/compatible_types.h"
#include "assay/match/keyed/key_groups.h"
#include "assay/match/keyed/keyed.h"
#include "assay/support/log.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace assay {
namespace {

constexpr uint32_t kNeverMatches = static_cast<uint32_t>(-1);

// One side of the procedure: its rows enter in order, and leave from the front.
class RowQueue {
 public:
  RowQueue(std::vector<uint32_t> labels, size_t label_count) : labels_(std::move(labels)) {
    next_same_.assign(labels_.size(), labels_.size());
    first_.assign(label_count, labels_.size());
    for (size_t i = labels_.size(); i-- > 0;) {
      if (labels_[i] == kNeverMatches) continue;
      next_same_[i] = first_[labels_[i]];
      first_[labels_[i]] = i;
    }
  }

  size_t total() const { return labels_.size(); }
  bool empty() const { return begin_ == end_; }
  void enter() {
    if (end_ < labels_.size()) ++end_;
  }
  size_t last() const { return end_ - 1; }
  uint32_t label(size_t row) const { return labels_[row]; }
  void leave_through(size_t row) { begin_ = row + 1; }

  // The oldest row in the queue with this label, if any. Rows before the front are never asked for again, so
  // all calls together cost one walk through the rows.
  std::optional<size_t> find(uint32_t label) {
    if (label == kNeverMatches) return std::nullopt;
    size_t& row = first_[label];
    while (row < begin_) row = next_same_[row];
    return row < end_ ? std::optional(row) : std::nullopt;
  }

 private:
  std::vector<uint32_t> labels_;
  std::vector<size_t> first_, next_same_;  // chains of rows with equal labels; labels_.size(): no more
  size_t begin_ = 0, end_ = 0;
};

}  // namespace

void strip_call_of_msprobe(std::string_view name, std::string& out) {
  std::string_view word = "forward";
  size_t at = name.find(word);
  if (at == std::string_view::npos) {
    word = "backward";
    at = name.find(word);
  }
  out.assign(name);
  if (at == std::string_view::npos) return;
  std::string_view left = name.substr(0, at), right = name.substr(at + word.size());
  right = right.substr(0, right.find(word));
  for (int pieces = 0; pieces < 2; ++pieces) {
    const size_t dot = left.rfind('.');
    if (dot == std::string_view::npos) break;
    left = left.substr(0, dot);
  }
  out.assign(left).append(".").append(word).append(right);
}

namespace {

void join_in_turn(PairingBuilder& builder, const Keys& keys, bool wants_shape,
                  const CompatibleTypes& compatible) {
  Interner labels;
  std::string text;
  const auto label_of = [&](std::string_view key, const Item& item) {
    if (key.empty()) return kNeverMatches;
    strip_call_of_msprobe(key, text);
    if (wants_shape) text.append(1, '\0').append(stated_shape(item));
    return labels.number(text);
  };
  std::vector<uint32_t> mine_labels, golden_labels;
  for (size_t m = 0; m < builder.size(Side::mine); ++m)
    mine_labels.push_back(label_of(keys.key[m], builder.item(Side::mine, m)));
  for (size_t g = 0; g < builder.size(Side::golden); ++g)
    golden_labels.push_back(label_of(builder.name(Side::golden, g), builder.item(Side::golden, g)));

  RowQueue mine(std::move(mine_labels), labels.size()), golden(std::move(golden_labels), labels.size());
  const size_t steps = std::max(mine.total(), golden.total());
  for (size_t step = 0; step < steps; ++step) {
    mine.enter();
    golden.enter();
    if (mine.empty() || golden.empty()) break;
    // The newest row of mine against all of golden, then the newest of golden against all of mine.
    std::optional<size_t> m = mine.last(), g = golden.find(mine.label(*m));
    if (!g) {
      g = golden.last();
      m = mine.find(golden.label(*g));
    }
    if (!m) continue;
    mine.leave_through(*m);
    golden.leave_through(*g);
    const Item &item = builder.item(Side::mine, *m), &other = builder.item(Side::golden, *g);
    if (compatible(stated_dtype(item), stated_dtype(other)))
      builder.join(*m, *g, keys.key[*m] == other.name ? keys.why[*m] : Why::same_but_for_call);
    else
      builder.explain(*m, Why::other_dtype);
  }
}

}  // namespace

JoinFuzzily msprobe_fuzzy_join(Generation generation, const Mappings& mappings) {
  const bool wants_shape = generation != Generation::g3;
  const TypeRule rule = type_rule(generation, mappings);
  return [wants_shape, rule](const Indexed& frames, PairingBuilder& builder, const Keys& keys) {
    join_in_turn(builder, keys, wants_shape, CompatibleTypes(frames, rule));
  };
}

Join msprobe_join(Generation generation, const Mappings& mappings) {
  const bool wants_shape = generation != Generation::g3;
  const TypeRule rule = type_rule(generation, mappings);
  return {true, [wants_shape, rule](const Indexed& frames) -> Objection {
            return [wants_shape, compatible = CompatibleTypes(frames, rule)](
                       const Item& mine, const Item& golden) -> std::optional<Why> {
              if (wants_shape && stated_shape(mine) != stated_shape(golden)) return Why::other_shape;
              if (!compatible(stated_dtype(mine), stated_dtype(golden))) return Why::other_dtype;
              return std::nullopt;
            };
          }};
}

void order_ranks_by_name(std::vector<int>& mine, std::vector<int>& golden) {
  const std::vector<int> rising_mine = mine, rising_golden = golden;
  const auto name = [](int rank) { return rank < 0 ? std::string() : std::to_string(rank); };
  for (std::vector<int>* side : {&mine, &golden})
    std::sort(side->begin(), side->end(), [&](int a, int b) { return name(a) < name(b); });
  if (mine != golden && (mine != rising_mine || golden != rising_golden))
    log::warn(
        "ranks are paired in the order of their names, as msprobe 1.1 does: {} of mine with {} of golden",
        fmt::join(mine, ", "), fmt::join(golden, ", "));
}

}  // namespace assay
