// Findings over all nodes. Which of them made a difference: origins.cc
#include "assay/judge/findings_parts.h"
#include "assay/judge/introduced.h"
#include "assay/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay {
namespace {

// What was found of a row that fails.
int64_t Summary::*kind_of_failure(const Comparison& row) {
  switch (row.status) {
    case Status::compared:
      return row.verdict.is_contradiction ? &Summary::contradicted
             : row.verdict.is_incomplete  ? &Summary::incomplete
                                          : &Summary::differ;
    case Status::only_mine:
    case Status::only_golden:
      return &Summary::alone;
    case Status::shape_mismatch:
      return &Summary::misshapen;
    default:
      return &Summary::without_data;
  }
}

constexpr size_t kNamedValues = 3;

bool is_not_finite(const Comparison& row) { return row.range != nullptr && !row.range->is_finite(); }

}  // namespace

void Findings::broken(const Error& error) {
  ++summary_.errors;
  if (!summary_.first_error)
    summary_.first_error = section_.empty() ? error.message : fmt::format("{}: {}", section_, error.message);
}

void Findings::note(const Remark& remark) {
  if (remark.kind == Remark::Kind::left_out) summary_.left_out += remark.count;
  if (remark.kind == Remark::Kind::unreadable) broken({ErrorKind::io, remark.text});
}

void Findings::pass_over(int64_t tensors) {
  summary_.of_mine += tensors;
  summary_.of_golden += tensors;
}

Findings::When Findings::when_of(const NodeResult& node) const {
  if (!is_exchange_entry(node.name)) return when_at(node.order);
  // Of two ranks alone, so that it counts for no other; what comes out of it some other rank has made.
  if (is_receive_entry(node.name)) return {moment_, INT64_MAX, true, node.order};
  return {moment_, exchanges_, true, node.order};
}

void Findings::add(const NodeResult& node) {
  for (const Comparison& row : node.rows) {
    if (is_beside(row)) {
      note_value(node, row);
      continue;
    }
    ++summary_.rows;
    summary_.left_out += row.left_out;
    summary_.not_dumped += row.not_dumped;
    summary_.by_content += row.pair.why == Why::same_content || row.pair.why == Why::like_neighbours;
    summary_.unsure += row.pair.plans != nullptr && row.pair.plans->is_unsure;
    summary_.rearranged += row.is_rearranged;
    summary_.cut += row.is_cut && !row.is_rearranged;
    summary_.other_type += row.is_other_type;
    summary_.other_rank += row.pair.plans != nullptr && row.pair.plans->is_other_rank;
    summary_.judged_coarser += row.basis == Basis::data && row.judged_as.has_value();
    summary_.within_noise += row.verdict.level == Level::pass && row.verdict.reason == kWithinNoise;
    summary_.introduced += row.verdict.level == Level::pass && introduced_in(row) >= Introduced::in_part;
    const bool is_empty = row.evidence == Evidence::empty;
    const bool by_own_input = row.pair.why == Why::own_input;
    const bool of_mine = row.pair.mine && !by_own_input && !is_argument(row.mine);
    const bool of_golden = row.pair.golden && !by_own_input && !is_argument(row.golden);
    // Nobody asks for the numbers of what was not written yet.
    const bool is_asked = summary_.question != Question::overflow || !row.is_excused;
    summary_.of_mine += of_mine && !is_empty && is_asked;
    summary_.of_golden += of_golden && !is_empty;
    summary_.arguments += !of_mine && !of_golden && !by_own_input;
    if (is_not_finite(row) && is_argument(row.mine)) {
      ++(row.verdict.level == Level::fail ? summary_.nonfinite_made : summary_.nonfinite_given);
    } else if (is_not_finite(row)) {
      summary_.nonfinite += row.verdict.level == Level::fail;
      summary_.nonfinite_allowed += row.verdict.level == Level::pass;
    }
    ++summary_.by[static_cast<size_t>(row.evidence)];
    summary_.compared += row.evidence != Evidence::nothing && !is_empty;
    summary_.by_own_input += by_own_input && row.evidence != Evidence::nothing && !is_empty;
    summary_.by_one_extreme += row.evidence == Evidence::extremes && row.statistics != kBothExtremes;
    if (row.evidence == Evidence::statistics) {
      summary_.statistics |= row.statistics;
      summary_.shared_statistics &= row.statistics;
    }
    summary_.flips += row.verdict.is_flip;
    summary_.follow_flips += row.verdict.follows_flip;
    if (row.arg_max != nullptr && row.arg_max->mine != row.arg_max->golden) note_other_token(node, row);
    if (is_unmatched(row)) ++summary_.unmatched;
    switch (row.verdict.level) {
      case Level::pass:
        ++summary_.passed;
        break;
      case Level::ignored:
        ++summary_.ignored;
        break;
      case Level::fail:
        ++(summary_.*kind_of_failure(row));
        note_failure(node, row);
        break;
      case Level::error:
        ++summary_.errors;
        ++summary_.broken;
        if (!summary_.first_error)
          summary_.first_error = fmt::format("{}: {}", one_of(row), row.verdict.reason);
        break;
    }
  }
  note_origin(node);
  exchanges_ += is_exchange_entry(node.name) && !is_receive_entry(node.name);
}

void Findings::add(const Findings& section) {
  const Summary& s = section.summary_;
  for (int64_t Summary::*const count : {&Summary::rows,
                                        &Summary::compared,
                                        &Summary::passed,
                                        &Summary::failed,
                                        &Summary::unmatched,
                                        &Summary::ignored,
                                        &Summary::errors,
                                        &Summary::differ,
                                        &Summary::misshapen,
                                        &Summary::without_data,
                                        &Summary::alone,
                                        &Summary::broken,
                                        &Summary::of_mine,
                                        &Summary::of_golden,
                                        &Summary::arguments,
                                        &Summary::by_own_input,
                                        &Summary::by_content,
                                        &Summary::unsure,
                                        &Summary::rearranged,
                                        &Summary::cut,
                                        &Summary::judged_coarser,
                                        &Summary::within_noise,
                                        &Summary::introduced,
                                        &Summary::left_out,
                                        &Summary::not_dumped,
                                        &Summary::values_equal,
                                        &Summary::values_differ,
                                        &Summary::values_alone,
                                        &Summary::values_failed,
                                        &Summary::values_nonfinite,
                                        &Summary::nonfinite_given,
                                        &Summary::nonfinite_made,
                                        &Summary::contradicted,
                                        &Summary::incomplete,
                                        &Summary::flips,
                                        &Summary::follow_flips,
                                        &Summary::other_type,
                                        &Summary::other_rank,
                                        &Summary::nonfinite,
                                        &Summary::nonfinite_allowed})
    summary_.*count += s.*count;
  for (const std::string& name : s.other_values)
    if (summary_.other_values.size() < kNamedValues) summary_.other_values.push_back(name);
  for (size_t i = 0; i < summary_.by.size(); ++i) summary_.by[i] += s.by[i];
  summary_.by_one_extreme += s.by_one_extreme;
  summary_.statistics |= s.statistics;
  summary_.shared_statistics &= s.shared_statistics;
  if (!summary_.first_error) summary_.first_error = s.first_error;
  const auto take_earlier = [](std::optional<RowPlace>& mine, When& when,
                               const std::optional<RowPlace>& other, const When& other_when) {
    if (!other || (mine && when <= other_when)) return;
    mine = other;
    when = other_when;
  };
  take_earlier(summary_.first_divergence, first_divergence_, s.first_divergence, section.first_divergence_);
  take_earlier(summary_.first_unmatched, first_unmatched_, s.first_unmatched, section.first_unmatched_);
  for (const auto& [when, name] : section.unmatched_) keep_unmatched(when, name);
  take_earlier(summary_.first_origin, first_origin_, s.first_origin, section.first_origin_);
  take_earlier(summary_.first_introduced, first_introduced_, s.first_introduced, section.first_introduced_);
  take_earlier(summary_.first_other_token, first_other_token_, s.first_other_token,
               section.first_other_token_);
}

void Findings::note_value(const NodeResult& node, const Comparison& row) {
  const bool is_alone = row.status != Status::compared;
  if (summary_.question == Question::overflow) {
    if (!is_not_finite(row) || row.verdict.level == Level::pass) return;
    ++summary_.values_nonfinite;
    if (summary_.other_values.size() < kNamedValues) summary_.other_values.push_back(one_of(row));
    return;
  }
  if (row.is_excused) return;
  if (is_alone) {
    ++summary_.values_alone;
  } else if (row.evidence == Evidence::nothing) {
    ++summary_.values_nonfinite;
  } else if (row.verdict.level == Level::pass) {
    ++summary_.values_equal;
  } else {
    ++summary_.values_differ;
    if (summary_.other_values.size() < kNamedValues) summary_.other_values.push_back(one_of(row));
  }
  if (row.verdict.level != Level::fail) return;
  ++summary_.values_failed;
  note_failure(node, row);
}

void Findings::note_failure(const NodeResult& node, const Comparison& row) {
  ++summary_.failed;
  const When now = when_of(node);
  if (row.status == Status::only_mine || row.status == Status::only_golden) {
    keep_unmatched(now, fmt::format("{} ({})", one_of(row), text(row.status)));
    if (summary_.first_unmatched && now >= first_unmatched_) return;
    first_unmatched_ = now;
    summary_.first_unmatched = place_of(node, row);
    return;
  }
  if (summary_.first_divergence && now >= first_divergence_) return;
  first_divergence_ = now;
  summary_.first_divergence = place_of(node, row);
}

void Findings::keep_unmatched(const When& when, std::string name) {
  constexpr size_t kMost = 8;
  if (unmatched_.size() == kMost && when >= unmatched_.back().first) return;
  const auto place =
      std::ranges::upper_bound(unmatched_, when, {}, [](const auto& each) { return each.first; });
  unmatched_.emplace(place, when, std::move(name));
  if (unmatched_.size() > kMost) unmatched_.pop_back();
}

Summary Findings::conclude() const {
  Summary summary = summary_;
  if (summary.first_divergence)
    for (const auto& [when, name] : unmatched_)
      if (when < first_divergence_) summary.unmatched_before.push_back(name);
  // A row that passes, though its operator made most of its error, is an origin if anything fails.
  if (summary.first_divergence && summary.first_introduced &&
      (!summary.first_origin || first_introduced_ < first_origin_))
    summary.first_origin = summary.first_introduced;
  return summary;
}

void Findings::note_other_token(const NodeResult& node, const Comparison& row) {
  const When now = when_of(node);
  if (summary_.first_other_token && now >= first_other_token_) return;
  first_other_token_ = now;
  summary_.first_other_token = place_of(node, row);
}

}  // namespace assay
