#include "assay/report/sample_rows.h"

#include <sqlite3.h>

#include <limits>

namespace assay {
namespace {

// The answer of a query as text: cells joined by '|', rows by '\n', NULL spelled out.
std::string query(const fs::path& path, const char* sql) {
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
  std::string out;
  const auto add = [](void* text, int count, char** cells, char**) {
    auto& answer = *static_cast<std::string*>(text);
    if (!answer.empty()) answer += '\n';
    for (int i = 0; i < count; ++i)
      answer += (i > 0 ? "|" : "") + std::string(cells[i] == nullptr ? "NULL" : cells[i]);
    return 0;
  };
  EXPECT_EQ(sqlite3_exec(database, sql, add, &out, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
  return out;
}

TEST(SqliteReport, CanBeQueried) {
  const TestFolder folder;
  Summary summary;
  summary.rows = 3;
  summary.failed = 1;
  Comparison odd = sample_row("odd\xff'name", Level::fail, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity());
  const auto path = write_report("sqlite", folder.path(), sample_head(),
                                 {node_of("n1", {sample_row("x", Level::pass, 0.1, 0)}),
                                  node_of("n2", {odd, lonely_row("y", Level::ignored)})},
                                 summary, "rank 0");
  EXPECT_EQ(folder.files(), 1);
  EXPECT_EQ(query(path, "PRAGMA user_version"), "2");
  EXPECT_EQ(query(path, "PRAGMA integrity_check"), "ok");
  EXPECT_EQ(
      query(path, "SELECT id, section, name, mine, golden, verdict, mine_shape, max_abs, note FROM rows"),
      "1|rank 0|n1|x|x|pass|[2, 3]|0.1|NULL\n"
      "2|rank 0|n2|odd\\xff'name|odd\\xff'name|fail|[2, 3]|nan|NULL\n"
      "3|rank 0|n2|y|NULL|ignored|[2, 3]|NULL|NULL");
  EXPECT_EQ(query(path, "SELECT typeof(max_abs), typeof(rel_l2), typeof(note) FROM rows"),
            "real|real|null\ntext|real|null\nnull|null|null");
  EXPECT_EQ(query(path, "SELECT id FROM rows WHERE rel_l2 > 1e300"), "2");
  EXPECT_EQ(
      query(path, "SELECT key, value FROM run WHERE key IN ('mine', 'failed', 'first_error') ORDER BY rowid"),
      "mine|a\nfailed|1\nfirst_error|NULL");
  EXPECT_EQ(query(path, "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'rows'"),
            "rows_by_verdict");
}

TEST(SqliteReport, KeepsAChecksumThatLooksLikeANumber) {
  const TestFolder folder;
  Comparison row = sample_row("x", Level::pass, 0, 0);
  row.metrics[0] = "0012e045";
  const auto path = write_report("sqlite", folder.path(), sample_head(), {node_of("n", {row})}, {});
  EXPECT_EQ(query(path, "SELECT max_abs, typeof(max_abs) FROM rows"), "0012e045|text");
}

}  // namespace
}  // namespace assay
