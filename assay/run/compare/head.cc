#include "assay/run/compare/head.h"

#include "assay/match/stated_order.h"
#include "assay/run/compare/stated_comparison.h"

#include <algorithm>

namespace assay {
namespace {

// What the user asked for; empty: nothing.
std::string rules_in_words(const RuleOptions& rules) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (rules.tolerance) add(fmt::format("tolerance {}", name(*rules.tolerance)));
  for (const Rule& rule : rules.rules)
    add(rules.closeness && rule.text() == kClosenessRule
            ? fmt::format("rtol {:g}, atol {:g}", rules.closeness->rtol, rules.closeness->atol)
            : rule.text());
  return text;
}

bool has_statistics(const Matched& matched) {
  for (const Side side : {Side::mine, Side::golden})
    for (const Frame& frame : matched.frames.frames(side))
      if (std::ranges::any_of(frame.stated, [](const Stated& each) {
            return each.given != Given::beside && says_something(&each);
          }))
        return true;
  return false;
}

}  // namespace

Head head_of(const CompareRequest& request, const Dump& mine, const Dump& golden, const Matcher& matcher) {
  Head head;
  head.now = request.now;
  head.version = request.version;
  head.command_line = request.command_line;
  head.mine = mine.root;
  head.golden = golden.root;
  head.mine_layout = mine.layout->name;
  head.golden_layout = golden.layout->name;
  head.matcher = matcher.name;
  head.question = request.question;
  head.rule_set = request.rule_set->name;
  head.rules = rules_in_words(request.rules);
  head.metric_columns = request.metrics.columns;
  head.shown_columns = request.shown_columns;
  head.terminal_width = request.terminal_width;
  head.wraps_verdict = request.wraps_verdict;
  head.colour = request.colour;
  head.shows_details = request.shows_details;
  return head;
}

void describe_section(const Dump& mine, const Matched& matched, const std::vector<Section>& all, Head& head) {
  head.at = matched.frames.at;
  head.golden_rank = matched.frames.golden.empty() ? -1 : matched.frames.golden[0].at.rank;
  head.content = Content::data;
  head.has_stacks = head.cross_framework = false;
  for (const Side side : {Side::mine, Side::golden})
    for (const Frame& frame : matched.frames.frames(side)) {
      head.content = std::max(head.content, frame.content);
      if (side == Side::golden) continue;
      head.has_stacks |= frame.has_stacks;
      for (const Frame& golden : matched.frames.golden)
        head.cross_framework |= !frame.framework.empty() && !golden.framework.empty() &&
                                frame.framework != golden.framework;  // an empty dump does not say
    }
  head.order_is_by_name = mine.layout->name == "folder" && !has_known_order(matched.frames);
  head.has_more_graphs = std::ranges::any_of(all, [&](const Section& other) {
    return other.at.rank == matched.frames.at.rank && other.at.graph != matched.frames.at.graph;
  });
  head.graphs_differ = matched.pairing.graphs_differ;
  head.pairs = head.pairs_of_mine = head.mapped_pairs = 0;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) {
      ++head.pairs;
      head.pairs_of_mine += pair.mine.has_value();
      head.mapped_pairs += pair.why == Why::data_mapping;
    }
}

Result<MetricPlan> plan_columns(const CompareRequest& request, const Layout& mine, const Layout& golden,
                                const Matched* matched, Head& head) {
  const bool has_tokens = mine.has_tokens && golden.has_tokens;
  const bool states_statistics =
      mine.states_statistics || golden.states_statistics || (matched != nullptr && has_statistics(*matched));
  if (!request.add_stated_columns || (!states_statistics && !has_tokens)) return request.metrics;
  std::vector<std::string> added;
  if (states_statistics) added.emplace_back("stat_diff");
  if (has_tokens)
    added.insert(added.end(), {"l1", "kl", "arg_max"});
  else
    added.emplace_back("checksum");
  // A rule may have asked for one of them: then it is measured, but not shown yet.
  ASSAY_TRY(const MetricPlan shown, plan_metrics(added));
  for (const std::string& column : shown.columns)
    if (std::ranges::find(head.shown_columns, column) == head.shown_columns.end())
      head.shown_columns.push_back(column);
  MetricPlan plan = request.metrics;
  ASSAY_TRY_DO(add_metrics(plan, added));
  plan.only_of_logits =
      plan.needs & ~request.metrics.needs & (gather::softmax | gather::arg_max | gather::absolutes);
  head.metric_columns = plan.columns;
  return plan;
}

}  // namespace assay
