#include "assay/compat/msit/bad_cases.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/report/cells.h"
#include "assay/support/csv.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace assay {
namespace {

constexpr int64_t kMostFileBytes = int64_t{1} << 30;
constexpr int64_t kMostRowBytes = int64_t{16} << 20;  // the tokens of a long prompt

constexpr size_t kMostRows = 10'000'000;
using Cells = std::vector<std::string>;

struct Table {
  std::string file;
  Cells header;             // the columns that are of use
  std::vector<Cells> rows;  // complete ones, of these columns
  int64_t incomplete = 0;

  size_t find(std::string_view column) const {  // header.size(): there is none
    return static_cast<size_t>(std::find(header.begin(), header.end(), column) - header.begin());
  }
  bool has(std::string_view column) const { return find(column) < header.size(); }
};

// What pandas takes for an empty cell.
bool is_empty(std::string_view cell) {
  static constexpr std::array<std::string_view, 18> kEmpty = {
      "",        "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
      "1.#QNAN", "<NA>", "N/A",      "NA",  "NULL",    "NaN",      "n/a",  "nan",  "null"};
  return std::find(kEmpty.begin(), kEmpty.end(), cell) != kEmpty.end();
}

// Places of the columns that are of use, and their names in the header of the table.
std::vector<size_t> choose_columns(const Cells& header, Table& table) {
  static constexpr std::array<std::string_view, 4> kOfUse = {"key", "queries", "input_token_ids",
                                                             "output_token_ids"};
  std::vector<size_t> places;
  const auto take = [&](std::string_view column, std::string_view name) {
    const auto found = std::find(header.begin(), header.end(), column);
    if (found == header.end() || table.has(name)) return;
    places.push_back(static_cast<size_t>(found - header.begin()));
    table.header.emplace_back(name);
  };
  for (const std::string_view column : kOfUse) take(column, column);
  take("passed", "passed");
  take("pass", "passed");
  return places;
}

Result<Table> read_table(const fs::path& path) {
  ASSAY_TRY(const auto file, File::open(path));
  if (file->size() > kMostFileBytes)
    return fail(ErrorKind::limit, "{}: {} is too large for a table of results; at most {} are read",
                file->name(), format_size(file->size()), format_size(kMostFileBytes));
  Table table;
  table.file = file->name();
  CsvReader reader(file, ',', kMostRowBytes);
  Cells header;
  ASSAY_TRY(const bool has_header, reader.next(header));
  if (!has_header)
    return fail(ErrorKind::bad_format, "{}: is empty; expected a line of column names", table.file);
  const std::vector<size_t> places = choose_columns(header, table);
  for (Cells cells;;) {
    ASSAY_TRY(const bool more, reader.next(cells));
    if (!more) return table;
    ASSAY_TRY_DO(check_cancelled());
    if (cells.size() > header.size())
      return fail(ErrorKind::bad_format, "{}: Expected {} fields in line {}, saw {}; is a comma not quoted?",
                  table.file, header.size(), reader.line(), cells.size());
    if (cells.size() < header.size() || std::any_of(cells.begin(), cells.end(), is_empty)) {
      ++table.incomplete;
      continue;
    }
    if (table.rows.size() == kMostRows)
      return fail(ErrorKind::limit, "{}: has more than {} rows; split it", table.file, kMostRows);
    Cells& row = table.rows.emplace_back();
    for (const size_t place : places) row.push_back(std::move(cells[place]));
  }
}

Result<void> require(const Table& table, std::span<const std::string_view> columns, std::string_view words) {
  for (const std::string_view column : columns)
    if (!table.has(column))
      return fail(ErrorKind::bad_format, "{}: Unmatched csv columns, expected to have {}; '{}' is missing",
                  table.file, words, column);
  return {};
}

bool is_whole(const Table& table, size_t column) {
  return std::all_of(table.rows.begin(), table.rows.end(),
                     [&](const Cells& row) { return parse_int(trim(row[column])).has_value(); });
}

// Where both columns hold nothing but whole numbers, "07" is 7.
void settle_numbers(Table& golden, Table& test, std::string_view column) {
  const size_t g = golden.find(column), t = test.find(column);
  if (!is_whole(golden, g) || !is_whole(test, t)) return;
  for (Cells& row : golden.rows) row[g] = std::to_string(*parse_int(trim(row[g])));
  for (Cells& row : test.rows) row[t] = std::to_string(*parse_int(trim(row[t])));
}

// correct and wrong are words of some data sets.
void settle_words(Table& table) {
  const size_t column = table.find("passed");
  for (Cells& row : table.rows) {
    row[column] = to_lower(row[column]);
    if (row[column] == "correct") row[column] = "true";
    if (row[column] == "wrong") row[column] = "false";
  }
}

// What pandas takes the cells of a column for, all together: where one of them is something else, TRUE and
// True are two texts.
enum class Answers : uint8_t { truths, numbers, texts };

std::optional<double> truth_of(const std::string& cell) {
  constexpr std::string_view kTrue[] = {"True", "TRUE", "true"}, kFalse[] = {"False", "FALSE", "false"};
  if (std::ranges::find(kTrue, cell) != std::end(kTrue)) return 1;
  return std::ranges::find(kFalse, cell) != std::end(kFalse) ? std::optional(0.0) : std::nullopt;
}

Answers answers_in(const Table& table) {
  const size_t column = table.find("passed");
  const auto all = [&](const auto& is_such) {
    return std::ranges::all_of(table.rows, [&](const Cells& row) { return is_such(row[column]); });
  };
  if (all([](const std::string& cell) { return truth_of(cell).has_value(); })) return Answers::truths;
  return all([](const std::string& cell) { return parse_double(trim(cell)).has_value(); }) ? Answers::numbers
                                                                                           : Answers::texts;
}

bool same_answer(const std::string& a, Answers of_a, const std::string& b, Answers of_b) {
  if (of_a == Answers::texts || of_b == Answers::texts) return of_a == of_b && a == b;
  const auto x = of_a == Answers::truths ? truth_of(a) : parse_double(trim(a));
  const auto y = of_b == Answers::truths ? truth_of(b) : parse_double(trim(b));
  return x && y && *x == *y;
}

// Cells joined so that two rows have the same text only if all their cells agree.
std::string joined_key(const Table& table, const Cells& row, std::span<const std::string_view> columns) {
  std::string key;
  for (const std::string_view column : columns) {
    const std::string& cell = row[table.find(column)];
    key += fmt::format("{}:", cell.size());
    key += cell;
  }
  return key;
}

struct TableJoin {
  std::vector<std::string_view> keys;   // joined on
  std::vector<std::string_view> pairs;  // shown of both sides
};

Result<TableJoin> plan_join(const Table& golden, const Table& test, BadCaseJoin join) {
  static constexpr std::array<std::string_view, 4> kByQueries = {"queries", "input_token_ids",
                                                                 "output_token_ids", "passed"};
  static constexpr std::array<std::string_view, 2> kByKey = {"key", "passed"};
  if (join == BadCaseJoin::queries) {
    for (const Table* table : {&golden, &test})
      ASSAY_TRY_DO(
          require(*table, kByQueries, "'queries', 'input_token_ids', 'output_token_ids', and 'passed'"));
    return TableJoin{{"queries"}, {"input_token_ids", "output_token_ids", "passed"}};
  }
  for (const Table* table : {&golden, &test}) ASSAY_TRY_DO(require(*table, kByKey, "'key' and 'passed'"));
  TableJoin plan{{"key"}, {}};
  if (golden.has("queries")) {
    static constexpr std::array<std::string_view, 1> kQueries = {"queries"};
    ASSAY_TRY_DO(require(test, kQueries, "'queries' as the golden file has it"));
    plan.keys.push_back("queries");
  }
  bool has_tokens = true;
  for (const Table* table : {&golden, &test})
    has_tokens &= table->has("input_token_ids") && table->has("output_token_ids");
  if (has_tokens) plan.pairs = {"input_token_ids", "output_token_ids"};
  plan.pairs.push_back("passed");
  return plan;
}

Result<void> join_tables(const Table& golden, const Table& test, const TableJoin& plan, BadCases& out) {
  std::unordered_map<std::string, std::vector<const Cells*>> by_key;
  for (const Cells& row : test.rows) by_key[joined_key(test, row, plan.keys)].push_back(&row);
  const size_t golden_passed = golden.find("passed"), test_passed = test.find("passed");
  const Answers of_golden = answers_in(golden), of_test = answers_in(test);
  for (const Cells& row : golden.rows) {
    ASSAY_TRY_DO(check_cancelled());
    const auto found = by_key.find(joined_key(golden, row, plan.keys));
    if (found == by_key.end()) {
      if (++out.unmatched <= 5) out.some_unmatched.push_back(row[golden.find(plan.keys[0])]);
      continue;
    }
    for (const Cells* const other : found->second) {
      if (same_answer(row[golden_passed], of_golden, (*other)[test_passed], of_test)) continue;
      if (out.rows.size() == kMostBadCases)
        return fail(ErrorKind::limit,
                    "{} and {}: more than {} bad cases; does '{}' stand in both many times?", golden.file,
                    test.file, kMostBadCases, printable(row[golden.find(plan.keys[0])]));
      Cells& bad = out.rows.emplace_back();
      for (const std::string_view key : plan.keys) bad.push_back(row[golden.find(key)]);
      for (const std::string_view column : plan.pairs) {
        bad.push_back(row[golden.find(column)]);
        bad.push_back((*other)[test.find(column)]);
      }
    }
  }
  return {};
}

}  // namespace

Result<BadCases> find_bad_cases(const fs::path& golden_path, const fs::path& test_path, BadCaseJoin join) {
  ASSAY_TRY(Table golden, read_table(golden_path));
  ASSAY_TRY(Table test, read_table(test_path));
  ASSAY_TRY(const TableJoin plan, plan_join(golden, test, join));
  if (join == BadCaseJoin::key) {
    settle_words(golden);
    settle_words(test);
  }
  for (const std::string_view key : plan.keys) settle_numbers(golden, test, key);
  BadCases cases;
  cases.golden_incomplete = golden.incomplete;
  cases.test_incomplete = test.incomplete;
  for (const std::string_view key : plan.keys) cases.columns.emplace_back(key);
  for (const std::string_view column : plan.pairs)
    for (const std::string_view side : {"_golden", "_test"})
      cases.columns.push_back(fmt::format("{}{}", column, side));
  ASSAY_TRY_DO(join_tables(golden, test, plan, cases));
  return cases;
}

Result<fs::path> write_bad_cases(const BadCases& cases, const fs::path& folder, const std::string& name) {
  ASSAY_TRY_DO(make_folder(folder, 0700));
  ASSAY_TRY(FileWriter writer, FileWriter::create(folder / name, IfExists::number, 0640));
  const auto append_row = [&writer](const Cells& cells) {
    std::string line;
    for (const std::string& cell : cells) {
      if (&cell != &cells.front()) line += ',';
      append_csv_text(line, cell, Breaks::kept);
    }
    return writer.append(line + '\n');
  };
  ASSAY_TRY_DO(append_row(cases.columns));
  for (const Cells& row : cases.rows) ASSAY_TRY_DO(append_row(row));
  return writer.publish();
}

}  // namespace assay
