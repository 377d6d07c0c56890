// What a person reads at the end of a run: the verdict in a sentence, where the runs part, the worst rows,
// the files.
#pragma once

#include "assay/report/report.h"
#include "assay/report/terminal_text.h"

#include <string>
#include <vector>

namespace assay {

// Looks at all rows, keeps the few that are worth showing.
class TerminalView {
 public:
  virtual ~TerminalView() = default;
  virtual void begin(const Head& head) = 0;
  virtual void add(std::string_view section, std::span<const NodeResult> nodes) = 0;
  virtual std::string text(const Summary& summary, std::span<const fs::path> files) const = 0;
};

// Of a comparison.
class TerminalReport : public TerminalView {
 public:
  void begin(const Head& head) override;
  void add(std::string_view section, std::span<const NodeResult> nodes) override;
  std::string text(const Summary& summary, std::span<const fs::path> files) const override;

 private:
  struct Kept {
    int rank = 0;         // 4 error, 3 could not be measured, 2 measured and failed, 1 unmatched, 0 passed
    double distance = 0;  // rel_l2, else max_abs
    std::string name;
    Level level = Level::pass;
    Status status = Status::compared;
    std::vector<Value> metrics;
    std::vector<std::string> failed_by;  // columns that its reason names, the first one first
    std::string diagnosis = {};
  };
  // What rows have to say beside their numbers: each text once, whatever the numbers in it.
  struct Note {
    std::string kind;        // its text without them
    std::string text, name;  // of the first row that says it
    int64_t rows = 1;
    bool varies = false;  // another row has other numbers in it
  };
  // The rows around the first failure of a section.
  struct Trend {
    std::string section, node = {}, mine = {};
    std::vector<TrendRow> rows = {};
    bool is_found = false;  // the failure; rows that follow are counted
    size_t after = 0;
  };

  int width() const;
  void note(std::string_view section, const NodeResult& node, const Comparison& row);
  std::string notes(const Summary& summary) const;
  std::string diagnoses(const Summary& summary) const;  // of the rows of the table
  std::string other_values() const;
  static std::string name_of(std::string_view section, const NodeResult& node, const Comparison& row);
  double distance_of(const Comparison& row) const;
  Kept keep(std::string_view section, const NodeResult& node, const Comparison& row, int rank,
            double distance) const;
  void follow(std::string_view section, const NodeResult& node, const Comparison& row);
  std::string trend_around(const RowPlace& place) const;
  std::string divergence(const Summary& summary) const;
  std::string unmatched(const Summary& summary) const;
  std::string row_in_full(const RowPlace& place) const;
  std::string origin(const RowPlace& place) const;
  static std::string other_token(const RowPlace& place);
  std::string worst_table() const;
  std::string metric_list(const std::vector<Value>& metrics, std::vector<std::string> first = {}) const;

  Head head_;
  std::vector<std::string> columns_;  // metrics worth showing, the most telling first
  int rel_l2_ = -1, max_abs_ = -1, norm_pct_ = -1, mismatch_ = -1, bound_max_ = -1;
  int64_t bad_rows_ = 0;     // those that did not pass, ignored ones apart
  std::vector<Kept> worst_;  // sorted; at most kShownRows
  std::optional<Kept> worst_pass_;
  std::vector<Trend> trends_;
  std::vector<Note> notes_;          // at most kShownNotes
  int64_t further_notes_ = 0;        // rows whose notes are not among them
  std::vector<std::string> values_;  // beside tensors that differ, at most kShownRows
  int64_t further_values_ = 0;
};

}  // namespace assay
