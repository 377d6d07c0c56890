#include "assay/report/sample_rows.h"
#include "assay/report/xlsx_parts.h"
#include "assay/support/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <limits>
#include <map>

namespace assay {
namespace {

// The parts of the file, inflated and checked against their sums.
std::map<std::string, std::string> parts_of(const fs::path& path) {
  std::map<std::string, std::string> parts;
  const auto file = File::open(path);
  if (!file) return parts;
  const auto directory = read_zip_directory(**file, int64_t{1} << 20);
  EXPECT_TRUE(directory);
  for (const ZipEntry& entry : directory ? directory->entries : std::vector<ZipEntry>()) {
    EXPECT_FALSE(entry.trouble);
    std::vector<std::byte> stored(static_cast<size_t>(entry.compressed_size));
    EXPECT_TRUE((*file)->read(entry.data_offset, stored));
    std::string text(static_cast<size_t>(entry.size) + 1, '\0');
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, -MAX_WBITS), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(stored.data());
    stream.avail_in = static_cast<uInt>(stored.size());
    stream.next_out = reinterpret_cast<Bytef*>(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END) << entry.name;
    EXPECT_EQ(stream.avail_in, 0U);
    EXPECT_EQ(static_cast<int64_t>(stream.total_out), entry.size);
    inflateEnd(&stream);
    text.pop_back();
    EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())),
              entry.crc);
    parts[entry.name] = text;
  }
  return parts;
}

int64_t count_of(const std::string& text, std::string_view word) {
  int64_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(XlsxReport, HoldsASummaryAndTheRows) {
  const TestFolder folder;
  Summary summary;
  summary.rows = 2;
  Comparison bad = sample_row("=cmd \xff<x>", Level::fail, std::numeric_limits<double>::quiet_NaN(), 0.25);
  auto parts = parts_of(
      write_report("xlsx", folder.path(), sample_head(),
                   {node_of("n1", {bad}), node_of("n2", {lonely_row(" y", Level::ignored)})}, summary));
  EXPECT_EQ(parts.size(), 7U);
  const std::string rows = parts["xl/worksheets/sheet2.xml"];
  EXPECT_NE(rows.find("<dimension ref=\"A1:O3\" "), std::string::npos);
  EXPECT_EQ(count_of(rows, "<row>"), 3);
  EXPECT_EQ(count_of(rows, "<c"), 15 * 3 + 15 + 1);  // cells, 15 <col> and <cols>
  EXPECT_NE(rows.find("<t>&#39;=cmd \\xff&lt;x&gt;</t>"), std::string::npos);
  EXPECT_NE(rows.find("<c s=\"2\" t=\"inlineStr\"><is><t>fail</t></is></c>"), std::string::npos);
  EXPECT_NE(rows.find("<c s=\"4\" t=\"inlineStr\"><is><t>ignored</t></is></c>"), std::string::npos);
  EXPECT_NE(rows.find("<t>nan</t></is></c><c><v>0.25</v></c>"), std::string::npos);
  EXPECT_NE(rows.find("<t xml:space=\"preserve\"> y</t></is></c><c/>"), std::string::npos);
  EXPECT_NE(rows.find("<autoFilter ref=\"A1:O3\"/>"), std::string::npos);
  EXPECT_NE(parts["xl/workbook.xml"].find("<sheet name=\"rows\" sheetId=\"2\" r:id=\"rId2\"/>"),
            std::string::npos);
  EXPECT_NE(parts["xl/worksheets/sheet1.xml"].find("<t>rows</t></is></c><c><v>2</v></c>"), std::string::npos);
}

// Large batches are deflated in render(), small ones are collected in write(): all must come out in order.
TEST(XlsxReport, KeepsTheOrderOfLargeAndSmallBatches) {
  const TestFolder folder;
  std::vector<NodeResult> nodes;
  const std::string big(300, 'b');
  for (int i = 0; i < 20; ++i)
    nodes.push_back(
        node_of(i % 2 == 0 ? "small" : "large",
                std::vector<Comparison>(i % 2 == 0 ? 1 : 2000, sample_row(big, Level::pass, i, 0))));
  auto parts = parts_of(write_report("xlsx", folder.path(), sample_head(), nodes, {}));
  const std::string& rows = parts["xl/worksheets/sheet2.xml"];
  EXPECT_EQ(count_of(rows, "<row>"), 1 + 10 + 20'000);
  size_t at = 0;
  for (int i = 0; i < 20; ++i) {
    at = rows.find(fmt::format("<c><v>{}</v></c><c><v>0</v></c>", i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(XlsxCell, WritesWholeNumbersThatADoubleCannotHoldAsText) {
  std::string out;
  append_xlsx_cell(out, int64_t{1} << 53, XlsxStyle::plain);
  append_xlsx_cell(out, (int64_t{1} << 53) + 1, XlsxStyle::plain);
  append_xlsx_cell(out, true, XlsxStyle::plain);
  EXPECT_EQ(out,
            "<c><v>9007199254740992</v></c><c t=\"inlineStr\"><is><t>9007199254740993</t></is></c><c "
            "t=\"b\"><v>1</v></c>");
}

TEST(XlsxColumnLetters, CountInBase26WithoutZero) {
  EXPECT_EQ(xlsx_column_letters(1), "A");
  EXPECT_EQ(xlsx_column_letters(26), "Z");
  EXPECT_EQ(xlsx_column_letters(27), "AA");
  EXPECT_EQ(xlsx_column_letters(702), "ZZ");
  EXPECT_EQ(xlsx_column_letters(703), "AAA");
}

}  // namespace
}  // namespace assay
