#include "assay/run/compare/compare.h"

#include "assay/base/cancel.h"
#include "assay/base/listing.h"
#include "assay/base/text.h"
#include "assay/match/extremes.h"
#include "assay/match/frames.h"
#include "assay/match/keyed/values_beside.h"
#include "assay/match/ops/missing_ranks.h"
#include "assay/match/ops/model_places.h"
#include "assay/match/stated_order.h"
#include "assay/run/cluster/team.h"
#include "assay/run/compare/contents.h"
#include "assay/run/compare/head.h"
#include "assay/run/compare/kept_frames.h"
#include "assay/run/compare/measure.h"
#include "assay/run/compare/reruns.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "assay/support/parallel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace assay {
namespace {

Result<std::vector<Frame>> index_all(const Dump& dump, const std::vector<FrameInfo>& infos,
                                     const OpenOptions& options) {
  std::vector<Frame> frames;
  for (const FrameInfo& info : infos) {
    ASSAY_TRY(Frame frame, dump.layout->index(info, options));
    frames.push_back(std::move(frame));
  }
  return frames;
}

// Frames that are kept between sections take a quarter of what --memory allows, at most.
int64_t most_items_between_sections(const OpenOptions& options) {
  constexpr int64_t kBytesOfItem = 300;
  return options.format.memory / 4 / kBytesOfItem;
}

// The two dumps, and everything that one comparison keeps from section to section.
class Sections {
 public:
  // team: of the processes that do this together; null: this one does it alone.
  Sections(const CompareRequest& request, const Dump& mine, const Dump& golden, const Matcher& matcher,
           const std::vector<Section>& all, ReportSet& reports, Team* team)
      : request_(request),
        mine_(mine),
        golden_(golden),
        matcher_(matcher),
        sections_(all),
        kept_(all, most_items_between_sections(request.open)),
        reports_(reports),
        team_(team),
        metrics_(request.metrics),
        details_(request.details),
        head_(head_of(request, mine, golden, matcher)),
        judged_by_(request.rule_set->is_own ? std::string_view() : request.rule_set->name),
        findings_({}, {-1, -1}, request.least_compared, judged_by_, request.question) {
    note(mine.warnings);
    note(golden.warnings);
    findings_.judge_by(head_.rules);
  }

  // One after another, so that memory follows the largest and one broken rank costs one section.
  Result<CompareOutcome> compare() {
    for (const Section& section : sections_) {
      if (stopped_) break;
      if (!section.left_out.empty()) {
        note({left_out(section.left_out)});
        ++outcome_.one_sided;
        continue;
      }
      ASSAY_TRY_DO(compare_one(section));
    }
    if (!leads()) return std::move(outcome_);
    if (!begun_) {
      ASSAY_TRY_DO(reports_.begin(head_));  // every section was left out: the reports are there, and empty
    }
    outcome_.summary = findings_.conclude();
    outcome_.summary.stopped_early = stopped_;
    ASSAY_TRY(outcome_.files, reports_.end(outcome_.summary));
    return std::move(outcome_);
  }

 private:
  Result<void> compare_one(const Section& section) {
    OpenOptions open = request_.open;
    open.open_files = &open_files_;
    open.structure |= matcher_.needs.structure;
    open.params |= matcher_.needs.params;
    open.format.values &= mine_.layout->gives_values || golden_.layout->gives_values;
    open_files_.stay_open(!matcher_.regroup && kept_.will_be_wanted(section));
    if (team_ != nullptr) team_->open_section();
    Result<Matched> matched = index_and_match(section, open);
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY_DO(compare_matched(section.at, matched, open));
    if (matched && !matcher_.regroup) kept_.give_back(section, std::move(matched->frames));
    if (kept_.is_empty()) open_files_.close();
    return {};
  }

  Result<void> compare_matched(const At& at, const Result<Matched>& matched, const OpenOptions& open) {
    const Result<bool> admitted =
        matched ? request_.admit(*matched) : Result<bool>(tl::unexpected<Error>(matched.error()));
    if (team_ != nullptr && !admitted) team_->break_section(admitted.error());
    if (team_ != nullptr && (!admitted || !*admitted)) team_->skip_section();
    if (admitted && !*admitted) return {};
    // One broken rank among many is a finding; a dump that is broken as a whole is an error, and has no
    // report.
    if (!admitted && sections_.size() == 1) return tl::unexpected<Error>(admitted.error());
    if (admitted) describe_section(mine_, *matched, sections_, head_);
    ASSAY_TRY_DO(begin_reports(matched ? &*matched : nullptr));
    return admitted ? measure_and_judge(at, *matched, open) : skip(at, admitted.error());
  }

  Result<Indexed> index(const Section& section, const OpenOptions& open) {
    if (std::optional<Indexed> kept = kept_.take(section)) {
      kept->at = section.at;
      return std::move(*kept);
    }
    Result<std::vector<Frame>> mine, golden;
    parallel_invoke([&] { mine = index_all(mine_, section.mine, open); },
                    [&] { golden = index_all(golden_, section.golden, open); });
    if (!mine) return tl::unexpected<Error>(mine.error());
    if (!golden) return tl::unexpected<Error>(golden.error());
    return Indexed{section.at, std::move(*mine), std::move(*golden)};
  }

  Result<Matched> index_and_match(const Section& section, const OpenOptions& open) {
    Matched matched;
    ASSAY_TRY(matched.frames, index(section, open));
    if (!matcher_.needs.values) leave_out_values(matched.frames);
    for (const Side side : {Side::mine, Side::golden})
      for (const Frame& frame : matched.frames.frames(side)) note(frame.warnings);
    follow_stated_order(matched.frames);
    if (matcher_.regroup) ASSAY_TRY_DO(matcher_.regroup(matched.frames));
    const LoadedContents contents(matched.frames, open, request_.progress);
    MatchOptions matching = request_.matching;
    if (matcher_.needs.contents) matching.contents = &contents;
    ASSAY_TRY(matched.pairing, matcher_.match(matched.frames, matching));
    attach_extremes(matched.frames, matched.pairing);
    note_model_places(matched);
    note_missing_ranks(matched);
    if (judged_by_.empty()) mark_other_ranks(matched);
    return matched;
  }

  // At the first section that is compared.
  Result<void> begin_reports(const Matched* matched) {
    if (std::exchange(begun_, true)) return {};
    ASSAY_TRY(metrics_, plan_columns(request_, *mine_.layout, *golden_.layout, matched, head_));
    if (!leads()) return {};
    return reports_.begin(head_);
  }

  Result<void> skip(const At& at, const Error& why) {
    head_.at = at;
    findings_.open(at.text());
    findings_.broken(why);
    if (!leads()) return {};
    ASSAY_TRY_DO(reports_.skip_section(head_, why));
    log::warn("{}{}{}", at.text(), at.text().empty() ? "" : ": ", why.message);
    return {};
  }

  Result<void> measure_and_judge(const At& at, const Matched& matched, const OpenOptions& open) {
    Findings of_section(at.text(), {at.step, at.token}, request_.least_compared, judged_by_,
                        request_.question);
    of_section.pass_over(matched.pairing.passed_over);
    of_section.judge_by(head_.rules);
    if (request_.origin == OriginBy::nothing) of_section.seek_no_origin();
    if (request_.question == Question::agreement && is_in_order_alone(matched))
      of_section.follow_trend(find_column(head_, "rel_l2"));
    note(matched.pairing.warnings);
    log_matching(matched);
    if (leads()) ASSAY_TRY_DO(reports_.open_section(head_));
    Progress progress(request_.question == Question::overflow ? "looking" : "comparing",
                      bytes_to_read(matched), request_.progress);
    const Judge judge = request_.rule_set->prepare(head_, request_.rules);
    RowFlow flow;
    flow.judge = [&](std::span<NodeResult> nodes) {
      for (NodeResult& node : nodes) {
        judge(node);
        if (!judged_by_.empty()) refuse_nonfinite(node);
      }
    };
    flow.team = team_;
    flow.algorithms = request_.algorithms;
    flow.details = request_.details.rows > 0 ? &details_ : nullptr;
    flow.detail_options = &request_.detail_options;
    flow.checks_claims = judged_by_.empty();
    if (request_.rule_set == &native_rules)
      flow.doubts = [&](const Comparison& row, std::string_view node) {
        return fails_by_type(row, node, head_, request_.rules);
      };
    if (!request_.rules.rules.empty())
      flow.rule_of = [&](const Comparison& row, std::string_view node) {
        return find_user_rule(row, node, request_.rules.rules);
      };
    if (judged_by_.empty() && can_rerun(mine_)) flow.origin = request_.origin;
    flow.judge_in_order = request_.rule_set == &native_rules && judges_in_order(head_, matched.pairing);
    flow.render = [&](std::span<const NodeResult> nodes) { return reports_.render(nodes); };
    flow.write = [&](std::span<const NodeResult> nodes, std::vector<std::string>&& rendered) -> Result<bool> {
      for (const NodeResult& node : nodes) of_section.add(node);
      ASSAY_TRY_DO(reports_.write(nodes, std::move(rendered)));
      stopped_ = request_.fail_fast && of_section.any_trouble();
      return !stopped_;
    };
    ASSAY_TRY_DO(measure(matched, metrics_, open, flow, request_.fail_fast, progress,
                         request_.side_statistics, request_.prepare, request_.golden_ops));
    if (!leads()) return {};
    findings_.add(of_section);
    return reports_.close_section(of_section.conclude());
  }

  bool leads() const { return team_ == nullptr || team_->leads(); }

  void note(const Remarks& remarks) {
    for (const Remark& remark : remarks) {
      if (!said_.insert(remark.text).second) continue;
      log::warn("{}", remark.text);
      findings_.note(remark);
    }
  }

  // Files that a list or their numbers put in order, and of which nothing else is known.
  bool is_in_order_alone(const Matched& matched) const {
    return mine_.layout->name == "folder" && has_known_order(matched.frames);
  }

  static bool is_of_tensors(const Pair& pair, const Matched& matched) {
    const Item& item =
        pair.mine ? matched.item(Side::mine, *pair.mine) : matched.item(pair.golden_side(), *pair.golden);
    return item.stated == nullptr || item.stated->given != Given::beside;
  }

  void leave_out_values(Indexed& frames) {
    const int64_t count = drop_values(frames.mine) + drop_values(frames.golden);
    if (count == 0) return;
    note({left_out(
        fmt::format("{} beside the tensors {} not compared: pairing by {} passes over them; --match "
                    "name, exact, content and position do not",
                    count == 1 ? "1 value" : fmt::format("{} values", count), count == 1 ? "was" : "were",
                    matcher_.name),
        count)});
  }

  void log_matching(const Matched& matched) {
    if (matched.pairing.by_itself) return;
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
  const std::vector<Section>& sections_;
  OpenFiles open_files_;  // of the frames that are kept, and of those at hand
  KeptFrames kept_;
  ReportSet& reports_;
  Team* const team_;
  MetricPlan metrics_;
  DetailBudget details_;  // what is left of it
  Head head_;
  const std::string_view judged_by_;  // empty: our own rules
  Findings findings_;
  CompareOutcome outcome_;
  std::set<std::string> said_;  // what was said of an earlier section need not be said, or counted, of each
  bool begun_ = false, stopped_ = false;
};

Result<std::vector<Section>> choose_sections(std::vector<Section> all,
                                             const std::vector<std::string>& patterns) {
  if (patterns.empty()) return all;
  std::string known;
  for (const Section& section : all) {
    if (known.size() > 200) {
      known += ", …";
      break;
    }
    known += fmt::format("{}'{}'", known.empty() ? "" : ", ", section.at.text());
  }
  std::erase_if(all, [&](const Section& section) {
    return std::ranges::none_of(patterns,
                                [&](const std::string& each) { return glob_match(each, section.at.text()); });
  });
  if (all.empty())
    return fail(ErrorKind::not_found, "--sections '{}' fits none of {}",
                printable(fmt::format("{}", fmt::join(patterns, ","))), known);
  return all;
}

}  // namespace

Result<bool> admit_unless_empty(const Matched& matched) {
  if (!matched.pairing.nodes.empty()) return true;
  if (!matched.frames.at.text().empty()) return false;  // one of several ranks, steps or tokens
  return fail(ErrorKind::not_found,
              "nothing to compare: neither side holds tensors, or --only and --skip leave none");
}

namespace {

// Who holds no dump of the caller's opens it.
Result<Dump> opened(const std::shared_ptr<const Dump>& by_caller, const fs::path& root,
                    const OpenOptions& options) {
  return by_caller != nullptr ? Result<Dump>(*by_caller) : open_dump(root, options);
}

Result<CompareOutcome> compare_with(const CompareRequest& request, ReportSet& reports, Team* team) {
  const ListingMemory memory;
  const ThreadLimit threads(thread_count(request.threads));
  ASSAY_TRY(const Dump mine, opened(request.opened_mine, request.mine, request.open));
  const bool is_one_dump = request.golden.empty();  // mine feeds both sides
  ASSAY_TRY(const Dump golden, is_one_dump ? Result<Dump>(Dump{mine.layout, {}, {}, {}})
                                           : opened(request.opened_golden, request.golden, request.open));
  ASSAY_TRY(const Matcher* const matcher,
            choose_matcher(mine.layout->name, golden.layout->name, request.matching));
  ASSAY_TRY(std::vector<Section> all, matcher->sections(mine, golden, request.matching));
  ASSAY_TRY(const std::vector<Section> sections, choose_sections(std::move(all), request.sections));
  return Sections(request, mine, golden, *matcher, sections, reports, team).compare();
}

}  // namespace

Result<CompareOutcome> compare(const CompareRequest& request, ReportSet& reports) {
  if (request.alone) return compare_with(request, reports, nullptr);
  ASSAY_TRY(const std::unique_ptr<Team> team,
            Team::assemble(fmt::format("assay {} {}", request.version, request.command_line)));
  auto outcome = compare_with(request, reports, team.get());
  if (team == nullptr) return outcome;
  if (!team->leads()) team->rest(outcome);
  if (outcome) team->finish();
  return outcome;
}

}  // namespace assay
