#include "assay/compat/msprobe/rules_test_tools.h"

namespace assay {
namespace {

constexpr Generation g1 = Generation::g1, g2 = Generation::g2;
constexpr std::string_view kZeroD =
    "This is type of 0-d tensor, can not calculate 'Cosine', 'EucDist', 'One Thousandth Err Ratio' and 'Five "
    "Thousandths Err Ratio'. ";

Verdict tensor(TestRow row, Generation generation = g2, const MsprobeRuleStyle& style = {}) {
  return judge_rows(generation, Content::data, {std::move(row)}, style)[0];
}
std::string_view word(double cosine, double max_abs, Generation generation = g2) {
  return tensor({.metrics = {.cosine = cosine, .max_abs = max_abs}}, generation).word;
}

void expect(const Verdict& verdict, Level level, std::string_view said, std::string_view cells,
            std::string_view reason) {
  EXPECT_EQ(verdict.level, level) << reason;
  EXPECT_EQ(verdict.word, said) << reason;
  EXPECT_EQ(verdict.no_metric, cells) << reason;
  EXPECT_EQ(verdict.reason, reason);
  EXPECT_EQ(verdict.paint, Paint::none);
}

TestSide without_file() {
  TestSide side;
  side.stated.data_name = {};
  return side;
}
TestSide of_shape(std::vector<int64_t> dims) {
  TestSide side;
  side.dims = std::move(dims);
  return side;
}
TestSide of_dtype(DType dtype) {
  TestSide side;
  side.dtype = dtype;
  return side;
}
TestSide with_grad(std::string_view text) {
  TestSide side;
  side.stated.requires_grad = text;
  return side;
}

MsprobeRuleStyle fuzzy() { return {.fuzzy = true}; }

// ----- tensors

TEST(MsprobeTensors, ReachAccuracyUpToTheThresholds) {
  EXPECT_EQ(word(1, 0), "Yes");
  EXPECT_EQ(word(0.99, 0.002), "Yes");
  EXPECT_EQ(word(0.9899, 0.001), "Yes");
  EXPECT_EQ(word(0.9899, 0.0010001), "No");
  EXPECT_EQ(word(0.9900001, 0.0010001), "Yes");
  EXPECT_EQ(word(0.9, 0), "Yes");
  EXPECT_EQ(word(0.8999, 0), "No");
  EXPECT_EQ(word(1, 1), "Yes");
  EXPECT_EQ(word(1, 1.0001), "No");
  EXPECT_EQ(word(-1, 0), "No");
}

TEST(MsprobeTensors, AreJudgedByWhatIsPrinted) {
  EXPECT_EQ(word(1, 1 + 4e-13), "Yes");         // prints as 1.0
  EXPECT_EQ(word(1, 1 + 6e-13), "No");          // prints as 1.000000000001
  EXPECT_EQ(word(0.99 - 4e-13, 0.002), "Yes");  // prints as 0.99
  EXPECT_EQ(word(0.9 - 6e-13, 0), "No");        // prints as 0.899999999999
  EXPECT_EQ(word(0.9899, 0.001 + 4e-13, g1), "Yes");
}

TEST(MsprobeTensors, FailWithTheirWord) {
  expect(tensor({}), Level::pass, "Yes", "", "");
  expect(tensor({.metrics = {.cosine = 0.5}}), Level::fail, "No", "", "");
  expect(tensor({.metrics = {.cosine = 0.5}}, g1), Level::fail, "No", "", "");
}

TEST(MsprobeTensors, WithoutFile) {
  expect(tensor({.mine = without_file()}), Level::ignored, "None", "unsupported",
         "NPU does not have data file.");
  expect(tensor({.mine = without_file(), .golden = without_file()}), Level::ignored, "None", "unsupported",
         "NPU does not have data file.");
  expect(tensor({.golden = without_file()}), Level::ignored, "None", "unsupported",
         "Bench does not have data file.");
}

TEST(MsprobeTensors, WithoutCounterpart) {
  expect(tensor({.matched = false, .status = Status::only_mine}), Level::fail, "None", "unsupported",
         "No bench data matched.Bench api/module unmatched.");
  expect(tensor({.mine = with_grad("True"), .matched = false, .status = Status::only_mine}), Level::fail,
         "None", "unsupported", "Requires_grad inconsistent. Bench api/module unmatched.");
  // The missing file is found out first.
  EXPECT_EQ(tensor({.mine = without_file(), .matched = false, .status = Status::only_mine}).reason,
            "No bench data matched.NPU does not have data file.");
}

TEST(MsprobeTensors, ThatCannotBeRead) {
  TestRow row = {.status = Status::unreadable};
  row.mine.stated.data_name = "n.npy";
  row.golden.stated.data_name = "b.npy";
  expect(tensor(row), Level::error, "None", "unsupported",
         "Dump file: ['n.npy', 'b.npy'] not found or read failed.");
  expect(tensor(row, g1), Level::error, "None", "unsupported", "Dump file: n.npy not found.");
}

TEST(MsprobeTensors, WithoutElements) {
  const TestRow row = {.mine = of_shape({0, 4}), .golden = of_shape({0, 4})};
  for (const Generation generation : {g1, g2})
    expect(tensor(row, generation), Level::ignored, "None", "unsupported",
           "This is empty data, can not compare.");
}

TEST(MsprobeTensors, OfAnotherShape) {
  const TestRow row = {.golden = of_shape({3, 2})};
  expect(tensor(row), Level::fail, "Unmatched", "shape unmatched",
         "Shape of NPU and bench tensor do not match. Skipped.");
  expect(tensor(row, g1), Level::fail, "Unmatched", "shape unmatched",
         "Shape of NPU and bench Tensor do not match. Skipped.");
  EXPECT_EQ(tensor({.golden = of_shape({1, 2, 3})}).word, "Unmatched");
}

TEST(MsprobeTensors, WithNonfiniteNumbersInOtherPlaces) {
  for (const Generation generation : {g1, g2})
    expect(tensor({.metrics = {.kind_mismatch = int64_t{1}}}, generation), Level::fail, "No", "N/A",
           "The position of inf or nan in NPU and bench Tensor do not match.");
}

TEST(MsprobeTensors, OfAnotherDtype) {
  constexpr std::string_view kText = "Dtype of NPU and bench tensor do not match.";
  expect(tensor({.golden = of_dtype(DType::f16)}), Level::pass, "Yes", "", kText);
  expect(tensor({.metrics = {.max_abs = 2.0}, .golden = of_dtype(DType::f16)}), Level::fail, "No", "", kText);
  // bf16 is widened when it is loaded.
  expect(tensor({.golden = of_dtype(DType::bf16)}), Level::pass, "Yes", "", "");
  EXPECT_EQ(tensor({.mine = of_dtype(DType::bf16), .golden = of_dtype(DType::f16)}).reason, kText);
}

TEST(MsprobeTensors, OfNoDimension) {
  TestRow row = {.mine = of_shape({}), .golden = of_shape({})};
  expect(tensor(row), Level::ignored, "None", "", kZeroD);
  expect(tensor(row, g1), Level::ignored, "None", "", "This is type of scalar data, can not compare.");
  row.metrics.max_abs = Value();  // NaN on one side
  EXPECT_EQ(tensor(row).reason,
            std::string(kZeroD) +
                "Cannot compare by MaxAbsError, the data contains nan/inf/-inf in dump data."
                "Cannot compare by MaxRelativeError, the data contains nan/inf/-inf in dump data.");
}

TEST(MsprobeTensors, OfOneElement) {
  const TestRow row = {.metrics = {.max_abs = 5.0}, .mine = of_shape({1, 1}), .golden = of_shape({1, 1})};
  expect(tensor(row), Level::ignored, "None", "", "This is a 1-d tensor of length 1.");
  expect(tensor(row, g1), Level::ignored, "None", "", "This tensor is scalar.");
}

TEST(MsprobeTensors, SayWhyAMetricIsNan) {
  constexpr std::string_view kCosine = "Cannot compare by Cosine Similarity, ";
  const auto reason = [](TestMetrics metrics) { return tensor({.metrics = std::move(metrics)}).reason; };
  EXPECT_EQ(reason({.cosine = kNan, .mine_norm = 0.0}),
            std::string(kCosine) + "All the data is Zero in npu dump data.");
  EXPECT_EQ(reason({.cosine = kNan, .golden_norm = 0.0}),
            std::string(kCosine) + "All the data is Zero in Bench dump data.");
  EXPECT_EQ(reason({.cosine = kNan}), std::string(kCosine) + "the dump data has NaN.");
  // At 2^-52 a norm still counts as zero.
  EXPECT_EQ(reason({.cosine = kNan, .mine_norm = std::ldexp(1.0, -52)}),
            std::string(kCosine) + "All the data is Zero in npu dump data.");
  EXPECT_EQ(reason({.cosine = kNan, .mine_norm = std::ldexp(1.0001, -52)}),
            std::string(kCosine) + "the dump data has NaN.");
  EXPECT_EQ(reason({.max_rel = kNan}),
            "Cannot compare by MaxRelativeError, the data contains nan/inf/-inf in dump data.");
}

TEST(MsprobeTensors, WithACosineThatIsNanAreJudgedByTheirLargestError) {
  EXPECT_EQ(word(kNan, 1), "Yes");
  EXPECT_EQ(word(kNan, 1.1), "No");
}

TEST(MsprobeTensors, MessagesStandInTheOrderOfTheChecks) {
  TestRow row = {.metrics = {.cosine = kNan, .max_rel = kNan, .mine_norm = 0.0},
                 .mine = with_grad("True"),
                 .golden = with_grad("False"),
                 .golden_name = "Torch.add.1.forward.output.0"};
  row.golden.dtype = DType::f64;
  EXPECT_EQ(tensor(row, g2, fuzzy()).reason,
            "Requires_grad inconsistent. Dtype of NPU and bench tensor do not match."
            "Cannot compare by Cosine Similarity, All the data is Zero in npu dump data."
            "Cannot compare by MaxRelativeError, the data contains nan/inf/-inf in dump data."
            " Fuzzy matching data, the comparison accuracy may be affected.");
}

TEST(MsprobeTensors, ThatDifferInRequiresGradSaySo) {
  expect(tensor({.mine = with_grad("True"), .golden = with_grad("False")}), Level::pass, "Yes", "",
         "Requires_grad inconsistent. ");
  expect(tensor({.mine = with_grad("True")}), Level::pass, "Yes", "", "Requires_grad inconsistent. ");
  expect(tensor({.mine = with_grad("True"), .golden = with_grad("True")}), Level::pass, "Yes", "", "");
  expect(tensor({.mine = with_grad("True"), .golden = with_grad("False")}, g1), Level::pass, "Yes", "", "");
}

TEST(MsprobeTensors, PairedByOtherNames) {
  constexpr std::string_view kText = " Fuzzy matching data, the comparison accuracy may be affected.";
  const TestRow row = {.golden_name = "Torch.add.1.forward.output.0"};
  EXPECT_EQ(tensor(row).reason, "");
  EXPECT_EQ(tensor(row, g2, fuzzy()).reason, kText);
  EXPECT_EQ(tensor(row, g1).reason, kText);
  EXPECT_EQ(tensor({}, g2, fuzzy()).reason, "");
}

// The words stay; a second framework has APIs of its own.
TEST(MsprobeTensors, WithoutCounterpartAreNoFailureAcrossFrameworks) {
  for (const Content content : {Content::data, Content::statistics, Content::checksums}) {
    Head head = test_head(content, g2);
    const TestRow row = {.matched = false, .status = Status::only_mine};
    const Verdict same = judge_rows(g2, content, {row}, {}, &head)[0];
    head.cross_framework = true;
    const Verdict other = judge_rows(g2, content, {row}, {}, &head)[0];
    EXPECT_EQ(same.level, Level::fail);
    EXPECT_EQ(other.level, Level::ignored);
    EXPECT_EQ(same.word, other.word);
    EXPECT_EQ(same.reason, other.reason);
  }
}

// ----- statistics

Verdict statistics(TestRow row, Generation generation = g2) {
  return judge_rows(generation, Content::statistics, {std::move(row)})[0];
}

TestRow with_max(Scalar mine, Scalar golden) {
  TestRow row;
  row.mine.stated.max = mine;
  row.golden.stated.max = golden;
  return row;
}
std::string_view statistics_word(Scalar mine, Scalar golden) {
  return statistics(with_max(mine, golden)).word;
}

TEST(MsprobeStatistics, WarnAboveHalfOfTheLarger) {
  expect(statistics({}), Level::pass, "", "", "");
  expect(statistics(with_max(0.99, 2.0)), Level::fail, "Warning", "", "Need double check api accuracy. ");
  EXPECT_EQ(statistics_word(1.0, 2.0), "");
  EXPECT_EQ(statistics_word(2.0, 0.99), "Warning");
  EXPECT_EQ(statistics_word(0.0, 1e-10), "");  // 1e-10 / 2e-10
  EXPECT_EQ(statistics_word(0.0, 1.1e-10), "Warning");
  EXPECT_EQ(statistics_word(-1.0, -2.0), "Warning");  // the larger is -1
  EXPECT_EQ(statistics_word(-2.0, -3.0), "");
  EXPECT_EQ(statistics_word(int64_t{1}, int64_t{3}), "Warning");
}

TEST(MsprobeStatistics, OfAnyKindWarn) {
  for (Scalar Stated::*const member : {&Stated::max, &Stated::min, &Stated::mean, &Stated::norm}) {
    TestRow row;
    row.mine.stated.*member = 9.0;
    EXPECT_EQ(statistics(row).word, "Warning");
  }
}

TEST(MsprobeStatistics, ThatAreNoNumbersDoNotWarn) {
  EXPECT_EQ(statistics_word(kNan, 1.0), "");
  EXPECT_EQ(statistics_word(1.0, kNan), "");
  EXPECT_EQ(statistics_word(kInf, 1.0), "");
  EXPECT_EQ(statistics_word(1.0, kInf), "");
  EXPECT_EQ(statistics_word(kInf, kInf), "");
  EXPECT_EQ(statistics_word(Scalar(), 1.0), "");
  EXPECT_EQ(statistics_word(true, false), "");
  EXPECT_EQ(statistics_word("cpu", "npu"), "");
}

TEST(MsprobeStatistics, WithoutCounterpart) {
  const TestRow row = {.matched = false, .status = Status::only_mine};
  expect(statistics(row), Level::fail, "N/A", "", "No bench data matched.");
  expect(statistics(row, g1), Level::fail, "N/A", "", "No bench data matched.");
  EXPECT_EQ(statistics({.mine = with_grad("False"), .matched = false}).reason,
            "No bench data matched.Requires_grad inconsistent. ");
}

TEST(MsprobeStatistics, ThatDifferInRequiresGradSaySoBehindTheRest) {
  TestRow row = with_max(1.0, 9.0);
  row.mine.stated.requires_grad = "True";
  row.golden.stated.requires_grad = "False";
  EXPECT_EQ(statistics(row).reason, "Need double check api accuracy. Requires_grad inconsistent. ");
  row.mine.stated.max = 9.0;
  expect(statistics(row), Level::pass, "", "", "Requires_grad inconsistent. ");
}

TEST(MsprobeStatistics, OfMindSporeInGenerationOneWarnOnlyTogether) {
  TestRow row = with_max(1.0, 9.0);
  EXPECT_EQ(statistics(row, g1).word, "");
  EXPECT_EQ(statistics(row).word, "Warning");
  row.golden.stated.min = row.golden.stated.mean = row.golden.stated.norm = 9.0;
  expect(statistics(row, g1), Level::fail, "Warning", "", "Need double check api accuracy.");
}

// ----- checksums

Verdict checksums(std::string_view mine, std::string_view golden, bool matched = true) {
  TestRow row = {.matched = matched};
  row.mine.stated.checksum = mine;
  row.golden.stated.checksum = golden;
  return judge_rows(g2, Content::checksums, {row})[0];
}

TEST(MsprobeChecksums, AreEqualOrNot) {
  expect(checksums("1ad5be0d", "1ad5be0d"), Level::pass, "pass", "", "");
  expect(checksums("1ad5be0d", "6dd28e9b"), Level::fail, "Different", "", "");
  expect(checksums("", ""), Level::pass, "pass", "", "");  // None on both sides
  EXPECT_EQ(checksums("1ad5be0d", "").word, "Different");
  EXPECT_EQ(checksums("1ad5be0d", "", false).word, "N/A");
  EXPECT_EQ(checksums("1ad5be0d", "", false).level, Level::fail);
}

}  // namespace
}  // namespace assay
