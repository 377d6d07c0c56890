#include "assay/compat/msprobe/rules_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::IsEmpty;

constexpr std::string_view kNonfinite =
    "error: There is nan/inf/-inf in the maximum or minimum value of NPU.";
constexpr std::string_view kRatio =
    "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.";
constexpr std::string_view kNorm = "error: The NormRelativeErr of output is greater than 0.5.";
constexpr std::string_view kGrad = "error: The Required_Grad of NPU and Bench are inconsistent";
constexpr std::string_view kScalar = "error: The scalar parameters of NPU and Bench are inconsistent.";
constexpr std::string_view kDtype = "error: The dtype of NPU and Bench are inconsistent.";
constexpr std::string_view kShape = "error: The shape of NPU and Bench are inconsistent.";
constexpr std::string_view kGrowth = "warning: The norm relative error of output is 10 times that of input.";
constexpr std::string_view kCosine =
    "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1";
constexpr std::string_view kOtherCrc = "error: The CRC-32 value of NPU differs from that of the bench.";
constexpr std::string_view kNoCrc = "warning: The parameter of NPU does not match the bench.";

TestRow named(std::string name, Direction direction, TestMetrics metrics) {
  return {.name = std::move(name), .direction = direction, .metrics = std::move(metrics)};
}
TestRow in(TestMetrics metrics = {}) {
  return named("Torch.add.0.forward.input.0", Direction::input, std::move(metrics));
}
TestRow out(TestMetrics metrics = {}) {
  return named("Torch.add.0.forward.output.0", Direction::output, std::move(metrics));
}

std::vector<Verdict> judged(Content content, std::vector<TestRow> rows) {
  return judge_rows(Generation::g3, content, std::move(rows));
}
std::vector<Verdict> tensors(std::vector<TestRow> rows) { return judged(Content::data, std::move(rows)); }
std::vector<Verdict> statistics(std::vector<TestRow> rows) {
  return judged(Content::statistics, std::move(rows));
}

// ["a", "b"] as its texts.
std::vector<std::string> messages(const Verdict& verdict) {
  std::vector<std::string> found;
  std::string_view rest = verdict.reason;
  EXPECT_TRUE(rest.starts_with('[') && rest.ends_with(']')) << rest;
  rest = rest.substr(1, rest.size() - 2);
  while (!rest.empty()) {
    const size_t end = rest.find('"', 1);
    if (rest[0] != '"' || end == std::string_view::npos) {
      ADD_FAILURE() << verdict.reason;
      break;
    }
    found.emplace_back(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
    if (rest.starts_with(", ")) rest.remove_prefix(2);
  }
  return found;
}

void expect(const Verdict& verdict, std::string_view word, const std::vector<std::string_view>& texts,
            bool matched = true) {
  EXPECT_EQ(verdict.word, word);
  EXPECT_EQ(verdict.level, word == "error" || !matched ? Level::fail : Level::pass);
  EXPECT_EQ(messages(verdict), std::vector<std::string>(texts.begin(), texts.end()));
}

TEST(MsprobeG3, EqualRowsPass) {
  for (const Content content : {Content::data, Content::statistics, Content::checksums})
    for (const Verdict& verdict : judged(content, {in(), out()})) {
      expect(verdict, "pass", {});
      EXPECT_EQ(verdict.reason, "[]");
      EXPECT_EQ(verdict.no_metric, "");
    }
}

TEST(MsprobeG3, NonfiniteExtremesAreErrorsUnlessTheBenchHasThemToo) {
  for (const double bad : {kNan, kInf, -kInf})
    for (Scalar Stated::*const member : {&Stated::max, &Stated::min})
      for (const Content content : {Content::data, Content::statistics}) {
        TestRow row = out();
        row.mine.stated.*member = bad;
        expect(judged(content, {in(), row})[1], "error", {kNonfinite});
        row.golden.stated.max = kInf;  // either of its two will do
        expect(judged(content, {in(), row})[1], "pass", {});
      }
  TestRow row = in();
  row.mine.stated.mean = row.mine.stated.norm = kInf;  // not looked at
  expect(tensors({row, out()})[0], "pass", {});
  row.mine.stated.max = kInf;
  row.matched = false;
  expect(tensors({row, out()})[0], "error", {kNonfinite});
}

TEST(MsprobeG3, OutputsOfGoodInputsMayNotBeFarOff) {
  const auto outputs = [](double ratio_in, double ratio_out) {
    return tensors(
        {in({.ratio_1e3 = ratio_in}), in(), out({.ratio_1e3 = 0.95}), out({.ratio_1e3 = ratio_out})});
  };
  expect(outputs(0.91, 0.09)[2], "error", {kRatio});  // the first output, whichever is bad
  expect(outputs(0.91, 0.09)[3], "pass", {});
  expect(outputs(0.9, 0.09)[2], "pass", {});
  expect(outputs(0.91, 0.1)[2], "pass", {});
  expect(outputs(0.91, 0.5)[2], "pass", {});                          // the text says 0.6
  expect(tensors({out({.ratio_1e3 = 0.05})})[0], "error", {kRatio});  // nothing speaks against the inputs
  expect(tensors({in({.ratio_1e3 = 0.05})})[0], "pass", {});
}

TEST(MsprobeG3, RatiosWithoutNumberDoNotCount) {
  TestRow scalar = in({.ratio_1e3 = 0.2});
  scalar.mine.dims = scalar.golden.dims = {1};  // 0-d, once dimensions of size 1 are dropped
  expect(tensors({scalar, out({.ratio_1e3 = 0.05})})[1], "error", {kRatio});
  expect(tensors({in({.ratio_1e3 = kNan}), out({.ratio_1e3 = 0.05})})[1], "error", {kRatio});
  expect(tensors({in(), out({.ratio_1e3 = kNan})})[1], "pass", {});
}

TEST(MsprobeG3, NormsOfOutputsAreErrorsWhereThoseOfInputsAgree) {
  const auto outputs = [](double percent_in, double percent_out) {
    return statistics({in({.norm_pct = percent_in}), out({.norm_pct = percent_out}), out()});
  };
  expect(outputs(9.9, 51)[1], "error", {kNorm});
  expect(outputs(9.9, 51)[2], "pass", {});
  expect(outputs(9.9, 50)[1], "pass", {});
  expect(outputs(10, 51)[1], "pass", {});
  expect(statistics({out({.norm_pct = 40.0}), out({.norm_pct = 60.0})})[1], "error", {kNorm});
}

TEST(MsprobeG3, NormsThatGrowTenfoldAreWarnings) {
  const auto first = [](double percent_in, double percent_out) {
    return statistics({in({.norm_pct = percent_in}), out({.norm_pct = percent_out})})[1];
  };
  expect(first(1, 10.1), "warning", {kGrowth});
  expect(first(1, 10), "pass", {});
  expect(first(0, 10.1), "warning", {kGrowth});
  expect(first(0, 10), "pass", {});
  expect(first(20, 190), "pass", {});
  expect(first(20, 210), "warning", {kGrowth});  // the inputs are too bad for the error
  expect(first(5, 51), "error", {kNorm, kGrowth});
  const auto two = statistics({in({.norm_pct = 1.0}), out(), out({.norm_pct = 20.0})});
  expect(two[1], "warning", {kGrowth});
  expect(two[2], "pass", {});
}

TEST(MsprobeG3, AnInfinitePercentageIsAWord) {
  const auto verdicts = statistics({in({.norm_pct = std::string("inf")}), out({.norm_pct = 60.0})});
  expect(verdicts[1], "error", {kNorm, kGrowth});
}

TEST(MsprobeG3, RequiresGradMustAgree) {
  TestRow row = in();
  row.mine.stated.requires_grad = "True";
  row.golden.stated.requires_grad = "False";
  for (const Content content : {Content::data, Content::statistics})
    expect(judged(content, {row, out()})[0], "error", {kGrad});
  expect(judged(Content::checksums, {row, out()})[0], "pass", {});
  row.golden.stated.requires_grad = "True";
  expect(tensors({row, out()})[0], "pass", {});
  row.matched = false;
  expect(tensors({row, out()})[0], "pass", {}, false);
}

TEST(MsprobeG3, ScalarArgumentsMustBeEqual) {
  TestRow row = in();
  row.mine.stated.dtype = row.golden.stated.dtype = "<class 'int'>";
  row.mine.stated.shape = row.golden.stated.shape = "[]";
  row.mine.stated.max = int64_t{3};
  row.golden.stated.max = int64_t{4};
  for (const Content content : {Content::data, Content::statistics})
    expect(judged(content, {row, out()})[0], "error", {kScalar});
  row.golden.stated.max = 3.0;  // equal to Python
  expect(tensors({row, out()})[0], "pass", {});
  row.mine.stated.max = std::string_view("mean");
  row.golden.stated.max = std::string_view("sum");
  expect(tensors({row, out()})[0], "error", {kScalar});
  row.name = "Torch.add.0.forward.output.1";  // only of inputs
  expect(tensors({in(), row})[1], "pass", {});
  row.name = "Torch.add.0.forward.input.0";
  row.mine.stated.dtype = row.golden.stated.dtype = "torch.float32";  // a 0-d tensor
  expect(tensors({row, out()})[0], "pass", {});
}

TEST(MsprobeG3, DtypesMustAgree) {
  TestRow row = in();
  row.golden.stated.dtype = "torch.float16";
  expect(tensors({row, out()})[0], "error", {kDtype});
  for (const std::string_view merged : {"Module.qkv.0.forward.input.0", "Module.gate_up.0.forward.input.0"}) {
    row.golden_name = merged;
    expect(tensors({row, out()})[0], "pass", {});
  }
  row.matched = false;
  expect(tensors({row, out()})[0], "pass", {}, false);
}

TEST(MsprobeG3, DtypesOfTwoFrameworksAreComparedByWhatTheyAre) {
  Head head = test_head(Content::data, Generation::g3);
  TestRow row = in();
  row.mine.stated.dtype = "Float32";
  expect(judge_rows(Generation::g3, Content::data, {row, out()}, {}, &head)[0], "error", {kDtype});
  head.cross_framework = true;
  expect(judge_rows(Generation::g3, Content::data, {row, out()}, {}, &head)[0], "pass", {});
  row.mine.stated.dtype = "Float16";
  expect(judge_rows(Generation::g3, Content::data, {row, out()}, {}, &head)[0], "error", {kDtype});
}

TEST(MsprobeG3, ShapesMustAgree) {
  TestRow row = in();
  row.golden.stated.shape = "[3, 2]";
  row.golden.dims = {3, 2};
  const auto verdicts = tensors({row, out()});
  expect(verdicts[0], "error", {kShape});
  EXPECT_EQ(verdicts[0].no_metric, "shape unmatched");
  row.golden.stated.shape = "[1, 2, 3]";
  row.golden.dims = {1, 2, 3};  // compared all the same
  EXPECT_EQ(tensors({row, out()})[0].no_metric, "");
  expect(tensors({row, out()})[0], "error", {kShape});
}

TEST(MsprobeG3, CosinesThatFallAreWarnings) {
  const auto first = [](double cosine_in, double cosine_out) {
    return tensors({in({.cosine = cosine_in}), out({.cosine = cosine_out}), out()})[1];
  };
  expect(first(1, 0.89), "warning", {kCosine});
  expect(first(1, 0.9), "pass", {});
  expect(first(0.9, 0.5), "pass", {});
  expect(first(0.91, 0.8), "warning", {kCosine});
  expect(first(0.91, 0.82), "pass", {});
  expect(tensors({in({.cosine = kNan}), out({.cosine = 0.5})})[1], "warning", {kCosine});
  expect(tensors({in(), out(), out({.cosine = 0.5})})[1], "warning", {kCosine});  // on the first output
}

TEST(MsprobeG3, ParametersCountAsInputs) {
  TestRow weight = named("Torch.add.0.forward.parameters.weight", Direction::parameter, {.cosine = 0.5});
  expect(tensors({in(), weight, out({.cosine = 0.1})})[2], "pass", {});
}

TEST(MsprobeG3, MessagesStandInTheOrderOfTheChecks) {
  TestRow row = out({.cosine = 0.1, .ratio_1e3 = 0.05, .norm_pct = 60.0});
  row.mine.stated.max = kInf;
  row.mine.stated.requires_grad = "True";
  row.golden.stated.requires_grad = "False";
  row.golden.stated.dtype = "torch.float16";
  row.golden.stated.shape = "[6]";
  expect(tensors({in(), row})[1], "error", {kNonfinite, kRatio, kGrad, kDtype, kShape, kCosine});
  expect(statistics({in(), row})[1], "error", {kNonfinite, kNorm, kGrad, kDtype, kShape, kGrowth});
  TestRow argument = in();
  argument.mine.stated.max = -kInf;
  argument.mine.stated.requires_grad = "True";
  argument.golden.stated.requires_grad = "False";
  argument.mine.stated.dtype = "<class 'float'>";
  argument.golden.stated.dtype = "<class 'int'>";
  argument.mine.stated.shape = "[]";
  expect(tensors({argument, out()})[0], "error", {kNonfinite, kGrad, kScalar, kDtype, kShape});
}

TEST(MsprobeG3, ChecksumsAreErrorsOrWarnings) {
  const auto side = [](std::string_view checksum) {
    TestSide made;
    made.stated.checksum = checksum;
    if (checksum.empty()) made.stated.dtype = "None";
    return made;
  };
  const auto crc = [&](std::string_view mine, std::string_view golden, bool matched = true) {
    TestRow row = in();
    row.mine = side(mine);
    row.golden = side(golden);
    row.matched = matched;
    return judged(Content::checksums, {row})[0];
  };
  expect(crc("1ad5be0d", "1ad5be0d"), "pass", {});
  expect(crc("1ad5be0d", "6dd28e9b"), "error", {kOtherCrc});
  expect(crc("1ad5be0d", ""), "warning", {kNoCrc});
  expect(crc("", "1ad5be0d"), "warning", {kNoCrc});
  expect(crc("", ""), "pass", {});
  expect(crc("1ad5be0d", "", false), "warning", {kNoCrc}, false);
}

TEST(MsprobeG3, OperatorsWithUndefinedResultsAreNotJudged) {
  for (const std::string_view op : {"empty", "empty_like", "numpy", "to", "__setitem__", "empty_with_format",
                                    "new_empty_strided", "new_empty", "empty_strided"}) {
    const std::string prefix = "Torch." + std::string(op) + ".0.forward";
    TestRow first = named(prefix + ".input.0", Direction::input, {});
    first.mine.stated.max = kInf;
    TestRow second = named(prefix + ".output.0", Direction::output, {.ratio_1e3 = 0.01});
    second.mine.stated.checksum = "1ad5be0d";
    for (const Content content : {Content::data, Content::statistics, Content::checksums})
      for (const Verdict& verdict : judged(content, {first, second})) expect(verdict, "pass", {});
  }
  TestRow other = named("Torch.empty_cache.0.forward.input.0", Direction::input, {});
  other.mine.stated.max = kInf;
  expect(tensors({other})[0], "error", {kNonfinite});
}

TEST(MsprobeG3, OfOperatorsThatOverwriteTheirInputsOnlyOutputsAreJudged) {
  for (const std::string_view op :
       {"_reduce_scatter_base", "_all_gather_base", "all_to_all_single", "batch_isend_irecv"}) {
    const std::string prefix = "Distributed." + std::string(op) + ".0.forward";
    TestRow first = named(prefix + ".input.0", Direction::input, {});
    first.mine.stated.max = kInf;
    first.mine.stated.checksum = "1ad5be0d";
    TestRow second =
        named(prefix + ".output.0", Direction::output, {.cosine = 0.1, .ratio_1e3 = 0.01, .norm_pct = 90.0});
    for (const Content content : {Content::data, Content::statistics})
      for (const Verdict& verdict : judged(content, {first, second})) expect(verdict, "pass", {});
    second.mine.stated.max = kInf;
    second.mine.stated.checksum = "1ad5be0d";
    second.golden.stated.checksum = "6dd28e9b";
    expect(tensors({first, second})[1], "error", {kNonfinite});
    const auto crcs = judged(Content::checksums, {first, second});
    expect(crcs[0], "pass", {});
    expect(crcs[1], "error", {kOtherCrc});
  }
}

TEST(MsprobeG3, CellsOfRowsWithoutNumbersHaveWords) {
  const auto cells = [](TestRow row) { return tensors({std::move(row)})[0].no_metric; };
  TestRow row = in();
  row.mine.stated.data_name = {};
  EXPECT_EQ(cells(row), "unsupported");
  row = in();
  row.golden.stated.data_name = {};
  EXPECT_EQ(cells(row), "unsupported");
  row = in();
  row.matched = false;
  EXPECT_EQ(cells(row), "unsupported");
  row = in();
  row.status = Status::unreadable;
  EXPECT_EQ(cells(row), "unsupported");
  row = in();
  row.mine.dims = row.golden.dims = {0};
  EXPECT_EQ(cells(row), "unsupported");
  EXPECT_EQ(cells(in({.kind_mismatch = int64_t{2}})), "N/A");
  row = in();
  row.mine.dims = row.golden.dims = {};
  EXPECT_EQ(cells(row), "");
  row.matched = false;
  EXPECT_EQ(statistics({row})[0].no_metric, "");
}

TEST(MsprobeG3, RowsOfTheBenchAloneFailButArePrintedAsPass) {
  JudgedNode node({in(), out()});
  node.result.rows[0].mine = {};
  const Head head = test_head(Content::data, Generation::g3);
  prepare_msprobe_g3(head)(node.result);
  EXPECT_EQ(node.result.rows[0].verdict.level, Level::fail);
  EXPECT_EQ(node.result.rows[0].verdict.word, "pass");
  EXPECT_THAT(messages(node.result.rows[0].verdict), IsEmpty());
  expect(node.result.rows[1].verdict, "pass", {});
}

}  // namespace
}  // namespace assay
