// The default rules, by element type. docs/rules.md shows them as users may copy them, with the reasons at
// length.
#include "assay/base/text.h"
#include "assay/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

// relative: bound of the relative error of the whole tensor (rel_l2); single elements may be 16 times as far
// off, measured in the golden root mean square, or 4 times, measured in their own golden value. ulps: steps
// of the type within which every element is as good as equal, whatever the rest says.
struct Threshold {
  DType dtype;
  double relative;
  int ulps;
};

constexpr std::array<Threshold, 14> kThresholds = {{
    // 45,000 eps: sums of any length in f64, and exp, sin, … of different libraries; a lost f64 path is 1e-7.
    {DType::f64, 1e-11, 16},
    // 128 eps: sums in f32 itself, in another order; their error grows with the root of the length, 128²
    // terms and more.
    {DType::f32, 1.5e-5, 16},
    // 4 eps: sums run in f32, but results are rounded a few times on the way; the next mistake (a bf16 path)
    // is 8 eps.
    {DType::f16, 4e-3, 4},
    // 4 eps, as f16: rounding only, accumulated through the layers of a model.
    {DType::bf16, 3.2e-2, 4},
    // From here on 1 eps: one step up or down in most elements is what requantising slightly different values
    // gives.
    {DType::f8e4m3fn, 0.125, 1},
    {DType::f8e4m3fnuz, 0.125, 1},
    {DType::f8e5m2, 0.25, 1},
    {DType::f8e5m2fnuz, 0.25, 1},
    // Its precision tapers from 3 fraction bits to none; 2 bits is what values away from 1 have.
    {DType::hif8, 0.25, 1},
    {DType::f6e2m3, 0.125, 1},
    {DType::f6e3m2, 0.25, 1},
    {DType::f4e1m2, 0.25, 1},
    // Below 2 fraction bits eps says nothing any more (0.5 and 1); a quarter still tells apart noise and
    // another tensor.
    {DType::f4e2m1, 0.25, 1},
    {DType::f8e8m0, 0.25, 1},
}};

// Indices, token ids and masks: there is no rounding, so any difference is one.
constexpr std::string_view kIntegerRule = "max_abs == 0";

std::string rule_text(const Threshold& t) {
  return fmt::format(
      "nonfinite_mismatch == 0 and (rel_l2 <= {0} and (max_abs <= 16 * {0} * golden_rms or max_abs <= 4 * "
      "{0} * "
      "abs(worst_golden)) or ulp_max <= {1})",
      t.relative, t.ulps);
}

Expression compiled(std::string_view text) {
  Result<Expression> expression = Expression::parse(text);
  ASSAY_CHECK(expression.has_value());
  return std::move(*expression);
}

bool is_integral(DType dtype) { return !is_real(dtype); }

// The type whose steps decide what a difference means: the one with fewer fraction bits. Complex by
// component; an integer against a real follows the real.
DType coarser(DType a, DType b) {
  a = component(a);
  b = component(b);
  if (is_integral(a) || is_integral(b)) return is_integral(a) ? b : a;
  if (info(a).mantissa_bits != info(b).mantissa_bits)
    return info(a).mantissa_bits < info(b).mantissa_bits ? a : b;
  return std::max(a, b);  // the sides may be exchanged
}

// What an expression may ask about a row.
struct RowContext {
  const Comparison& row;
  const Head& head;
  DType dtype;
};

std::optional<double> number(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  return std::nullopt;
}

std::optional<double> look(const void* context, std::string_view name) {
  const auto& [row, head, dtype] = *static_cast<const RowContext*>(context);
  if (name == "eps") return is_integral(dtype) ? 0 : std::ldexp(1.0, -info(dtype).mantissa_bits);
  if (name == "count") return static_cast<double>(row.golden.meta->shape.count());
  const int column = find_column(head, name);
  if (column < 0 || static_cast<size_t>(column) >= row.metrics.size()) return std::nullopt;
  return number(row.metrics[static_cast<size_t>(column)]);
}

const Expression* find_user_rule(const Comparison& row, std::string_view node,
                                 const std::vector<Rule>& rules) {
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule)
    for (const std::string_view name : {row.mine.name, row.golden.name, node})
      if (!name.empty() && glob_match(rule->pattern, name)) return &rule->expression;
  return nullptr;
}

// ----- rows that were compared by what the dumps say of them

constexpr double kElementsApart = 16;  // single elements may be this many times as far off as the whole

double relative_bound(const Comparison& row) {
  if (!row.mine.meta || !row.golden.meta) return 0;  // arguments that are no tensors: exactly equal
  const DType dtype = coarser(row.mine.meta->dtype, row.golden.meta->dtype);
  for (const Threshold& threshold : kThresholds)
    if (threshold.dtype == dtype) return threshold.relative;
  return 0;
}

bool stated_equal(const Scalar& mine, const Scalar& golden, double bound) {
  const auto m = number_of(mine), g = number_of(golden);
  if (!m || !g) return mine == golden;
  if (std::isnan(*m) || std::isnan(*g)) return std::isnan(*m) && std::isnan(*g);
  if (mine.integer() && golden.integer() && bound == 0)
    return mine == golden;  // also beyond what a double holds
  if (std::isinf(*m) || std::isinf(*g)) return *m == *g;
  return *m == *g || std::abs(*m - *g) <= bound;
}

std::string stated_text(const Scalar& scalar) {
  if (const auto real = scalar.real()) return fmt::format("{:.6g}", *real);
  if (const auto whole = scalar.integer()) return fmt::format("{}", *whole);
  if (const auto truth = scalar.boolean()) return *truth ? "true" : "false";
  if (const auto text = scalar.text()) return std::string(*text);
  return "nothing";
}

// Arguments that are no tensors: a shape, a slice, a type. Types may be written in two ways.
bool same_argument(const Stated& mine, const Stated& golden) {
  const auto m = mine.max.text(), g = golden.max.text();
  if (m && g)
    if (const auto a = find_dtype(*m), b = find_dtype(*g); a && b) return *a == *b;
  return mine.dtype == golden.dtype && mine.shape == golden.shape && mine.checksum == golden.checksum;
}

// What a dump says of an argument beside its value: the partner of a message, a memory format.
std::optional<std::string> other_fact(const Comparison& row) {
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

Verdict judge_stated(const Comparison& row, const Head& head) {
  const Stated &m = *row.mine.stated(), &g = *row.golden.stated();
  if (!m.checksum.empty() && m.checksum == g.checksum) return {};
  const bool is_tensor = row.mine.meta && row.golden.meta;
  const bool is_bf16 = row.golden.meta && row.golden.meta->dtype == DType::bf16;
  // PyTorch hashes the 16 bits of a bf16, MindSpore the 32 it widens them to: equal tensors, other checksums.
  const bool comparable = !(head.cross_framework && is_bf16);
  if (head.content == Content::checksums && comparable && !m.checksum.empty() && !g.checksum.empty())
    return {Level::fail, fmt::format("checksums differ: {} and {}", m.checksum, g.checksum)};
  if (!is_tensor && same_argument(m, g)) return {};
  if (!is_tensor && (m.shape != g.shape || m.dtype != g.dtype))
    return {Level::fail, fmt::format("{} {} of mine, {} {} of golden", m.dtype, m.shape, g.dtype, g.shape)};
  const double t = relative_bound(row);
  // Two programs print the mean and the norm even of whole numbers with six or seven digits.
  const double sums = head.cross_framework && is_tensor ? std::max(t, 1e-6) : t;
  const auto size = [](const Scalar& scalar) { return std::abs(number_of(scalar).value_or(0)); };
  const double largest = std::max(size(g.max), size(g.min));
  const double count = row.golden.meta ? static_cast<double>(row.golden.meta->shape.count()) : 1;
  const double rms = size(g.norm) / std::sqrt(std::max(count, 1.0));
  struct Check {
    std::string_view what;
    const Scalar &mine, &golden;
    double bound;
  };
  for (const Check& check :
       {Check{"norm", m.norm, g.norm, sums * size(g.norm)},
        Check{"max", m.max, g.max, kElementsApart * t * largest},
        Check{"min", m.min, g.min, kElementsApart * t * largest},
        Check{"mean", m.mean, g.mean, kElementsApart * sums * std::max(rms, size(g.mean))}})
    if (!stated_equal(check.mine, check.golden, check.bound))
      return {
          Level::fail,
          fmt::format(
              "{} {} of mine, {} of golden{}", check.what, stated_text(check.mine), stated_text(check.golden),
              std::isfinite(check.bound) ? fmt::format("; {:.3g} apart is allowed", check.bound) : "")};
  if (!is_tensor && !m.checksum.empty() && !g.checksum.empty())  // a slice, say: only its checksum tells
    return {Level::fail, fmt::format("another {}: checksums {} and {}", m.dtype, m.checksum, g.checksum)};
  return {};
}

Verdict judge_compared(const Comparison& row, std::string_view node, const Head& head,
                       const RuleOptions& options) {
  const Expression* user = find_user_rule(row, node, options.rules);
  if (const auto other = user == nullptr ? other_fact(row) : std::nullopt) return {Level::fail, *other};
  if (row.basis == Basis::stated && (user == nullptr || !row.mine.meta || !row.golden.meta))
    return judge_stated(row, head);
  if (!row.mine.meta || !row.golden.meta) return {Level::error, "the element type of one side is not known"};
  if (row.golden.meta->shape.count() == 0) return {};
  const DType dtype = coarser(row.mine.meta->dtype, row.golden.meta->dtype);
  const RowContext context{row, head, dtype};
  // NaN and Inf in the same places on both sides, and nothing else: there is no number to measure, and none
  // that differs.
  const bool nothing_finite = !user && find_column(head, "max_abs") >= 0 && !look(&context, "max_abs");
  if (nothing_finite && look(&context, "nonfinite_mismatch") == 0.0) return {};
  const Expression& rule = user ? *user : default_rule(row.mine.meta->dtype, row.golden.meta->dtype);
  if (rule.holds(&context, look)) return {};
  return {Level::fail, rule.why_not(&context, look)};
}

std::string shapes(const Comparison& row) {
  if (!row.mine.meta || !row.golden.meta) return "shapes differ";
  return fmt::format("shape {} of mine, {} of golden", row.mine.meta->shape.text(),
                     row.golden.meta->shape.text());
}

Verdict judge_row(const Comparison& row, std::string_view node, const Head& head,
                  const RuleOptions& options) {
  const auto note_or = [&](std::string_view otherwise) {
    return row.note.empty() ? std::string(otherwise) : row.note;
  };
  const bool unmatched_fails = options.unmatched_fails.value_or(!head.cross_framework && !head.graphs_differ);
  const Level unmatched = unmatched_fails ? Level::fail : Level::ignored;
  switch (row.status) {
    case Status::compared:
      return judge_compared(row, node, head, options);
    case Status::only_mine:
      return {unmatched, "only in mine, nothing in golden fits"};
    case Status::only_golden:
      return {unmatched, "only in golden, nothing in mine fits"};
    case Status::shape_mismatch:
      return {Level::fail, shapes(row)};
    case Status::unreadable:
      return {Level::error, note_or("could not be read")};
    case Status::no_data:
      // A dump of statistics may have none for a tensor that was never computed (a meta or fake tensor).
      // So does a quantised graph whose factors were not dumped.
      return {row.is_excused || (row.mine.item != nullptr && row.mine.item->stated != nullptr)
                  ? Level::ignored
                  : Level::error,
              note_or("one side is a description without data")};
  }
  return {Level::error, "unknown status"};
}

bool has_other_bf16_checksum(const Comparison& row, const Head& head) {
  if (row.basis != Basis::stated || head.content != Content::checksums || !head.cross_framework) return false;
  return row.golden.meta && row.golden.meta->dtype == DType::bf16 &&
         row.mine.stated()->checksum != row.golden.stated()->checksum;
}

Judge prepare_native(const Head& head, const RuleOptions& options) {
  return [&head, &options](NodeResult& node) {
    for (Comparison& row : node.rows) {
      row.verdict = judge_row(row, node.name, head, options);
      if (has_other_bf16_checksum(row, head))
        row.note =
            "PyTorch takes the checksum of the 16 bits of a bf16, MindSpore of the 32 it widens them to: "
            "judged by "
            "statistics";
    }
  };
}

void add_names(const Expression& expression, std::vector<std::string>& columns) {
  for (const std::string& name : expression.names())
    if (!is_rule_variable(name) && std::find(columns.begin(), columns.end(), name) == columns.end())
      columns.push_back(name);
}

}  // namespace

const Expression& default_rule(DType mine, DType golden) {
  static const std::vector<Expression> kRules = [] {
    std::vector<Expression> rules(kDTypeCount, compiled(kIntegerRule));
    for (const Threshold& threshold : kThresholds)
      rules[static_cast<size_t>(threshold.dtype)] = compiled(rule_text(threshold));
    return rules;
  }();
  return kRules[static_cast<size_t>(coarser(mine, golden))];
}

bool is_rule_variable(std::string_view name) { return name == "eps" || name == "count"; }

std::vector<std::string> columns_needed(const RuleOptions& options) {
  std::vector<std::string> columns;
  for (const Rule& rule : options.rules) add_names(rule.expression, columns);
  const auto takes_all = [](const Rule& rule) { return rule.pattern == "*"; };
  if (std::none_of(options.rules.begin(), options.rules.end(), takes_all))
    for (int i = 0; i < kDTypeCount; ++i)
      add_names(default_rule(static_cast<DType>(i), static_cast<DType>(i)), columns);
  return columns;
}

const RuleSet native_rules = {"native", prepare_native};

}  // namespace assay
