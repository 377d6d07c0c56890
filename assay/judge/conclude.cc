// Findings over all nodes.
#include "assay/base/text.h"
#include "assay/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

std::string one_of(const Comparison& row) {
  return std::string(row.mine.name.empty() ? row.golden.name : row.mine.name);
}

// The innermost line that is the user's own and not a framework's, without its breaks.
std::string calling_line(std::span<const std::string_view> stack) {
  constexpr std::string_view kFrameworks[] = {"site-packages/", "dist-packages/", "/torch/", "/mindspore/",
                                              "/msprobe/"};
  const auto is_own = [&](std::string_view line) {
    const std::string_view file = line.substr(0, line.find(','));
    return std::none_of(std::begin(kFrameworks), std::end(kFrameworks),
                        [&](std::string_view part) { return file.find(part) != std::string_view::npos; });
  };
  const auto own = std::find_if(stack.begin(), stack.end(), is_own);
  if (stack.empty()) return {};
  std::string out;
  for (const std::string_view part : split(own == stack.end() ? stack.front() : *own, '\n'))
    if (!trim(part).empty()) out += (out.empty() ? "" : " ") + std::string(trim(part));
  return out;
}

}  // namespace

void Findings::broken(const Error& error) {
  ++summary_.errors;
  if (!summary_.first_error)
    summary_.first_error = section_.empty() ? error.message : fmt::format("{}: {}", section_, error.message);
}

void Findings::add(const NodeResult& node) {
  for (const Comparison& row : node.rows) {
    ++summary_.rows;
    if (row.status == Status::compared) ++summary_.compared;
    if (row.arg_max != nullptr && row.arg_max->mine != row.arg_max->golden) note_other_token(node, row);
    if (row.status == Status::only_mine || row.status == Status::only_golden) ++summary_.unmatched;
    switch (row.verdict.level) {
      case Level::pass:
        ++summary_.passed;
        break;
      case Level::ignored:
        ++summary_.ignored;
        break;
      case Level::fail:
        note_failure(node, row);
        break;
      case Level::error:
        ++summary_.errors;
        if (!summary_.first_error)
          summary_.first_error = fmt::format("{}: {}", one_of(row), row.verdict.reason);
        break;
    }
  }
  note_origin(node);
}

void Findings::add(const Findings& section) {
  const Summary& s = section.summary_;
  summary_.rows += s.rows;
  summary_.compared += s.compared;
  summary_.passed += s.passed;
  summary_.failed += s.failed;
  summary_.unmatched += s.unmatched;
  summary_.ignored += s.ignored;
  summary_.errors += s.errors;
  if (!summary_.first_error) summary_.first_error = s.first_error;
  const auto take_earlier = [](std::optional<Place>& mine, When& when, const std::optional<Place>& other,
                               const When& other_when) {
    if (!other || (mine && when <= other_when)) return;
    mine = other;
    when = other_when;
  };
  take_earlier(summary_.first_divergence, first_divergence_, s.first_divergence, section.first_divergence_);
  take_earlier(summary_.first_origin, first_origin_, s.first_origin, section.first_origin_);
  take_earlier(summary_.first_other_token, first_other_token_, s.first_other_token,
               section.first_other_token_);
}

void Findings::note_failure(const NodeResult& node, const Comparison& row) {
  ++summary_.failed;
  const When now{moment_, node.order};
  if (summary_.first_divergence && now >= first_divergence_) return;
  first_divergence_ = now;
  summary_.first_divergence = place_of(node, row);
}

void Findings::note_other_token(const NodeResult& node, const Comparison& row) {
  const When now{moment_, node.order};
  if (summary_.first_other_token && now >= first_other_token_) return;
  first_other_token_ = now;
  summary_.first_other_token = place_of(node, row);
}

// A node whose inputs agree and whose output does not made the difference itself; the nodes behind it inherit
// it.
void Findings::note_origin(const NodeResult& node) {
  const When now{moment_, node.order};
  if (summary_.first_origin && now >= first_origin_) return;
  bool has_input = false;
  const Comparison* bad_output = nullptr;
  for (const Comparison& row : node.rows) {
    const Direction direction = direction_of(row);
    if (direction == Direction::input || direction == Direction::parameter) {
      if (row.verdict.level == Level::fail || row.verdict.level == Level::error) return;
      has_input |= row.verdict.level == Level::pass;
    } else if (direction == Direction::output && row.verdict.level == Level::fail && bad_output == nullptr &&
               row.mine.item != nullptr && row.golden.item != nullptr) {
      bad_output = &row;
    }
  }
  if (!has_input || bad_output == nullptr) return;
  first_origin_ = now;
  summary_.first_origin = place_of(node, *bad_output);
}

Place Findings::place_of(const NodeResult& node, const Comparison& row) const {
  Place place;
  place.section = section_;
  place.node = std::string(node.name);
  place.mine = std::string(row.mine.name);
  place.golden = std::string(row.golden.name);
  place.called_at = calling_line(node.stack);
  place.row = row;
  // What belongs to a frame is gone when the run concludes.
  for (SideFacts* const side : {&place.row.mine, &place.row.golden}) {
    side->name = {};
    side->item = nullptr;
    side->meta.own();
  }
  return place;
}

}  // namespace assay
