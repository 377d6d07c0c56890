#include "assay/run/compare.h"

#include "assay/base/cancel.h"
#include "assay/run/measure.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"

#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>

#include <utility>

namespace assay {
namespace {

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
  head.rule_set = request.rule_set->name;
  head.metric_columns = request.metrics.columns;
  head.shown_columns = request.shown_columns;
  head.terminal_width = request.terminal_width;
  head.colour = request.colour;
  return head;
}

Result<std::vector<Frame>> index_all(const Dump& dump, const std::vector<FrameInfo>& infos,
                                     const OpenOptions& options) {
  std::vector<Frame> frames;
  for (const FrameInfo& info : infos) {
    ASSAY_TRY(Frame frame, dump.layout->index(info, options));
    for (const std::string& warning : frame.warnings) log::warn("{}", warning);
    frames.push_back(std::move(frame));
  }
  return frames;
}

Result<Matched> index_and_match(const Section& section, const Dump& mine, const Dump& golden,
                                const Matcher& matcher, const CompareRequest& request) {
  Result<std::vector<Frame>> mine_frames, golden_frames;
  tbb::parallel_invoke([&] { mine_frames = index_all(mine, section.mine, request.open); },
                       [&] { golden_frames = index_all(golden, section.golden, request.open); });
  if (!mine_frames) return tl::unexpected<Error>(mine_frames.error());
  if (!golden_frames) return tl::unexpected<Error>(golden_frames.error());
  Matched matched;
  matched.frames = {section.at, std::move(*mine_frames), std::move(*golden_frames)};
  ASSAY_TRY(matched.pairing, matcher.match(matched.frames, request.matching));
  return matched;
}

void log_matching(const Matched& matched, const Matcher& matcher) {
  int64_t joined = 0, mine_alone = 0, golden_alone = 0;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs)
      ++(pair.mine && pair.golden ? joined : pair.mine ? mine_alone : golden_alone);
  log::info("paired {} tensors by {}; {} only in mine, {} only in golden", joined, matcher.name, mine_alone,
            golden_alone);
  if (joined == 0 && mine_alone > 0 && golden_alone > 0)
    log::warn("no tensor of mine has the name of one of golden; --match position pairs them in order");
}

}  // namespace

Result<CompareOutcome> compare(const CompareRequest& request, ReportSet& reports) {
  const tbb::global_control threads(tbb::global_control::max_allowed_parallelism,
                                    thread_count(request.threads));
  ASSAY_TRY(const Dump mine, open_dump(request.mine, request.open));
  ASSAY_TRY(const Dump golden, open_dump(request.golden, request.open));
  ASSAY_TRY(const Matcher* const matcher,
            choose_matcher(mine.layout->name, golden.layout->name, request.matching));
  ASSAY_TRY(const std::vector<Section> sections, matcher->sections(mine, golden, request.matching));
  const Head head = head_of(request, mine, golden, *matcher);
  Findings findings;
  bool begun = false, stopped = false;
  for (const Section& section : sections) {
    const auto matched = index_and_match(section, mine, golden, *matcher, request);
    ASSAY_TRY_DO(check_cancelled());
    // One broken rank among many is a finding; a dump that is broken as a whole is an error, and has no
    // report.
    if (!matched && sections.size() == 1) return tl::unexpected<Error>(matched.error());
    if (!std::exchange(begun, true)) {
      ASSAY_TRY_DO(reports.begin(head));
    }
    if (!matched) {
      findings.open(section.at.text());
      findings.broken(matched.error());
      log::warn("{}", matched.error().message);
      continue;
    }
    if (matched->pairing.nodes.empty())
      return fail(ErrorKind::not_found,
                  "nothing to compare: {} and {} hold no tensors, or --only and --skip leave none",
                  display(mine.root), display(golden.root));
    log_matching(*matched, *matcher);
    findings.open(section.at.text());
    ASSAY_TRY_DO(reports.open_section(section.at.text()));
    Progress progress("comparing", bytes_to_read(*matched), request.progress);
    RowFlow flow;
    flow.judge_and_render = [&](std::span<NodeResult> nodes) {
      for (NodeResult& node : nodes) request.rule_set->judge(node, head, request.rules);
      return reports.render(nodes);
    };
    flow.write = [&](std::span<const NodeResult> nodes, std::vector<std::string>&& rendered) -> Result<bool> {
      for (const NodeResult& node : nodes) findings.add(node);
      ASSAY_TRY_DO(reports.write(nodes, std::move(rendered)));
      const Summary now = findings.conclude();
      stopped = request.fail_fast && (now.failed > 0 || now.errors > 0);
      return !stopped;
    };
    ASSAY_TRY_DO(measure(*matched, request.metrics, request.open.format, flow, request.fail_fast, progress));
    if (stopped) break;
  }
  CompareOutcome outcome;
  outcome.summary = findings.conclude();
  outcome.summary.stopped_early = stopped;
  ASSAY_TRY(outcome.files, reports.end(outcome.summary));
  return outcome;
}

}  // namespace assay
