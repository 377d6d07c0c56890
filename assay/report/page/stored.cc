#include "assay/report/page/stored.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/report/cells.h"
#include "assay/report/page/derived_numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rapidjson/document.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

namespace assay {
namespace {

constexpr std::string_view kId = "id";
constexpr int kMostOfValue = 128 << 20;      // bytes of one value, whatever the database says
constexpr size_t kMostReply = 256u << 20;    // … of the rows that are given at once
constexpr int kStepsBetweenLooks = 100'000;  // of SQLite's machine
constexpr std::array<std::string_view, 6> kSearched = {"name", "mine", "golden", "reason", "note", "status"};

// Names that conditions have beside columns, and the columns that tell of them.
const std::array<std::pair<std::string_view, std::vector<std::string_view>>, 3> kDerivedFrom = {{
    {"layer", {"name", ".within", ".layers"}},
    {"count", {"golden_shape", "mine_shape"}},
    {"eps", {"mine_dtype", "golden_dtype"}},
}};

struct EndOfQuery {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using OpenQuery = std::unique_ptr<sqlite3_stmt, EndOfQuery>;

// As the path of a URI.
std::string as_uri(std::string_view path) {
  std::string out;
  for (const char c : path)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/')
      out += c;
    else
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string_view text_at(sqlite3_stmt* row, int column) {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(row, column))};
}

// NaN and infinity may stand there as texts.
std::optional<double> number_at(sqlite3_stmt* row, int column) {
  const int type = sqlite3_column_type(row, column);
  if (type == SQLITE_INTEGER || type == SQLITE_FLOAT) return sqlite3_column_double(row, column);
  if (text_at(row, column) == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

void append_stored(std::string& out, sqlite3_stmt* row, int column, bool is_json) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
      out += "null";
      return;
    case SQLITE_INTEGER:
      append_number(out, int64_t{sqlite3_column_int64(row, column)});
      return;
    case SQLITE_FLOAT:
      append_json(out, Value(sqlite3_column_double(row, column)));
      return;
    default:
      // A text that says it is JSON is checked: the database may be anyone's.
      const std::string_view text = text_at(row, column);
      rapidjson::Document document;
      if (is_json &&
          !document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size()).HasParseError())
        out += text;
      else
        append_json(out, Value(std::string(text)));
  }
}

// A word or a shell pattern, without regard to the case of ASCII letters where it is a word.
class WordTest {
 public:
  explicit WordTest(const std::string& word)
      : word_(word), is_pattern_(word.find_first_of("*?[") != std::string::npos) {
    for (char& c : word_) c = is_pattern_ ? c : lower(c);
    // Most patterns are a text between two stars.
    const std::string_view inside =
        std::string_view(word_).substr(1, word_.size() < 2 ? 0 : word_.size() - 2);
    is_part_ = is_pattern_ && word_.size() > 2 && word_.front() == '*' && word_.back() == '*' &&
               inside.find_first_of("*?[\\") == std::string_view::npos;
    if (is_part_) word_ = std::string(inside);
  }

  bool fits(std::string_view text) const {
    if (is_part_) return text.find(word_) != std::string_view::npos;
    return is_pattern_ ? glob_match(word_, text) : contains(text);
  }

 private:
  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
  bool contains(std::string_view text) const {
    if (word_.empty()) return true;
    if (text.size() < word_.size()) return false;
    const size_t last = text.size() - word_.size();
    for (size_t at = 0; at <= last; ++at) {
      if (lower(text[at]) != word_.front()) continue;
      size_t i = 1;
      while (i < word_.size() && lower(text[at + i]) == word_[i]) ++i;
      if (i == word_.size()) return true;
    }
    return false;
  }

  std::string word_;
  bool is_pattern_, is_part_ = false;
};

}  // namespace

std::string quoted_column(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

// The database may be anyone's, and what it says be made to take time, memory, or a file beside it.
Result<std::unique_ptr<StoredReport>> StoredReport::open(const fs::path& path) {
  ASSAY_TRY_DO(File::open(path));  // SQLite would wait for a pipe
  std::unique_ptr<StoredReport> report(new StoredReport(path));
  // Read as it stands: nobody writes to a report that is finished, and a journal beside it is not asked for.
  const std::string address = "file://" + as_uri(fs::absolute(path).native()) + "?immutable=1";
  if (sqlite3_open_v2(address.c_str(), &report->handle_,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_URI, nullptr) != SQLITE_OK)
    return report->trouble();
  sqlite3_db_config(report->handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(report->handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(report->handle_, SQLITE_LIMIT_LENGTH, kMostOfValue);
  sqlite3_progress_handler(
      report->handle_, kStepsBetweenLooks, [](void*) { return cancelled() ? 1 : 0; }, nullptr);
  ASSAY_TRY_DO(report->load());
  return report;
}

StoredReport::~StoredReport() { sqlite3_close(handle_); }

tl::unexpected<Error> StoredReport::trouble() const {
  if (auto go_on = check_cancelled(); !go_on) return tl::unexpected<Error>(std::move(go_on.error()));
  return fail(ErrorKind::bad_format, "{}: cannot be read as a report: SQLite says: {}", display(path_),
              handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory");
}

// A view may have rows without end, and so may a virtual table.
Result<void> StoredReport::check_tables() const {
  static constexpr const char* kQuestion =
      "SELECT count(*), coalesce(sum(type = 'table' AND rootpage > 0), 0) FROM sqlite_master "
      "WHERE type IN ('table', 'view') AND lower(name) IN ('run', 'rows')";
  sqlite3_stmt* handle = nullptr;
  if (sqlite3_prepare_v2(handle_, kQuestion, -1, &handle, nullptr) != SQLITE_OK) return trouble();
  const OpenQuery tables(handle);
  if (sqlite3_step(handle) != SQLITE_ROW) return trouble();
  if (sqlite3_column_int64(handle, 0) == 2 && sqlite3_column_int64(handle, 1) == 2) return {};
  return fail(ErrorKind::bad_format, "{}: is no report of assay: it lacks the tables 'run' and 'rows'",
              display(path_));
}

Result<void> StoredReport::load() {
  ASSAY_TRY_DO(check_tables());
  run_json_ = fact("page");
  if (run_json_.empty())
    return sqlite3_errcode(handle_) == SQLITE_OK || sqlite3_errcode(handle_) == SQLITE_DONE ||
                   sqlite3_errcode(handle_) == SQLITE_ROW
               ? fail(ErrorKind::bad_format,
                      "{}: holds no data for the page: an older assay wrote it, or another program; "
                      "'assay compare … --report sqlite' makes a new one",
                      display(path_))
               : trouble();
  rapidjson::Document run;
  run.Parse<rapidjson::kParseIterativeFlag>(run_json_.c_str());
  const auto broken = [&] {
    return fail(ErrorKind::bad_format, "{}: its data for the page are broken", display(path_));
  };
  if (run.HasParseError() || !run.IsObject() || !run.HasMember("page") || !run["page"].IsObject())
    return broken();
  const auto columns = run["page"].FindMember("columns");
  if (columns == run["page"].MemberEnd() || !columns->value.IsArray()) return broken();
  for (const auto& column : columns->value.GetArray()) {
    if (!column.IsObject() || !column.HasMember("title") || !column["title"].IsString()) return broken();
    const auto kind = column.FindMember("kind");
    columns_.push_back(
        {column["title"].GetString(), kind != column.MemberEnd() && kind->value.IsString() &&
                                          std::string_view(kind->value.GetString()) == "shape"});
  }
  sqlite3_stmt* handle = nullptr;
  if (sqlite3_prepare_v2(handle_, "SELECT count(*) FROM rows", -1, &handle, nullptr) != SQLITE_OK)
    return trouble();
  const OpenQuery count(handle);
  if (sqlite3_step(handle) != SQLITE_ROW) return trouble();
  rows_ = sqlite3_column_int64(handle, 0);
  return {};
}

std::string StoredReport::fact(std::string_view key) const {
  const std::lock_guard lock(guard_);
  sqlite3_stmt* handle = nullptr;
  if (sqlite3_prepare_v2(handle_, "SELECT value FROM run WHERE key = ?", -1, &handle, nullptr) != SQLITE_OK)
    return {};
  const OpenQuery statement(handle);
  sqlite3_bind_text(handle, 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
  return sqlite3_step(handle) == SQLITE_ROW ? std::string(text_at(handle, 0)) : std::string();
}

bool StoredReport::has(std::string_view title) const {
  return std::ranges::any_of(columns_, [&](const StoredColumn& column) { return column.title == title; });
}

// Of the rows that fit, in the order that is asked for.
Result<std::vector<int64_t>> StoredReport::ids(const StoredQuery& query) const {
  std::vector<std::string> read = {std::string(kId)};
  std::vector<int> searched;
  const auto add = [&](std::string_view title) {
    read.push_back(quoted_column(title));
    return static_cast<int>(read.size()) - 1;
  };
  if (!query.words.empty())
    for (const std::string_view title : kSearched)
      if (has(title)) searched.push_back(add(title));
  std::vector<std::pair<std::string, int>> numbers;
  for (const std::string& title : query.condition_columns)
    if (has(title)) numbers.emplace_back(title, add(title));
  // What no column holds is told from these.
  std::vector<std::pair<std::string_view, int>> sources;
  for (const auto& [derived, titles] : kDerivedFrom)
    if (!has(derived) && std::ranges::find(query.condition_columns, derived) != query.condition_columns.end())
      for (const std::string_view title : titles)
        if (has(title)) sources.emplace_back(title, add(title));
  std::string where;
  std::vector<std::string_view> bound;
  const auto demand = [&](std::string condition, std::initializer_list<std::string_view> values) {
    where += (where.empty() ? " WHERE " : " AND ") + std::move(condition);
    bound.insert(bound.end(), values);
  };
  if (!query.verdicts.empty()) {
    std::string marks;
    for (size_t i = 0; i < query.verdicts.size(); ++i) marks += i == 0 ? "?" : ", ?";
    demand("verdict IN (" + marks + ")", {});
    bound.insert(bound.end(), query.verdicts.begin(), query.verdicts.end());
  }
  if (query.section) demand("coalesce(section, '') = ?", {*query.section});
  if (!query.dtype.empty()) demand("(mine_dtype = ? OR golden_dtype = ?)", {query.dtype, query.dtype});
  if (!query.port.empty()) demand("\".port\" = ?", {query.port});
  if (query.every > 1) demand(fmt::format("(verdict IN ('fail', 'error') OR id % {} = 0)", query.every), {});
  std::string sql = fmt::format("SELECT {} FROM rows{}", fmt::join(read, ", "), where);
  if (!query.sort.empty() && has(query.sort))
    sql += fmt::format(" ORDER BY {0} IS NULL, {0} {1}, id", quoted_column(query.sort),
                       query.is_descending ? "DESC" : "ASC");
  else
    sql += " ORDER BY id";
  sqlite3_stmt* row = nullptr;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &row, nullptr) != SQLITE_OK) return trouble();
  const OpenQuery statement(row);
  for (size_t i = 0; i < bound.size(); ++i)
    sqlite3_bind_text(row, static_cast<int>(i) + 1, bound[i].data(), static_cast<int>(bound[i].size()),
                      SQLITE_STATIC);
  const StoredLook look = [&](std::string_view name) -> std::optional<double> {
    for (const auto& [title, column] : numbers)
      if (title == name) return number_at(row, column);
    return derived_number(name, [&](std::string_view wanted) -> std::string_view {
      for (const auto& [title, column] : sources)
        if (title == wanted) return text_at(row, column);
      return {};
    });
  };
  const std::vector<WordTest> words(query.words.begin(), query.words.end());
  std::vector<int64_t> found;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(row)) == SQLITE_ROW) {
    const bool has_words = std::ranges::all_of(words, [&](const WordTest& word) {
      return std::ranges::any_of(searched, [&](int column) { return word.fits(text_at(row, column)); });
    });
    if (has_words && (!query.holds || query.holds(look))) found.push_back(sqlite3_column_int64(row, 0));
    if (found.size() % 4096 == 0) ASSAY_TRY_DO(check_cancelled());
  }
  if (code != SQLITE_DONE) return trouble();
  return found;
}

Result<StoredRows> StoredReport::find(const StoredQuery& query) const {
  const std::lock_guard lock(guard_);
  ASSAY_TRY(const std::vector<int64_t> found, ids(query));
  std::string titles(kId);
  for (const StoredColumn& column : columns_) titles += ", " + quoted_column(column.title);
  sqlite3_stmt* row = nullptr;
  const std::string sql = fmt::format("SELECT {} FROM rows WHERE id = ?", titles);
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &row, nullptr) != SQLITE_OK) return trouble();
  const OpenQuery statement(row);
  StoredRows rows{.total = std::ssize(found), .json = "["};
  const int64_t from = std::clamp<int64_t>(query.from, 0, rows.total);
  const int64_t to = from + std::clamp<int64_t>(query.count, 0, rows.total - from);
  for (int64_t i = from; i < to; ++i) {
    sqlite3_reset(row);
    sqlite3_bind_int64(row, 1, found[static_cast<size_t>(i)]);
    if (sqlite3_step(row) != SQLITE_ROW) return trouble();
    if (i > from) rows.json += ",\n";
    rows.json += '[';
    append_stored(rows.json, row, 0, false);
    for (size_t column = 0; column < columns_.size(); ++column) {
      rows.json += ',';
      append_stored(rows.json, row, static_cast<int>(column) + 1, columns_[column].is_json);
    }
    rows.json += ']';
    if (rows.json.size() > kMostReply)
      return fail(ErrorKind::limit, "{}: rows {} to {} are more than {} MiB; ask for fewer at once",
                  display(path_), from, to, kMostReply >> 20);
  }
  rows.json += ']';
  return rows;
}

Result<StoredPair> StoredReport::pair(int64_t id) const {
  const std::lock_guard lock(guard_);
  sqlite3_stmt* row = nullptr;
  if (sqlite3_prepare_v2(handle_, "SELECT mine, golden, section FROM rows WHERE id = ?", -1, &row, nullptr) !=
      SQLITE_OK)
    return trouble();
  const OpenQuery statement(row);
  sqlite3_bind_int64(row, 1, id);
  if (sqlite3_step(row) != SQLITE_ROW) return fail(ErrorKind::not_found, "there is no row {}", id);
  return StoredPair{std::string(text_at(row, 0)), std::string(text_at(row, 1)), std::string(text_at(row, 2))};
}

}  // namespace assay
