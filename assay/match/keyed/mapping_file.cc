#include "assay/match/keyed/mapping_file.h"

#include "assay/match/frames.h"
#include "assay/match/keyed/keyed.h"
#include "assay/match/keyed/unused_names.h"

#include <unordered_map>
#include <unordered_set>

namespace assay {
namespace {

Result<Pairing> match_by_file(const Indexed& frames, const MatchOptions& options) {
  if (!options.mappings->data)
    return fail(ErrorKind::bad_argument, "--match data needs a data mapping: a file of 'mine: golden' names");
  const NameMapping& data = *options.mappings->data;
  std::unordered_map<std::string_view, std::string_view> golden;
  golden.reserve(data.size());
  for (const auto& [mine, other] : data) golden.emplace(mine, other);

  PairingBuilder builder(frames);
  Keys keys(builder);
  std::unordered_set<std::string_view> used;
  for (size_t m = 0; m < builder.size(Side::mine); ++m) {
    const auto found = golden.find(builder.name(Side::mine, m));
    if (found == golden.end()) continue;  // stays itself
    keys.key[m] = found->second;          // lives as long as the mapping
    keys.why[m] = Why::data_mapping;
    used.insert(found->first);
  }
  UnusedNames unused("data");
  for (const auto& [mine, other] : data) unused.add(Side::mine, mine, used.count(mine) > 0);
  unused.warn();
  return match_keys(frames, builder, keys, options, has_data_mapping(*options.mappings));
}

}  // namespace

const Matcher data_matcher = {"data", sections_by_at, match_by_file};

}  // namespace assay
