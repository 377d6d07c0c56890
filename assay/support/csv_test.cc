#include "assay/support/csv.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Rows = std::vector<std::vector<std::string>>;

class Csv : public ::testing::Test {
 protected:
  Csv() {
    std::string pattern = (fs::temp_directory_path() / "assay_csv_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~Csv() override { fs::remove_all(root_); }

  CsvReader open(std::string_view text, char separator = ',') const {
    std::ofstream(root_ / "a.csv", std::ios::binary) << text;
    return CsvReader(File::open(root_ / "a.csv").value(), separator);
  }

  Rows rows(std::string_view text) const {
    CsvReader reader = open(text);
    Rows out;
    std::vector<std::string> cells;
    while (reader.next(cells).value()) out.push_back(cells);
    return out;
  }

  fs::path root_;
};

// The expected rows of this test and the next were printed by Python's csv.reader.
TEST_F(Csv, ReadsRowsOfEveryLineEnd) {
  EXPECT_THAT(rows("a,b\nc,\r\n,d\re"), ElementsAre(ElementsAre("a", "b"), ElementsAre("c", ""),
                                                    ElementsAre("", "d"), ElementsAre("e")));
}

TEST_F(Csv, ReadsQuotes) {
  EXPECT_THAT(rows("\"(2,3)\",x\n\"say \"\"no\"\"\",\"two\nlines\"\nplain \"quotes\",\"a\"b\n"),
              ElementsAre(ElementsAre("(2,3)", "x"), ElementsAre("say \"no\"", "two\nlines"),
                          ElementsAre("plain \"quotes\"", "ab")));
}

TEST_F(Csv, SkipsAByteOrderMarkAndBlankRows) {
  EXPECT_THAT(rows("\xEF\xBB\xBF"
                   "a\n\n\r\nb\n\n"),
              ElementsAre(ElementsAre("a"), ElementsAre("b")));
  EXPECT_THAT(rows(""), ElementsAre());
  EXPECT_THAT(rows("\xEF\xBB\xBF"), ElementsAre());
}

TEST_F(Csv, CountsTheLinesThatRowsBeginAt) {
  CsvReader reader = open("a\n\n\"b\nb\",c\nd\n");
  std::vector<std::string> cells;
  std::vector<int64_t> lines;
  while (reader.next(cells).value()) lines.push_back(reader.line());
  EXPECT_THAT(lines, ElementsAre(1, 3, 5));
}

TEST_F(Csv, ReadsCellsAcrossItsBuffer) {
  const std::string row = "some op," + std::string(1000, 'x') + ",\"1\"\"2\"\r\n";
  std::string text;
  for (int i = 0; i < 1500; ++i) text += row;  // several buffers, cut at every kind of place
  const Rows found = rows(text);
  ASSERT_EQ(found.size(), 1500u);
  for (const auto& cells : found) ASSERT_THAT(cells, ElementsAre("some op", std::string(1000, 'x'), "1\"2"));
}

TEST_F(Csv, RefusesARowWithoutEnd) {
  CsvReader reader = open("a,b\n\"" + std::string(2 << 20, 'x'));
  std::vector<std::string> cells;
  ASSERT_TRUE(reader.next(cells).value());
  const auto row = reader.next(cells);
  ASSERT_FALSE(row);
  EXPECT_THAT(row.error().message, HasSubstr("a.csv: the row at line 2 has more than 1.0 MiB"));
}

TEST_F(Csv, TakesAnotherSeparator) {
  CsvReader reader = open("a,b|{\"c\": 1}||d\n", '|');
  std::vector<std::string> cells;
  ASSERT_TRUE(reader.next(cells).value());
  EXPECT_THAT(cells, ElementsAre("a,b", "{\"c\": 1}", "", "d"));
}

TEST_F(Csv, EndsAnUnclosedQuoteWithTheFile) {
  EXPECT_THAT(rows("\"a,b\nc"), ElementsAre(ElementsAre("a,b\nc")));
}

}  // namespace
}  // namespace assay
