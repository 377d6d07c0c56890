#include "assay/compat/msprobe/profile.h"
#include "assay/report/sample_rows.h"

#include <cmath>

namespace assay {
namespace {

const Item kTensorItem = {"op.1.output.0", {}, nullptr, TensorRef{}, -1, nullptr, {}, {}};

SideFacts tensor(const fs::path& file, std::vector<int64_t> dims, Stats measured) {
  return {.name = kTensorItem.name,
          .meta = TensorMeta{DType::f32, Shape{std::move(dims)}},
          .file = file,
          .item = &kTensorItem,
          .measured = std::move(measured)};
}

Head head_of(Content content) {
  Head head = sample_head();
  head.content = content;
  head.at.rank = 3;
  head.at.step = 7;
  head.metric_columns = {"cosine_msprobe", "l2",         "max_abs",      "max_rel_g2",  "ratio_1e3_g2",
                         "ratio_5e3_g2",   "max_rel_g3", "ratio_1e3_g3", "ratio_5e3_g3"};
  return head;
}

std::string table_of(Generation generation, Content content, Comparison row) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const TestFolder folder;
  const Profile profile = msprobe_kernel_profile(generation);
  const Head head = head_of(content);
  const auto sink = find_output("csv")->open({.folder = folder.path(), .profile = &profile});
  const NodeResult node = node_of("op.1", {std::move(row)});
  EXPECT_TRUE(sink->begin(head));
  EXPECT_TRUE(sink->write("", {&node, 1}, sink->render("", {&node, 1})));
  EXPECT_TRUE(sink->end({}));
  const auto files = sink->publish();
  EXPECT_TRUE(files && files->size() == 1);
  EXPECT_EQ(files->front().filename(), "compare_result_3_7_20250102030405.csv");
  EXPECT_EQ(fs::status(files->front()).permissions(), fs::perms(0640));
  return file_text(files->front());
}

constexpr std::string_view kCommon =
    "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape,NPU max,NPU min,NPU mean,"
    "NPU l2norm,Bench max,Bench min,Bench mean,Bench l2norm,Accuracy Reached or Not,Err_message,";
const std::string kTensorTitles =
    std::string(kCommon) +
    "Cosine,EucDist,MaxAbsErr,MaxRelativeErr,One Thousandth Err Ratio,Five Thousandths Err Ratio\n";
const std::string kStatisticsTitles =
    std::string(kCommon) +
    "Max diff,Min diff,Mean diff,L2norm diff,MaxRelativeErr,MinRelativeErr,MeanRelativeErr,NormRelativeErr,"
    "NPU CSV File,Bench CSV File\n";

Comparison measured_row() {
  Comparison row;
  row.mine = tensor("/a/./b/../x.npy", {2, 3}, {4.0, -1.0, 0.5, 2.25, ""});
  row.golden = tensor("/c/y.npy", {2, 3}, {int64_t{4}, HUGE_VAL, std::nan(""), true, ""});
  row.metrics = {0.99999949, 0.1234567890123456, 0.12345678901234, 0.5, 0.25, 1.0, 0.75, 0.125, 1.0};
  row.verdict.word = "Yes";
  return row;
}

TEST(MsprobeKernelProfile, ShowsTensors) {
  EXPECT_EQ(table_of(Generation::g2, Content::data, measured_row()),
            kTensorTitles +
                "/a/x.npy,/c/y.npy,float32,float32,\"(2, 3)\",\"(2, 3)\",4.0,-1.0,0.5,2.25,4.0, inf,,True,"
                "Yes,,0.999999,0.1234567890123456,0.123456789012,0.5,0.25,1.0\n");
}

TEST(MsprobeKernelProfile, HasTheMetricsAndBracketsOfItsGeneration) {
  EXPECT_EQ(table_of(Generation::g3, Content::data, measured_row()),
            kTensorTitles +
                "/a/x.npy,/c/y.npy,float32,float32,\"[2, 3]\",\"[2, 3]\",4.0,-1.0,0.5,2.25,4.0, inf,,True,"
                "Yes,,0.999999,0.1234567890123456,0.123456789012,0.75,0.125,1.0\n");
  EXPECT_EQ(table_of(Generation::g1, Content::data, measured_row()).find("EucDist"), std::string::npos);
}

TEST(MsprobeKernelProfile, LeavesCellsWithoutNumbersEmpty) {
  Comparison row;
  row.golden = tensor("/c/y.npy", {3}, {1.0, 1.0, 1.0, 1.0, ""});
  row.verdict.reason = "Dump file is not ndarray.\n";
  EXPECT_EQ(table_of(Generation::g2, Content::data, row),
            kTensorTitles +
                ",/c/y.npy,,float32,,\"(3,)\",,,,,1.0,1.0,1.0,1.0,,\"Dump file is not ndarray.\n\","
                ",,,,,\n");
  EXPECT_EQ(table_of(Generation::g3, Content::data, row),
            kTensorTitles +
                ",/c/y.npy,,float32,None,\"[3,]\",,,,,1.0,1.0,1.0,1.0,,\"Dump file is not "
                "ndarray.\n\",,,,,,\n");
}

TEST(MsprobeKernelProfile, HasWordsWhereAMetricIsNotDefined) {
  Comparison row = measured_row();
  row.mine.meta = row.golden.meta = TensorMeta{DType::f32, Shape{{1}}};
  row.metrics[3] = std::nan("");
  row.verdict.word = "None";
  const std::string text = table_of(Generation::g2, Content::data, row);
  EXPECT_NE(text.find("None,,unsupported,0.1234567890123456,0.123456789012,Nan,0.25,1.0\n"),
            std::string::npos)
      << text;
  row = measured_row();
  row.metrics.assign(row.metrics.size(), Value());  // NaN everywhere, on both sides
  EXPECT_NE(table_of(Generation::g2, Content::data, row).find("Yes,,1.0,0.0,0.0,0.0,1.0,1.0\n"),
            std::string::npos);
}

struct StatedSide {
  StatedSide(std::string csv, double max, double min, double mean, Scalar norm) {
    stated.max = max;
    stated.min = min;
    stated.mean = mean;
    stated.norm = norm;
    stated.dtype = "float32";
    stated.shape = "(2,3)";
    stated.data_name = "op.1.output.0";
    facts.push_back({"csv_file", std::move(csv)});
    item.name = "op.1.output.0#1";
    item.stated = &stated;
    item.facts = &facts;
  }
  SideFacts side() const { return {item.name, {}, {}, &item}; }
  Stated stated;
  std::vector<Fact> facts;
  Item item;
};

// 0.1 - 3 in f32 is -2.9000001, divided by 3 it is -0.9666667 in f32: percentages as NumPy 1.24 prints them.
TEST(MsprobeKernelProfile, ShowsStatistics) {
  const double tenth = double{0.1F};
  const StatedSide mine("/a/s.csv", tenth, 1, std::nan(""), Scalar());
  const StatedSide golden("/b/s.csv", 3, 0, 2, 4.0);
  Comparison row;
  row.mine = mine.side();
  row.golden = golden.side();
  row.verdict.word = "Yes";
  EXPECT_EQ(table_of(Generation::g2, Content::statistics, row),
            kStatisticsTitles +
                "op.1.output.0,op.1.output.0,float32,float32,\"(2,3)\",\"(2,3)\",0.10000000149011612,1.0,,,"
                "3.0,0.0,2.0,4.0,Yes,,-2.9000000953674316,1.0,,,96.66666984558105%,N/A,Nan,Nan,"
                "/a/s.csv,/b/s.csv\n");
  EXPECT_EQ(table_of(Generation::g1, Content::statistics, row).find("CSV File"), std::string::npos);
}

TEST(MsprobeKernelProfile, ShowsStatisticsOfOneSide) {
  const StatedSide mine("/a/s.csv", 1, 1, 1, 2.0);
  Comparison row;
  row.mine = mine.side();
  row.verdict.reason = "Tensor shapes do not match.\n";
  EXPECT_EQ(table_of(Generation::g3, Content::statistics, row),
            kStatisticsTitles +
                "op.1.output.0,,float32,,\"[2,3]\",nan,1.0,1.0,1.0,2.0,,,,,,"
                "\"Tensor shapes do not match.\n\",,,,,,,,,/a/s.csv,\n");
  EXPECT_NE(table_of(Generation::g2, Content::statistics, row).find("\"(2,3)\",,1.0"), std::string::npos);
}

TEST(MsprobeKernelProfile, KeepsEveryRow) {
  const Profile profile = msprobe_kernel_profile(Generation::g2);
  const Head head = head_of(Content::data);
  const NodeResult node = node_of("op.1", {Comparison()});
  EXPECT_TRUE(profile.keeps({head, "", node, node.rows[0]}));
  EXPECT_EQ(profile.sheet, "Sheet1");
  EXPECT_EQ(profile.print, Print::python);
  EXPECT_EQ(profile.folder_mode, 0750u);
}

}  // namespace
}  // namespace assay
