// Tensors that stand by themselves: whether their numbers are finite.
#include "assay/base/text.h"
#include "assay/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

// Where what a tensor holds is this close to the end of its type, its row says so.
constexpr double kNearShare = 0.5;

struct RowNumbers {
  const Comparison& row;
  const Head& head;
  std::optional<double> some = {};  // what stands for a count of which it is known only that it is not 0
};

std::optional<double> look_up(const void* context, std::string_view name) {
  const auto& [row, head, some] = *static_cast<const RowNumbers*>(context);
  const NumberRange& range = *row.range;
  for (const auto& [column, count] : {std::pair{"nans", range.nans}, std::pair{"infs", range.infs()},
                                      std::pair{"plus_infs", range.plus_infs}})
    if (name == column && count == NumberRange::kNotKnown) return some;
  if (name == "count") return static_cast<double>(row.range->count);
  const int column = find_column(head, name);
  if (column < 0 || static_cast<size_t>(column) >= row.metrics.size()) return std::nullopt;
  const Value& value = row.metrics[static_cast<size_t>(column)];
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

// "inf"; of several in a list "1 NaN, 2 Inf".
std::string number_text(const Comparison& row) {
  if (row.mine.stated()->nonfinite != nullptr) return nonfinite_text(*row.range);
  return row.range->nans != 0 ? "nan" : row.range->plus_infs != 0 ? "inf" : "-inf";
}

// "3 NaN of 64 elements, the first at [0, 3]"
std::string what_is_not_finite(const Comparison& row) {
  const NumberRange& range = *row.range;
  if (is_argument(row.mine)) return fmt::format("{}: a number, and no tensor", number_text(row));
  if (range.is_stated) return fmt::format("{}, as its statistics show", nonfinite_text(range));
  const Shape& shape = row.mine.meta->shape;
  const int64_t element = range.first_nonfinite / components(row.mine.meta->dtype);
  return fmt::format("{} of {} element{}{}", nonfinite_text(range), range.count, range.count == 1 ? "" : "s",
                     shape.dims.empty() ? "" : fmt::format(", the first at {}", coordinates(shape, element)));
}

// What the rows of a node tell of its inputs.
struct WasGiven {
  bool has_finite = false, has_nonfinite = false;
  bool has_unseen = false;   // tensors that nobody looked at, since a rule leaves them out, or nothing tells
  bool has_allowed = false;  // tensors that hold what a rule of the user allows
  const Comparison* number = nullptr;  // an argument that is no tensor, and not finite
};

WasGiven what_was_given(const NodeResult& node) {
  WasGiven given;
  for (const Comparison& row : node.rows) {
    const Direction direction = direction_of(row);
    if (direction != Direction::input && direction != Direction::parameter) continue;
    const bool is_finite = row.range == nullptr || row.range->is_finite();
    if (is_argument(row.mine)) {
      if (!is_finite && given.number == nullptr) given.number = &row;
      continue;
    }
    given.has_nonfinite |= row.verdict.level == Level::fail && !is_finite;
    given.has_finite |= row.verdict.level == Level::pass || (row.verdict.level == Level::fail && is_finite);
    given.has_allowed |= row.verdict.level == Level::pass && !is_finite;
    given.has_unseen |= row.verdict.level == Level::error ||
                        (row.verdict.level == Level::ignored && row.evidence != Evidence::empty);
  }
  return given;
}

std::string in_words(const WasGiven& given, bool has_unseen) {
  std::string out = has_unseen ? "what was looked at of its inputs is finite" : "its inputs are finite";
  if (given.has_allowed) out += has_unseen ? ", or holds what a rule allows" : ", or hold what a rule allows";
  if (given.number != nullptr)
    out += fmt::format(" but for the argument {} ({})", given.number->mine.name, number_text(*given.number));
  return out;
}

std::string who_made_it(const WasGiven& given, bool is_group) {
  if (given.has_nonfinite) return "an input is not finite either: passed on";
  if (given.has_finite)
    return fmt::format("{}: made {}", in_words(given, given.has_unseen), is_group ? "inside of it" : "here");
  if (given.number != nullptr)
    return fmt::format("its argument {} is {}", given.number->mine.name, number_text(*given.number));
  return "what it was given is not known";
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
  const RowNumbers context{row, head};
  if (own->expression->holds(&context, look_up)) {
    if (range.is_finite()) return {};
    row.add_note(fmt::format("{}: a rule allows it", what_is_not_finite(row)));
    if (row.evidence == Evidence::elements) row.evidence = Evidence::finite_elements;
    return {};
  }
  std::string why_not = own->expression->why_not(&context, look_up);
  // Statistics tell that there are NaN, not how many: one is as bad as many where no number of them passes.
  const RowNumbers one{row, head, 1}, many{row, head, std::numeric_limits<double>::max()};
  const bool has_some = range.nans == NumberRange::kNotKnown || range.infs() == NumberRange::kNotKnown;
  if (has_some && !own->expression->holds(&one, look_up) && !own->expression->holds(&many, look_up) &&
      own->expression->fails(&one, look_up))
    return {Level::fail, what_is_not_finite(row)};
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
  if (is_argument(row.mine) && row.range != nullptr && direction_of(row) == Direction::output) {
    row.is_excused = false;
    return {Level::fail, what_is_not_finite(row)};
  }
  if (is_argument(row.mine))
    return {Level::ignored, row.range == nullptr ? "an argument, and no tensor" : what_is_not_finite(row)};
  if (row.is_excused) return {Level::ignored, std::string(text(row.pair.why))};
  if (row.range == nullptr)
    return {Level::ignored,
            "not looked at: the dump has neither its data nor statistics that tell whether it is finite"};
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

std::string inputs_in_words(const NodeResult& node, bool knows_all) {
  const WasGiven given = what_was_given(node);
  return in_words(given, given.has_unseen || !knows_all);
}

const RuleSet overflow_rules = {"overflow", prepare_overflow, true};

}  // namespace assay
