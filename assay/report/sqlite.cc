#include "assay/report/cells.h"
#include "assay/report/destination.h"
#include "assay/report/outputs.h"
#include "assay/report/page/page_columns.h"
#include "assay/report/page/run_json.h"
#include "assay/report/rows.h"
#include "assay/report/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>

namespace assay {
namespace {

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct FinishStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

std::string identifier(std::string_view name) {
  std::string out = "\"";
  for (const char c : shown(name)) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

class Database {
 public:
  Result<void> create(FileWriter file) {
    file_ = std::make_unique<SqliteFile>(std::move(file));
    sqlite3* handle = nullptr;
    const int code =
        sqlite3_open_v2("report", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, file_->vfs().c_str());
    handle_.reset(handle);
    if (code != SQLITE_OK) return trouble();
    // No journal: an unfinished report is thrown away, never rolled back.
    return run("PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF;");
  }

  Result<void> run(const std::string& sql) {
    if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return trouble();
    return {};
  }

  Result<Statement> prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      return trouble();
    return Statement(statement);
  }

  // NaN would be stored as NULL, which means absent: it is stored as text, which SQL sorts above every
  // number.
  Result<void> bind(sqlite3_stmt* statement, int index, const Value& value) {
    int code = SQLITE_OK;
    if (const auto* text = std::get_if<std::string>(&value)) {
      const std::string clean = shown(*text);
      code = sqlite3_bind_text64(statement, index, clean.data(), clean.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    } else if (const auto* number = std::get_if<double>(&value)) {
      code = std::isnan(*number) ? sqlite3_bind_text(statement, index, "nan", -1, SQLITE_STATIC)
                                 : sqlite3_bind_double(statement, index, *number);
    } else if (const auto* whole = std::get_if<int64_t>(&value)) {
      code = sqlite3_bind_int64(statement, index, *whole);
    } else if (const auto* truth = std::get_if<bool>(&value)) {
      code = sqlite3_bind_int(statement, index, *truth ? 1 : 0);
    } else {
      code = sqlite3_bind_null(statement, index);
    }
    if (code != SQLITE_OK) return trouble();
    return {};
  }

  Result<void> step(sqlite3_stmt* statement) {
    const bool done = sqlite3_step(statement) == SQLITE_DONE;
    if (!done) return trouble();
    sqlite3_reset(statement);
    return {};
  }

  Result<void> close() {
    if (sqlite3_close(handle_.get()) != SQLITE_OK) return trouble();
    static_cast<void>(handle_.release());
    return file_->file().sync();
  }

  Result<fs::path> publish() { return file_->file().publish(); }

 private:
  tl::unexpected<Error> trouble() const {
    if (file_->trouble()) return tl::unexpected(*file_->trouble());
    const char* reason = handle_ ? sqlite3_errmsg(handle_.get()) : "out of memory";
    return fail(ErrorKind::io, "{}: cannot be written: SQLite says: {}", file_->file().name(), reason);
  }

  std::unique_ptr<SqliteFile> file_;  // outlives the handle, which writes into it
  std::unique_ptr<sqlite3, CloseDatabase> handle_;
};

class SqliteSink : public Sink {
 public:
  explicit SqliteSink(const SinkOptions& options) : options_(options), table_(*options.profile) {}

  Result<void> begin(const Head& head) override {
    table_.begin(head);
    columns_ = table_.columns();
    for (Column& column : page_only_columns()) columns_.push_back(std::move(column));
    ASSAY_TRY(FileWriter file, create_report(options_, head, sqlite_output.suffix));
    ASSAY_TRY_DO(database_.create(std::move(file)));
    std::string create = "CREATE TABLE rows (id INTEGER PRIMARY KEY";
    std::string insert = "INSERT INTO rows VALUES (NULL";
    for (const Column& column : columns_) {
      // A metric column has no type: any declared one would turn a checksum such as 12e45 into a number.
      create +=
          fmt::format(", {}{}", identifier(column.title), column.kind == ColumnKind::number ? "" : " TEXT");
      insert += ", ?";
    }
    ASSAY_TRY_DO(database_.run(
        "PRAGMA user_version = 2; BEGIN; CREATE TABLE run (key TEXT PRIMARY KEY, value); " + create + ");"));
    ASSAY_TRY(insert_, database_.prepare(insert + ")"));
    return {};
  }

  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }

  Result<void> write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) override {
    Result<void> outcome;
    table_.each(section, nodes, [&](const RowView& row) {
      if (outcome) outcome = insert(row);
    });
    return outcome;
  }

  Result<void> end(const Summary& summary) override {
    insert_.reset();
    ASSAY_TRY_DO(write_facts(summary));
    for (const Column& column : table_.columns())
      if (column.kind == ColumnKind::verdict)
        ASSAY_TRY_DO(
            database_.run(fmt::format("CREATE INDEX {} ON rows ({})", identifier("rows_by_" + column.title),
                                      identifier(column.title))));
    ASSAY_TRY_DO(database_.run("COMMIT"));
    return database_.close();
  }

  Result<std::vector<fs::path>> publish() override {
    ASSAY_TRY(fs::path name, database_.publish());
    return std::vector{std::move(name)};
  }

 private:
  Result<void> insert(const RowView& row) {
    int index = 0;
    for (const Column& column : columns_)
      ASSAY_TRY_DO(database_.bind(insert_.get(), ++index, column.cell(row)));
    ++rows_;
    return database_.step(insert_.get());
  }

  // What the page shows of the run: `assay view` reads it.
  std::string page(const Summary& summary) const {
    const int64_t failed = summary.failed + summary.errors;
    return page_run_json({.rows = rows_, .failed = failed, .held = rows_, .held_failed = failed}, columns_,
                         table_, summary);
  }

  Result<void> write_facts(const Summary& summary) {
    ASSAY_TRY(const Statement statement, database_.prepare("INSERT INTO run VALUES (?, ?)"));
    std::vector<Fact> facts = run_facts(table_.head());
    for (Fact& fact : summary_facts(summary)) facts.push_back(std::move(fact));
    if (const auto& place = summary.first_divergence) {
      facts.push_back({"first_divergence_section", place->section});
      facts.push_back({"first_divergence_name", place->node});
      facts.push_back({"first_divergence_mine", place->mine});
      facts.push_back({"first_divergence_golden", place->golden});
      facts.push_back({"first_divergence_reason", with_diagnosis(explanation(place->row), place->row)});
    }
    if (const auto& origin = summary.first_origin) {
      facts.push_back({"first_origin_section", origin->section});
      facts.push_back({"first_origin_name", origin->node});
      facts.push_back({"first_origin_called_at", origin->called_at});
    }
    facts.push_back({"page", page(summary)});
    for (const Fact& fact : facts) {
      ASSAY_TRY_DO(database_.bind(statement.get(), 1, fact.key));
      ASSAY_TRY_DO(database_.bind(statement.get(), 2, fact.value));
      ASSAY_TRY_DO(database_.step(statement.get()));
    }
    return {};
  }

  SinkOptions options_;
  RowTable table_;
  std::vector<Column> columns_;  // of the report, and behind them those of the page
  int64_t rows_ = 0;
  Database database_;
  Statement insert_;  // goes before the database: sqlite3_close refuses otherwise
};

}  // namespace

const Output sqlite_output = {
    .name = "sqlite",
    .suffix = ".db",
    .to_stdout = false,
    .open = open_sink<SqliteSink>,
};

}  // namespace assay
