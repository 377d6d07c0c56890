// Which operator made a difference: one whose inputs agree and whose output does not.
#include "assay/base/text.h"
#include "assay/judge/findings_parts.h"
#include "assay/judge/introduced.h"
#include "assay/judge/judge.h"
#include "assay/judge/rule_context.h"
#include "assay/judge/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <utility>

namespace assay {
namespace {

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

bool may_be_real(const Item& item) { return item.meta == nullptr || is_real(item.meta->dtype); }

}  // namespace

// The input that the graph says comes from there, as far as that was compared.
Findings::Standing Findings::source_of(const NodeResult& node, int32_t port) const {
  const InputSource* const source = find_source(node.sources, port);
  if (source == nullptr || source->kind == InputSource::Kind::unknown) return Standing::unknown;
  if (source->kind == InputSource::Kind::given) return Standing::good;
  const auto result = results_.find(result_key(source->node, source->output));
  if (result == results_.end()) return Standing::unknown;
  return result->second == Level::pass ? Standing::good : Standing::bad;
}

// Of a compiled graph. Every input has to agree: what was not compared may be what brought the difference.
Findings::Standing Findings::inputs_in_graph(const NodeResult& node) const {
  bool has_good = false, has_unknown = false;
  std::unordered_set<int32_t> seen;  // ports with a row
  for (const Comparison& row : node.rows) {
    const Direction direction = direction_of(row);
    if (direction != Direction::input && direction != Direction::parameter) continue;
    if (row.verdict.level == Level::fail || row.verdict.level == Level::error) return Standing::bad;
    has_good |= row.verdict.level == Level::pass;
    if (row.mine.item == nullptr) continue;
    const int32_t port = row.mine.item->port.index;
    seen.insert(port);
    if (row.verdict.level == Level::pass) continue;
    const Standing source = source_of(node, port);
    if (source == Standing::bad) return Standing::bad;
    has_good |= source == Standing::good;
    // Axes and sizes are constants of the compiler, which nobody has the like of.
    has_unknown |= source == Standing::unknown && may_be_real(*row.mine.item);
  }
  for (const InputSource& each : node.sources) {
    if (seen.contains(each.port)) continue;
    const Standing source = source_of(node, each.port);
    if (source == Standing::bad) return Standing::bad;
    (source == Standing::good ? has_good : has_unknown) = true;
  }
  return has_good && !has_unknown ? Standing::good : Standing::unknown;
}

// Where the question is whether numbers are finite, those that a rule leaves out were not looked at.
bool Findings::is_left_out(const Comparison& row) const {
  return summary_.question == Question::overflow && row.verdict.level == Level::ignored &&
         row.evidence != Evidence::empty;
}

// Good: some input agrees, and none is known to differ. What was not compared is named.
Findings::Inputs Findings::inputs_of(const NodeResult& node) const {
  if (node.place.has_graph) return {inputs_in_graph(node)};
  Inputs inputs;
  bool has_good = false;
  std::unordered_set<int32_t> settled;                      // ports
  std::unordered_map<int32_t, std::string_view> unsettled;  // … with a row that does not tell
  for (const Comparison& row : node.rows) {
    const Direction direction = direction_of(row);
    if (direction != Direction::input && direction != Direction::parameter) continue;
    // A number that differs (another epsilon, another scale) did not come in with an error: it is what the
    // operator was told to do.
    if (summary_.judged_by.empty() && is_argument(row.mine) && is_argument(row.golden) &&
        row.verdict.level == Level::fail) {
      inputs.other_arguments.push_back(fmt::format("{}: {}", one_of(row), row.verdict.reason));
      continue;
    }
    if (row.verdict.level == Level::fail || row.verdict.level == Level::error) return {Standing::bad};
    has_good |= row.verdict.level == Level::pass;
    if (row.mine.item == nullptr || direction != Direction::input) continue;
    const bool was_compared = row.status == Status::compared && !is_left_out(row);
    const bool is_asked = !was_compared && !is_argument(row.mine) && may_be_real(*row.mine.item);
    if (!is_asked)
      settled.insert(row.mine.item->port.index);
    else if (node.sources.empty())
      inputs.not_compared.emplace_back(row.mine.name);
    else
      unsettled.try_emplace(row.mine.item->port.index, row.mine.name);
  }
  for (const InputSource& source : node.sources) {
    if (settled.contains(source.port)) continue;
    if (!add_source(source, inputs)) return {Standing::bad};
    // A weight that was not dumped is given, and nobody has seen its numbers.
    const bool is_unseen = summary_.question == Question::overflow && source.kind == InputSource::Kind::given;
    if (source.kind != InputSource::Kind::unknown && !is_unseen) continue;
    const auto row = unsettled.find(source.port);
    inputs.not_compared.push_back(row == unsettled.end() ? fmt::format("{} input {}", node.name, source.port)
                                                         : std::string(row->second));
  }
  // What was not compared anywhere has been computed from what was.
  has_good |= std::ranges::any_of(node.sources, [&](const InputSource& source) {
    const auto producer = without_results_.find(source.node);
    return source.kind == InputSource::Kind::result && producer != without_results_.end() &&
           producer->second.inputs.standing == Standing::good;
  });
  // What was not dumped as an input was looked at where it was made.
  has_good |= std::ranges::any_of(node.sources, [&](const InputSource& source) {
    const auto result = results_.find(result_key(source.node, source.output));
    return source.kind == InputSource::Kind::result && result != results_.end() &&
           result->second == Level::pass;
  });
  if (has_good) inputs.standing = Standing::good;
  return inputs;
}

// Of a tree: an input that has no row, or no partner. False where it comes from what differs.
bool Findings::add_source(const InputSource& source, Inputs& inputs) const {
  if (source.kind != InputSource::Kind::result) return true;
  if (const auto result = results_.find(result_key(source.node, source.output)); result != results_.end())
    return result->second == Level::pass;
  const auto producer = without_results_.find(source.node);
  if (producer == without_results_.end()) return true;
  const Inputs& given = producer->second.inputs;
  if (given.standing == Standing::bad) return false;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(inputs.not_compared, name) == inputs.not_compared.end())
      inputs.not_compared.push_back(name);
  };
  add(std::string(producer->second.name));
  for (const std::string& name : given.not_compared) add(name);
  return true;
}

void Findings::remember(const NodeResult& node, const Inputs& inputs) {
  const bool is_tree = !node.place.has_graph && !node.sources.empty();
  if (!node.place.has_graph && !is_tree) return;
  bool has_result = false;
  for (const Comparison& row : node.rows) {
    if (row.status != Status::compared && row.status != Status::shape_mismatch) continue;
    const Direction direction = direction_of(row);
    if (row.pair.why == Why::in_place) continue;  // its number is that of an input
    if (direction == Direction::output && row.mine.item != nullptr) {
      results_.insert_or_assign(result_key(node.index, row.mine.item->port.index), row.verdict.level);
      has_result = true;
    } else if (direction == Direction::input && row.mine.item != nullptr) {
      const InputSource* const source = find_source(node.sources, row.mine.item->port.index);
      if (source != nullptr && source->kind == InputSource::Kind::result)
        results_.try_emplace(result_key(source->node, source->output), row.verdict.level);
    }
  }
  if (!has_result || is_tree)
    without_results_.insert_or_assign(node.index, Operator{node.name, node.stack, node.order, inputs});
}

// A result that has no row of its own is seen where it is an input: the operator that made it is the origin.
void Findings::note_origin_before(const NodeResult& node) {
  const bool is_of_overflow = summary_.question == Question::overflow;
  for (const Comparison& row : node.rows) {
    if (direction_of(row) != Direction::input || row.verdict.level != Level::fail ||
        row.mine.item == nullptr || is_unmatched(row))
      continue;
    const InputSource* const source = find_source(node.sources, row.mine.item->port.index);
    if (source == nullptr || source->kind != InputSource::Kind::result ||
        (is_of_overflow && results_.contains(result_key(source->node, source->output))))
      continue;
    const auto producer = without_results_.find(source->node);
    if (producer == without_results_.end() || producer->second.inputs.standing != Standing::good) continue;
    const When then = when_at(producer->second.order);
    if (summary_.first_origin && then >= first_origin_) continue;
    first_origin_ = then;
    summary_.first_origin = place_of(node, row);
    summary_.first_origin->node = std::string(producer->second.name);
    summary_.first_origin->called_at = calling_line(producer->second.stack);
  }
}

// A node whose inputs agree and whose output does not made the difference itself; the nodes behind it inherit
// it.
void Findings::note_origin(const NodeResult& node) {
  if (!seeks_origin_) return;
  if (error_column_ >= 0) return note_trend(node);
  const When now = when_of(node);
  Inputs inputs = inputs_of(node);
  note_introduced(node);
  if (node.place.has_graph || summary_.question == Question::overflow) note_origin_before(node);
  remember(node, inputs);
  if (summary_.first_origin && now >= first_origin_) return;
  // Where its operator was run again that tells, whatever its inputs were like.
  const auto is_bad_output = [&](const Comparison& row) {
    if (direction_of(row) != Direction::output || row.verdict.level != Level::fail ||
        row.mine.item == nullptr || is_unmatched(row) || row.verdict.is_flip)
      return false;
    switch (introduced_in(row)) {
      case Introduced::in_main:
        return true;
      case Introduced::in_part:
        return inputs.standing != Standing::bad;
      case Introduced::no:  // by itself; it may have been told something else
        return inputs.standing == Standing::good && !inputs.other_arguments.empty();
      case Introduced::unknown:
        return inputs.standing == Standing::good;
    }
    return false;
  };
  const auto bad_output = std::ranges::find_if(node.rows, is_bad_output);
  if (bad_output == node.rows.end()) return;
  first_origin_ = now;
  summary_.first_origin = place_of(node, *bad_output);
  if (summary_.question == Question::overflow)
    summary_.first_origin->given = inputs_in_words(node, inputs.not_compared.empty());
  if (introduced_in(*bad_output) == Introduced::unknown)
    summary_.first_origin->not_compared = std::move(inputs.not_compared);
  summary_.first_origin->other_arguments = std::move(inputs.other_arguments);
}

// Honest operators hand on up to so many times the error that they are given (docs/rules.md).
void Findings::note_trend(const NodeResult& node) {
  constexpr double kHandedOn = 2.5;
  for (const Comparison& row : node.rows) {
    if (row.basis != Basis::data || error_column_ >= std::ssize(row.metrics)) continue;
    const auto error = number_in(row.metrics[static_cast<size_t>(error_column_)]);
    const bool is_by_nonfinite = row.is_nonfinite_apart || !error || !std::isfinite(*error);
    if (is_by_nonfinite) {
      // Behind one that fails by NaN alone nothing can be told.
      if (row.verdict.level == Level::fail) largest_error_ = std::numeric_limits<double>::infinity();
      continue;
    }
    const double before = std::exchange(largest_error_, std::max(largest_error_, *error));
    if (row.verdict.level != Level::fail || summary_.first_origin || before < 0 ||
        !(*error > kHandedOn * before))
      continue;
    first_origin_ = when_of(node);
    summary_.first_origin = place_of(node, row);
    summary_.first_origin->given =
        before > 0 ? fmt::format("its error (rel_l2 {:.3g}) is {:.3g} times the largest before it", *error,
                                 *error / before)
                   : std::string("all before it are equal");
  }
}

void Findings::note_introduced(const NodeResult& node) {
  const When now = when_of(node);
  if (summary_.first_introduced && now >= first_introduced_) return;
  const auto is_worse = [](const Comparison& row) {
    return row.verdict.level == Level::pass && introduced_in(row) == Introduced::in_main;
  };
  const auto row = std::ranges::find_if(node.rows, is_worse);
  if (row == node.rows.end()) return;
  first_introduced_ = now;
  summary_.first_introduced = place_of(node, *row);
}

RowPlace Findings::place_of(const NodeResult& node, const Comparison& row) const {
  RowPlace place;
  place.section = section_;
  place.node = std::string(node.name);
  place.mine = std::string(row.mine.name);
  place.golden = std::string(row.golden.name);
  place.called_at = calling_line(node.stack);
  place.row = row;
  place.row.account = nullptr;
  // What belongs to a frame is gone when the run concludes.
  for (SideFacts* const side : {&place.row.mine, &place.row.golden}) {
    side->name = {};
    side->item = nullptr;
    side->meta.own();
  }
  return place;
}

}  // namespace assay
