// A spreadsheet, streamed: rows are turned into deflated chunks in the parallel stage. Rows and cells carry
// no position (the attribute r is optional), so that a batch need not know where it will stand.
#include "assay/base/text.h"
#include "assay/report/destination.h"
#include "assay/report/outputs.h"
#include "assay/report/rows.h"
#include "assay/report/xlsx_parts.h"
#include "assay/support/xlsx_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace assay {
namespace {

constexpr int64_t kSheetRows = 1'048'500;       // Excel's limit is 1,048,575 without the header
constexpr size_t kChunkText = size_t{1} << 18;  // text per deflated chunk
constexpr size_t kSmallText = size_t{1} << 16;  // less than this is collected before it is deflated

// What render() hands to write(): chunks, each behind such a header.
struct ChunkHeader {
  int64_t rows = 0, text_size = 0, size = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

void append_chunk(std::string& out, const std::string& text, int64_t rows) {
  ChunkHeader header{
      .rows = rows, .text_size = std::ssize(text), .size = std::ssize(text), .crc = 0, .deflated = false};
  const auto put = [&](std::string_view bytes) {
    out.append(reinterpret_cast<const char*>(&header), sizeof header);
    out += bytes;
  };
  if (text.size() < kSmallText) return put(text);
  const DeflatedChunk chunk = deflate_chunk(text);
  header.size = std::ssize(chunk.bytes);
  header.crc = chunk.crc;
  header.deflated = true;
  put(chunk.bytes);
}

XlsxStyle style_of(Level level) {
  switch (level) {
    case Level::pass:
      return XlsxStyle::plain;
    case Level::ignored:
      return XlsxStyle::ignored;
    case Level::fail:
      return XlsxStyle::fail;
    case Level::error:
      return XlsxStyle::error;
  }
  return XlsxStyle::plain;
}

XlsxStyle number_style_of(Level level, double number) {
  const bool is_negative = number < 0;
  switch (level) {
    case Level::pass:
      break;
    case Level::ignored:
      return is_negative ? XlsxStyle::negative_ignored : XlsxStyle::number_ignored;
    case Level::fail:
      return is_negative ? XlsxStyle::negative_fail : XlsxStyle::number_fail;
    case Level::error:
      return is_negative ? XlsxStyle::negative_error : XlsxStyle::number_error;
  }
  return is_negative ? XlsxStyle::negative : XlsxStyle::number;
}

XlsxStyle style_of(Paint paint) {
  switch (paint) {
    case Paint::none:
      break;
    case Paint::yellow:
      return XlsxStyle::yellow;
    case Paint::red:
      return XlsxStyle::red;
  }
  return XlsxStyle::plain;
}

void append_row(std::string& out, const RowTable& table, const RowView& row) {
  const Print print = table.profile().print;
  // Of our own tables a row has the colour of its verdict; other tools paint theirs.
  const bool is_native = print == Print::native;
  const XlsxStyle of_row = is_native ? style_of(row.row.verdict.level) : style_of(row.row.verdict.paint);
  out += "<row>";
  for (const Column& column : table.columns()) {
    if (column.text != nullptr)
      append_xlsx_text(out, column.text(row), of_row, print);
    else {
      const Value value = cell_value(column, row);
      const auto* const real = is_native ? std::get_if<double>(&value) : nullptr;
      append_xlsx_cell(out, value,
                       column.kind == ColumnKind::verdict ? style_of(row.row.verdict.level)
                       : real != nullptr                  ? number_style_of(row.row.verdict.level, *real)
                                                          : of_row,
                       print);
    }
  }
  out += "</row>";
}

class XlsxSink : public Sink {
 public:
  explicit XlsxSink(const SinkOptions& options) : options_(options), table_(*options.profile) {}

  Result<void> begin(const Head& head) override {
    table_.begin(head);
    sheet_rows_ = rows_per_sheet(head);
    ASSAY_TRY(FileWriter file, create_report(options_, head, xlsx_output.suffix));
    package_.emplace(std::move(file));
    ASSAY_TRY_DO(package_->add("_rels/.rels", xlsx_relations()));
    ASSAY_TRY_DO(package_->add("xl/styles.xml", xlsx_styles()));
    return options_.profile->section_sheet ? Result<void>() : open_sheet();
  }

  Result<void> open_section(const Head& head) override {
    if (!options_.profile->section_sheet) return {};
    std::string name = options_.profile->section_sheet(head);
    return !sheets_.empty() && sheets_.back().name == name ? Result<void>() : next_sheet(std::move(name));
  }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    return render_from(sheet_rows_, section, nodes);  // as if no sheet ended in between
  }

  Result<void> write(std::string_view section, std::span<const NodeResult> nodes,
                     std::string&& rendered) override {
    const int64_t left = rows_ < sheet_rows_ ? sheet_rows_ - rows_ : sheet_rows_;
    if (row_count(rendered) > left) rendered = render_from(left, section, nodes);
    return each_chunk(rendered,
                      [&](const ChunkHeader& header, std::string_view bytes) { return add(header, bytes); });
  }

  Result<void> end(const Summary& summary) override {
    if (sheets_.empty()) {
      for (const std::string& name : options_.profile->sheets) {
        ASSAY_TRY_DO(next_sheet(name));
      }
    }
    if (sheets_.empty()) {
      ASSAY_TRY_DO(open_sheet());
    }
    ASSAY_TRY_DO(close_sheet());
    if (is_bare()) {
      name_bare_sheets();
      ASSAY_TRY_DO(package_->add("xl/workbook.xml", xlsx_bare_workbook(sheets_)));
    } else {
      ASSAY_TRY_DO(package_->add("xl/worksheets/sheet1.xml", summary_sheet(summary)));
      ASSAY_TRY_DO(package_->add("xl/workbook.xml", xlsx_workbook(sheets_)));
    }
    const size_t parts = sheets_.size() + (is_bare() ? 0 : 1);
    ASSAY_TRY_DO(package_->add("xl/_rels/workbook.xml.rels", xlsx_workbook_relations(parts)));
    ASSAY_TRY_DO(package_->add("[Content_Types].xml", xlsx_content_types(parts)));
    return package_->end();
  }

  Result<std::vector<fs::path>> publish() override {
    ASSAY_TRY(fs::path name, package_->publish());
    return std::vector{std::move(name)};
  }

 private:
  // All that a sheet holds, or what makes the sheets of another tool equally long.
  int64_t rows_per_sheet(const Head& head) const {
    const int64_t rows = options_.profile->row_count ? options_.profile->row_count(head) : 0;
    const int64_t sheets = std::max<int64_t>(1, (rows + kSheetRows - 1) / kSheetRows);
    return sheets == 1 ? kSheetRows : (rows + sheets - 1) / sheets;
  }

  // Chunks of whole rows; one ends where a sheet does that has room for `left` more rows.
  std::string render_from(int64_t left, std::string_view section, std::span<const NodeResult> nodes) const {
    std::string out, text;
    int64_t rows = 0;
    const auto finish_chunk = [&] {
      append_chunk(out, text, rows);
      text.clear();
      rows = 0;
    };
    table_.each(section, nodes, [&](const RowView& row) {
      append_row(text, table_, row);
      ++rows;
      const bool is_last_of_sheet = --left == 0;
      if (is_last_of_sheet) left = sheet_rows_;
      if (is_last_of_sheet || text.size() >= kChunkText) finish_chunk();
    });
    if (rows > 0) finish_chunk();
    return out;
  }

  static Result<void> each_chunk(
      std::string_view rendered,
      const std::function<Result<void>(const ChunkHeader&, std::string_view)>& use) {
    while (!rendered.empty()) {
      ChunkHeader header;
      std::memcpy(&header, rendered.data(), sizeof header);
      ASSAY_TRY_DO(use(header, rendered.substr(sizeof header, static_cast<size_t>(header.size))));
      rendered.remove_prefix(sizeof header + static_cast<size_t>(header.size));
    }
    return {};
  }

  static int64_t row_count(std::string_view rendered) {
    int64_t rows = 0;
    (void)each_chunk(rendered, [&](const ChunkHeader& header, std::string_view) -> Result<void> {
      rows += header.rows;
      return {};
    });
    return rows;
  }

  Result<void> add(const ChunkHeader& header, std::string_view bytes) {
    if (rows_ + header.rows > sheet_rows_) {
      std::string name = sheets_.back().name;
      ASSAY_TRY_DO(close_sheet());
      ASSAY_TRY_DO(open_sheet());
      if (options_.profile->section_sheet) sheets_.back().name = next_name(std::move(name));
    }
    rows_ += header.rows;
    if (!header.deflated) {
      pending_ += bytes;
      return pending_.size() < kChunkText ? Result<void>() : flush();
    }
    ASSAY_TRY_DO(flush());
    return package_->append(DeflatedChunk{std::string(bytes), header.text_size, header.crc});
  }

  Result<void> flush() {
    if (pending_.empty()) return {};
    const Result<void> outcome = package_->append(pending_);
    pending_.clear();
    return outcome;
  }

  // Sheets in the words of another tool, without a summary of ours.
  bool is_bare() const { return !options_.profile->sheet.empty(); }

  // Of a sheet that goes on where one is full: "api", "api_2".
  static std::string next_name(std::string name) {
    const size_t mark = name.rfind('_');
    const auto number = mark == std::string::npos ? std::nullopt : parse_int(name.substr(mark + 1));
    return number ? fmt::format("{}_{}", name.substr(0, mark), *number + 1) : name + "_2";
  }

  void name_bare_sheets() {
    if (options_.profile->section_sheet) return;
    const bool is_whole = sheets_.size() == 1;
    for (size_t i = 0; i < sheets_.size(); ++i)
      sheets_[i].name = is_whole ? std::string(options_.profile->sheet) : fmt::format("part_{}", i);
  }

  // Part 1 is the summary, where there is one, which is written last.
  Result<void> open_sheet() {
    const size_t number = sheets_.size() + 1;
    sheets_.push_back({number == 1 ? "rows" : fmt::format("rows_{}", number),
                       xlsx_column_letters(table_.columns().size())});
    rows_ = 0;
    const std::string part = fmt::format("xl/worksheets/sheet{}.xml", number + (is_bare() ? 0 : 1));
    ASSAY_TRY_DO(package_->open(part, xlsx_sheet_size(sheets_.back())));
    return package_->append(xlsx_rows_start(table_.columns(), options_.profile->print));
  }

  Result<void> next_sheet(std::string name) {
    if (!sheets_.empty()) {
      ASSAY_TRY_DO(close_sheet());
    }
    ASSAY_TRY_DO(open_sheet());
    sheets_.back().name = std::move(name);
    return {};
  }

  Result<void> close_sheet() {
    ASSAY_TRY_DO(flush());
    XlsxSheet& sheet = sheets_.back();
    sheet.last_row = rows_ + 1;
    ASSAY_TRY_DO(package_->append(xlsx_rows_end(sheet, options_.profile->print)));
    return package_->close(xlsx_sheet_size(sheet));
  }

  std::string summary_sheet(const Summary& summary) const {
    std::string out(xlsx_summary_start());
    const auto line = [&](std::string_view key, const Value& value) {
      out += "<row>";
      append_xlsx_cell(out, std::string(key), XlsxStyle::header);
      append_xlsx_cell(out, value, XlsxStyle::plain);
      out += "</row>";
    };
    for (const Fact& fact : run_facts(table_.head())) line(fact.key, fact.value);
    for (const Fact& fact : summary_facts(summary)) line(fact.key, fact.value);
    if (summary.first_divergence) {
      out += "<row/>";
      const PlacedRow place(*summary.first_divergence);
      for (const Column& column : table_.columns())
        line(fmt::format("first_divergence_{}", column.title), column.cell(place.view(table_.head())));
    }
    if (const auto& origin = summary.first_origin) {
      out += "<row/>";
      line("first_origin_section", origin->section);
      line("first_origin_name", origin->node);
      line("first_origin_called_at", origin->called_at);
    }
    out += xlsx_summary_end();
    return out;
  }

  SinkOptions options_;
  RowTable table_;
  std::optional<XlsxPackage> package_;
  std::vector<XlsxSheet> sheets_;  // without the summary
  int64_t sheet_rows_ = kSheetRows;
  int64_t rows_ = 0;     // of the open sheet
  std::string pending_;  // rows of the open sheet that are not deflated yet
};

}  // namespace

const Output xlsx_output = {
    .name = "xlsx",
    .suffix = ".xlsx",
    .to_stdout = false,
    .open = open_sink<XlsxSink>,
};

}  // namespace assay
