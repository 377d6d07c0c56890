#include "assay/compat/msprobe/entries_in_turn.h"

#include "assay/base/text.h"
#include "assay/compat/msprobe/compatible_types.h"
#include "assay/compat/msprobe/joins.h"
#include "assay/match/frames.h"
#include "assay/match/keyed/key_groups.h"
#include "assay/match/keyed/keyed.h"

#include <algorithm>

namespace assay {
namespace {

constexpr uint32_t kNone = static_cast<uint32_t>(-1);
// Entries of one name whose lists of types differ are looked through one list after the other.
constexpr size_t kMostKinds = 10'000;

bool counts(const Item& item) {
  return item.port.direction == Direction::input || item.port.direction == Direction::output;
}

struct Entry {
  std::vector<uint32_t> items;  // positions of those that count; none: it never enters a queue
  uint32_t kind = kNone;
  size_t end = 0;  // first position behind it
};

// Entries that fit the same others.
struct Kind {
  uint32_t group = 0;     // equal names and shapes
  bool has_both = false;  // inputs and outputs: only then may types differ
  const Entry* example = nullptr;
  Side side = Side::mine;
};

class Kinds {
 public:
  Kinds(const PairingBuilder& builder, const Indexed& frames, const MatchOptions& options)
      : builder_(builder),
        compatible_(frames, type_rule(Generation::g1, *options.mappings)),
        fuzzy_(options.fuzzy) {
    for (const Frame& frame : frames.mine) by_checksum_ |= frame.content == Content::checksums;
  }

  Result<void> classify(Side side, std::vector<Entry>& entries) {
    for (Entry& entry : entries) {
      if (entry.items.empty()) continue;
      const Kind kind = describe(side, entry);
      entry.kind = texts_.number(text_);
      if (entry.kind >= kinds_.size()) kinds_.resize(entry.kind + 1);
      if (kinds_[entry.kind].example != nullptr) continue;
      kinds_[entry.kind] = kind;
      if (kind.group >= groups_.size()) groups_.resize(kind.group + 1);
      groups_[kind.group].push_back(entry.kind);
      if (groups_[kind.group].size() > kMostKinds)
        return fail(ErrorKind::limit, "entries of the name '{}' have more than {} different lists of types",
                    printable(builder_.name(side, entry.items[0])), kMostKinds);
    }
    return {};
  }

  size_t size() const { return kinds_.size(); }
  const std::vector<uint32_t>& akin(uint32_t kind) const { return groups_[kinds_[kind].group]; }

  bool fit(uint32_t a, uint32_t b) const {
    if (a == b) return true;
    const Kind &x = kinds_[a], &y = kinds_[b];
    if (!x.has_both || !y.has_both) return false;
    for (size_t i = 0; i < x.example->items.size(); ++i)
      if (!compatible_(dtype(x, i), dtype(y, i))) return false;
    return true;
  }

 private:
  std::string_view dtype(const Kind& kind, size_t i) const {
    return stated_dtype(builder_.item(kind.side, kind.example->items[i]));
  }

  // Leaves the text of the kind in text_.
  Kind describe(Side side, const Entry& entry) {
    Kind kind{.example = &entry, .side = side};
    // A module that is called "input" makes inputs of its outputs.
    const auto tokens = split(builder_.node(side, entry.items[0]).name, '.');
    const bool all_inputs = std::find(tokens.begin(), tokens.end(), "input") != tokens.end();
    size_t inputs = 0;
    text_.clear();
    for (const uint32_t position : entry.items) {
      const Item& item = builder_.item(side, position);
      if (all_inputs || item.port.direction == Direction::input) ++inputs;
      name_.assign(item.name);
      if (fuzzy_) strip_call_of_msprobe(item.name, name_);
      text_.append(name_).append(1, '\0').append(stated_shape(item)).append(1, '\0');
    }
    text_ += std::to_string(inputs);
    kind.group = group_texts_.number(text_);
    kind.has_both = inputs > 0 && inputs < entry.items.size();
    for (const uint32_t position : entry.items) {
      const Item& item = builder_.item(side, position);
      text_.append(1, '\0').append(stated_dtype(item));
      // Where there are no inputs or no outputs the original wants everything it knows to be equal.
      if (by_checksum_ && !kind.has_both && item.stated != nullptr)
        text_.append(1, '\0').append(item.stated->checksum);
    }
    return kind;
  }

  const PairingBuilder& builder_;
  const CompatibleTypes compatible_;
  const bool fuzzy_;
  bool by_checksum_ = false;
  Interner texts_, group_texts_;
  std::vector<Kind> kinds_;
  std::vector<std::vector<uint32_t>> groups_;
  std::string text_, name_;
};

// Entries of one side that were read and are not matched yet.
class EntryQueue {
 public:
  EntryQueue(const std::vector<Entry>& entries, size_t kinds)
      : entries_(entries), next_same_(entries.size(), entries.size()), first_(kinds, entries.size()) {
    for (size_t e = entries.size(); e-- > 0;) {
      if (entries[e].kind == kNone) continue;
      next_same_[e] = first_[entries[e].kind];
      first_[entries[e].kind] = e;
    }
  }

  // Returns whether the queue became longer.
  bool read() {
    if (read_ == entries_.size()) return false;
    const size_t entry = read_++;
    if (entries_[entry].kind == kNone) return false;
    if (waiting_++ == 0) begin_ = entry;
    newest_ = entry;
    return true;
  }
  bool is_empty() const { return waiting_ == 0; }
  size_t already_read() const { return read_; }
  size_t newest() const { return newest_; }

  void leave_through(size_t entry) {
    for (; begin_ <= entry; ++begin_)
      if (entries_[begin_].kind != kNone) --waiting_;
  }

  // The oldest one that fits.
  std::optional<size_t> find(uint32_t kind, const Kinds& kinds) {
    size_t oldest = read_;
    for (const uint32_t other : kinds.akin(kind)) {
      size_t& entry = first_[other];
      while (entry < begin_) entry = next_same_[entry];
      if (entry < oldest && kinds.fit(kind, other)) oldest = entry;
    }
    return oldest < read_ ? std::optional(oldest) : std::nullopt;
  }

 private:
  const std::vector<Entry>& entries_;
  std::vector<size_t> next_same_, first_;  // chains of entries of one kind; entries_.size(): no more
  size_t read_ = 0, begin_ = 0, newest_ = 0, waiting_ = 0;
};

std::vector<Entry> list_entries(const PairingBuilder& builder, Side side) {
  std::vector<Entry> entries;
  size_t position = 0;
  for (const Frame& frame : builder.frames(side))
    for (const Node& node : frame.nodes) {
      Entry& entry = entries.emplace_back();
      for (const Item& item : node.items) {
        if (counts(item)) entry.items.push_back(static_cast<uint32_t>(position));
        ++position;
      }
      entry.end = position;
    }
  return entries;
}

// What is no input or output stands in no table of msprobe 1.1; for ours it is paired by name.
void join_the_rest(PairingBuilder& builder) {
  const auto names = [&](Side side) {
    std::vector<std::string_view> list;
    for (size_t i = 0; i < builder.size(side); ++i)
      list.push_back(counts(builder.item(side, i)) ? std::string_view() : builder.name(side, i));
    return list;
  };
  const std::vector<std::string_view> mine = names(Side::mine), golden = names(Side::golden);
  const KeyGroups groups(golden);
  const std::vector<uint32_t> earlier = count_earlier(mine);
  for (size_t m = 0; m < mine.size(); ++m) {
    const auto group = groups.find(mine[m]);
    if (earlier[m] < group.size()) builder.join(m, group[earlier[m]], Why::same_name);
  }
}

Result<Pairing> match(const Indexed& frames, const MatchOptions& options) {
  PairingBuilder builder(frames);
  std::vector<Entry> mine = list_entries(builder, Side::mine), golden = list_entries(builder, Side::golden);
  Kinds kinds(builder, frames, options);
  ASSAY_TRY_DO(kinds.classify(Side::mine, mine));
  ASSAY_TRY_DO(kinds.classify(Side::golden, golden));
  EntryQueue ours(mine, kinds.size()), theirs(golden, kinds.size());
  const size_t steps = std::max(mine.size(), golden.size());
  bool ends_early = false;
  for (size_t step = 0; step < steps && !ends_early; ++step) {
    const bool longer = ours.read(), theirs_longer = theirs.read();
    if (!longer && !theirs_longer) continue;
    ends_early = ours.is_empty() || theirs.is_empty();
    if (ends_early) break;
    // The newest of mine against all of golden, then the newest of golden against all of mine.
    std::optional<size_t> m = ours.newest(), g = theirs.find(mine[*m].kind, kinds);
    if (!g) {
      g = theirs.newest();
      m = ours.find(golden[*g].kind, kinds);
    }
    if (!m) continue;
    ours.leave_through(*m);
    theirs.leave_through(*g);
    for (size_t i = 0; i < mine[*m].items.size(); ++i) {
      const size_t a = mine[*m].items[i], b = golden[*g].items[i];
      const bool same = builder.name(Side::mine, a) == builder.name(Side::golden, b);
      builder.join(a, b, same ? Why::same_name : Why::same_but_for_call);
    }
  }
  if (ends_early)
    for (size_t e = ours.already_read(); e < mine.size(); ++e)
      for (const uint32_t m : mine[e].items) builder.explain(m, Why::not_reached);
  join_the_rest(builder);
  return builder.finish();
}

}  // namespace

const Matcher entries_in_turn_matcher = {"entry in turn", sections_by_at, match};

}  // namespace assay
