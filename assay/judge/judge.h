// Verdicts. A rule set looks at the rows of one node and sets their verdicts; findings over all nodes are in
// conclude.h.
#pragma once

#include "assay/base/remark.h"
#include "assay/base/result.h"
#include "assay/model/closeness.h"
#include "assay/model/outcome.h"

#include <functional>
#include <memory>
#include <unordered_map>

namespace assay {

struct RuleProgram;  // assay/judge/expression_program.h

// A compiled rule such as "max_abs <= 1e-3 or cosine >= 0.999". Grammar and functions: docs/rules.md
// Cheap to copy; safe to evaluate from many threads at once.
class Expression {
 public:
  // At most 64 KiB of text, nested at most 200 deep. Errors give the column of the problem.
  static Result<Expression> parse(std::string_view text);

  const std::string& text() const;
  const std::vector<std::string>& names() const;  // the metric columns and variables it reads, each once

  // look(name) gives a number, or nothing where the metric has none. What depends on an absent number is
  // unknown (so is the order of NaN and a number), and `holds` is true only where the whole is certainly
  // true: "not (max_abs > 1)" does not pass a row that has no max_abs.
  using Look = std::optional<double> (*)(const void* context, std::string_view name);
  bool holds(const void* context, Look look) const;
  bool fails(const void* context, Look look) const;  // certainly
  // The comparisons (four at most) because of which it does not hold, with their numbers: "max_abs 0.5 >
  // 0.001". Empty where it holds.
  std::string why_not(const void* context, Look look) const;

 private:
  explicit Expression(std::shared_ptr<const RuleProgram> program) : program_(std::move(program)) {}
  std::shared_ptr<const RuleProgram> program_;
};

// A rule for the rows whose name (of either side, or of the node) matches `pattern`; the last that matches
// wins.
struct Rule {
  std::string pattern;                   // "*" for all
  std::optional<Expression> expression;  // none: such rows do not count
  std::string text() const;              // as --rule takes it
};

// The rule of the user for a row; null: none of them fits.
const Rule* find_user_rule(const Comparison& row, std::string_view node, const std::vector<Rule>& rules);
Verdict ignored_by(const Rule& rule);  // one without an expression

// How far two runs of the same side are apart in one tensor: what is not further off may be chance.
struct NoiseFloor {
  double rel_l2 = 0, max_abs = 0;
};
class NoiseTable {
 public:
  void add(std::string_view section, std::string_view tensor, const NoiseFloor& floor);  // keeps the larger
  const NoiseFloor* find(std::string_view section, std::string_view tensor) const;
  bool empty() const { return floors_.empty(); }

 private:
  std::unordered_map<std::string, NoiseFloor> floors_;
};

// What --rtol and --atol stand for.
inline constexpr std::string_view kClosenessRule = "not_close == 0";

struct RuleOptions {
  std::vector<Rule> rules;  // empty: the default rules, by dtype
  // Reals are judged as if one of the two were of this type.
  std::optional<DType> tolerance = {};
  std::optional<Closeness> closeness = {};            // --rtol and --atol, one of the rules: for its reasons
  std::shared_ptr<const NoiseTable> noise = nullptr;  // of tensors of mine; null: not known
  // Not said: it fails, but for two frameworks, where it is a matter of what each of them dumps.
  std::optional<bool> unmatched_fails;
  bool values_fail = false;      // numbers and text beside tensors that differ, or that one side lacks
  bool allow_nonfinite = false;  // NaN and infinities on one side only: a rule of the user decides alone
};

// Variables a rule may use beside metric columns: eps (of the coarser dtype of the two), count, layer (how
// many layers of the model have run before), inherited (what the inputs of the operator bring along), noise
// and noise_max (rel_l2 and max_abs between two runs of mine).
bool is_rule_variable(std::string_view name);

// Other tools let NaN and infinities pass that only one side has, or of another sign. Their tables say what
// they say; our answer does not call that agreement.
void refuse_nonfinite(NodeResult& node);

// Whether the default rules for its types do not let a row of data pass. Then it is worth while to look what
// its values were rounded to.
bool fails_by_type(const Comparison& row, std::string_view node, const Head& head,
                   const RuleOptions& options);

// Metric columns that the rules need, so that they are gathered; each once. Not checked to exist.
std::vector<std::string> columns_needed(const RuleOptions& options);

// Sets the verdicts of a node. Safe to call from many threads at once, unless they are judged in order: then
// one at a time, as the report has them, since a verdict may depend on those before.
using Judge = std::function<void(NodeResult& node)>;
bool judges_in_order(const Head& head, const Pairing& pairing);

struct RuleSet {
  std::string_view name;
  // For one section; head and options outlive the judge.
  std::function<Judge(const Head& head, const RuleOptions& options)> prepare;
  bool is_own = false;  // ours, and not those of another tool
};
extern const RuleSet
    native_rules;  // "native": default rules aware of dtype and rounding; docs/rules.md says why
extern const RuleSet
    overflow_rules;  // "overflow": of tensors that stand by themselves; docs/scenarios/errcheck.md

// Of a node that these rules judged, and that was given something finite: "its inputs are finite", or what
// less is known. knows_all: nothing that it was given lacks a row.
std::string inputs_in_words(const NodeResult& node, bool knows_all);

// The default rule for a pair of element types, the same whichever side has which.
const Expression& default_rule(DType mine, DType golden, const ModelPlace& place = {});

// --rule 'EXPR' or --rule 'PATTERN=EXPR'. It is the second where the first '=' that does not touch another of
// = < > ! has text before it, without < and > and with no blanks but around it. EXPR may be `ignore`.
Result<Rule> parse_rule(std::string_view text);
// --rules FILE.yaml; unknown keys are errors, with their line.
Result<std::vector<Rule>> read_rules(const fs::path& path);

// Marks and totals over all nodes; some dozen bytes per node at most.
class Findings {
 public:
  // moment: step and token of the section; what happened in an earlier one comes first.
  // least_compared: the share of the larger side below which there is no pass.
  // judged_by: the other tool whose rules the verdicts come from.
  explicit Findings(std::string section = {}, std::pair<int, int> moment = {-1, -1},
                    double least_compared = kLeastCompared, std::string_view judged_by = {},
                    Question question = Question::agreement)
      : section_(std::move(section)), moment_(moment) {
    summary_.least_compared = least_compared;
    summary_.judged_by = judged_by;
    summary_.question = question;
  }
  void open(std::string section) { section_ = std::move(section); }
  void judge_by(std::string rules) { summary_.rules = std::move(rules); }  // of the user
  void seek_no_origin() { seeks_origin_ = false; }
  // Nothing is known but the order of the tensors: where errors rise at once, there the origin is likely.
  void follow_trend(int error_column) { error_column_ = error_column; }
  void broken(const Error& error);    // a section that could not be indexed
  void note(const Remark& remark);    // on a dump or a part of it
  void pass_over(int64_t tensors);    // that have no row: they are not compared
  void add(const NodeResult& node);   // in report order
  void add(const Findings& section);  // all that was found in one
  bool any_trouble() const { return summary_.failed > 0 || summary_.errors > 0; }
  Summary conclude() const;

 private:
  void note_value(const NodeResult& node, const Comparison& row);
  void note_failure(const NodeResult& node, const Comparison& row);
  void note_origin(const NodeResult& node);
  void note_introduced(const NodeResult& node);
  void note_trend(const NodeResult& node);
  void note_origin_before(const NodeResult& node);
  enum class Standing : uint8_t { good, bad, unknown };
  // Of what a node was given.
  struct Inputs {
    Standing standing = Standing::unknown;
    std::vector<std::string> not_compared = {}, other_arguments = {};  // as RowPlace has them
  };
  Inputs inputs_of(const NodeResult& node) const;
  bool is_left_out(const Comparison& row) const;
  Standing inputs_in_graph(const NodeResult& node) const;
  bool add_source(const InputSource& source, Inputs& inputs) const;
  Standing source_of(const NodeResult& node, int32_t port) const;
  void remember(const NodeResult& node, const Inputs& inputs);
  void note_other_token(const NodeResult& node, const Comparison& row);
  RowPlace place_of(const NodeResult& node, const Comparison& row) const;
  std::string section_;
  Summary summary_;
  std::pair<int, int> moment_ = {-1, -1};
  // When the first ones happened. Ranks have a clock in common: the exchanges between them. What one was
  // given before an exchange comes before what all others got from it, wherever it stands in the dump of its
  // rank.
  struct When {
    std::pair<int, int> moment = {-1, -1};
    int64_t exchanges = 0;  // between ranks, so far; that with this number comes behind them
    bool is_exchange = false;
    int64_t order = 0;
    auto operator<=>(const When&) const = default;
  };
  When when_of(const NodeResult& node) const;
  When when_at(int64_t order) const { return {moment_, exchanges_, false, order}; }
  int64_t exchanges_ = 0;
  When first_divergence_, first_origin_, first_other_token_, first_unmatched_, first_introduced_;
  bool seeks_origin_ = true;
  int error_column_ = -1;      // of rel_l2, where the trend is followed
  double largest_error_ = -1;  // so far; below 0: nothing was compared
  // The first rows that have one side only, in order; a few.
  std::vector<std::pair<When, std::string>> unmatched_;
  void keep_unmatched(const When& when, std::string name);
  // Where the graph is known: verdicts of results, and operators without a row of any result.
  std::unordered_map<int64_t, Level> results_;
  struct Operator {
    std::string_view name;
    std::span<const std::string_view> stack;
    int64_t order = 0;
    Inputs inputs;
  };
  std::unordered_map<int32_t, Operator> without_results_;  // of a tree, all operators
};

}  // namespace assay
