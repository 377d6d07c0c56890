#include "assay/compat/msit/logits_profile.h"

#include "assay/compat/msit/logits_row.h"
#include "assay/report/outputs.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

Head head() {
  Head out;
  out.now = {1735787045};  // 2025-01-02T03:04:05Z
  out.metric_columns = {"cosine_logits", "kl",       "l1_logits",  "mine_max",  "golden_max",
                        "mine_nan",      "mine_inf", "golden_nan", "golden_inf"};
  return out;
}

std::string rendered(const NodeResult& node, DType dtype = DType::f16) {
  const Profile profile = logitscmp_profile(dtype);
  ::testing::internal::CaptureStdout();
  {
    const auto sink = csv_output.open({"-", &profile});
    EXPECT_TRUE(sink->begin(head()));
    EXPECT_TRUE(sink->write("", {}, sink->render("", std::span(&node, 1))));
    EXPECT_TRUE(sink->end({}));
    EXPECT_TRUE(sink->publish());
  }
  const std::string out = ::testing::internal::GetCapturedStdout();
  return out.substr(out.find('\n') + 1);
}

struct Row {
  std::vector<Fact> facts = {{"key", "cpp/12"}, {"token", "3"}};
  Item item;
  NodeResult node{"l_cpp_12_3.pth", 0, {}, {}};
  Row() {
    item.name = "l_cpp_12_3.pth";
    item.facts = &facts;
    Comparison row;
    row.pair = {ItemId{}, ItemId{}, Why::same_name};
    row.mine.name = row.golden.name = item.name;
    row.mine.item = row.golden.item = &item;
    row.metrics = {1.0, 1e-9, int64_t{0}, 4.0, 4.5, int64_t{0}, int64_t{0}, int64_t{0}, int64_t{0}};
    row.verdict.word = "False";
    row.verdict.reason = "kept for our own reports";
    node.rows.push_back(std::move(row));
  }
};

TEST(LogitscmpProfile, WritesNumbersAsPythonDoes) {
  EXPECT_EQ(rendered(Row().node), "l_cpp_12_3.pth,cpp/12,3,1.0,1e-09,0,0.5,0.00390625,False,\r\n");
  EXPECT_EQ(rendered(Row().node, DType::bf16), "l_cpp_12_3.pth,cpp/12,3,1.0,1e-09,0,0.5,0.03125,False,\r\n");
}

TEST(LogitscmpProfile, WritesNanWhereTheLargestIsNegative) {
  Row row;
  row.node.rows[0].metrics[3] = -4.0;
  EXPECT_EQ(rendered(row.node), "l_cpp_12_3.pth,cpp/12,3,1.0,1e-09,0,8.5,nan,False,\r\n");
}

TEST(LogitscmpProfile, HasNoNumbersWithoutAWord) {
  Row row;
  row.node.rows[0].verdict = {Level::fail, "data shape doesn't match."};
  EXPECT_EQ(rendered(row.node), "l_cpp_12_3.pth,cpp/12,3,NA,NA,NA,NA,NA,NA,data shape doesn't match.\r\n");
  row.node.rows[0].golden = {};
  row.node.rows[0].verdict.reason = "only_in_my_path";
  EXPECT_EQ(rendered(row.node), "l_cpp_12_3.pth,NA,NA,NA,NA,NA,NA,NA,NA,only_in_my_path\r\n");
}

TEST(LogitscmpProfile, NamesItsFileByTheTimeInBeijing) {
  EXPECT_EQ(logitscmp_profile(DType::f16).file_stem(head()), "logits_cmp_res_20250102110405");
}

}  // namespace
}  // namespace assay
