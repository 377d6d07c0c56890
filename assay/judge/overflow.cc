// Tensors that stand by themselves: whether their numbers are finite.
#include "assay/base/text.h"
#include "assay/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// Where what a tensor holds is this close to the end of its type, its row says so.
constexpr double kNearShare = 0.5;

std::optional<double> look_up(const void* context, std::string_view name) {
  const auto& [row, head] = *static_cast<const std::pair<const Comparison&, const Head&>*>(context);
  if (name == "count") return static_cast<double>(row.range->count);
  const int column = find_column(head, name);
  if (column < 0 || static_cast<size_t>(column) >= row.metrics.size()) return std::nullopt;
  const Value& value = row.metrics[static_cast<size_t>(column)];
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

// "3 NaN of 64 elements, the first at [0, 3]"
std::string what_is_not_finite(const Comparison& row) {
  const NumberRange& range = *row.range;
  if (range.is_stated) return fmt::format("{}, as its statistics show", nonfinite_text(range));
  const Shape& shape = row.mine.meta->shape;
  const int64_t element = range.first_nonfinite / components(row.mine.meta->dtype);
  return fmt::format("{} of {} element{}{}", nonfinite_text(range), range.count, range.count == 1 ? "" : "s",
                     shape.dims.empty() ? "" : fmt::format(", the first at {}", coordinates(shape, element)));
}

enum class WasGiven : uint8_t { finite, not_finite, not_known };

WasGiven what_was_given(const NodeResult& node) {
  WasGiven given = WasGiven::not_known;
  for (const Comparison& row : node.rows) {
    const Direction direction = direction_of(row);
    if (direction != Direction::input && direction != Direction::parameter) continue;
    if (row.verdict.level == Level::fail) return WasGiven::not_finite;
    if (row.verdict.level == Level::pass) given = WasGiven::finite;
  }
  return given;
}

std::string_view who_made_it(WasGiven given, bool is_group) {
  switch (given) {
    case WasGiven::finite:
      return is_group ? "its inputs are finite: made inside of it" : "its inputs are finite: made here";
    case WasGiven::not_finite:
      return "an input is not finite either: passed on";
    case WasGiven::not_known:
      return "what it was given is not known";
  }
  return "";
}

Verdict judge_numbers(Comparison& row, const Head& head, const Rule* own) {
  const bool has_expression = own != nullptr && own->expression;
  const auto decides = [&](std::string_view name) {
    return has_expression &&
           std::ranges::find(own->expression->names(), name) != own->expression->names().end();
  };
  const NumberRange& range = *row.range;
  const bool decides_on_infs = decides("infs") || decides("plus_infs");
  if ((range.nans != 0 && !decides("nans")) || (range.infs() != 0 && !decides_on_infs))
    return {Level::fail, what_is_not_finite(row)};
  if (!has_expression) return {};
  const std::pair<const Comparison&, const Head&> context(row, head);
  if (own->expression->holds(&context, look_up)) {
    if (range.is_finite()) return {};
    row.add_note(fmt::format("{}: a rule allows it", what_is_not_finite(row)));
    row.evidence = Evidence::finite_elements;
    return {};
  }
  std::string why_not = own->expression->why_not(&context, look_up);
  // Statistics have no shares of elements.
  if (row.basis == Basis::stated && !own->expression->fails(&context, look_up))
    return {Level::ignored, "the rule asks for what statistics do not tell: " + why_not};
  return {Level::fail, std::move(why_not)};
}

Verdict judge_by_itself(Comparison& row, std::string_view node, const Head& head,
                        const RuleOptions& options) {
  if (row.status == Status::unreadable) return {Level::error, row.note};
  const Rule* const own = find_user_rule(row, node, options.rules);
  if (own != nullptr && !own->expression) {
    row.is_excused = true;
    return ignored_by(*own);
  }
  if (row.pair.why == Why::not_written) return {Level::ignored, std::string(text(row.pair.why))};
  if (row.is_excused) return {Level::ignored, "an argument, and no tensor"};
  if (row.range == nullptr)
    return {Level::ignored,
            "not looked at: the dump has neither its data nor its largest and smallest element"};
  if (row.evidence == Evidence::empty) return {Level::ignored, "it has no elements"};
  return judge_numbers(row, head, own);
}

void note_risk(Comparison& row) {
  const double of_type_max = row.range->of_type_max();
  if (row.verdict.level != Level::pass || !(of_type_max >= kNearShare) || !row.mine.meta) return;
  row.add_note(fmt::format("its largest number is {:.3g} % of what {} holds", 100 * of_type_max,
                           name(component(row.mine.meta->dtype))));
}

Judge prepare_overflow(const Head& head, const RuleOptions& options) {
  return [&head, &options](NodeResult& node) {
    for (Comparison& row : node.rows) {
      row.verdict = judge_by_itself(row, node.name, head, options);
      if (row.verdict.level == Level::ignored && row.evidence != Evidence::empty)
        row.evidence = Evidence::nothing;
      if (row.range != nullptr) note_risk(row);
    }
    const WasGiven given = what_was_given(node);
    for (Comparison& row : node.rows)
      if (row.verdict.level == Level::fail && row.range != nullptr && !row.range->is_finite() &&
          direction_of(row) == Direction::output)
        row.verdict.reason += fmt::format("; {}", who_made_it(given, node.place.is_group));
  };
}

}  // namespace

const RuleSet overflow_rules = {"overflow", prepare_overflow, true};

}  // namespace assay
