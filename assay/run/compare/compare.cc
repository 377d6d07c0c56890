#include "assay/run/compare/compare.h"

#include "assay/base/cancel.h"
#include "assay/base/listing.h"
#include "assay/match/extremes.h"
#include "assay/match/ops/missing_ranks.h"
#include "assay/match/ops/model_places.h"
#include "assay/match/stated_order.h"
#include "assay/run/compare/contents.h"
#include "assay/run/compare/measure.h"
#include "assay/run/compare/stated_comparison.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"

#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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
  head.rules = rules_in_words(request.rules);
  head.metric_columns = metrics.columns;
  head.shown_columns = request.shown_columns;
  head.terminal_width = request.terminal_width;
  head.wraps_verdict = request.wraps_verdict;
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
      if (std::ranges::any_of(frame.stated, [](const Stated& each) {
            return each.given != Given::beside && says_something(&each);
          }))
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

// The two dumps, and everything that one comparison keeps from section to section.
class Sections {
 public:
  Sections(const CompareRequest& request, const Dump& mine, const Dump& golden, const Matcher& matcher,
           ReportSet& reports)
      : request_(request),
        mine_(mine),
        golden_(golden),
        matcher_(matcher),
        reports_(reports),
        metrics_(request.metrics),
        head_(head_of(request, mine, golden, matcher, metrics_)),
        judged_by_(request.rule_set == &native_rules ? std::string_view() : request.rule_set->name),
        findings_({}, {-1, -1}, request.least_compared, judged_by_) {
    note(mine.warnings);
    note(golden.warnings);
  }

  // One after another, so that memory follows the largest and one broken rank costs one section.
  Result<CompareOutcome> compare(const std::vector<Section>& sections) {
    for (const Section& section : sections) {
      if (stopped_) break;
      if (!section.left_out.empty()) {
        note({left_out(section.left_out)});
        ++outcome_.one_sided;
        continue;
      }
      ASSAY_TRY_DO(compare_one(section, sections));
    }
    if (!begun_) {
      ASSAY_TRY_DO(reports_.begin(head_));  // every section was left out: the reports are there, and empty
    }
    outcome_.summary = findings_.conclude();
    outcome_.summary.stopped_early = stopped_;
    ASSAY_TRY(outcome_.files, reports_.end(outcome_.summary));
    return std::move(outcome_);
  }

 private:
  Result<void> compare_one(const Section& section, const std::vector<Section>& all) {
    OpenFiles open_files;
    OpenOptions open = request_.open;
    open.open_files = &open_files;
    open.structure |= matcher_.needs.structure;
    open.format.values &= matcher_.needs.values;
    const Result<Matched> matched = index_and_match(section, open);
    ASSAY_TRY_DO(check_cancelled());
    const Result<bool> admitted =
        matched ? request_.admit(*matched) : Result<bool>(tl::unexpected<Error>(matched.error()));
    if (admitted && !*admitted) return {};
    // One broken rank among many is a finding; a dump that is broken as a whole is an error, and has no
    // report.
    if (!admitted && all.size() == 1) return tl::unexpected<Error>(admitted.error());
    if (admitted) {
      describe_section(*matched, head_);
      head_.order_is_by_name = mine_.layout->name == "folder" && !has_known_order(matched->frames);
      head_.has_more_graphs = std::ranges::any_of(all, [&](const Section& other) {
        return other.at.rank == section.at.rank && other.at.graph != section.at.graph;
      });
    }
    ASSAY_TRY_DO(begin_reports(matched ? &*matched : nullptr));
    return admitted ? measure_and_judge(section.at, *matched, open) : skip(section.at, admitted.error());
  }

  Result<Matched> index_and_match(const Section& section, const OpenOptions& open) {
    Result<std::vector<Frame>> mine, golden;
    tbb::parallel_invoke([&] { mine = index_all(mine_, section.mine, open); },
                         [&] { golden = index_all(golden_, section.golden, open); });
    if (!mine) return tl::unexpected<Error>(mine.error());
    if (!golden) return tl::unexpected<Error>(golden.error());
    Matched matched;
    matched.frames = {section.at, std::move(*mine), std::move(*golden)};
    for (const Side side : {Side::mine, Side::golden})
      for (const Frame& frame : matched.frames.frames(side)) note(frame.warnings);
    follow_stated_order(matched.frames);
    const LoadedContents contents(matched.frames, open.format, request_.progress);
    MatchOptions matching = request_.matching;
    if (matcher_.needs.contents) matching.contents = &contents;
    ASSAY_TRY(matched.pairing, matcher_.match(matched.frames, matching));
    attach_extremes(matched.frames, matched.pairing);
    note_model_places(matched);
    note_missing_ranks(matched);
    return matched;
  }

  // At the first section that is compared: a folder says only when it is indexed that it holds statistics,
  // and it has one section.
  Result<void> begin_reports(const Matched* matched) {
    if (std::exchange(begun_, true)) return {};
    const bool has_tokens = mine_.layout->has_tokens && golden_.layout->has_tokens;
    const bool states_statistics = mine_.layout->states_statistics || golden_.layout->states_statistics ||
                                   (matched != nullptr && has_statistics(*matched));
    if (request_.add_stated_columns && (states_statistics || has_tokens)) {
      ASSAY_TRY(metrics_,
                with_columns_of(*mine_.layout, *golden_.layout, request_, states_statistics, head_));
    }
    return reports_.begin(head_);
  }

  Result<void> skip(const At& at, const Error& why) {
    head_.at = at;
    findings_.open(at.text());
    findings_.broken(why);
    ASSAY_TRY_DO(reports_.skip_section(head_, why));
    log::warn("{}{}{}", at.text(), at.text().empty() ? "" : ": ", why.message);
    return {};
  }

  Result<void> measure_and_judge(const At& at, const Matched& matched, const OpenOptions& open) {
    Findings of_section(at.text(), {at.step, at.token}, request_.least_compared, judged_by_);
    of_section.pass_over(matched.pairing.passed_over);
    note(matched.pairing.warnings);
    log_matching(matched);
    ASSAY_TRY_DO(reports_.open_section(head_));
    Progress progress("comparing", bytes_to_read(matched), request_.progress);
    const Judge judge = request_.rule_set->prepare(head_, request_.rules);
    RowFlow flow;
    flow.judge = [&](std::span<NodeResult> nodes) {
      for (NodeResult& node : nodes) judge(node);
    };
    if (request_.rule_set == &native_rules)
      flow.doubts = [&](const Comparison& row, std::string_view node) {
        return fails_by_type(row, node, head_, request_.rules);
      };
    flow.judge_in_order = std::ranges::any_of(matched.pairing.nodes,
                                              [](const PairedNode& node) { return node.place.has_graph; });
    flow.render = [&](std::span<const NodeResult> nodes) { return reports_.render(nodes); };
    flow.write = [&](std::span<const NodeResult> nodes, std::vector<std::string>&& rendered) -> Result<bool> {
      for (const NodeResult& node : nodes) of_section.add(node);
      ASSAY_TRY_DO(reports_.write(nodes, std::move(rendered)));
      stopped_ = request_.fail_fast && of_section.any_trouble();
      return !stopped_;
    };
    ASSAY_TRY_DO(measure(matched, metrics_, open, flow, request_.fail_fast, progress,
                         request_.side_statistics, request_.prepare));
    findings_.add(of_section);
    return reports_.close_section(of_section.conclude());
  }

  void note(const Remarks& remarks) {
    for (const Remark& remark : remarks) {
      if (!said_.insert(remark.text).second) continue;
      log::warn("{}", remark.text);
      findings_.note(remark);
    }
  }

  static bool is_of_tensors(const Pair& pair, const Matched& matched) {
    const Item& item =
        pair.mine ? matched.item(Side::mine, *pair.mine) : matched.item(pair.golden_side(), *pair.golden);
    return item.stated == nullptr || item.stated->given != Given::beside;
  }

  void log_matching(const Matched& matched) {
    int64_t joined = 0, mine_alone = 0, golden_alone = 0;
    std::map<Why, int64_t> by;
    for (const PairedNode& node : matched.pairing.nodes)
      for (const Pair& pair : node.pairs) {
        if (!is_of_tensors(pair, matched)) continue;
        ++(pair.mine && pair.golden ? joined : pair.mine ? mine_alone : golden_alone);
        if (pair.mine && pair.golden) ++by[pair.why];
      }
    log::info("paired {} tensors by {}; {} only in mine, {} only in golden", joined, matcher_.name,
              mine_alone, golden_alone);
    if (judged_by_.empty())
      for (const auto& [why, count] : by) log::info("{} of these: {}", count, text(why));
    if (joined > 0 || mine_alone == 0 || golden_alone == 0) return;
    const bool takes_our_flags = judged_by_.empty();
    const auto [text, is_new] = said_.insert(
        fmt::format("nothing of mine fits anything of golden by {}; {}docs/scenarios tells of mappings",
                    matcher_.name, takes_our_flags ? "--match position pairs them in order, " : ""));
    if (is_new) log::warn("{}", *text);
  }

  const CompareRequest& request_;
  const Dump &mine_, &golden_;
  const Matcher& matcher_;
  ReportSet& reports_;
  MetricPlan metrics_;
  Head head_;
  const std::string_view judged_by_;  // empty: our own rules
  Findings findings_;
  CompareOutcome outcome_;
  std::set<std::string> said_;  // what was said of an earlier section need not be said, or counted, of each
  bool begun_ = false, stopped_ = false;
};

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
  return Sections(request, mine, golden, *matcher, reports).compare(sections);
}

}  // namespace assay
