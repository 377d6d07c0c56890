// Verdicts of the rows of a node: by the rules of the user, or by the default ones (native_defaults.cc).
#include "assay/base/text.h"
#include "assay/judge/native_defaults.h"
#include "assay/model/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr std::string_view kErrorColumn = "rel_l2";  // what `inherited` adds up

// What an expression may ask about a row.
struct RowContext {
  const Comparison& row;
  const Head& head;
  DType dtype;
  int32_t layers_before;
  double inherited;
};

// The node a row belongs to.
struct Around {
  std::string_view name;
  ModelPlace place;
  double inherited;
};

std::optional<double> number(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  return std::nullopt;
}

std::optional<double> look(const void* context, std::string_view name) {
  const auto& [row, head, dtype, layers_before, inherited] = *static_cast<const RowContext*>(context);
  if (name == "eps") return is_real(dtype) ? std::ldexp(1.0, -info(dtype).mantissa_bits) : 0;
  if (name == "layer") return layers_before;
  if (name == "inherited") return inherited;
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

// A dump may write the extremes of a mask as numbers.
std::optional<double> as_number(const Scalar& scalar) {
  if (const auto truth = scalar.boolean()) return *truth ? 1.0 : 0.0;
  return number_of(scalar);
}

bool stated_equal(const Scalar& mine, const Scalar& golden, double bound) {
  const auto m = as_number(mine), g = as_number(golden);
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

// What a dump of msprobe says of an argument beside its value: the partner of a message, a memory format.
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

// A dump need not state all that can be computed from the data of the other side, and cannot state all of a
// tensor that is stored in blocks.
bool is_silent(const Scalar& stated, const SideFacts& own, const SideFacts& other) {
  return stated.is_absent() && (other.computed || (own.item != nullptr && states_blocks(*own.item)));
}

Verdict judge_stated(const Comparison& row, const Head& head, const ModelPlace& place) {
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
  // Arguments that are no tensors are exact.
  const double t = is_tensor ? relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, place) : 0;
  // Two programs print the mean and the norm even of whole numbers with six or seven digits.
  // The graph engine prints six.
  const double digits = head.mine_layout == "torchair_ge" ? 1e-5 : head.cross_framework ? 1e-6 : 0;
  const double sums = is_tensor ? std::max(t, digits) : t;
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
    if (!is_silent(check.mine, row.mine, row.golden) && !is_silent(check.golden, row.golden, row.mine) &&
        !stated_equal(check.mine, check.golden, check.bound))
      return {
          Level::fail,
          fmt::format(
              "{} {} of mine, {} of golden{}", check.what, stated_text(check.mine), stated_text(check.golden),
              std::isfinite(check.bound) ? fmt::format("; {:.3g} apart is allowed", check.bound) : "")};
  if (!is_tensor && !m.checksum.empty() && !g.checksum.empty())  // a slice, say: only its checksum tells
    return {Level::fail, fmt::format("another {}: checksums {} and {}", m.dtype, m.checksum, g.checksum)};
  return {};
}

Verdict judge_compared(const Comparison& row, const Around& node, const Head& head,
                       const RuleOptions& options) {
  const Expression* user = find_user_rule(row, node.name, options.rules);
  if (const auto other = user == nullptr ? other_fact(row, head) : std::nullopt) return {Level::fail, *other};
  if (row.basis == Basis::stated && (user == nullptr || !row.mine.meta || !row.golden.meta))
    return judge_stated(row, head, node.place);
  if (!row.mine.meta || !row.golden.meta) return {Level::error, "the element type of one side is not known"};
  if (row.golden.meta->shape.count() == 0) return {};
  const DType dtype = deciding_dtype(row.mine.meta->dtype, row.golden.meta->dtype);
  const double inherited =
      direction_of(row) == Direction::output ? node.inherited : std::numeric_limits<double>::infinity();
  const RowContext context{row, head, dtype, node.place.layers_before, inherited};
  // NaN and Inf in the same places on both sides, and nothing else: there is no number to measure, and none
  // that differs.
  const bool nothing_finite = !user && find_column(head, "max_abs") >= 0 && !look(&context, "max_abs");
  if (nothing_finite && look(&context, "nonfinite_mismatch") == 0.0) return {};
  const Expression& rule =
      user ? *user : default_rule(row.mine.meta->dtype, row.golden.meta->dtype, node.place);
  if (rule.holds(&context, look)) return {};
  return {Level::fail, rule.why_not(&context, look)};
}

std::string shapes(const Comparison& row) {
  if (!row.mine.meta || !row.golden.meta) return "shapes differ";
  return fmt::format("shape {} of mine, {} of golden", row.mine.meta->shape.text(),
                     row.golden.meta->shape.text());
}

Verdict judge_row(const Comparison& row, const Around& node, const Head& head, const RuleOptions& options) {
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

// How much an output says of the terms it is the sum of. A product of matrices whose terms cancel is smaller
// than such terms make it on average, and the errors of its inputs, which do not cancel, weigh more by as
// much: ‖A‖ ‖B‖ / (√(batches · length of the sums) ‖A B‖).
double cancellation(const Comparison& a, const Comparison& b, const Comparison& product, const Head& head) {
  const int column = find_column(head, "golden_rms");
  if (column < 0) return 1;
  double norms[3], counts[3];
  const Comparison* const rows[] = {&a, &b, &product};
  for (size_t i = 0; i < 3; ++i) {
    const auto rms = number(rows[i]->metrics[static_cast<size_t>(column)]);
    counts[i] = static_cast<double>(rows[i]->golden.meta->shape.count());
    if (!rms || !(counts[i] > 0)) return 1;
    norms[i] = *rms * std::sqrt(counts[i]);
  }
  if (!(norms[2] > 0)) return 1;
  double batches = 1;
  const std::vector<int64_t>& dims = product.golden.meta->shape.dims;
  if (b.golden.meta->shape.dims.size() > 2)
    for (size_t i = 0; i + 2 < dims.size(); ++i) batches *= static_cast<double>(dims[i]);
  const double length = std::sqrt(counts[0] * counts[1] / counts[2] / batches);
  return std::max(1.0, norms[0] * norms[1] / (std::sqrt(batches * length) * norms[2]));
}

// Of a product of two matrices, and 1 of anything else.
double cancellation_in(const NodeResult& node, const Head& head) {
  if (!node.place.is_product) return 1;
  std::vector<const Comparison*> inputs, outputs;
  for (const Comparison& row : node.rows) {
    const Direction direction = direction_of(row);
    if (row.basis != Basis::data || !is_real(row.golden.meta->dtype) ||
        row.golden.meta->shape.dims.size() < 2)
      continue;
    if (direction == Direction::input) inputs.push_back(&row);
    if (direction == Direction::output) outputs.push_back(&row);
  }
  return inputs.size() == 2 && outputs.size() == 1 ? cancellation(*inputs[0], *inputs[1], *outputs[0], head)
                                                   : 1;
}

// What the inputs of an operator bring along: the sum of their relative errors, since a product or a sum of
// two may hand on both. Infinite where it is not known, and for a group: between its ends is more than one
// operator.
double inherited_by_outputs(const NodeResult& node, const Head& head) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const int column = find_column(head, kErrorColumn);
  if (node.place.is_group || column < 0) return kUnknown;
  std::vector<std::pair<int, double>>
      by_port;  // an input may have been dumped before and after the operation
  for (const Comparison& row : node.rows) {
    if (direction_of(row) != Direction::input || row.basis != Basis::data) continue;
    if (!is_real(deciding_dtype(row.mine.meta->dtype, row.golden.meta->dtype))) continue;
    const auto error = number(row.metrics[static_cast<size_t>(column)]);
    if (!error) return kUnknown;
    const int port = (row.mine.item != nullptr ? row.mine.item : row.golden.item)->port.index;
    const auto same = std::ranges::find(by_port, port, &std::pair<int, double>::first);
    if (same == by_port.end())
      by_port.emplace_back(port, *error);
    else
      same->second = std::max(same->second, *error);
  }
  if (by_port.empty()) return kUnknown;
  double sum = 0;
  for (const auto& [port, error] : by_port) sum += error;
  return sum * cancellation_in(node, head);
}

Judge prepare_native(const Head& head, const RuleOptions& options) {
  return [&head, &options](NodeResult& node) {
    const Around around{node.name, node.place, inherited_by_outputs(node, head)};
    for (Comparison& row : node.rows) {
      row.verdict = judge_row(row, around, head, options);
      if (has_other_bf16_checksum(row, head))
        row.note =
            "PyTorch takes the checksum of the 16 bits of a bf16, MindSpore of the 32 it widens them to: "
            "judged by "
            "statistics";
    }
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

bool is_rule_variable(std::string_view name) {
  return name == "eps" || name == "count" || name == "layer" || name == "inherited";
}

std::vector<std::string> columns_needed(const RuleOptions& options) {
  std::vector<std::string> columns;
  for (const Rule& rule : options.rules) add_names(rule.expression, columns);
  const auto takes_all = [](const Rule& rule) { return rule.pattern == "*"; };
  if (std::none_of(options.rules.begin(), options.rules.end(), takes_all))
    for (int i = 0; i < kDTypeCount; ++i)
      add_names(default_rule(static_cast<DType>(i), static_cast<DType>(i), {}), columns);
  return columns;
}

const RuleSet native_rules = {"native", prepare_native};

}  // namespace assay
