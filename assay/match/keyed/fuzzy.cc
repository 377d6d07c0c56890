#include "assay/match/keyed/fuzzy.h"

#include "assay/match/frames.h"
#include "assay/match/keyed/dtype_rule.h"
#include "assay/match/keyed/key_groups.h"

#include <algorithm>

namespace assay {
namespace {

constexpr uint32_t kNeverMatches = static_cast<uint32_t>(-1);

// One side of the procedure: its rows enter in order, and leave from the front.
class Queue {
 public:
  Queue(std::vector<uint32_t> labels, size_t label_count) : labels_(std::move(labels)) {
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

Result<Pairing> match(const Indexed& frames, const MatchOptions& options) {
  PairingBuilder builder(frames);
  const Keys keys(builder);
  return match_fuzzily(frames, builder, keys, options);
}

}  // namespace

void strip_as_msprobe(std::string_view name, std::string& out) {
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

void join_in_turn(const Indexed& frames, PairingBuilder& builder, const Keys& keys,
                  const MatchOptions& options) {
  Interner labels;
  std::string text;
  const auto label_of = [&](std::string_view key, const Item& item) {
    if (key.empty()) return kNeverMatches;
    strip_as_msprobe(key, text);
    if (options.fuzzy_wants_shape) text.append(1, '\0').append(stated_shape(item));
    return labels.number(text);
  };
  std::vector<uint32_t> mine_labels, golden_labels;
  for (size_t m = 0; m < builder.size(Side::mine); ++m)
    mine_labels.push_back(label_of(keys.key[m], builder.item(Side::mine, m)));
  for (size_t g = 0; g < builder.size(Side::golden); ++g)
    golden_labels.push_back(label_of(builder.name(Side::golden, g), builder.item(Side::golden, g)));

  Queue mine(std::move(mine_labels), labels.size()), golden(std::move(golden_labels), labels.size());
  const CompatibleTypes compatible(frames, options);
  const bool any_dtype = options.join == Join::in_order || options.join == Join::all;
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
    if (any_dtype || compatible(stated_dtype(item), stated_dtype(other)))
      builder.join(*m, *g, keys.key[*m] == other.name ? keys.why[*m] : Why::same_but_for_call);
    else
      builder.explain(*m, Why::other_dtype);
  }
}

Result<Pairing> match_fuzzily(const Indexed& frames, PairingBuilder& builder, const Keys& keys,
                              const MatchOptions& options) {
  for (size_t m = 0; m < keys.key.size(); ++m)
    if (keys.key[m].empty()) builder.explain(m, keys.why[m]);
  if (options.fuzzy_in_turn)
    join_in_turn(frames, builder, keys, options);
  else
    join_aligned(builder, keys);
  return builder.finish();
}

const Matcher fuzzy_matcher = {"fuzzy", sections_by_at, match};

}  // namespace assay
