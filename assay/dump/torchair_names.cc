#include "assay/dump/torchair_names.h"

#include "assay/base/listing.h"
#include "assay/base/system_message.h"
#include "assay/base/text.h"
#include "assay/dump/op_folders.h"
#include "assay/support/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace assay {
namespace {

constexpr std::string_view kMinMaxOfGe = "_min_max.npz", kMinMaxOfFx = "_min_max.npy",
                           kStatsJson = ".stats.json";
constexpr size_t kShortestTime = 14;  // digits; what else is a number has fewer
constexpr int64_t kLargestMapping = int64_t{100} << 20;

bool is_all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool cut_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

// Which of the words is the time: the last one that is long enough, or else the last one.
std::optional<size_t> find_time(const std::vector<std::string_view>& words) {
  constexpr size_t kMostBehind = 4;
  for (size_t behind = 0; behind <= kMostBehind && behind + 4 <= words.size(); ++behind) {
    const size_t i = words.size() - 1 - behind;
    if (!is_all_digits(words[i])) return std::nullopt;
    if (words[i].size() >= kShortestTime) return i;
  }
  return words.size() >= 5 ? std::optional(words.size() - 1) : std::nullopt;
}

}  // namespace

std::optional<GeFileName> parse_ge_file(std::string_view name) {
  GeFileName out;
  for (const std::string_view of_statistics : {kMinMaxOfGe, kStatsJson, std::string_view(".csv")})
    if (cut_suffix(name, of_statistics)) break;
  const std::vector<std::string_view> words = split(name, '.');
  const auto time = find_time(words);
  if (!time) return std::nullopt;
  // In front of it the task and the stream, or the task alone.
  size_t end = *time;
  for (size_t numbers = 0; numbers < 2 && end > 2 && is_all_digits(words[end - 1]); ++numbers) --end;
  if (end == *time || end < 2 || words[0].empty()) return std::nullopt;
  out.op_type = words[0];
  const char* const last = words[end - 1].data() + words[end - 1].size();
  out.op_name = std::string_view(words[1].data(), static_cast<size_t>(last - words[1].data()));
  out.timestamp = words[*time];
  if (out.op_name.empty()) return std::nullopt;
  return out;
}

std::optional<FxFileName> parse_fx_file(std::string_view name) {
  FxFileName out;
  cut_suffix(name, kStatsJson);
  if (!cut_suffix(name, kMinMaxOfFx) && !cut_suffix(name, ".npy")) return std::nullopt;
  size_t mark = std::string_view::npos, length = 0;
  for (const auto& [word, direction] : {std::pair{std::string_view(".INPUT."), Direction::input},
                                        std::pair{std::string_view(".OUTPUT."), Direction::output}}) {
    const size_t found = name.rfind(word);
    if (found == std::string_view::npos || (mark != std::string_view::npos && found < mark)) continue;
    mark = found;
    length = word.size();
    out.port.direction = direction;
  }
  if (mark == std::string_view::npos || mark == 0) return std::nullopt;
  out.key = name.substr(0, mark);
  const std::vector<std::string_view> words = split(name.substr(mark + length), '.');
  if (words.size() < 2 || words.size() > 3) return std::nullopt;
  const auto index = whole_number(words[0]);
  if (!index) return std::nullopt;
  out.port.index = *index;
  if (words.size() == 3) {
    const auto part = whole_number(words[1]);
    if (!part) return std::nullopt;
    out.part = *part;
  }
  const std::string_view tail = words.back();
  out.timestamp = tail.substr(0, tail.find_first_not_of("0123456789"));
  if (out.timestamp.empty()) return std::nullopt;
  constexpr std::string_view kRank = "_rank_";
  if (const size_t rank = tail.find(kRank); rank != std::string_view::npos) {
    const std::string_view rest = tail.substr(rank + kRank.size());
    out.rank = whole_number(rest.substr(0, rest.find('_'))).value_or(-1);
  }
  return out;
}

std::optional<GraphFileName> parse_graph_file(std::string_view name, std::string_view kind) {
  const std::string begin = fmt::format("dynamo_{}_graph_", kind);
  if (!name.starts_with(begin) || !name.ends_with(".txt")) return std::nullopt;
  GraphFileName out;
  const std::vector<std::string_view> words = split(name.substr(begin.size()), '_');
  out.graph = whole_number(words[0]).value_or(-1);
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "rank") out.rank = whole_number(words[i + 1]).value_or(-1);
  return out;
}

std::optional<int> rank_of_folder(std::string_view name) {
  const size_t rank = name.rfind("rank");
  if (!name.starts_with("worldsize") || rank == std::string_view::npos) return std::nullopt;
  return whole_number(name.substr(rank + 4));
}

std::optional<int> graph_of_folder(std::string_view name) {
  constexpr std::string_view kGraph = "graph_";
  return name.starts_with(kGraph) ? whole_number(name.substr(kGraph.size())) : std::nullopt;
}

bool is_time_folder(std::string_view name) { return name.size() == kShortestTime && is_all_digits(name); }

bool may_hold_tokens(const std::string& relative, const std::vector<int>& ranks) {
  const std::string name = relative.substr(relative.rfind('/') + 1);
  if (!is_all_digits(name) && !rank_of_folder(name) && !graph_of_folder(name) && !name.starts_with("gm_"))
    return false;
  return ranks.empty() || std::ranges::all_of(split(relative, '/'), [&](std::string_view part) {
           const auto rank = rank_of_folder(part);
           return !rank || std::ranges::find(ranks, *rank) != ranks.end();
         });
}

SourceFile source_of(std::string_view name) {
  SourceFile source{name, {}};
  if (cut_suffix(source.name, kStatsJson))
    source.kind = SourceFile::Kind::statistics;
  else if (cut_suffix(source.name, kMinMaxOfGe))
    source.kind = SourceFile::Kind::range;
  else if (cut_suffix(source.name, kMinMaxOfFx))
    source = {source.name, ".npy", SourceFile::Kind::range};
  return source;
}

std::vector<fs::path> files_that_count(const fs::path& folder, Remarks& warnings) {
  struct Found {
    fs::path path;
    SourceFile::Kind kind;
  };
  std::map<std::string, Found> files;  // by what they stand for
  const auto listing = list_folder(folder);
  for (const ListedEntry& entry : listing->entries) {
    if (entry.kind == ListedEntry::Kind::folder) continue;
    const SourceFile source = source_of(entry.name);
    std::string key(source.name);
    key += source.extension;
    const Found found{folder / entry.name, source.kind};
    const auto [known, is_new] = files.try_emplace(std::move(key), found);
    if (!is_new && source.kind < known->second.kind) known->second = found;
  }
  if (listing->error != 0)
    warnings.push_back(
        unreadable(fmt::format("{}: cannot be read: {}", display(folder), system_message(listing->error))));
  std::vector<fs::path> paths;
  for (auto& [name, file] : files) paths.push_back(std::move(file.path));
  return paths;
}

std::unordered_map<std::string, std::string> read_long_names(const fs::path& folder, Remarks& warnings) {
  std::unordered_map<std::string, std::string> names;
  auto file = File::open(folder / "mapping.csv");
  if (!file) {
    if (file.error().kind != ErrorKind::not_found) warnings.push_back(unreadable(file.error().message));
    return names;
  }
  if ((*file)->size() > kLargestMapping) {
    warnings.push_back(unreadable(fmt::format("{}: is not read: it has more than 100 MB", (*file)->name())));
    return names;
  }
  CsvReader rows(std::move(*file));
  std::vector<std::string> cells;
  for (;;) {
    const auto more = rows.next(cells);
    if (!more) warnings.push_back(unreadable(more.error().message + "; what stands behind it is not read"));
    if (!more || !*more) return names;
    if (cells.size() == 2) names.insert_or_assign(cells[0], cells[1]);
  }
}

}  // namespace assay
