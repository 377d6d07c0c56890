#include "assay/match/keyed/keyed.h"

#include "assay/base/text.h"
#include "assay/match/keyed/entry_name.h"
#include "assay/match/keyed/fuzzy.h"
#include "assay/match/keyed/key_groups.h"
#include "assay/match/keyed/renumber.h"

#include <unordered_map>

namespace assay {
namespace {

// Repeated names multiply where every one is joined with every one; a dump that repeats one name a million
// times must not ask for a million million pairs.
class PairLimit {
 public:
  explicit PairLimit(const PairingBuilder& builder)
      : limit_(1'000'000 + 8 * (builder.size(Side::mine) + builder.size(Side::golden))) {}

  Result<void> add(std::string_view key, size_t partners) {
    pairs_ += partners;
    if (pairs_ <= limit_) return {};
    return fail(ErrorKind::limit,
                "names repeat so often that there would be more than {} pairs; '{}' is {} times in golden",
                limit_, printable(key), partners);
  }

 private:
  const size_t limit_;
  size_t pairs_ = 0;
};

void join_in_order(PairingBuilder& builder, const Keys& keys, const KeyGroups& groups, bool mapped) {
  // Two names that are mapped to one are meant to share it; the same name twice is not.
  std::vector<std::string_view> names;
  if (mapped) {
    names.reserve(keys.key.size());
    for (size_t m = 0; m < keys.key.size(); ++m) names.push_back(builder.name(Side::mine, m));
  }
  const std::vector<uint32_t> earlier = count_earlier(mapped ? names : keys.key);
  for (size_t m = 0; m < keys.key.size(); ++m) {
    const auto group = groups.find(keys.key[m]);
    if (earlier[m] < group.size()) builder.join(m, group[earlier[m]], keys.why[m]);
  }
}

// "….forward.input.weight" for "….forward.kwargs.weight", empty for any other name. A dump of tensors names
// what was passed by keyword after its file, one of statistics after its place in the entry.
std::string keyword_as_input(std::string_view name, std::string_view entry_name) {
  constexpr std::string_view kKeyword = ".kwargs.";
  const auto [entry, rest] = split_key(name, entry_name);
  if (entry.empty() || !rest.starts_with(kKeyword)) return {};
  return std::string(entry) + ".input." + std::string(rest.substr(kKeyword.size()));
}

// Among what is left, what was passed by keyword and only one side says so.
void join_keywords(PairingBuilder& builder, const Keys& keys) {
  for (const Side side : {Side::mine, Side::golden}) {
    const Side other = side == Side::mine ? Side::golden : Side::mine;
    const auto key = [&](Side of, size_t i) { return of == Side::mine ? keys.key[i] : builder.name(of, i); };
    std::vector<std::pair<size_t, std::string>> waiting;
    for (size_t i = 0; i < builder.size(side); ++i)
      if (!builder.is_joined(side, i))
        if (std::string name = keyword_as_input(key(side, i), builder.node(side, i).name); !name.empty())
          waiting.emplace_back(i, std::move(name));
    if (waiting.empty()) continue;
    std::unordered_map<std::string_view, size_t> left;
    for (size_t i = 0; i < builder.size(other); ++i)
      if (!builder.is_joined(other, i)) left.try_emplace(key(other, i), i);
    for (const auto& [i, name] : waiting) {
      const auto found = left.find(name);
      if (found == left.end() || builder.is_joined(other, found->second)) continue;
      const size_t m = side == Side::mine ? i : found->second, g = side == Side::mine ? found->second : i;
      builder.join(m, g, keys.why[m]);
    }
  }
}

Result<void> join_every(PairingBuilder& builder, const Keys& keys, const KeyGroups& groups,
                        const Objection& objection) {
  PairLimit limit(builder);
  for (size_t m = 0; m < keys.key.size(); ++m) {
    const Item& item = builder.item(Side::mine, m);
    Why reason = Why::nothing_fits;
    const auto partners = groups.find(keys.key[m]);
    ASSAY_TRY_DO(limit.add(keys.key[m], partners.size()));
    for (const uint32_t g : partners) {
      const Item& other = builder.item(Side::golden, g);
      const auto against = objection ? objection(item, other) : std::nullopt;
      if (!against)
        builder.join(m, g, keys.why[m]);
      else if (reason == Why::nothing_fits || *against == Why::other_dtype)
        reason = *against;
    }
    builder.explain(m, reason);
  }
  return {};
}

}  // namespace

Keys::Keys(const PairingBuilder& builder) : why(builder.size(Side::mine), Why::same_name) {
  key.reserve(why.size());
  for (size_t m = 0; m < why.size(); ++m) {
    key.push_back(builder.name(Side::mine, m));
    if (key[m].empty()) why[m] = Why::nothing_fits;
  }
}

void Keys::set(size_t position, std::string_view new_key, Why new_why) {
  key[position] = pool.keep(new_key);
  why[position] = new_why;
}

void Keys::leave_out(size_t position, Why reason) {
  key[position] = {};
  why[position] = reason;
}

bool has_data_mapping(const Mappings& mappings) {
  return mappings.by_layer || (mappings.data && !mappings.data->empty());
}

Result<Pairing> match_keys(const Indexed& frames, PairingBuilder& builder, Keys& keys,
                           const MatchOptions& options, bool mapped) {
  if (options.fuzzy && !mapped) return match_fuzzily(frames, builder, keys, options);
  std::vector<std::string_view> golden_keys;
  golden_keys.reserve(builder.size(Side::golden));
  for (size_t g = 0; g < builder.size(Side::golden); ++g)
    golden_keys.push_back(builder.name(Side::golden, g));
  if (options.renumber_backward) renumber_backward(builder, keys, golden_keys);

  const Join& join = mapped ? options.mapped_join : options.join;
  builder.expect(keys.key.size());
  auto groups = std::make_optional<const KeyGroups>(golden_keys);
  if (join.every) {
    ASSAY_TRY_DO(join_every(builder, keys, *groups, join.objection ? join.objection(frames) : Objection()));
  } else {
    join_in_order(builder, keys, *groups, mapped);
    join_keywords(builder, keys);
  }
  for (size_t m = 0; m < keys.key.size(); ++m)
    if (keys.key[m].empty()) builder.explain(m, keys.why[m]);
  // Both are as large as the pairing that is made next, and are not needed any more.
  groups.reset();
  golden_keys = {};
  return builder.finish();
}

}  // namespace assay
