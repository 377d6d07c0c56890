// A report that lies in a database (--report sqlite), as the page asks for it: rows that fit, a few at a
// time.
#pragma once

#include "assay/base/file.h"
#include "assay/report/report.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

struct sqlite3;

namespace assay {

// Number of a column in the row at hand; nothing where it has none.
using StoredLook = std::function<std::optional<double>(std::string_view column)>;

struct StoredQuery {
  std::vector<std::string> verdicts;  // empty: all
  std::optional<std::string> section;
  std::string dtype, port;         // empty: any
  std::vector<std::string> words;  // all of them must fit a name, the reason, the note or the status
  std::function<bool(const StoredLook&)> holds = {};  // a condition over the columns; null: none
  std::vector<std::string> condition_columns = {};    // that it reads
  int64_t every = 1;                                  // of rows that did not fail, one in so many
  std::string sort = {};                              // a column; empty: report order
  bool is_descending = false;
  int64_t from = 0, count = 0;
};

struct StoredRows {
  int64_t total = 0;  // that fit
  std::string json;   // [[id, …], …]: `count` of them from `from` on
};

std::string quoted_column(std::string_view name);  // of a database, in SQL

// One tensor of a stored report.
struct StoredPair {
  std::string mine, golden;  // names
  std::string section;
};

// Any thread; one question at a time.
class StoredReport {
 public:
  static Result<std::unique_ptr<StoredReport>> open(const fs::path& path);
  ~StoredReport();
  StoredReport(const StoredReport&) = delete;
  StoredReport& operator=(const StoredReport&) = delete;

  const std::string& run_json() const { return run_json_; }
  std::string fact(std::string_view key) const;  // of the run; empty: it has none
  int64_t rows() const { return rows_; }
  Result<StoredRows> find(const StoredQuery& query) const;
  Result<StoredPair> pair(int64_t id) const;

 private:
  struct StoredColumn {
    std::string title;
    bool is_json = false;
  };
  explicit StoredReport(fs::path path) : path_(std::move(path)) {}
  Result<void> load();
  Result<void> check_tables() const;
  tl::unexpected<Error> trouble() const;
  bool has(std::string_view title) const;
  Result<std::vector<int64_t>> ids(const StoredQuery& query) const;

  fs::path path_;
  sqlite3* handle_ = nullptr;
  std::vector<StoredColumn> columns_;
  std::string run_json_;
  int64_t rows_ = 0;
  mutable std::mutex guard_;
};

}  // namespace assay
