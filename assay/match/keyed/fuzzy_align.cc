// Fuzzy matching of whole entries. Entries are joined in passes, the surest first; a later pass joins only
// what lies between the pairs of the earlier ones, so that a call that one side lacks does not shift all the
// calls behind it. Every pass sorts: n log n.
#include "assay/match/keyed/entry_name.h"
#include "assay/match/keyed/fuzzy.h"
#include "assay/match/keyed/key_groups.h"

#include <algorithm>
#include <tuple>

namespace assay {
namespace {

constexpr size_t kFree = static_cast<size_t>(-1);

struct Entry {
  size_t begin = 0, end = 0;                    // positions of its items
  uint32_t name = 0, stripped = 0, shapes = 0;  // numbers of an Interner; shapes: of all its items
  bool is_only_one = false;                     // no other entry of its side has this stripped name
  size_t partner = kFree;
};
using Entries = std::vector<Entry>;

// How two entries must agree. only_one: by the stripped name, which each side has just once in all.
enum class Agreement : uint8_t { name_and_shapes, stripped_and_shapes, name, stripped, only_one };

struct Pass {
  Agreement agreement;
  bool once = false;      // only entries that agree with just one of the other side
  bool in_order = false;  // only between the pairs made so far, and without crossing each other
};

struct Candidate {
  size_t mine, golden;
};

// Indices of a longest sequence of candidates that rises in golden; candidates rise in mine.
std::vector<size_t> longest_rising(const std::vector<Candidate>& candidates) {
  std::vector<size_t> tails;  // tails[k]: the candidate that ends the best rising sequence of k + 1
  std::vector<size_t> before(candidates.size(), kFree);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto place =
        std::lower_bound(tails.begin(), tails.end(), candidates[i].golden,
                         [&](size_t tail, size_t golden) { return candidates[tail].golden < golden; });
    if (place != tails.begin()) before[i] = *(place - 1);
    if (place == tails.end())
      tails.push_back(i);
    else
      *place = i;
  }
  std::vector<size_t> chosen(tails.size());
  size_t at = tails.empty() ? kFree : tails.back();
  for (size_t k = chosen.size(); k-- > 0; at = before[at]) chosen[k] = at;
  return chosen;
}

class Alignment {
 public:
  Alignment(Entries& mine, Entries& golden) : mine_(mine), golden_(golden) {}

  // Joins free entries that agree, the k-th of mine with the k-th of golden.
  void join_free(const Pass& pass) {
    std::vector<Candidate> found = candidates(pass);
    std::sort(found.begin(), found.end(),
              [](const Candidate& a, const Candidate& b) { return a.mine < b.mine; });
    if (!pass.in_order) {
      for (const Candidate& pair : found) join(pair);
      return;
    }
    for (const size_t i : longest_rising(found)) join(found[i]);
  }

 private:
  struct Labelled {
    size_t section;  // pairs made so far that lie before it
    uint32_t first, second;
    size_t entry;
    auto label() const { return std::tie(section, first, second); }
    bool operator<(const Labelled& other) const {
      return std::tie(section, first, second, entry) <
             std::tie(other.section, other.first, other.second, other.entry);
    }
  };

  void join(const Candidate& pair) {
    mine_[pair.mine].partner = pair.golden;
    golden_[pair.golden].partner = pair.mine;
  }

  // The pairs made so far that do not cross, as boundaries.
  std::vector<Candidate> anchors() const {
    std::vector<Candidate> pairs, chosen;
    for (size_t m = 0; m < mine_.size(); ++m)
      if (mine_[m].partner != kFree) pairs.push_back({m, mine_[m].partner});
    for (const size_t i : longest_rising(pairs)) chosen.push_back(pairs[i]);
    return chosen;
  }

  static std::vector<Labelled> free_entries(const Entries& entries, Agreement agreement,
                                            const std::vector<Candidate>& anchors, Side side) {
    std::vector<Labelled> free;
    size_t section = 0;
    for (size_t e = 0; e < entries.size(); ++e) {
      const Entry& entry = entries[e];
      while (section < anchors.size() &&
             (side == Side::mine ? anchors[section].mine : anchors[section].golden) <= e)
        ++section;
      if (entry.partner != kFree || (agreement == Agreement::only_one && !entry.is_only_one)) continue;
      const bool by_name = agreement == Agreement::name_and_shapes || agreement == Agreement::name;
      const bool by_shapes =
          agreement == Agreement::name_and_shapes || agreement == Agreement::stripped_and_shapes;
      free.push_back({section, by_name ? entry.name : entry.stripped, by_shapes ? entry.shapes : 0, e});
    }
    std::sort(free.begin(), free.end());
    return free;
  }

  std::vector<Candidate> candidates(const Pass& pass) const {
    const std::vector<Candidate> bounds = pass.in_order ? anchors() : std::vector<Candidate>();
    const std::vector<Labelled> mine = free_entries(mine_, pass.agreement, bounds, Side::mine);
    const std::vector<Labelled> golden = free_entries(golden_, pass.agreement, bounds, Side::golden);
    const auto run_end = [](const std::vector<Labelled>& list, size_t begin) {
      size_t end = begin;
      while (end < list.size() && list[end].label() == list[begin].label()) ++end;
      return end;
    };
    std::vector<Candidate> found;
    for (size_t m = 0, g = 0; m < mine.size() && g < golden.size();) {
      if (mine[m].label() < golden[g].label()) {
        ++m;
      } else if (golden[g].label() < mine[m].label()) {
        ++g;
      } else {
        const size_t m_end = run_end(mine, m), g_end = run_end(golden, g);
        if (!pass.once || (m_end - m == 1 && g_end - g == 1))
          for (size_t k = 0; k < std::min(m_end - m, g_end - g); ++k)
            found.push_back({mine[m + k].entry, golden[g + k].entry});
        m = m_end;
        g = g_end;
      }
    }
    return found;
  }

  Entries& mine_;
  Entries& golden_;
};

struct Words {
  Interner texts;
  std::vector<uint32_t> rests[2];  // by side and position: the part of the key behind the entry
};

void append_number(std::string& text, uint32_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// key_of(position) is empty where an item is left out.
template <class KeyOf>
Entries list_entries(const PairingBuilder& builder, Side side, const KeyOf& key_of, Words& words) {
  Entries entries;
  std::string text, shapes;
  std::vector<uint32_t>& rests = words.rests[static_cast<size_t>(side)];
  rests.resize(builder.size(side));
  for (size_t begin = 0, end = 0; begin < builder.size(side); begin = end) {
    end = builder.end_of_node(side, begin);
    const std::string_view own = builder.node(side, begin).name;
    std::string_view name;
    bool is_used = false;
    shapes.clear();
    for (size_t i = begin; i < end; ++i) {
      if (key_of(i).empty()) continue;
      is_used = true;
      const SplitKey split = split_key(key_of(i), own);
      if (name.empty()) name = split.entry;
      rests[i] = words.texts.number(split.rest);
      append_number(shapes, rests[i]);
      append_number(shapes, words.texts.number(stated_shape(builder.item(side, i))));
    }
    if (!is_used) continue;
    if (name.empty()) name = own;
    strip_call(name, text);
    entries.push_back(
        {begin, end, words.texts.number(name), words.texts.number(text), words.texts.number(shapes)});
  }
  std::vector<uint32_t> count(words.texts.size(), 0);
  for (const Entry& entry : entries) ++count[entry.stripped];
  for (Entry& entry : entries) entry.is_only_one = count[entry.stripped] == 1;
  return entries;
}

// Items of two joined entries whose names go on in the same way; repeated ones in order.
void join_items(PairingBuilder& builder, const Keys& keys, const Entry& mine, const Entry& golden,
                const Words& words) {
  using Rest = std::pair<uint32_t, size_t>;
  std::vector<Rest> ours, theirs;
  for (size_t m = mine.begin; m < mine.end; ++m)
    if (!keys.key[m].empty()) ours.emplace_back(words.rests[0][m], m);
  for (size_t g = golden.begin; g < golden.end; ++g) theirs.emplace_back(words.rests[1][g], g);
  std::sort(ours.begin(), ours.end());
  std::sort(theirs.begin(), theirs.end());
  auto other = theirs.begin();
  for (const auto& [rest, m] : ours) {
    while (other != theirs.end() && other->first < rest) ++other;
    if (other == theirs.end() || other->first != rest) continue;
    const bool same = keys.key[m] == builder.name(Side::golden, other->second);
    builder.join(m, other->second, same ? keys.why[m] : Why::same_but_for_call);
    ++other;
  }
}

}  // namespace

void join_aligned(PairingBuilder& builder, const Keys& keys) {
  Words words;
  Entries mine = list_entries(
      builder, Side::mine, [&](size_t m) { return keys.key[m]; }, words);
  Entries golden = list_entries(
      builder, Side::golden, [&](size_t g) { return builder.name(Side::golden, g); }, words);

  Alignment alignment(mine, golden);
  for (const Pass& pass : {
           Pass{.agreement = Agreement::name_and_shapes},
           Pass{.agreement = Agreement::stripped_and_shapes, .once = true, .in_order = true},
           Pass{.agreement = Agreement::stripped_and_shapes, .in_order = true},
           Pass{.agreement = Agreement::name},
           Pass{.agreement = Agreement::stripped, .once = true, .in_order = true},
           Pass{.agreement = Agreement::stripped, .in_order = true},
           Pass{.agreement = Agreement::only_one},
       })
    alignment.join_free(pass);
  for (const Entry& entry : mine)
    if (entry.partner != kFree) join_items(builder, keys, entry, golden[entry.partner], words);
}

}  // namespace assay
