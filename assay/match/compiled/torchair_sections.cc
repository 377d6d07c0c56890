#include "assay/match/compiled/torchair_sections.h"

#include "assay/base/text.h"
#include "assay/match/frames.h"
#include "assay/model/graph.h"
#include "assay/support/log.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace assay {
namespace {

// Number of a graph, and what else tells it from others.
struct GroupKey {
  int number;
  std::string part;
  friend bool operator<(const GroupKey& a, const GroupKey& b) {
    return a.number != b.number ? a.number < b.number : natural_less(a.part, b.part);
  }
};

GroupKey key_of(const FrameInfo& frame) { return {frame.at.graph, frame.at.part}; }

std::set<int> ranks_of(const Dump& dump) {
  std::set<int> ranks;
  for (const FrameInfo& frame : dump.frames) ranks.insert(frame.at.rank);
  return ranks;
}

// The frames of one graph of one rank.
struct Group {
  GroupKey key;
  std::string model = {};
  std::vector<FrameInfo*> frames = {};
  std::unordered_set<std::string> names = {};  // by which the other side may know it
};

std::vector<Group> groups_of(Dump& dump, int rank) {
  std::map<GroupKey, Group> groups;
  for (FrameInfo& frame : dump.frames) {
    if (frame.at.rank != rank) continue;
    Group& group = groups.try_emplace(key_of(frame), Group{key_of(frame), frame.model}).first->second;
    group.frames.push_back(&frame);
    group.names.insert(frame.op_names.begin(), frame.op_names.end());
    if (frame.graph == nullptr || group.frames.size() > 1) continue;
    for (const GraphOp& op : frame.graph->ops) {
      group.names.emplace(op.name);
      for (const GraphOutput& output : op.outputs)
        if (!output.fx_name.empty()) group.names.emplace(output.fx_name);
    }
  }
  std::vector<Group> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

// How much of what the smaller one holds the other one knows, and whether numbers or names say so too.
double likeness(const Group& mine, const Group& golden) {
  const bool is_mine_smaller = mine.names.size() < golden.names.size();
  const auto& few = is_mine_smaller ? mine.names : golden.names;
  const auto& many = is_mine_smaller ? golden.names : mine.names;
  const auto shared =
      std::count_if(few.begin(), few.end(), [&](const std::string& name) { return many.contains(name); });
  const double share = few.empty() ? 0 : static_cast<double>(shared) / static_cast<double>(few.size());
  const bool same_number = mine.key.number >= 0 && mine.key.number == golden.key.number;
  const bool same_model = !mine.model.empty() && mine.model == golden.model;
  return share + (same_number || same_model ? 0.5 : 0);
}

void call_alike(const Group& mine, Group& golden) {
  for (FrameInfo* frame : golden.frames) {
    frame->at.graph = mine.key.number;
    frame->at.part = mine.key.part;
  }
}

void pair_graphs(const std::vector<Group>& mine, std::vector<Group>& golden) {
  constexpr double kLikeEnough = 0.25;
  struct Fit {
    double likeness;
    size_t mine, golden;
  };
  std::vector<Fit> fits;
  for (size_t m = 0; m < mine.size(); ++m)
    for (size_t g = 0; g < golden.size(); ++g) {
      const double like = likeness(mine[m], golden[g]);
      if (like >= kLikeEnough) fits.push_back({like, m, g});
    }
  std::stable_sort(fits.begin(), fits.end(),
                   [](const Fit& a, const Fit& b) { return a.likeness > b.likeness; });
  std::vector<bool> mine_done(mine.size()), golden_done(golden.size());
  std::vector<std::pair<size_t, size_t>> pairs;
  for (const Fit& fit : fits) {
    if (mine_done[fit.mine] || golden_done[fit.golden]) continue;
    mine_done[fit.mine] = golden_done[fit.golden] = true;
    pairs.emplace_back(fit.mine, fit.golden);
  }
  // What is left has nothing in common that tells it apart: in order, if there are as many of them.
  std::vector<size_t> mine_left, golden_left;
  for (size_t m = 0; m < mine.size(); ++m)
    if (!mine_done[m]) mine_left.push_back(m);
  for (size_t g = 0; g < golden.size(); ++g)
    if (!golden_done[g]) golden_left.push_back(g);
  if (mine_left.size() == golden_left.size())
    for (size_t i = 0; i < mine_left.size(); ++i) pairs.emplace_back(mine_left[i], golden_left[i]);
  else
    for (const size_t g : golden_left)  // must not look like a graph of mine that it is not
      for (FrameInfo* frame : golden[g].frames) frame->at.part += " of golden";
  for (const auto& [m, g] : pairs) call_alike(mine[m], golden[g]);
}

}  // namespace

Result<std::vector<Section>> sections_by_graph(const Dump& mine, const Dump& golden,
                                               const MatchOptions& options) {
  Dump of_mine = mine, of_golden = golden;
  const std::set<int> mine_ranks = ranks_of(mine), golden_ranks = ranks_of(golden);
  if (mine_ranks.size() == 1 && golden_ranks.size() == 1)
    for (FrameInfo& frame : of_golden.frames) frame.at.rank = *mine_ranks.begin();
  for (const int rank : ranks_of(of_mine)) {
    const std::vector<Group> groups = groups_of(of_mine, rank);
    std::vector<Group> others = groups_of(of_golden, rank);
    if (!others.empty()) pair_graphs(groups, others);
  }
  return sections_by_at(of_mine, of_golden, options);
}

}  // namespace assay
