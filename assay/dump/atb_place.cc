#include "assay/dump/atb_place.h"

#include "assay/base/text.h"
#include "assay/dump/atb_graph.h"
#include "assay/dump/atb_statistics.h"
#include "assay/graph/atb_topology.h"

#include <algorithm>

namespace assay {
namespace {

// Operators within operators that a look goes down, and folders that it enters: links may lead in circles.
constexpr int kDeepest = 16, kMostFolders = 4096;

// "12_LinearOperation"
bool has_op_name(const fs::path& path) {
  const std::string name = path.filename().native();
  const size_t mark = name.find('_');
  return mark != std::string::npos && mark + 1 < name.size() &&
         whole_number(name.substr(0, mark)).has_value();
}

// Whether an operator that has tensors is in the folder, or in an operator in it.
bool holds_op(const fs::path& folder) {
  std::vector<std::pair<fs::path, int>> waiting = {{folder, 0}};
  for (int entered = 0; !waiting.empty() && entered < kMostFolders; ++entered) {
    const auto [next, depth] = std::move(waiting.back());
    waiting.pop_back();
    const std::vector<fs::path> below = folders_in(next);
    for (auto each = below.rbegin(); each != below.rend(); ++each) {
      if (!has_op_name(*each)) continue;
      if (is_folder(*each / "after") || is_folder(*each / "before")) return true;
      if (depth < kDeepest) waiting.emplace_back(*each, depth + 1);
    }
  }
  return false;
}

bool is_rank(const fs::path& folder) {
  if (folder.filename().native().find('_') == std::string::npos) return false;
  const std::vector<fs::path> rounds = folders_in(folder);
  return std::any_of(rounds.begin(), rounds.end(), is_atb_round);
}

std::vector<fs::path> ranks_in(const fs::path& folder) {
  std::vector<fs::path> ranks = folders_in(folder);
  std::erase_if(ranks, [](const fs::path& rank) { return !is_rank(rank); });
  return ranks;
}

bool is_dump_name(const fs::path& path) {
  const std::string name = path.filename().native();
  return name.starts_with("msit_dump") || name.starts_with("ait_dump") || name == "atb_dump_data";
}

fs::path without_slash(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

std::vector<fs::path> topology_folders(const fs::path& rank, std::string_view kind) {
  const std::string name = rank.filename().native();
  const size_t mark = name.rfind('_');
  const fs::path root = rank.parent_path().parent_path();
  std::vector<fs::path> folders;
  for (const fs::path& base : {root / kind, root / "info" / kind})
    for (const std::string& owner : {name.substr(mark + 1), name, name.substr(0, mark)})
      if (is_folder(base / owner)) folders.push_back(base / owner);
  return folders;
}

}  // namespace

bool is_atb_round(const fs::path& folder) {
  return is_atb_statistics(folder / kAtbStatistics) || holds_op(folder);
}

std::vector<fs::path> sibling_ranks(const fs::path& rank) {
  std::vector<fs::path> ranks = ranks_in(rank.parent_path());
  if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  return ranks;
}

AtbDumpPlace locate_atb(const fs::path& root) {
  if (!is_folder(root)) return {};
  const fs::path here = without_slash(root);
  if (is_atb_round(here)) return {{here.parent_path()}, here.filename().native(), {}};
  if (is_rank(here)) return {{here}, {}, {}};
  for (const fs::path& candidate : {here, here / "tensors", here / "data", here / "atb_dump_data" / "data"})
    if (auto ranks = ranks_in(candidate); !ranks.empty()) return {std::move(ranks), {}, {}};
  std::vector<fs::path> dumps = folders_in(here);
  std::erase_if(
      dumps, [](const fs::path& dump) { return !is_dump_name(dump) || ranks_in(dump / "tensors").empty(); });
  if (dumps.size() == 1) return {ranks_in(dumps[0] / "tensors"), {}, {}};
  if (dumps.size() > 1)
    return {{},
            {},
            fmt::format("{}: holds {} dumps; point at one of them, such as {}", display(root), dumps.size(),
                        display(dumps[0]))};
  return {};
}

AtbModels models_of(const fs::path& rank, int64_t memory, Remarks& warnings) {
  int64_t shift = 0;  // a transdata operation that runs first takes the first number
  for (const fs::path& layers : topology_folders(rank, "layer"))
    if (is_file(layers / "TransdataOperation_0.json")) shift = 1;
  AtbModels found{{}, std::make_shared<AtbGraphs>()};
  std::vector<AtbModel>& models = found.all;
  for (const fs::path& folder : topology_folders(rank, "model")) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (it->path().extension() != ".json") continue;
      auto topology = read_atb_topology(it->path(), memory);
      if (topology) {
        const int64_t first_order = topology->start_order + shift;
        models.push_back(
            {it->path(), std::make_shared<const AtbTopology>(std::move(*topology)), first_order});
      }
      if (!topology) warnings.push_back(topology.error().message);
    }
    if (!models.empty()) break;
  }
  std::sort(models.begin(), models.end(), [](const AtbModel& a, const AtbModel& b) {
    return std::tie(a.first_order, a.topology) < std::tie(b.first_order, b.topology);
  });
  return found;
}

}  // namespace assay
