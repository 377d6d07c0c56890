#include "assay/run/compare/compare.h"

#include "assay/base/cancel.h"
#include "assay/base/listing.h"
#include "assay/match/extremes.h"
#include "assay/match/ops/missing_ranks.h"
#include "assay/match/ops/model_places.h"
#include "assay/match/stated_order.h"
#include "assay/run/compare/measure.h"
#include "assay/run/compare/stated_comparison.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"

#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <set>
#include <utility>

namespace assay {
namespace {

Head head_of(const CompareRequest& request, const Dump& mine, const Dump& golden, const Matcher& matcher,
             const MetricPlan& metrics) {
  Head head;
  head.now = request.now;
  head.version = request.version;
  head.command_line = request.command_line;
  head.mine = mine.root;
  head.golden = golden.root;
  head.mine_layout = mine.layout->name;
  head.golden_layout = golden.layout->name;
  head.matcher = matcher.name;
  head.rule_set = request.rule_set->name;
  head.metric_columns = metrics.columns;
  head.shown_columns = request.shown_columns;
  head.terminal_width = request.terminal_width;
  head.colour = request.colour;
  return head;
}

void describe_section(const Matched& matched, Head& head) {
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
  head.graphs_differ = matched.pairing.graphs_differ;
  head.pairs = head.pairs_of_mine = head.mapped_pairs = 0;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) {
      ++head.pairs;
      head.pairs_of_mine += pair.mine.has_value();
      head.mapped_pairs += pair.why == Why::data_mapping;
    }
}

bool has_statistics(const Matched& matched) {
  for (const Side side : {Side::mine, Side::golden})
    for (const Frame& frame : matched.frames.frames(side))
      if (std::ranges::any_of(frame.stated, [](const Stated& each) { return says_something(&each); }))
        return true;
  return false;
}

// Columns of dumps that hold more than data: statistics, logits.
Result<MetricPlan> with_columns_of(const Layout& mine, const Layout& golden, const CompareRequest& request,
                                   bool states_statistics, Head& head) {
  const bool has_tokens = mine.has_tokens && golden.has_tokens;
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

Result<std::vector<Frame>> index_all(const Dump& dump, const std::vector<FrameInfo>& infos,
                                     const OpenOptions& options) {
  std::vector<Frame> frames;
  for (const FrameInfo& info : infos) {
    ASSAY_TRY(Frame frame, dump.layout->index(info, options));
    frames.push_back(std::move(frame));
  }
  return frames;
}

// What was said of an earlier section need not be said, or counted, of each.
using Said = std::set<std::string>;

void note(const Remarks& remarks, Said& said, Findings& findings) {
  for (const Remark& remark : remarks) {
    if (!said.insert(remark.text).second) continue;
    log::warn("{}", remark.text);
    findings.note(remark);
  }
}

Result<Matched> index_and_match(const Section& section, const Dump& mine, const Dump& golden,
                                const Matcher& matcher, const CompareRequest& request,
                                const OpenOptions& open, Said& said, Findings& findings) {
  Result<std::vector<Frame>> mine_frames, golden_frames;
  tbb::parallel_invoke([&] { mine_frames = index_all(mine, section.mine, open); },
                       [&] { golden_frames = index_all(golden, section.golden, open); });
  if (!mine_frames) return tl::unexpected<Error>(mine_frames.error());
  if (!golden_frames) return tl::unexpected<Error>(golden_frames.error());
  Matched matched;
  matched.frames = {section.at, std::move(*mine_frames), std::move(*golden_frames)};
  for (const Side side : {Side::mine, Side::golden})
    for (const Frame& frame : matched.frames.frames(side)) note(frame.warnings, said, findings);
  follow_stated_order(matched.frames);
  ASSAY_TRY(matched.pairing, matcher.match(matched.frames, request.matching));
  attach_extremes(matched.frames, matched.pairing);
  note_model_places(matched);
  note_missing_ranks(matched);
  return matched;
}

void log_matching(const Matched& matched, const Matcher& matcher, bool takes_our_flags, Said& said) {
  int64_t joined = 0, mine_alone = 0, golden_alone = 0;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs)
      ++(pair.mine && pair.golden ? joined : pair.mine ? mine_alone : golden_alone);
  const auto warn_once = [&](std::string warning) {
    if (const auto [text, is_new] = said.insert(std::move(warning)); is_new) log::warn("{}", *text);
  };
  log::info("paired {} tensors by {}; {} only in mine, {} only in golden", joined, matcher.name, mine_alone,
            golden_alone);
  if (joined == 0 && mine_alone > 0 && golden_alone > 0)
    warn_once(fmt::format("nothing of mine fits anything of golden by {}; {}docs/scenarios tells of mappings",
                          matcher.name, takes_our_flags ? "--match position pairs them in order, " : ""));
}

}  // namespace

Result<bool> admit_unless_empty(const Matched& matched) {
  if (!matched.pairing.nodes.empty()) return true;
  if (!matched.frames.at.text().empty()) return false;  // one of several ranks, steps or tokens
  return fail(ErrorKind::not_found,
              "nothing to compare: neither side holds tensors, or --only and --skip leave none");
}

Result<CompareOutcome> compare(const CompareRequest& request, ReportSet& reports) {
  const ListingMemory memory;
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                    thread_count(request.threads));
  ASSAY_TRY(const Dump mine, open_dump(request.mine, request.open));
  ASSAY_TRY(const Dump golden, open_dump(request.golden, request.open));
  ASSAY_TRY(const Matcher* const matcher,
            choose_matcher(mine.layout->name, golden.layout->name, request.matching));
  ASSAY_TRY(const std::vector<Section> sections, matcher->sections(mine, golden, request.matching));
  MetricPlan metrics = request.metrics;
  Head head = head_of(request, mine, golden, *matcher, metrics);
  const bool has_tokens = mine.layout->has_tokens && golden.layout->has_tokens;
  const std::string_view judged_by =
      request.rule_set == &native_rules ? std::string_view() : request.rule_set->name;
  Findings findings({}, {-1, -1}, request.least_compared, judged_by);
  CompareOutcome outcome;
  bool begun = false, stopped = false;
  Said said;
  for (const Dump* const dump : {&mine, &golden}) note(dump->warnings, said, findings);
  for (const Section& section : sections) {
    if (!section.left_out.empty()) {
      note({left_out(section.left_out)}, said, findings);
      ++outcome.one_sided;
      continue;
    }
    OpenFiles open_files;
    OpenOptions open = request.open;
    open.open_files = &open_files;
    open.structure |= matcher->needs.structure;
    const auto matched = index_and_match(section, mine, golden, *matcher, request, open, said, findings);
    ASSAY_TRY_DO(check_cancelled());
    const Result<bool> admitted =
        matched ? request.admit(*matched) : Result<bool>(tl::unexpected<Error>(matched.error()));
    if (admitted && !*admitted) continue;
    // One broken rank among many is a finding; a dump that is broken as a whole is an error, and has no
    // report.
    if (!admitted && sections.size() == 1) return tl::unexpected<Error>(admitted.error());
    if (admitted) {
      describe_section(*matched, head);
      head.has_more_graphs = std::any_of(sections.begin(), sections.end(), [&](const Section& other) {
        return other.at.rank == section.at.rank && other.at.graph != section.at.graph;
      });
    }
    if (!std::exchange(begun, true)) {
      // A folder says that it holds statistics when it is indexed; it has one section.
      const bool states_statistics = mine.layout->states_statistics || golden.layout->states_statistics ||
                                     (matched && has_statistics(*matched));
      if (request.add_stated_columns && (states_statistics || has_tokens)) {
        ASSAY_TRY(metrics, with_columns_of(*mine.layout, *golden.layout, request, states_statistics, head));
      }
      ASSAY_TRY_DO(reports.begin(head));
    }
    if (!admitted) {
      head.at = section.at;
      findings.open(section.at.text());
      findings.broken(admitted.error());
      ASSAY_TRY_DO(reports.skip_section(head, admitted.error()));
      log::warn("{}{}{}", section.at.text(), section.at.text().empty() ? "" : ": ", admitted.error().message);
      continue;
    }
    Findings of_section(section.at.text(), {section.at.step, section.at.token}, request.least_compared,
                        judged_by);
    of_section.pass_over(matched->pairing.passed_over);
    note(matched->pairing.warnings, said, findings);
    log_matching(*matched, *matcher, judged_by.empty(), said);
    ASSAY_TRY_DO(reports.open_section(head));
    Progress progress("comparing", bytes_to_read(*matched), request.progress);
    RowFlow flow;
    const Judge judge = request.rule_set->prepare(head, request.rules);
    flow.judge = [&](std::span<NodeResult> nodes) {
      for (NodeResult& node : nodes) judge(node);
    };
    flow.judge_in_order = std::ranges::any_of(matched->pairing.nodes,
                                              [](const PairedNode& node) { return node.place.has_graph; });
    flow.render = [&](std::span<const NodeResult> nodes) { return reports.render(nodes); };
    flow.write = [&](std::span<const NodeResult> nodes, std::vector<std::string>&& rendered) -> Result<bool> {
      for (const NodeResult& node : nodes) of_section.add(node);
      ASSAY_TRY_DO(reports.write(nodes, std::move(rendered)));
      stopped = request.fail_fast && of_section.any_trouble();
      return !stopped;
    };
    ASSAY_TRY_DO(measure(*matched, metrics, open, flow, request.fail_fast, progress, request.side_statistics,
                         request.prepare));
    findings.add(of_section);
    ASSAY_TRY_DO(reports.close_section(of_section.conclude()));
    if (stopped) break;
  }
  if (!begun) {
    ASSAY_TRY_DO(reports.begin(head));  // every section was left out: the reports are there, and empty
  }
  outcome.summary = findings.conclude();
  outcome.summary.stopped_early = stopped;
  ASSAY_TRY(outcome.files, reports.end(outcome.summary));
  return outcome;
}

}  // namespace assay
