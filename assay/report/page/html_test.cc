#include "assay/report/page/embedded.h"
#include "assay/report/sample_rows.h"

#include <gmock/gmock.h>
#include <rapidjson/document.h>
#include <zlib.h>

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// What stands between <script … id="ID"> and its end.
std::string data_of(const std::string& page, const std::string& id) {
  const size_t start = page.find("id=\"" + id + "\">") + id.size() + 6;
  return page.substr(start, page.find("</script>", start) - start);
}

std::string decoded(const std::string& base64) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t word = 0;
  int bits = 0;
  for (const char c : base64) {
    if (c == '=') break;
    word = word << 6 | static_cast<uint32_t>(kDigits.find(c));
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(word >> bits & 0xff);
  }
  return out;
}

std::string inflated(const std::string& bytes) {
  std::string out(1 << 20, '\0');
  uLongf size = out.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
            Z_OK);
  out.resize(size);
  return out;
}

const std::string kHostile = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\"'&";

std::string page() {
  const TestFolder folder;
  Summary summary;
  summary.rows = summary.compared = 2;
  summary.failed = summary.differ = summary.passed = 1;
  summary.by[static_cast<size_t>(Evidence::elements)] = 2;
  RowPlace& place = summary.first_divergence.emplace();
  place.node = "n1";
  place.mine = place.golden = kHostile;
  place.row = sample_row("", Level::fail, 0.5, 0.3);
  return file_text(write_report("html", folder.path(), sample_head(),
                                {node_of("n1", {sample_row(kHostile, Level::fail, 0.5, 0.3)}),
                                 node_of("n2", {sample_row("x", Level::pass, 0.1, 0.015625)})},
                                summary));
}

TEST(HtmlReport, IsOneFileWithAStrictPolicy) {
  const std::string text = page();
  EXPECT_THAT(text, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(text, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(text, Not(HasSubstr("unsafe-inline")));
  EXPECT_THAT(text, HasSubstr("<strong>FAIL:</strong> 1 of 2 tensors differs beyond tolerance."));
}

TEST(HtmlReport, NamesAreNeverMarkup) {
  const std::string text = page();
  EXPECT_THAT(text, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, HasSubstr("&lt;img src=x"));  // of the page without a script
  EXPECT_THAT(data_of(text, "run"), HasSubstr("\\u003cimg src=x"));
}

TEST(HtmlReport, HoldsTheRunAndTheRows) {
  const std::string text = page();
  rapidjson::Document run;
  run.Parse(data_of(text, "run").c_str());
  ASSERT_FALSE(run.HasParseError());
  EXPECT_EQ(run["page"]["version"].GetInt(), 1);
  EXPECT_EQ(run["page"]["rows"].GetInt(), 2);
  EXPECT_EQ(run["page"]["failed"].GetInt(), 1);
  EXPECT_EQ(run["page"]["held"].GetInt(), 2);
  EXPECT_STREQ(run["run"]["matcher"].GetString(), "name");
  EXPECT_STREQ(run["summary"]["first_divergence"]["mine"].GetString(), kHostile.c_str());
  const std::string lines = inflated(decoded(data_of(text, "rows")));
  rapidjson::Document rows;
  rows.Parse(
      ("[" + lines.substr(0, lines.find('\n')) + "," + lines.substr(lines.find('\n') + 1) + "]").c_str());
  ASSERT_FALSE(rows.HasParseError()) << lines;
  ASSERT_EQ(rows.Size(), 2U);
  EXPECT_EQ(rows[1].Size(), run["page"]["columns"].Size() + 1);
  EXPECT_EQ(rows[0][0].GetInt(), 1);
  EXPECT_STREQ(rows[0][3].GetString(), kHostile.c_str());
  EXPECT_STREQ(rows[1][5].GetString(), "pass");
}

TEST(HtmlReport, IsOneOfTheOutputs) {
  const Output* html = find_output("html");
  ASSERT_NE(html, nullptr);
  EXPECT_EQ(html->suffix, ".html");
}

TEST(Embedded, Base64AsRfc4648HasIt) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
  EXPECT_EQ(base64_of_hex("666f6f"), "Zm9v");
}

TEST(Embedded, JsonInAPageEndsNoElement) {
  EXPECT_EQ(json_in_html(R"({"a": "</script><!--"})"), R"({"a": "\u003c/script>\u003c!--"})");
}

}  // namespace
}  // namespace assay
