// What came of a comparison: rows, their verdicts, and the findings over all of them.
#pragma once

#include "assay/base/clock.h"
#include "assay/model/pairing.h"

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

struct Verdict {
  Level level = Level::pass;
  std::string reason;  // which rule failed, with the numbers: "rel_l2 0.3 > 0.031"
};

// One side of a row as it was found.
struct SideFacts {
  std::string_view name;  // empty if this side is missing
  std::optional<TensorMeta> meta;
  fs::path file;
};

struct Comparison {
  Pair pair;
  Status status = Status::compared;
  SideFacts mine, golden;
  std::vector<Value> metrics;  // one per column of the plan (Head::metric_columns); empty unless compared
  Verdict verdict;
  std::string
      note;  // reason of a failure to compare, or a remark such as "shapes differ in dimensions of size 1"
};

struct NodeResult {
  std::string_view name;
  int64_t order = 0;
  std::vector<Comparison> rows;
};

// Position of a row, kept after the row itself is gone.
struct Place {
  std::string section, node, mine, golden;
  Comparison row;  // a copy, for the first divergence only
};

struct Summary {
  int64_t rows = 0, compared = 0, passed = 0, failed = 0, unmatched = 0, ignored = 0, errors = 0;
  std::optional<Place> first_divergence;  // the failed row that comes first in execution order
  std::optional<std::string> first_error;
  bool stopped_early = false;  // --fail-fast
};

// What a report knows before the first row.
struct Head {
  Moment now;
  std::string version;
  std::string command_line;
  fs::path mine, golden;
  std::string mine_layout, golden_layout, matcher, rule_set;
  std::vector<std::string> metric_columns;  // names, in the order of Comparison::metrics
  std::vector<std::string> shown_columns;   // those a report prints; the rest were gathered for a rule
  int terminal_width = 100;
  bool colour = false;
};

// Index of a metric column; -1 if it was not measured.
int find_column(const Head& head, std::string_view name);

}  // namespace assay
