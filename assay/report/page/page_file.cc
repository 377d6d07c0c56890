#include "assay/report/page/page_file.h"

#include "assay/report/cells.h"
#include "assay/report/page/embedded.h"
#include "assay/report/page/stored.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <span>

namespace assay {
namespace {

constexpr int64_t kMostBytes = int64_t{64} << 20;  // of a page; ours have at most 12 MiB
constexpr size_t kMostOfRows = size_t{512} << 20;  // of its rows, inflated
constexpr std::string_view kRowsTable = "CREATE TABLE rows (id INTEGER PRIMARY KEY";

struct ClosePageStore {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct EndOfInsert {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using OpenPageStore = std::unique_ptr<sqlite3, ClosePageStore>;
using Insert = std::unique_ptr<sqlite3_stmt, EndOfInsert>;

Result<std::string> read_whole(const fs::path& path) {
  ASSAY_TRY(const auto file, File::open(path));
  if (file->size() > kMostBytes)
    return fail(ErrorKind::bad_format, "{}: has {} bytes, and is no page of ours", display(path),
                file->size());
  std::string text(static_cast<size_t>(file->size()), '\0');
  ASSAY_TRY_DO(file->read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

// Between the tags of the script element of this id; what we write there holds no "<".
std::string_view element(std::string_view page, std::string_view id) {
  const std::string tag = fmt::format("id=\"{}\">", id);
  const size_t from = page.find(tag);
  if (from == std::string_view::npos) return {};
  page.remove_prefix(from + tag.size());
  return page.substr(0, page.find('<'));
}

class PageStore {
 public:
  PageStore(const fs::path& page, const fs::path& database) : page_(page), database_(database) {}

  Result<PageFile> store() {
    ASSAY_TRY(const std::string text, read_whole(page_));
    const std::string run(element(text, "run"));
    const auto lines = inflated(unbase64(element(text, "rows")), kMostOfRows);
    rapidjson::Document facts;
    facts.Parse<rapidjson::kParseIterativeFlag>(run.c_str());
    if (!lines || facts.HasParseError() || !facts.IsObject() || !is_object(facts, "page") ||
        !is_object(facts, "run"))
      return broken("is no page that assay wrote, or holds no rows");
    ASSAY_TRY_DO(open());
    ASSAY_TRY_DO(add_run(facts["run"], run));
    ASSAY_TRY(const Insert insert, create_rows(facts["page"]));
    ASSAY_TRY_DO(add_rows(insert.get(), *lines));
    ASSAY_TRY_DO(execute("COMMIT"));
    const auto text_of = [&](const char* name) {
      const auto& of = facts["run"];
      return of.HasMember(name) && of[name].IsString() ? std::string(of[name].GetString()) : std::string();
    };
    const auto& counts = facts["page"];
    const bool has_counts = counts.HasMember("rows") && counts["rows"].IsInt64() &&
                            counts.HasMember("held") && counts["held"].IsInt64();
    return PageFile{text_of("mine"), text_of("golden"), text_of("command"),
                    has_counts && counts["held"].GetInt64() >= counts["rows"].GetInt64()};
  }

 private:
  static bool is_object(const rapidjson::Value& in, const char* name) {
    return in.HasMember(name) && in[name].IsObject();
  }
  tl::unexpected<Error> broken(std::string_view why) const {
    return fail(ErrorKind::bad_format, "{}: {}", display(page_), why);
  }
  tl::unexpected<Error> trouble() const {
    return fail(ErrorKind::io, "{}: cannot be written: SQLite says: {}", display(database_),
                handle_ ? sqlite3_errmsg(handle_.get()) : "out of memory");
  }

  Result<void> open() {
    sqlite3* handle = nullptr;
    const int code = sqlite3_open(database_.c_str(), &handle);
    handle_.reset(handle);
    if (code != SQLITE_OK) return trouble();
    return execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
  }
  Result<void> execute(const std::string& sql) {
    if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return trouble();
    return {};
  }
  Result<Insert> prepare(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      return trouble();
    return Insert(statement);
  }

  Result<void> add_run(const rapidjson::Value& facts, const std::string& page) {
    ASSAY_TRY_DO(execute("CREATE TABLE run (key TEXT PRIMARY KEY, value TEXT)"));
    ASSAY_TRY(const Insert insert, prepare("INSERT OR REPLACE INTO run VALUES (?, ?)"));
    const auto add = [&](std::string_view key, std::string_view value) -> Result<void> {
      sqlite3_bind_text64(insert.get(), 1, key.data(), key.size(), SQLITE_STATIC, SQLITE_UTF8);
      sqlite3_bind_text64(insert.get(), 2, value.data(), value.size(), SQLITE_STATIC, SQLITE_UTF8);
      return step(insert.get());
    };
    for (const auto& fact : facts.GetObject())
      if (fact.value.IsString()) ASSAY_TRY_DO(add(view_of(fact.name), view_of(fact.value)));
    return add("page", page);
  }

  Result<Insert> create_rows(const rapidjson::Value& page) {
    if (!page.HasMember("columns") || !page["columns"].IsArray()) return broken("does not say its columns");
    std::string create(kRowsTable), insert = "INSERT INTO rows VALUES (?";
    for (const auto& column : page["columns"].GetArray()) {
      if (!column.IsObject() || !column.HasMember("title") || !column["title"].IsString())
        return broken("has a column without a title");
      create += ", " + quoted_column(view_of(column["title"]));
      insert += ", ?";
      ++columns_;
    }
    ASSAY_TRY_DO(execute(create + ")"));
    return prepare(insert + ")");
  }

  Result<void> add_rows(sqlite3_stmt* insert, std::string_view lines) {
    while (!lines.empty()) {
      const std::string line(lines.substr(0, lines.find('\n')));
      lines.remove_prefix(std::min(lines.size(), line.size() + 1));
      rapidjson::Document cells;
      cells.Parse<rapidjson::kParseIterativeFlag>(line.c_str());
      if (cells.HasParseError() || !cells.IsArray() || cells.Size() != columns_ + 1)
        return broken("holds a row that is none");
      for (rapidjson::SizeType i = 0; i < cells.Size(); ++i) bind(insert, static_cast<int>(i) + 1, cells[i]);
      ASSAY_TRY_DO(step(insert));
    }
    return {};
  }

  static void bind(sqlite3_stmt* statement, int index, const rapidjson::Value& cell) {
    const auto bind_text = [&](std::string_view text) {
      sqlite3_bind_text64(statement, index, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    };
    if (cell.IsNull()) {
      sqlite3_bind_null(statement, index);
    } else if (cell.IsBool()) {
      sqlite3_bind_int(statement, index, cell.GetBool() ? 1 : 0);
    } else if (cell.IsInt64()) {
      sqlite3_bind_int64(statement, index, cell.GetInt64());
    } else if (cell.IsNumber()) {
      sqlite3_bind_double(statement, index, cell.GetDouble());
    } else if (cell.IsString()) {
      bind_text(view_of(cell));
    } else {
      rapidjson::StringBuffer text;
      rapidjson::Writer<rapidjson::StringBuffer> writer(text);
      cell.Accept(writer);
      bind_text({text.GetString(), text.GetSize()});
    }
  }

  Result<void> step(sqlite3_stmt* statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) return trouble();
    sqlite3_reset(statement);
    return {};
  }

  static std::string_view view_of(const rapidjson::Value& text) {
    return {text.GetString(), text.GetStringLength()};
  }

  const fs::path &page_, &database_;
  OpenPageStore handle_;
  rapidjson::SizeType columns_ = 0;
};

}  // namespace

Result<PageFile> store_page(const fs::path& page, const fs::path& database) {
  return PageStore(page, database).store();
}

}  // namespace assay
