// Verdicts of the rows of a node: by the rules of the user, or by the default ones (native_defaults.cc).
#include "assay/base/text.h"
#include "assay/judge/call_name.h"
#include "assay/judge/flips.h"
#include "assay/judge/ledger.h"
#include "assay/judge/native_bounded.h"
#include "assay/judge/native_defaults.h"
#include "assay/judge/native_impossible.h"
#include "assay/judge/native_objections.h"
#include "assay/judge/native_stated.h"
#include "assay/judge/rounded_types.h"
#include "assay/judge/stated_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace assay {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr std::string_view kNoElements = "neither side has an element";
constexpr std::string_view kIdleCast =
    "of a cast that changes nothing in one of the runs, where its gradients are those of another operator";
constexpr std::string_view kNothingFinite =
    "every element of both sides is NaN or infinite, in the same places: there is no number to compare";
constexpr std::string_view kNothingFiniteOnBoth =
    "no element is finite on both sides, and the rule lets that be: there is no number to compare";

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

// Of a row that the ordinary rule does not let pass: no further off than two runs of mine are from each
// other. One such difference is a sample of the noise, the row another.
constexpr double kOfNoise = 4;
constexpr double kMostNoise = 0.1;  // two runs that are further apart are no two runs of one thing

bool is_within_noise(const RowContext& context) {
  const auto apart = context.value(kErrorColumn), most = context.value("max_abs");
  return context.noise != nullptr && context.noise->rel_l2 <= kMostNoise &&
         context.value(kMismatchColumn).value_or(1) == 0 && apart && most &&
         *apart <= kOfNoise * context.noise->rel_l2 && *most <= kOfNoise * context.noise->max_abs;
}

std::string in_units_of_noise(const RowContext& context) {
  const auto apart = context.value(kErrorColumn);
  if (context.noise == nullptr || !apart) return {};
  if (context.noise->rel_l2 == 0) return *apart == 0 ? "" : "two runs of mine agree here";
  return fmt::format("{:.3g} times the noise of mine (rel_l2 {:.3g})", *apart / context.noise->rel_l2,
                     context.noise->rel_l2);
}

const NoiseFloor* noise_of(const Comparison& row, const Head& head, const RuleOptions& options) {
  return options.noise == nullptr ? nullptr : options.noise->find(head.at.text(), row.mine.name);
}

// The rule that --rtol and --atol are.
bool is_closeness(const Expression& rule, const RuleOptions& options) {
  return options.closeness && rule.text() == kClosenessRule;
}

std::string how_many_not_close(const RowContext& context, const Closeness& closeness) {
  const auto beyond = context.value("not_close"), count = context.value("count");
  if (!beyond || !count) return "not_close is not available";
  return fmt::format("{:.0f} of {:.0f} elements are further off than {:g} + {:g} * |golden|", *beyond, *count,
                     closeness.atol, closeness.rtol);
}

// What the ledger says of a row: what it may be off by, and what its operator was given.
struct Heritage {
  const Allowance* allowance;
  double inherited;
  double times = 1;  // of statistics: as many times their tolerance are allowed
};

Verdict judge_compared(const Comparison& row, const NodeResult& node, const Head& head,
                       const RuleOptions& options, const Heritage& heritage) {
  const Allowance* const allowance = heritage.allowance;
  const Rule* const own = find_user_rule(row, node.name, options.rules);
  const Expression* const user = own != nullptr && own->expression ? &*own->expression : nullptr;
  const ModelPlace place = place_of(row, node.place, options);
  if (row.evidence == Evidence::empty) return {Level::ignored, std::string(kNoElements)};
  if (row.bounded != nullptr && user == nullptr) return judge_bounded(row);
  if (user == nullptr || is_argument(row.mine))
    if (const auto other = other_fact(row, head)) return {Level::fail, *other};
  if (is_beside(row)) return judge_value(row, options.values_fail ? Level::fail : Level::ignored);
  if (row.basis == Basis::stated && (user == nullptr || !row.mine.meta || !row.golden.meta))
    return judge_stated(row, head, place, heritage.times);
  if (auto contradiction = row.pair.is_computed() ? std::nullopt : contradiction_in(row, head, place))
    return {Level::error, std::move(*contradiction)};
  if (differ_by_checksum(row)) return judge_stated(row, head, place);
  if (!row.mine.meta || !row.golden.meta) return {Level::error, "the element type of one side is not known"};
  const DType dtype = type_of(row, options);
  const int32_t depth = (user != nullptr ? node.place : place).layers_before;
  const RowContext context{row,      head, dtype, depth, heritage.inherited, noise_of(row, head, options),
                           allowance};
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
  const Expression& rule = user ? *user
                           : allowance != nullptr
                               ? ledger_rule()
                               : default_rule(row.mine.meta->dtype, row.golden.meta->dtype, place);
  if (!rule.holds(&context, RowContext::look)) {
    if (user == nullptr && is_within_noise(context)) return {Level::pass, std::string(kWithinNoise)};
    std::string why_not = is_closeness(rule, options) ? how_many_not_close(context, *options.closeness)
                                                      : rule.why_not(&context, RowContext::look);
    // Statistics that agree do not tell what the rule asks for. Equal bits do. Those that differ decide.
    if (row.basis == Basis::stated && !rule.fails(&context, RowContext::look)) {
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
    const bool is_by_steps = context.value("ulp_max").value_or(1e9) <=
                             ulps_allowed(row.mine.meta->dtype, row.golden.meta->dtype, place);
    if (is_by_steps && row.evidence != Evidence::extremes)
      if (auto lost = vanished(row, context)) return {Level::fail, std::move(*lost)};
    if (row.evidence != Evidence::extremes) {
      if (auto rest = drowned(row, context, place)) return {Level::fail, std::move(*rest)};
      if (auto scale = scaled(row, context, place)) return {Level::fail, std::move(*scale)};
    }
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
  return head.mine_layout == "msprobe" && head.golden_layout == "msprobe" &&
         CallName(node.name).is_backward() && kind_of_entry(node.name) == OpKind::cast;
}

// Of a row that the default rules judge by the errors of its elements.
AllowedError allowed_error(const Comparison& row, const ModelPlace& place, const RuleOptions& options,
                           const Allowance* allowance) {
  if (!row.mine.meta || !row.golden.meta || row.bounded != nullptr) return {};
  if (allowance != nullptr)
    return {static_cast<float>(allowance->relative), static_cast<float>(allowance->own),
            static_cast<float>(allowance->inherited)};
  const double bound =
      relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, place_of(row, place, options));
  return {static_cast<float>(bound)};
}

Verdict judge_row(const Comparison& row, const NodeResult& node, const Head& head, const RuleOptions& options,
                  const Heritage& heritage) {
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
      Verdict verdict = judge_compared(row, node, head, options, heritage);
      if (row.basis == Basis::data && find_user_rule(row, node.name, options.rules) == nullptr)
        verdict.allowed = allowed_error(row, node.place, options, heritage.allowance);
      if (verdict.level != Level::pass) return verdict;
      if (auto impossible = impossible_in(row, head)) return {Level::error, std::move(*impossible)};
      if (const PairPlans* const plans = row.pair.plans; plans != nullptr && !plans->lacks.empty()) {
        verdict.level = Level::fail;
        verdict.reason = plans->lacks;
        verdict.is_incomplete = true;
      } else if (!row.contradiction.empty()) {
        verdict.level = Level::fail;
        verdict.reason = "unsure: " + row.contradiction;
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
  const RowContext context{row, head, DType::f32, 0, kUnknown, noise_of(row, head, options)};
  const std::string units = in_units_of_noise(context);
  if (!units.empty()) row.note += (row.note.empty() ? "" : "; ") + units;
}

bool has_other_bf16_checksum(const Comparison& row, const Head& head) {
  if (row.basis != Basis::stated || head.content != Content::checksums || !head.cross_framework) return false;
  return row.golden.meta && row.golden.meta->dtype == DType::bf16 &&
         row.mine.stated()->checksum != row.golden.stated()->checksum;
}

// Of one section.
class NativeJudge {
 public:
  NativeJudge(const Head& head, const RuleOptions& options)
      : head_(head),
        options_(options),
        names_calls_(head.mine_layout == "msprobe" && head.golden_layout == "msprobe"),
        ledger_(head),
        flips_(head, names_calls_) {}

  void judge(NodeResult& node) {
    // Nodes that no ledger is kept of are judged on many threads.
    const bool is_kept = Ledger::keeps(head_, node);
    if (is_kept) ledger_.begin(node);
    if (is_kept && names_calls_) {
      rounded_.begin(node);
      stated_.begin(node);
    }
    judge_rows(node, false, is_kept);
    if (is_kept) ledger_.end_of_inputs();
    judge_rows(node, true, is_kept);
    if (is_kept) ledger_.end();
    for (Comparison& row : node.rows) finish(node, row);
  }

 private:
  void judge_rows(NodeResult& node, bool outputs, bool is_kept) {
    std::vector<std::pair<Comparison*, std::optional<Allowance>>> judged;
    for (Comparison& row : node.rows) {
      if ((direction_of(row) == Direction::output) != outputs) continue;
      if (const auto coarser = is_kept && names_calls_ ? rounded_.of_row(row) : std::nullopt) {
        row.judged_as = coarser;
        row.add_note(fmt::format("computed from {}: judged as such", name(*coarser)));
      }
      if (!is_kept) {
        row.verdict = judge_row(row, node, head_, options_, {nullptr, kUnknown});
        continue;
      }
      auto allowance = ledger_.of_row(row, place_of(row, node.place, options_));
      row.verdict =
          judge_row(row, node, head_, options_,
                    {allowance ? &*allowance : nullptr, outputs ? ledger_.sum_of_inputs() : kUnknown});
      if (names_calls_ && row.verdict.level == Level::fail) excuse_what_cancels(node, row);
      if (allowance) note_inheritance(node, row);
      judged.emplace_back(&row, std::move(allowance));
      if (!outputs) enter(node, judged.back());
    }
    if (!outputs || !is_kept) return;
    flips_.tell(node);
    for (auto& each : judged) enter(node, each);
  }

  double error_of(const Comparison& row) const {
    const RowContext context{row, head_, DType::f32, 0, kUnknown};
    return context.value(kErrorColumn).value_or(0);
  }

  // What its inputs bring along from a choice that differs may be far off: the row says whose error it is.
  void note_inheritance(const NodeResult& node, Comparison& row) const {
    if (row.verdict.level != Level::pass || ledger_.last_flip().empty()) return;
    const double error = error_of(row);
    if (error >
        relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, place_of(row, node.place, options_)))
      row.add_note(fmt::format("rel_l2 {:.3g} is what its inputs bring along, behind the flip of {}", error,
                               ledger_.last_flip()));
  }

  // Of statistics: what is left of larger numbers has their errors.
  void excuse_what_cancels(const NodeResult& node, Comparison& row) {
    if (row.basis != Basis::stated || row.verdict.follows_flip) return;
    if (!row.mine.meta || !row.golden.meta) return;
    const double tolerance =
        relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, place_of(row, node.place, options_));
    const double times = stated_.times(node, row, tolerance);
    if (!(times > 1)) return;
    Verdict again = judge_row(row, node, head_, options_, {nullptr, kUnknown, times});
    if (again.level != Level::pass) return;
    row.verdict = std::move(again);
    row.add_note(fmt::format("by the sizes of what it was computed from, {:.3g} times the tolerance", times));
    stated_.remember(row, times);
  }

  // What a choice that differs made another one: what is computed from it may be as far off.
  void follow_by_statistics(const NodeResult& node, const Comparison& row) {
    constexpr double kMost = 1024;
    // Four numbers show no more than a part of how far it is off.
    constexpr double kUnseenPart = 2;
    for (double times = 2; times <= kMost; times *= 2)
      if (judge_row(row, node, head_, options_, {nullptr, kUnknown, times}).level == Level::pass)
        return stated_.remember(row, kUnseenPart * times);
  }

  void enter(const NodeResult& node, std::pair<Comparison*, std::optional<Allowance>>& judged) {
    auto& [row, allowance] = judged;
    if (find_user_rule(*row, node.name, options_.rules) == nullptr)
      if (const std::string_view flip = ledger_.flip_behind(*row); !flip.empty()) {
        row->verdict = {Level::ignored, fmt::format("follows a flip of {}: {}", flip, row->verdict.reason)};
        row->verdict.follows_flip = true;
        if (row->basis == Basis::stated) follow_by_statistics(node, *row);
      }
    ledger_.enter(*row, allowance, place_of(*row, node.place, options_));
    if (allowance) row->account = std::make_shared<const Account>(std::move(allowance->account));
  }

  void finish(NodeResult& node, Comparison& row) const {
    correct_evidence(row);
    if (const Rule* const own = is_beside(row) ? find_user_rule(row, node.name, options_.rules) : nullptr)
      row.is_excused = !own->expression;
    note_noise(head_, options_, row);
    note_int8(node, row);
    if (has_other_bf16_checksum(row, head_))
      row.note =
          "PyTorch takes the checksum of the 16 bits of a bf16, MindSpore of the 32 it widens them to: "
          "judged by statistics";
  }

  // Of a row that passes since one side multiplies in int8, and would not by the types of its numbers.
  void note_int8(const NodeResult& node, Comparison& row) const {
    if (row.basis != Basis::data || row.verdict.level != Level::pass || row.judged_as) return;
    if (!row.mine.meta || !row.golden.meta || find_user_rule(row, node.name, options_.rules) != nullptr)
      return;
    ModelPlace place = place_of(row, node.place, options_);
    if (!std::exchange(place.is_quantised, false)) return;
    const double error = error_of(row);
    if (error <= relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, place)) return;
    row.judged_as = DType::i8;
    row.add_note(fmt::format("rel_l2 {:.3g}: judged as int8, in which one side multiplies", error));
  }

  const Head& head_;
  const RuleOptions& options_;
  const bool names_calls_;
  Ledger ledger_;
  const FlipTeller flips_;
  RoundedTypes rounded_;
  StatedErrors stated_;
};

Judge prepare_native(const Head& head, const RuleOptions& options) {
  return [judge = std::make_shared<NativeJudge>(head, options)](NodeResult& node) { judge->judge(node); };
}

}  // namespace

bool judges_in_order(const Head& head, const Pairing& pairing) { return Ledger::keeps_order(head, pairing); }

bool fails_by_type(const Comparison& row, std::string_view node, const Head& head,
                   const RuleOptions& options) {
  if (row.basis != Basis::data || !row.mine.meta || !row.golden.meta) return false;
  if (find_user_rule(row, node, options.rules) != nullptr) return false;
  const DType mine = row.mine.meta->dtype, golden = row.golden.meta->dtype;
  const RowContext context{row, head, deciding_dtype(mine, golden), 0, kUnknown};
  return !default_rule(mine, golden).holds(&context, RowContext::look);
}

const RuleSet native_rules = {"native", prepare_native, true};

}  // namespace assay
