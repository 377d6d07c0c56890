#include "assay/report/sample_rows.h"

#include <rapidjson/document.h>

#include <limits>

namespace assay {
namespace {

// Strict: the whole text, valid UTF-8, no NaN or Infinity.
rapidjson::Document parse(const std::string& text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag>(text.data(),
                                                                                             text.size());
  EXPECT_FALSE(document.HasParseError()) << text;
  return document;
}

Summary failing_summary() {
  Summary summary;
  summary.rows = 2;
  summary.compared = 2;
  summary.passed = summary.failed = summary.differ = 1;
  summary.by[static_cast<size_t>(Evidence::elements)] = 2;
  RowPlace& place = summary.first_divergence.emplace();
  place.section = "rank 0";
  place.node = "n1";
  place.mine = place.golden = "weird \"name\"";
  place.row = sample_row("", Level::fail, 0.5, 0.3);
  return summary;
}

const std::vector<NodeResult>& nodes() {
  static const std::vector<NodeResult> kNodes = {
      node_of("n1", {sample_row("weird \"name\" \xff\x01\\", Level::fail,
                                std::numeric_limits<double>::quiet_NaN(), 1e300)}),
      node_of("n2", {lonely_row("层\xC2\x85", Level::pass), sample_row("x", Level::pass, 0.1, 0)})};
  return kNodes;
}

TEST(JsonReport, IsOneValidDocument) {
  const TestFolder folder;
  const auto document = parse(
      file_text(write_report("json", folder.path(), sample_head(), nodes(), failing_summary(), "rank 0")));
  EXPECT_STREQ(document["assay"].GetString(), "0.1.0");
  EXPECT_STREQ(document["generated"].GetString(), "2025-01-02T03:04:05Z");
  EXPECT_STREQ(document["layouts"]["golden"].GetString(), "folder");
  EXPECT_EQ(document["columns"].Size(), 16U);
  ASSERT_EQ(document["rows"].Size(), 3U);
  const auto& row = document["rows"][0];
  EXPECT_EQ(row.MemberCount(), 16U);
  EXPECT_STREQ(row["mine"].GetString(), "weird \"name\" \\xff\\x01\\");
  EXPECT_STREQ(row["max_abs"].GetString(), "nan");
  EXPECT_EQ(row["rel_l2"].GetDouble(), 1e300);
  EXPECT_EQ(row["mine_shape"][1].GetInt(), 3);
  EXPECT_TRUE(row["note"].IsNull());
  EXPECT_TRUE(document["rows"][1]["golden"].IsNull());
  EXPECT_TRUE(document["rows"][1]["golden_shape"].IsNull());
  EXPECT_EQ(document["rows"][2]["max_abs"].GetDouble(), 0.1);
  const auto& summary = document["summary"];
  EXPECT_STREQ(summary["answer"].GetString(), "fail");
  EXPECT_STREQ(summary["verdict"].GetString(), "FAIL: 1 of 2 tensors differs beyond tolerance.");
  EXPECT_EQ(summary["by_elements"].GetInt(), 2);
  EXPECT_EQ(summary["failed"].GetInt(), 1);
  EXPECT_TRUE(summary["first_error"].IsNull());
  EXPECT_STREQ(summary["first_divergence"]["mine"].GetString(), "weird \"name\"");
  EXPECT_EQ(summary["first_divergence"]["max_abs"].GetDouble(), 0.5);
}

TEST(JsonReport, WithoutRowsIsValidToo) {
  const TestFolder folder;
  const auto document = parse(file_text(write_report("json", folder.path(), sample_head(), {}, {})));
  EXPECT_EQ(document["rows"].Size(), 0U);
  EXPECT_TRUE(document["summary"]["first_divergence"].IsNull());
}

TEST(JsonlReport, IsOneObjectPerLineAndTheSummaryLast) {
  const TestFolder folder;
  std::istringstream lines(
      file_text(write_report("jsonl", folder.path(), sample_head(), nodes(), failing_summary())));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 4U);
  for (const std::string& line : all) EXPECT_TRUE(parse(line).IsObject());
  EXPECT_STREQ(parse(all[2])["mine"].GetString(), "x");
  EXPECT_EQ(parse(all[3])["summary"]["rows"].GetInt(), 2);
  EXPECT_STREQ(parse(all[3])["run"]["matcher"].GetString(), "name");
}

}  // namespace
}  // namespace assay
