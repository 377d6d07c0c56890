// Verdicts of the rows of a node: by the rules of the user, or by the default ones (native_defaults.cc).
#include "assay/base/text.h"
#include "assay/judge/call_name.h"
#include "assay/judge/ledger.h"
#include "assay/judge/lineage.h"
#include "assay/judge/native_bounded.h"
#include "assay/judge/native_defaults.h"
#include "assay/judge/native_stated.h"
#include "assay/judge/rounded_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kElementApart = 4;  // of the bound of the whole, measured in its own golden value
constexpr std::string_view kErrorColumn = "rel_l2";  // what `inherited` adds up
constexpr std::string_view kMismatchColumn = "nonfinite_mismatch";
constexpr std::string_view kNoElements = "neither side has an element";
constexpr std::string_view kIdleCast =
    "of a cast that changes nothing in one of the runs, where its gradients are those of another operator";
constexpr std::string_view kNothingFinite =
    "every element of both sides is NaN or infinite, in the same places: there is no number to compare";
constexpr std::string_view kNothingFiniteOnBoth =
    "no element is finite on both sides, and the rule lets that be: there is no number to compare";

// What an expression may ask about a row.
struct RowContext {
  const Comparison& row;
  const Head& head;
  DType dtype;
  int32_t layers_before;
  Heritage heritage;
  const NoiseFloor* noise = nullptr;
  const Allowance* allowance = nullptr;
};

std::optional<double> number(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  return std::nullopt;
}

std::optional<double> look(const void* context, std::string_view name) {
  const auto& [row, head, dtype, layers_before, heritage, noise, allowance] =
      *static_cast<const RowContext*>(context);
  if (name == "eps") return is_real(dtype) ? std::ldexp(1.0, -info(dtype).mantissa_bits) : 0;
  if (name == "layer") return layers_before;
  if (name == "inherited") return heritage.inherited;
  if (name == "noise" || name == "noise_max") {
    if (noise == nullptr) return std::nullopt;
    return name == "noise" ? noise->rel_l2 : noise->max_abs;
  }
  // These two are for the default rules only, which see to it that what they need is measured.
  if (name == "amplified") return heritage.amplified;
  if (name == "amplified_max") return heritage.amplified_max;
  if (allowance != nullptr && name == "allowed") return allowance->relative;
  if (allowance != nullptr && name == "allowed_max") return allowance->largest;
  if (allowance != nullptr && name == "allowed_ulps") return allowance->ulps;
  if (name == "count") return static_cast<double>(row.golden.meta->shape.count());
  const int column = find_column(head, name);
  if (column < 0 || static_cast<size_t>(column) >= row.metrics.size()) return std::nullopt;
  const auto value = number(row.metrics[static_cast<size_t>(column)]);
  // A statistic that NaN or infinities have made one of them says nothing of the rest.
  if (value && row.basis == Basis::stated && !std::isfinite(*value)) return std::nullopt;
  return value;
}

bool makes_real(const Plan* plan) {
  return plan != nullptr && (plan->has(PlanOp::dequantise) || plan->has(PlanOp::rescale));
}

// Nothing was computed before a weight: neither the depth of its operator nor what ran in int8 excuses
// anything, unless it is made of int8 itself.
ModelPlace without_past(const Comparison& row, const ModelPlace& of_node) {
  ModelPlace place = of_node;
  if (!row.pair.is_constant) return place;
  place.layers_before = 0;
  place.is_quantised = makes_real(row.pair.plan(Side::mine)) || makes_real(row.pair.plan(Side::golden));
  // What is left of its elements may be kept in a finer type than it had, which only the graph knows.
  if (row.basis != Basis::data || row.evidence == Evidence::extremes) return place;
  place.is_compiled = false;
  place.coarsest = DType::f64;
  return place;
}

// The type that a row is judged by may be coarser than its own: what its values were rounded to.
ModelPlace place_of(const Comparison& row, const ModelPlace& of_node, const RuleOptions& options) {
  ModelPlace place = without_past(row, of_node);
  for (const std::optional<DType>& coarse : {row.judged_as, options.tolerance})
    if (coarse) place.coarsest = deciding_dtype(place.coarsest, *coarse);
  return place;
}

// The same for eps, and for what a number of it may be.
DType type_of(const Comparison& row, const RuleOptions& options) {
  DType dtype = deciding_dtype(row.mine.meta->dtype, row.golden.meta->dtype);
  for (const std::optional<DType>& coarse : {row.judged_as, options.tolerance})
    if (coarse && is_real(dtype)) dtype = deciding_dtype(dtype, *coarse);
  return dtype;
}

// Of a row that the ordinary rule does not let pass: no further off than two runs of mine are from each
// other. One such difference is a sample of the noise, the row another.
constexpr double kOfNoise = 4;
constexpr double kMostNoise = 0.1;  // two runs that are further apart are no two runs of one thing

bool is_within_noise(const RowContext& context) {
  const auto apart = look(&context, kErrorColumn), most = look(&context, "max_abs");
  return context.noise != nullptr && context.noise->rel_l2 <= kMostNoise &&
         look(&context, kMismatchColumn).value_or(1) == 0 && apart && most &&
         *apart <= kOfNoise * context.noise->rel_l2 && *most <= kOfNoise * context.noise->max_abs;
}

std::string in_units_of_noise(const RowContext& context) {
  const auto apart = look(&context, kErrorColumn);
  if (context.noise == nullptr || !apart) return {};
  if (context.noise->rel_l2 == 0) return *apart == 0 ? "" : "two runs of mine agree here";
  return fmt::format("{:.3g} times the noise of mine (rel_l2 {:.3g})", *apart / context.noise->rel_l2,
                     context.noise->rel_l2);
}

// What a dump of msprobe says of an argument beside its value: the partner of a message, a memory format, the
// class of an object that it does not describe.
// Facts of other dumps tell where a tensor lies, and how.
std::optional<std::string> other_fact(const Comparison& row, const Head& head) {
  if (head.mine_layout != "msprobe" || head.golden_layout != "msprobe") return std::nullopt;
  const Item *const mine = row.mine.item, *const golden = row.golden.item;
  if (mine == nullptr || golden == nullptr || mine->stated == nullptr || golden->stated == nullptr)
    return std::nullopt;
  if (mine->facts == nullptr || golden->facts == nullptr) return std::nullopt;
  for (const Fact& m : *mine->facts)
    for (const Fact& g : *golden->facts) {
      const auto *a = std::get_if<std::string>(&m.value), *b = std::get_if<std::string>(&g.value);
      if (m.key == g.key && m.key != "csv_file" && m.key != "no_data" && a != nullptr && b != nullptr &&
          *a != *b)
        return fmt::format("{} {} of mine, {} of golden", m.key, *a, *b);
    }
  return std::nullopt;
}

constexpr std::array<std::string_view, 4> kNonfiniteCounts = {"mine_nan", "golden_nan", "mine_inf",
                                                              "golden_inf"};

// A rule that reads one of the columns says itself what NaN, or infinities, mean.
struct Decides {
  bool on_nan = false, on_inf = false;
};

Decides decides_on(const Expression& rule) {
  Decides decides;
  for (const std::string& name : rule.names()) {
    const bool is_both = name == kMismatchColumn || name == "nonfinite_kind_mismatch";
    decides.on_nan |= is_both || name == "mine_nan" || name == "golden_nan";
    decides.on_inf |= is_both || name == "mine_inf" || name == "golden_inf";
  }
  return decides;
}

// Metrics are taken over the elements that are finite on both sides: whatever a rule says of these, it says
// nothing of the others.
std::optional<std::string> other_nonfinite(const Comparison& row, const RowContext& context) {
  if (row.basis == Basis::stated) return differ_in_nonfinite(*row.mine.stated(), *row.golden.stated());
  const double places = look(&context, kMismatchColumn).value_or(0);
  if (places == 0) return std::nullopt;
  return fmt::format("{} {} > 0: NaN or infinite on one side only, or another one", kMismatchColumn, places);
}

// What a rule on NaN does not speak of.
std::optional<std::string> other_counts(const RowContext& context, std::string_view what,
                                        std::string_view mine_column, std::string_view golden_column) {
  const auto mine = look(&context, mine_column), golden = look(&context, golden_column);
  if (!mine || !golden || *mine == *golden) return std::nullopt;
  return fmt::format("{} {} of mine, {} of golden, and the rule does not speak of these", what, *mine,
                     *golden);
}

// Steps of the coarser type end at its largest number: whatever lies beyond is one step away from it.
bool is_beyond(DType coarser, double value) {
  std::array<std::byte, sizeof(double)> bytes;
  double rounded = 0;
  from_f64(coarser, &value, 1, bytes.data());
  to_f64(coarser, bytes.data(), 1, &rounded);
  return !std::isfinite(rounded) || (std::abs(rounded) >= 1 && std::abs(rounded) < std::abs(value) / 2);
}

// Of two types, where the finer side holds a number that the coarser one cannot, and is further off than
// single elements may be: it was cut off.
std::optional<std::string> cut_off(const Comparison& row, const RowContext& context,
                                   const ModelPlace& place) {
  struct End {
    std::string_view side, column;
    DType dtype;
  };
  const DType coarser = context.dtype;
  for (const End& end : {End{"mine", "worst_mine", row.mine.meta->dtype},
                         End{"golden", "worst_golden", row.golden.meta->dtype}}) {
    const double value = look(&context, end.column).value_or(0);
    if (component(end.dtype) == coarser || !is_real(coarser) || !is_beyond(coarser, value)) continue;
    const double bound = relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, place);
    if (look(&context, "max_abs").value_or(0) > std::min(kElementApart * bound, 0.5) * std::abs(value))
      return fmt::format("{:g} of {} is beyond the range of {}: it was cut off", value, end.side,
                         name(coarser));
  }
  return std::nullopt;
}

// The fill of a mask or one massive activation makes the norm: what all other elements do beside it does not
// show in errors that are measured in that norm. Here they need only be the same tensor.
constexpr double kRestApart = 64, kRestMost = 0.5;
constexpr std::string_view kRestColumn = "rel_l2_rest";

std::optional<std::string> drowned(const Comparison& row, const RowContext& context,
                                   const ModelPlace& place) {
  const double rest = look(&context, kRestColumn).value_or(0);
  const DType mine = row.mine.meta->dtype, golden = row.golden.meta->dtype;
  if (look(&context, "ulp_max").value_or(1e9) <= ulps_allowed(mine, golden, place)) return std::nullopt;
  double bound = relative_bound(mine, golden, place);
  if (context.allowance != nullptr) bound = std::max(bound, context.allowance->relative);
  const double most = std::max(std::min(kRestApart * bound, kRestMost), bound);
  if (rest <= most) return std::nullopt;
  return fmt::format("{} {:g} > {:g}: the smaller elements differ, beside large ones", kRestColumn, rest,
                     most);
}

// Where numbers end, a few steps are all there is: zeros instead of what did not underflow are no rounding.
std::optional<std::string> vanished(const Comparison& row, const RowContext& context) {
  const double steps = look(&context, "ulp_max").value_or(0), apart = look(&context, "rel_l2").value_or(0);
  const bool is_real_pair =
      is_real(component(row.mine.meta->dtype)) && is_real(component(row.golden.meta->dtype));
  if (!is_real_pair || steps <= 1 || apart < 1 || !std::isfinite(apart)) return std::nullopt;
  return fmt::format("rel_l2 {:g}: the difference is as large as golden, though only {:g} steps of the type",
                     apart, steps);
}

// Numbers that count or name something are not rounded, whatever type they are kept in: a token id that is
// one off is another token.
std::optional<std::string> other_integer(const Comparison& row, const RowContext& context,
                                         const ModelPlace& place) {
  const DType mine = component(row.mine.meta->dtype), golden = component(row.golden.meta->dtype);
  // Of a quantised layer they are steps, and were made real.
  if (is_real(mine) == is_real(golden) || place.is_quantised) return std::nullopt;
  const double apart = look(&context, "max_abs").value_or(0);
  if (apart < 0.5 || look(&context, "ulp_max").value_or(1) == 0) return std::nullopt;
  return fmt::format("max_abs {:g}: {} holds integers, which are not rounded", apart,
                     is_real(mine) ? "golden" : "mine");
}

// Where an account is kept of every tensor.
const Expression& ledger_rule() {
  static const Expression kRule = [] {
    Result<Expression> rule = Expression::parse(
        "nonfinite_mismatch == 0 and (rel_l2 <= allowed and (max_abs <= allowed_max or max_abs <= 4 * "
        "allowed * "
        "abs(worst_golden)) or ulp_max <= allowed_ulps)");
    ASSAY_CHECK(rule.has_value());
    return std::move(*rule);
  }();
  return kRule;
}

const NoiseFloor* noise_of(const Comparison& row, const Head& head, const RuleOptions& options) {
  return options.noise == nullptr ? nullptr : options.noise->find(head.at.text(), row.mine.name);
}

// The rule that --rtol and --atol are.
bool is_closeness(const Expression& rule, const RuleOptions& options) {
  return options.closeness && rule.text() == kClosenessRule;
}

std::string how_many_not_close(const RowContext& context, const Closeness& closeness) {
  const auto beyond = look(&context, "not_close"), count = look(&context, "count");
  if (!beyond || !count) return "not_close is not available";
  return fmt::format("{:.0f} of {:.0f} elements are further off than {:g} + {:g} * |golden|", *beyond, *count,
                     closeness.atol, closeness.rtol);
}

Verdict judge_compared(const Comparison& row, const NodeResult& node, const Lineage& lineage,
                       const Lineage::Inputs& inputs, const Head& head, const RuleOptions& options,
                       const Allowance* allowance) {
  const Rule* const own = find_user_rule(row, node.name, options.rules);
  const Expression* const user = own != nullptr && own->expression ? &*own->expression : nullptr;
  const ModelPlace place = place_of(row, node.place, options);
  if (row.evidence == Evidence::empty) return {Level::ignored, std::string(kNoElements)};
  if (row.bounded != nullptr && user == nullptr) return judge_bounded(row);
  if (user == nullptr || is_argument(row.mine))
    if (const auto other = other_fact(row, head)) return {Level::fail, *other};
  if (is_beside(row)) return judge_value(row, options.values_fail ? Level::fail : Level::ignored);
  if (row.basis == Basis::stated && (user == nullptr || !row.mine.meta || !row.golden.meta))
    return judge_stated(row, head, place);
  if (auto contradiction = row.pair.is_computed() ? std::nullopt : contradiction_in(row, head, place))
    return {Level::error, std::move(*contradiction)};
  if (differ_by_checksum(row)) return judge_stated(row, head, place);
  if (!row.mine.meta || !row.golden.meta) return {Level::error, "the element type of one side is not known"};
  const DType dtype = type_of(row, options);
  // Of a tensor that only its extremes are left of, two elements that happen to agree say nothing of the
  // error of the rest, so none can be inherited.
  const Heritage heritage = row.evidence == Evidence::extremes
                                ? Heritage{std::numeric_limits<double>::infinity()}
                                : lineage.of_row(node, inputs, row);
  const int32_t depth = (user != nullptr ? node.place : place).layers_before;
  const RowContext context{row, head, dtype, depth, heritage, noise_of(row, head, options), allowance};
  const Decides decides = user == nullptr           ? Decides{}
                          : options.allow_nonfinite ? Decides{true, true}
                                                    : decides_on(*user);
  const bool user_decides = decides.on_nan || decides.on_inf;
  if (user != nullptr) {
    auto other = !user_decides     ? other_nonfinite(row, context)
                 : !decides.on_inf ? other_counts(context, "infinities", "mine_inf", "golden_inf")
                 : !decides.on_nan ? other_counts(context, "NaN", "mine_nan", "golden_nan")
                                   : std::nullopt;
    if (other) return {Level::fail, std::move(*other)};
  }
  if (row.evidence == Evidence::nothing && !user_decides)
    return {Level::ignored, std::string(row.basis == Basis::data ? kNothingFinite : kNothingStated)};
  const Expression& rule = user                   ? *user
                           : allowance != nullptr ? ledger_rule()
                                                  : default_rule(row.mine.meta->dtype, row.golden.meta->dtype,
                                                                 place, heritage.amplified > 0);
  if (!rule.holds(&context, look)) {
    if (user == nullptr && is_within_noise(context)) return {Level::pass, std::string(kWithinNoise)};
    std::string why_not = is_closeness(rule, options) ? how_many_not_close(context, *options.closeness)
                                                      : rule.why_not(&context, look);
    // Statistics that agree do not tell what the rule asks for. Equal bits do. Those that differ decide.
    if (row.basis == Basis::stated && !rule.fails(&context, look)) {
      const Verdict by_statistics = judge_stated(row, head, place);
      if (by_statistics.level == Level::pass && row.evidence == Evidence::checksum) return {};
      if (by_statistics.level == Level::pass)
        return {Level::ignored,
                fmt::format("the rule asks for what {} not tell: {}",
                            row.evidence == Evidence::parity ? "a XOR does" : "statistics do", why_not)};
      if (by_statistics.level == Level::ignored) return by_statistics;
      why_not += fmt::format("; by the default rules, {}", by_statistics.reason);
    }
    if (user == nullptr && allowance != nullptr)
      if (const std::string account = allowance->text(); !account.empty()) why_not += "; " + account;
    if (const std::string units = in_units_of_noise(context); !units.empty()) why_not += "; " + units;
    return {Level::fail, std::move(why_not)};
  }
  if (user == nullptr) {
    if (auto other = other_integer(row, context, place)) return {Level::fail, std::move(*other)};
    if (auto cut = cut_off(row, context, place)) return {Level::fail, std::move(*cut)};
    const bool is_by_steps = look(&context, "ulp_max").value_or(1e9) <=
                             ulps_allowed(row.mine.meta->dtype, row.golden.meta->dtype, place);
    if (is_by_steps && row.evidence != Evidence::extremes)
      if (auto lost = vanished(row, context)) return {Level::fail, std::move(*lost)};
    if (heritage.amplified == 0 && row.evidence != Evidence::extremes)
      if (auto rest = drowned(row, context, place)) return {Level::fail, std::move(*rest)};
  }
  if (row.nothing_finite) return {Level::ignored, std::string(kNothingFiniteOnBoth)};
  return {};
}

std::string shapes(const Comparison& row) {
  if (!row.mine.meta || !row.golden.meta) return "shapes differ";
  // Those of the first rank agree; the note names the one that has another.
  if (row.mine.meta->shape == row.golden.meta->shape && !row.note.empty()) return row.note;
  return fmt::format("shape {} of mine, {} of golden", row.mine.meta->shape.text(),
                     row.golden.meta->shape.text());
}

bool states(const SideFacts& side) { return side.item != nullptr && side.item->stated != nullptr; }

// A cast to the type that a tensor has already gives back the tensor: what msprobe hooks then is the operator
// that made it, and the gradients are those of another operator than in the run that does cast.
bool is_idle_cast(const NodeResult& node, const Head& head) {
  return Ledger::serves(head) && CallName(node.name).is_backward() &&
         kind_of_entry(node.name) == OpKind::cast;
}

Verdict judge_row(const Comparison& row, const NodeResult& node, const Lineage& lineage,
                  const Lineage::Inputs& inputs, const Head& head, const RuleOptions& options,
                  const Allowance* allowance) {
  const auto note_or = [&](std::string_view otherwise) {
    return row.note.empty() ? std::string(otherwise) : row.note;
  };
  const bool unmatched_fails = options.unmatched_fails.value_or(!head.cross_framework && !head.graphs_differ);
  const Level unmatched =
      (is_beside(row) ? options.values_fail : unmatched_fails) ? Level::fail : Level::ignored;
  // What could not be read is trouble still: nobody knows what it is.
  if (const Rule* const own = find_user_rule(row, node.name, options.rules);
      own != nullptr && !own->expression && row.status != Status::unreadable)
    return ignored_by(*own);
  if (row.status != Status::compared && row.status != Status::unreadable && is_idle_cast(node, head))
    return {Level::ignored, std::string(kIdleCast)};
  switch (row.status) {
    case Status::compared: {
      Verdict verdict = judge_compared(row, node, lineage, inputs, head, options, allowance);
      if (verdict.level != Level::pass) return verdict;
      if (const PairPlans* const plans = row.pair.plans; plans != nullptr && !plans->lacks.empty()) {
        verdict = {Level::fail, plans->lacks};
        verdict.is_incomplete = true;
      } else if (!row.contradiction.empty()) {
        verdict = {Level::fail, "unsure: " + row.contradiction};
        verdict.is_contradiction = true;
      }
      return verdict;
    }
    case Status::only_mine:
      return {unmatched, "only in mine, nothing in golden fits"};
    case Status::only_golden:
      return {unmatched, "only in golden, nothing in mine fits"};
    case Status::shape_mismatch:
      return {Level::fail,
              shapes(row) + (row.contradiction.empty() ? "" : fmt::format(" ({})", row.contradiction))};
    case Status::unreadable:
      return {Level::error, note_or("could not be read")};
    case Status::no_data:
      // A dump of statistics may have none for a tensor that was never computed (a meta or fake tensor).
      // So does a quantised graph whose factors were not dumped.
      return {row.is_excused || (states(row.mine) && states(row.golden) && !row.pair.is_computed())
                  ? Level::ignored
                  : Level::error,
              note_or("one side is a description without data")};
  }
  return {Level::error, "unknown status"};
}

// A row that passes shows no more than what its verdict was made of.
void correct_evidence(Comparison& row) {
  if (row.status != Status::compared || is_beside(row)) return;
  if (row.verdict.level == Level::ignored && row.evidence != Evidence::empty)
    row.evidence = Evidence::nothing;
  if (row.verdict.level == Level::pass && row.evidence == Evidence::elements && row.is_nonfinite_apart)
    row.evidence = Evidence::finite_elements;
}

// Of a row that passes: how it compares with chance.
void note_noise(const Head& head, const RuleOptions& options, Comparison& row) {
  if (options.noise == nullptr || row.basis != Basis::data || row.verdict.level != Level::pass) return;
  const RowContext context{row, head, DType::f32, 0, {}, noise_of(row, head, options)};
  const std::string units = in_units_of_noise(context);
  if (!units.empty()) row.note += (row.note.empty() ? "" : "; ") + units;
}

bool has_other_bf16_checksum(const Comparison& row, const Head& head) {
  if (row.basis != Basis::stated || head.content != Content::checksums || !head.cross_framework) return false;
  return row.golden.meta && row.golden.meta->dtype == DType::bf16 &&
         row.mine.stated()->checksum != row.golden.stated()->checksum;
}

bool differs_in_choice(const Comparison& row) {
  return direction_of(row) == Direction::output && row.verdict.level == Level::fail &&
         row.basis == Basis::data && row.mine.meta && row.golden.meta && !is_real(row.mine.meta->dtype) &&
         !is_real(row.golden.meta->dtype);
}

// What was chosen differs, though all that the choice was made of agrees, and so does what is at the places
// chosen: of candidates that were closer to each other than rounding, one run took one and the other the
// other.
void tell_flips(NodeResult& node, int max_column) {
  double margin = 0;
  bool agree = false;
  for (const Comparison& row : node.rows) {
    if (row.basis != Basis::data || !row.mine.meta || !is_real(row.mine.meta->dtype)) continue;
    if (row.verdict.level != Level::pass) return;
    agree = true;
    if (max_column < std::ssize(row.metrics))
      if (const auto apart = number(row.metrics[static_cast<size_t>(max_column)]))
        margin = std::max(margin, *apart);
  }
  if (!agree || margin == 0) return;
  for (Comparison& row : node.rows) {
    if (!differs_in_choice(row)) continue;
    row.verdict.is_flip = true;
    row.verdict.reason =
        fmt::format("a flip: inputs agree, and so do the values at the places chosen, within {:.3g}; {}",
                    margin, row.verdict.reason);
  }
}

Judge prepare_native(const Head& head, const RuleOptions& options) {
  return [&head, &options, apart = find_column(head, "max_abs"), lineage = std::make_shared<Lineage>(head),
          ledger = Ledger::serves(head) ? std::make_shared<Ledger>(head) : nullptr,
          rounded = std::make_shared<RoundedTypes>()](NodeResult& node) {
    Lineage::Inputs inputs;
    if (ledger) {
      ledger->begin(node);
      rounded->begin(node);
    }
    const auto judge_rows = [&](bool outputs) {
      for (Comparison& row : node.rows) {
        if ((direction_of(row) == Direction::output) != outputs) continue;
        if (const auto coarser = ledger ? rounded->of_row(row) : std::nullopt) {
          row.judged_as = coarser;
          row.add_note(fmt::format("computed from {}: judged as such", name(*coarser)));
        }
        const auto allowance = ledger ? ledger->of_row(row) : std::nullopt;
        row.verdict =
            judge_row(row, node, *lineage, inputs, head, options, allowance ? &*allowance : nullptr);
        if (ledger) ledger->enter(row, allowance);
      }
    };
    judge_rows(false);
    inputs = lineage->inputs_of(node);  // with their verdicts
    judge_rows(true);
    if (ledger && std::ranges::any_of(node.rows, differs_in_choice) &&
        kind_of_entry(node.name) == OpKind::selection)
      tell_flips(node, apart);
    for (Comparison& row : node.rows) {
      correct_evidence(row);
      if (const Rule* const own = is_beside(row) ? find_user_rule(row, node.name, options.rules) : nullptr)
        row.is_excused = !own->expression;
      note_noise(head, options, row);
      if (has_other_bf16_checksum(row, head))
        row.note =
            "PyTorch takes the checksum of the 16 bits of a bf16, MindSpore of the 32 it widens them to: "
            "judged by statistics";
    }
    lineage->keep(node, std::move(inputs));
  };
}

void add_names(const Expression& expression, std::vector<std::string>& columns) {
  for (const std::string& name : expression.names()) {
    const std::string_view column = name == "inherited" ? kErrorColumn : name;
    if (!is_rule_variable(column) && std::find(columns.begin(), columns.end(), column) == columns.end())
      columns.emplace_back(column);
  }
}

}  // namespace

bool judges_in_order(const Head& head) { return Ledger::serves(head); }

bool is_rule_variable(std::string_view name) {
  return name == "eps" || name == "count" || name == "layer" || name == "inherited" || name == "noise" ||
         name == "noise_max";
}

bool fails_by_type(const Comparison& row, std::string_view node, const Head& head,
                   const RuleOptions& options) {
  if (row.basis != Basis::data || !row.mine.meta || !row.golden.meta) return false;
  if (find_user_rule(row, node, options.rules) != nullptr) return false;
  const DType mine = row.mine.meta->dtype, golden = row.golden.meta->dtype;
  const RowContext context{row, head, deciding_dtype(mine, golden), 0, {}};
  return !default_rule(mine, golden).holds(&context, look);
}

std::vector<std::string> columns_needed(const RuleOptions& options) {
  std::vector<std::string> columns;
  for (const Rule& rule : options.rules)
    if (rule.expression) add_names(*rule.expression, columns);
  const auto add = [&](std::string_view column) {
    if (std::ranges::find(columns, column) == columns.end()) columns.emplace_back(column);
  };
  if (!options.rules.empty()) add(kMismatchColumn);
  for (const Rule& rule : options.rules)
    if (rule.expression)
      if (const Decides decides = decides_on(*rule.expression); decides.on_nan != decides.on_inf)
        std::ranges::for_each(kNonfiniteCounts, add);
  if (options.noise != nullptr)
    for (const std::string_view column : {kErrorColumn, std::string_view("max_abs"), kMismatchColumn})
      add(column);
  const auto takes_all = [](const Rule& rule) { return rule.pattern == "*"; };
  if (std::any_of(options.rules.begin(), options.rules.end(), takes_all)) return columns;
  add(kRestColumn);
  for (int i = 0; i < kDTypeCount; ++i)
    add_names(default_rule(static_cast<DType>(i), static_cast<DType>(i), {}), columns);
  return columns;
}

const RuleSet native_rules = {"native", prepare_native, true};

}  // namespace assay
