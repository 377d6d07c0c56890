// What came of a comparison: rows, their verdicts, and the findings over all of them.
#pragma once

#include "assay/base/clock.h"
#include "assay/model/account.h"
#include "assay/model/bounded.h"
#include "assay/model/evidence.h"
#include "assay/model/neighbours.h"
#include "assay/model/number_range.h"
#include "assay/model/pairing.h"
#include "assay/model/rerun.h"

namespace assay {

enum class Status : uint8_t {
  compared,
  only_mine,    // no counterpart in golden
  only_golden,  // no counterpart in mine
  unreadable,   // one side could not be read; the note says which and why
  shape_mismatch,
  no_data,  // a description without data on one side
};
std::string_view text(Status status);  // "compared", "only in mine"…

enum class Level : uint8_t { pass, ignored, fail, error };  // ignored: unmatched where the user said so
std::string_view text(Level level);

enum class Paint : uint8_t { none, yellow, red };

// The reason of a row that passes although the rules refuse it: a second run of mine differs as much.
inline constexpr std::string_view kWithinNoise = "within the noise of mine";

// What rel_l2 of a row may be by our own rules (of statistics: how far norms may be apart), and, where an
// account of errors is kept, its operator's own part and that of its inputs. -1: nothing says it.
struct AllowedError {
  float relative = -1, own = -1, inherited = -1;
};

struct Verdict {
  Level level = Level::pass;
  std::string reason = {};  // which rule failed, with the numbers: "rel_l2 0.3 > 0.031"
  // Of the rule sets that stand for other tools: what their reports print.
  std::string_view word = {};       // "Yes", "Warning", "pass"
  std::string_view no_metric = {};  // stands in the metric cells of a row without numbers: "unsupported"
  Paint paint = Paint::none;
  bool is_contradiction = false;  // the elements agree; that they are a pair is what the names deny
  bool is_flip = false;           // a choice between elements that were closer to each other than rounding
  bool follows_flip = false;      // it was computed from one that differs so
  bool is_incomplete = false;     // the elements agree; a rank that is there lacks its share of the tensor
  AllowedError allowed = {};
};

// What a run is asked.
enum class Question : uint8_t {
  agreement,  // of two runs
  operators,  // whether outputs are what their operators should have given
  overflow,   // where numbers end: each tensor by itself
};

// What the metrics of a row were computed from.
enum class Basis : uint8_t { nothing, data, stated };

// Type and shape of one side, if they are known. Those that the index has are borrowed from it: a copy per
// row would cost as much as all the rest of a row of statistics.
class RowMeta {
 public:
  RowMeta() = default;
  RowMeta(TensorMeta meta) : owned_(std::make_shared<const TensorMeta>(std::move(meta))) {}
  explicit RowMeta(const TensorMeta* borrowed) : borrowed_(borrowed) {}

  explicit operator bool() const { return get() != nullptr; }
  const TensorMeta& operator*() const { return *get(); }
  const TensorMeta* operator->() const { return get(); }
  // Call before the frame goes.
  void own() {
    if (borrowed_ != nullptr) *this = RowMeta(*borrowed_);
  }

 private:
  const TensorMeta* get() const { return borrowed_ != nullptr ? borrowed_ : owned_.get(); }
  const TensorMeta* borrowed_ = nullptr;
  std::shared_ptr<const TensorMeta> owned_;
};

// One side of a row as it was found.
struct SideFacts {
  std::string_view name;  // empty if this side is missing
  RowMeta meta = {};
  fs::path file;
  const Item* item = nullptr;          // null in a row that outlives its frame
  std::string_view op_type = {};       // of its operator, where the dump says
  std::string_view within = {};        // Node::within
  int token = -1;                      // of its frame
  std::optional<Stats> measured = {};  // of all its elements, where the request asks for them
  // What a row of statistics was compared by, where the dump does not state it: computed from data, or joined
  // from parts.
  std::shared_ptr<const Stated> computed = {};
  const Stated* stated() const { return computed ? computed.get() : item ? item->stated : nullptr; }
};

// What two tensors of logits choose. The last row is the one that gives the next token.
inline constexpr size_t kArgMaxTop = 10;
struct ArgMax {
  int64_t rows = 0, agreeing = 0;
  int64_t first_other_row = -1;    // the first row whose choices differ
  double shared_top = 1;           // share of golden's ten largest that are among mine's, over all rows
  int64_t mine = -1, golden = -1;  // of the last row
  double mine_margin = 0, golden_margin = 0;  // the largest minus the second largest
};

struct Detail;  // assay/model/detail.h

// What a function of the user's own says of a pair; an absent value: nothing.
struct AlgorithmAnswer {
  Value value = {};
  std::string message = {};  // the function's, or what went wrong with it
};

struct Comparison {
  Pair pair;
  Status status = Status::compared;
  Basis basis = Basis::nothing;
  bool is_rearranged = false;  // the data told in which other shape or order elements lie
  bool is_cut = false;         // a stretch of the other side's tensor, or joined of such
  bool is_other_type = false;  // than other ranks hold of the same tensor
  bool is_excused = false;     // not compared, and nothing is wrong with that
  bool is_unprepared = false;  // its data are there; what was to be done to them first could not be
  Evidence evidence = Evidence::nothing;
  StatisticSet statistics = 0;      // that it was compared by, where these or extremes are the evidence
  bool nothing_finite = false;      // no element is finite on both sides
  bool is_nonfinite_apart = false;  // NaN or infinite on one side only, or another one: some element is
  SideFacts mine, golden;
  std::vector<Value> metrics;  // one per column of the plan (Head::metric_columns); empty without a basis
  Verdict verdict;
  std::shared_ptr<const ArgMax> arg_max = {};     // of a pair of logits
  std::shared_ptr<const Neighbours> near = {};    // of the worst element, where anything differs
  std::shared_ptr<const Bounded> bounded = {};    // where golden was computed, with a bound for each element
  std::shared_ptr<const NumberRange> range = {};  // of a tensor that is looked at by itself
  std::shared_ptr<const Rerun> rerun = {};        // of a result whose operator was in for being run again
  std::shared_ptr<const Account> account = {};    // where one is kept; names lie in the frames
  std::shared_ptr<const Detail> detail = {};  // where the run looked closely: failed rows, within a budget
  // Of the functions that a request has, one for each; null: they were not asked.
  std::shared_ptr<const std::vector<AlgorithmAnswer>> answers = {};
  std::optional<DType> judged_as = {};  // coarser than both sides: what one of them was rounded to, or a wish
  int64_t left_out = 0;                 // things in its files that no row stands for
  int64_t not_dumped = 0;               // outputs of its operator that the dump lacks, and no row stands for
  // What names or other layers say against the pair, though its elements agree; empty: nothing.
  std::string contradiction = {};
  // Why it was not compared, or a remark such as "shapes differ in dimensions of size 1".
  std::string note;

  SideFacts& of(Side side) { return side == Side::mine ? mine : golden; }
  const SideFacts& of(Side side) const { return side == Side::mine ? mine : golden; }
  void add_note(std::string_view text);  // behind what it says already
};

bool is_argument(const SideFacts& side);  // and no tensor
bool is_beside(const Comparison& row);    // of values that files hold beside their tensors

// Of a row that is compared by what both sides state. is_range: by nothing but max and min.
void note_stated_evidence(bool is_range, Comparison& row);

Direction direction_of(const Comparison& row);  // of the item of mine, or of golden where mine has none

struct NodeResult {
  std::string_view name;
  int64_t order = 0;
  std::span<const std::string_view> stack = {};  // where it was called, the innermost call first
  std::vector<Comparison> rows = {};
  ModelPlace place = {};
  int32_t index = -1;                         // of Pairing::nodes
  std::span<const InputSource> sources = {};  // of the pairing, which outlives this
  std::string_view params = {};               // what it was told, as the dump has it; empty: not read
};

// Where a row stands in the report, kept after the row itself is gone.
struct RowPlace {
  std::string section, node, mine, golden;
  std::string called_at;  // innermost line of the call stack, where the dump has one
  Comparison row;         // a copy, for the first divergence only
  // Of an origin of numbers that are not finite: what is known of its inputs, "its inputs are finite".
  std::string given = {};
  // Of an origin: inputs, and operators that inputs come from, that nothing was compared of. The fault may
  // lie there as well.
  std::vector<std::string> not_compared = {};
  // … numbers among its arguments that differ: "Functional.batch_norm.0.forward.input.eps: 1e-05 of mine,
  // 0.001 of golden".
  std::vector<std::string> other_arguments = {};
};

// Where less than this share of the larger side was compared, there is no pass.
inline constexpr double kLeastCompared = 0.5;

// What a run says in the end: trouble first, then a difference, then that too little was compared.
enum class Answer : uint8_t { pass, fail, not_compared, error };
std::string_view text(Answer answer);  // "pass", "not compared"

struct Summary {
  // compared: rows with evidence, but for those of tensors without elements.
  int64_t rows = 0, compared = 0, passed = 0, failed = 0, unmatched = 0, ignored = 0, errors = 0;
  std::array<int64_t, kEvidenceCount> by = {};  // rows, by the evidence they have
  int64_t rows_by(Evidence evidence) const { return by[static_cast<size_t>(evidence)]; }
  int64_t by_one_extreme = 0;                       // rows by extremes of which one is not finite
  StatisticSet statistics = 0;                      // that any row was compared by
  StatisticSet shared_statistics = kAllStatistics;  // … and all of them
  // Rows that do not pass, by what was found; the rest of `errors` are sections that could not be read.
  int64_t differ = 0, misshapen = 0, without_data = 0, alone = 0, broken = 0;
  int64_t of_mine = 0, of_golden = 0;  // rows with a tensor of that side that has elements
  int64_t arguments = 0;               // rows without a tensor on either side
  int64_t by_own_input = 0;  // rows of mine against what their operator was given: golden has no part in them
  int64_t by_content = 0;    // rows whose pair the data told, not the names
  int64_t unsure = 0;        // … where others fit as well
  int64_t contradicted = 0;  // rows that agree, though names or other layers speak against the pair
  int64_t incomplete = 0;    // rows that agree, of tensors that some rank lacks its share of
  int64_t flips = 0, follow_flips = 0;  // rows that differ by a choice, or are computed from one that does
  int64_t nonfinite = 0;                // tensors that hold NaN or infinities, where that is the question
  int64_t nonfinite_allowed = 0;        // … and pass, since a rule of the user allows it
  int64_t nonfinite_given = 0,
          nonfinite_made = 0;  // … arguments, and results, that are numbers and no tensors
  int64_t judged_coarser = 0;  // rows judged as of a type that one side was rounded to
  int64_t within_noise = 0;    // rows that only the noise of mine excuses
  int64_t introduced = 0;      // rows that pass, with an error that no rounding of their operator explains
  int64_t rearranged = 0;      // rows in which the data told in which other shape or order elements lie
  int64_t cut = 0;             // rows of stretches of the other side's tensors, or joined of such
  int64_t other_type = 0;      // rows of another type than other ranks hold of the same tensor
  int64_t other_rank = 0;      // rows of ranks of different numbers
  int64_t left_out = 0;        // things in the dumps that no row stands for; warnings name them
  int64_t not_dumped = 0;      // outputs of operators that were checked, which the dump lacks
  // Values that files hold beside their tensors have rows that none of the above counts, but `failed`.
  int64_t values_equal = 0, values_differ = 0, values_alone = 0;
  int64_t values_nonfinite = 0;           // NaN or infinite on both sides, which shows nothing
  int64_t values_failed = 0;              // of the last two: where the user asks for it
  std::vector<std::string> other_values;  // names of those that differ, the first few
  double least_compared = kLeastCompared;
  std::string_view judged_by;  // the rules of another tool; empty: our own
  // The failed row that comes first in execution order, of those that have both sides.
  std::optional<RowPlace> first_divergence;
  std::optional<RowPlace> first_unmatched;  // the first that has one side only, and fails by that
  // Names of such rows before the first divergence, a few of the first, with their side: "x (only in mine)".
  std::vector<std::string> unmatched_before;
  std::optional<RowPlace> first_origin;  // … whose node was given inputs that pass: it made the difference
  std::optional<RowPlace> first_introduced;   // of `introduced`, where most of what is wrong was added there
  std::optional<RowPlace> first_other_token;  // the first logits whose arg-max differs
  std::optional<std::string> first_error;
  bool stopped_early = false;  // --fail-fast
  Question question = Question::agreement;
  std::string rules;      // of the user, where they decided in the place of the defaults; empty: none
  std::string selection;  // by which tensors were chosen, as flags: "--only 'layers.*'"; empty: all
};

// Rows of the side that has more of them, and how many of these were compared, or are known to have other
// shapes.
struct Coverage {
  int64_t of = 0, compared = 0;
};
Coverage coverage_of(const Summary& summary);
bool is_enough(const Summary& summary);  // what was compared, for a pass

Answer answer_of(const Summary& summary);

// What a report knows before the first row. The last group belongs to the section that comes next.
struct Head {
  Moment now;
  std::string version;
  std::string command_line;
  fs::path mine, golden;
  std::string mine_layout, golden_layout, matcher, rule_set;
  std::string rules = {};  // of the user, as given; empty: the rule set alone decides
  Question question = Question::agreement;
  bool order_is_by_name = false;            // nothing says in which order the tensors were made
  std::vector<std::string> metric_columns;  // names, in the order of Comparison::metrics
  std::vector<std::string> shown_columns;   // those a report prints; the rest were gathered for a rule
  int terminal_width = 100;
  bool wraps_verdict = false;  // someone looks at a terminal; else the sentence is one line
  bool colour = false;
  bool shows_details = false;  // in full, where an output can

  At at;                         // of mine, or of golden where mine has none
  int golden_rank = -1;          // where ranks are paired in order it may be another
  bool has_more_graphs = false;  // the rank has sections of other graphs
  Content content = Content::data;
  bool has_stacks = false;
  bool cross_framework = false;
  bool graphs_differ = false;                              // operators of one side only are to be expected
  int64_t pairs = 0, pairs_of_mine = 0, mapped_pairs = 0;  // all; with an item of mine; by a data mapping
};

// Index of a metric column; -1 if it was not measured.
int find_column(const Head& head, std::string_view name);

}  // namespace assay
