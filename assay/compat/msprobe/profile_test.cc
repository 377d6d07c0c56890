#include "assay/compat/msprobe/profile.h"

#include "assay/compat/msprobe/sample_rows.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Stack = MsprobeStyle::Stack;

constexpr Generation g1 = Generation::g1, g2 = Generation::g2, g3 = Generation::g3;
const double kNan = std::nan("");
constexpr double kInf = HUGE_VAL;

std::string titles(Generation generation, Content content, Stack stack = Stack::hidden,
                   bool has_stacks = false) {
  Head head = msprobe_head(content, generation);
  head.has_stacks = has_stacks;
  std::string out;
  for (const Column& column : msprobe_profile({.generation = generation, .stack = stack}).columns(head))
    out += (out.empty() ? "" : ", ") + column.title;
  return out;
}

const std::string kB = "NPU Name, Bench Name, NPU Dtype, Bench Dtype, NPU Tensor Shape, Bench Tensor Shape, ";
const std::string kQ = "NPU Requires_grad, Bench Requires_grad, ";
const std::string kSix =
    "Cosine, EucDist, MaxAbsErr, MaxRelativeErr, One Thousandth Err Ratio, Five Thousandths Err Ratio, ";
const std::string kFive =
    "Cosine, MaxAbsErr, MaxRelativeErr, One Thousandth Err Ratio, Five Thousandths Err Ratio, ";
const std::string kEight =
    "Max diff, Min diff, Mean diff, L2norm diff, MaxRelativeErr, MinRelativeErr, MeanRelativeErr, "
    "NormRelativeErr, ";
const std::string kSt =
    "NPU max, NPU min, NPU mean, NPU l2norm, Bench max, Bench min, Bench mean, Bench l2norm, ";
const std::string kX = "Requires_grad Consistent, ";

TEST(MsprobeProfile, HasTheColumnsOfTensors) {
  EXPECT_EQ(titles(g2, Content::data),
            kB + kQ + kSix + kSt + kX + "Accuracy Reached or Not, Err_message, Data_name");
  EXPECT_EQ(titles(g1, Content::data), kB + kFive + kSt + "Accuracy Reached or Not, Err_message, Data_name");
  EXPECT_EQ(titles(g3, Content::data), kB + kQ + kSix + kSt + kX + "Result, Err_message, Data_name");
  EXPECT_EQ(titles(g2, Content::data, Stack::shown),
            kB + kQ + kSix + kSt + kX + "Accuracy Reached or Not, Err_message, NPU_Stack_Info, Data_name");
}

TEST(MsprobeProfile, HasTheColumnsOfStatistics) {
  EXPECT_EQ(titles(g2, Content::statistics), kB + kQ + kEight + kSt + kX + "Result, Err_message");
  EXPECT_EQ(titles(g1, Content::statistics), kB + kEight + kSt + "Result, Err_message");
  EXPECT_EQ(titles(g3, Content::statistics), kB + kQ + kEight + kSt + kX + "Result, Err_message");
  EXPECT_EQ(titles(g1, Content::statistics, Stack::shown),
            kB + kEight + kSt + "Result, Err_message, NPU_Stack_Info");
}

TEST(MsprobeProfile, HasTheColumnsOfChecksums) {
  EXPECT_EQ(titles(g2, Content::checksums), kB + kQ + "NPU MD5, BENCH MD5, " + kX + "Result");
  EXPECT_EQ(titles(g1, Content::checksums), kB + "NPU MD5, BENCH MD5, Result");
  EXPECT_EQ(titles(g3, Content::checksums), kB + kQ + "NPU MD5, BENCH MD5, " + kX + "Result, Err_message");
  EXPECT_EQ(titles(g2, Content::checksums, Stack::shown),
            kB + kQ + "NPU MD5, BENCH MD5, " + kX + "Result, NPU_Stack_Info");
}

TEST(MsprobeProfile, ShowsStacksWhereThereAreAny) {
  EXPECT_THAT(titles(g3, Content::data, Stack::if_found, false), Not(HasSubstr("NPU_Stack_Info")));
  EXPECT_THAT(titles(g3, Content::data, Stack::if_found, true), HasSubstr("NPU_Stack_Info"));
  EXPECT_THAT(titles(g3, Content::data, Stack::hidden, true), Not(HasSubstr("NPU_Stack_Info")));
}

// The row behind the titles, as csv.
std::string line(const MsprobePair& pair, Content content, Generation generation = g2,
                 Stack stack = Stack::hidden, std::span<const std::string_view> calls = {}) {
  const TestFolder folder;
  const Profile profile = msprobe_profile({.generation = generation, .stack = stack});
  const auto sink = find_output("csv")->open({.folder = folder.path(), .profile = &profile});
  NodeResult node = node_of("Torch.add.0.forward", {pair.row});
  node.stack = calls;
  const auto files = run_sink(*sink, msprobe_head(content, generation), {node});
  const std::string text = files.empty() ? "\n" : file_text(files.front());
  return text.substr(text.find('\n') + 1);
}

TEST(MsprobeProfile, ShowsTensors) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.mine.requires_grad = "True";
  pair.row.metrics = {0.99999949, 0.1234567890123456, 0.12345678901234, 0.5, 0.25, 1.0, int64_t{0}};
  pair.row.verdict.word = "Yes";
  const std::string start =
      "Torch.add.0.forward.output.0,Torch.add.0.forward.output.0,torch.float32,torch.float32,\"[2, 3]\","
      "\"[2, 3]\",";
  const std::string statistics = "4.0,-1.0,0.5,2.25,4.0,-1.0,0.5,2.25,";
  EXPECT_EQ(line(pair, Content::data),
            start + "True,N/A,0.999999,0.1234567890123456,0.123456789012,0.5,0.25,1.0," + statistics +
                "False,Yes,,\"['n.pt', 'b.pt']\"\n");
  EXPECT_EQ(line(pair, Content::data, g1),
            start + "1.0,0.123456789012,0.5,0.25,1.0," + statistics + "Yes,,n.pt\n");
  for (const Generation generation : {g1, g2}) {
    pair.row.metrics[0] = 0.99998512345;  // six digits above 0.9999
    EXPECT_THAT(line(pair, Content::data, generation), HasSubstr(",0.999985,0.12"));
    pair.row.metrics[0] = 0.9998512345678912;
    EXPECT_THAT(line(pair, Content::data, generation), HasSubstr(",0.999851234568,0.12"));
  }
}

TEST(MsprobeProfile, HasWordsInMetricCellsWithoutNumbers) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.row.metrics = {1.0, 0.0, 0.0, kNan, 1.0, 1.0, int64_t{0}};
  EXPECT_THAT(line(pair, Content::data), HasSubstr("N/A,N/A,1.0,0.0,0.0,Nan,1.0,1.0,4.0"));
  pair.row.verdict.no_metric = "unsupported";
  EXPECT_THAT(line(pair, Content::data),
              HasSubstr(",unsupported,unsupported,unsupported,unsupported,unsupported,unsupported,4.0"));
  pair.row.verdict.no_metric = "shape unmatched";
  EXPECT_THAT(line(pair, Content::data, g3), HasSubstr(",shape unmatched,shape unmatched,"));
}

void resize(MsprobePair& pair, std::vector<int64_t> dims) {
  pair.row.mine.meta = pair.row.golden.meta = TensorMeta{DType::f32, Shape{std::move(dims)}};
}

TEST(MsprobeProfile, ShowsWhatIsMeasuredOfSmallTensors) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.row.metrics = {1.0, 0.25, 0.25, 0.5, 0.125, 0.125, int64_t{0}};
  resize(pair, {1});
  EXPECT_THAT(line(pair, Content::data), HasSubstr("N/A,N/A,unsupported,0.25,0.25,0.5,0.125,0.125,4.0"));
  resize(pair, {});
  EXPECT_THAT(line(pair, Content::data),
              HasSubstr("N/A,N/A,unsupported,unsupported,0.25,0.5,unsupported,unsupported,4.0"));
  EXPECT_THAT(line(pair, Content::data, g1), HasSubstr("\",unsupported,0.25,0.5,Nan,Nan,4.0"));
  resize(pair, {0});
  pair.row.metrics.clear();
  pair.row.verdict.no_metric = "unsupported";
  EXPECT_THAT(line(pair, Content::data, g1), HasSubstr("\",unsupported,0,0,0,0,4.0"));
}

TEST(MsprobeProfile, ShowsStatistics) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.row.metrics = {-0.1, 0.0, kNan, Value(), 9.090909090909099, kInf, kNan, Value()};
  pair.mine.norm = Scalar();
  pair.golden.norm = true;
  pair.mine.mean = kNan;
  pair.mine.max = int64_t{3};
  pair.row.verdict.word = "Warning";
  pair.row.verdict.reason = "Need double check api accuracy. ";
  EXPECT_THAT(
      line(pair, Content::statistics),
      HasSubstr("N/A,N/A,-0.1,0.0,Nan,N/A,9.090909090909099%,inf%,Nan,N/A,3,-1.0,Nan,None,4.0,-1.0,0.5,"
                "True,True,Warning,Need double check api accuracy. \n"));
  EXPECT_THAT(line(pair, Content::statistics, g1), HasSubstr(",3,-1.0,Nan,N/A,4.0"));
  pair.row.metrics = {
      std::string("0"),   -kInf, 0.1, std::string("Diff"), std::string("0"), std::string("inf"), 50.0,
      std::string("Diff")};
  EXPECT_THAT(line(pair, Content::statistics, g3),
              HasSubstr("N/A,N/A,0,-inf,0.1,Diff,0,inf,50.0%,Diff,3,-1.0,"));
}

TEST(MsprobeProfile, SaysNanInGenerationOneWhereGoldenIsZero) {
  MsprobePair pair("Mint.add.0.forward.output.0");
  pair.row.metrics = {1.0, 1.0, 1.0, Value(), Value(), 50.0, 50.0, Value()};
  pair.golden.max = 0.0;
  EXPECT_THAT(line(pair, Content::statistics, g1), HasSubstr(",1.0,1.0,1.0,N/A,Nan,50.0%,50.0%,N/A,"));
  EXPECT_THAT(line(pair, Content::statistics, g2), HasSubstr(",1.0,1.0,1.0,N/A,N/A,50.0%,50.0%,N/A,"));
}

TEST(MsprobeProfile, WritesLongIntegersAsNumbers) {
  MsprobePair pair("Torch.add.0.forward.input.0");
  pair.mine.max = Scalar::big("18446744073709551616");
  pair.mine.min = int64_t{9007199254740993};
  pair.mine.mean = int64_t{9007199254740992};
  EXPECT_THAT(line(pair, Content::data, g2),
              HasSubstr(",1.8446744073709552e+19,9007199254740992.0,9007199254740992,"));
  EXPECT_THAT(line(pair, Content::data, g3),
              HasSubstr(",18446744073709551616,9007199254740993,9007199254740992,"));
  const std::string nines(309, '9');  // no double holds it
  pair.mine.max = Scalar::big(nines);
  EXPECT_THAT(line(pair, Content::data, g2), HasSubstr("," + nines + ","));
}

TEST(MsprobeProfile, ShowsChecksums) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.mine.checksum = "1ad5be0d";
  pair.row.verdict.word = "Different";
  pair.row.verdict.reason = "[\"error: x\"]";
  EXPECT_THAT(line(pair, Content::checksums), HasSubstr(",N/A,N/A,1ad5be0d,00000000,True,Different\n"));
  EXPECT_THAT(line(pair, Content::checksums, g3), HasSubstr(",True,Different,\"[\"\"error: x\"\"]\"\n"));
  pair.golden.dtype = "None";
  pair.row.golden.meta = {};
  EXPECT_THAT(line(pair, Content::checksums, g1), HasSubstr(",1ad5be0d,N/A,Different\n"));
}

// With summary_mode xor a 0-d tensor stands for itself.
TEST(MsprobeProfile, ShowsNumbersThatStandForChecksums) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  const auto cell = [&](std::string_view checksum) {
    pair.mine.checksum = checksum;
    const Head head = msprobe_head(Content::checksums, g3);
    for (const Column& column : msprobe_profile({.generation = g3}).columns(head))
      if (column.title == "NPU MD5") return cell_value(column, RowView{head, {}, node_of("n", {}), pair.row});
    return Value();
  };
  EXPECT_EQ(cell("4.195769786834717"), Value(4.195769786834717));
  EXPECT_EQ(cell("-3"), Value(int64_t{-3}));
  EXPECT_EQ(cell("1.250000"), Value(1.25));
  EXPECT_EQ(cell("12345678"), Value(std::string("12345678")));  // a CRC-32
  EXPECT_EQ(cell("12e45678"), Value(std::string("12e45678")));
  EXPECT_EQ(cell("0x0000000000000022"), Value(std::string("0x0000000000000022")));
  EXPECT_EQ(cell("0.0"), Value(std::string("00000000")));  // no checksum, to msprobe
  EXPECT_EQ(cell("-0.0"), Value(std::string("00000000")));
  EXPECT_EQ(cell("nan"), Value(std::string("N/A")));  // of pandas: nothing
}

TEST(MsprobeProfile, TruthValuesOfArgumentsAreNoTexts) {
  MsprobePair pair("Torch.add.0.forward.input.0");
  pair.mine.max = pair.golden.max = true;
  pair.mine.dtype = "<class 'bool'>";
  pair.golden.dtype = "torch.bool";
  const Head head = msprobe_head(Content::statistics);
  for (const Column& column : msprobe_profile({}).columns(head)) {
    const Value value = cell_value(column, RowView{head, {}, node_of("n", {}), pair.row});
    if (column.title == "NPU max") {
      EXPECT_EQ(value, Value(true));
    } else if (column.title == "Bench max") {
      EXPECT_EQ(value, Value(std::string("True")));
    }
  }
}

TEST(MsprobeProfile, FillsTheBenchOfUnmatchedRows) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.mine.requires_grad = "False";
  pair.lose_golden();
  pair.row.verdict = {Level::fail, "No bench data matched.", "N/A"};
  EXPECT_EQ(line(pair, Content::statistics),
            "Torch.add.0.forward.output.0,N/A,torch.float32,N/A,\"[2, 3]\",N/A,False,N/A,N/A,N/A,N/A,N/A,N/A,"
            "N/A,N/A,N/A,4.0,-1.0,0.5,2.25,N/A,N/A,N/A,N/A,False,N/A,No bench data matched.\n");
  EXPECT_THAT(line(pair, Content::checksums), HasSubstr(",False,N/A,00000000,N/A,False,"));
  pair.row.verdict.no_metric = "unsupported";
  EXPECT_THAT(line(pair, Content::data), HasSubstr("\"['n.pt', 'N/A']\"\n"));
}

TEST(MsprobeProfile, NamesTheDataFiles) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.row.verdict.no_metric = "unsupported";
  pair.mine.data_name = {};
  pair.golden.data_name = "it's.pt";
  EXPECT_THAT(line(pair, Content::data), HasSubstr(",\"['-1', \"\"it's.pt\"\"]\"\n"));
  EXPECT_THAT(line(pair, Content::data, g1), HasSubstr(",-1\n"));
}

TEST(MsprobeProfile, TakesTheTeethOutOfFormulas) {
  MsprobePair pair("=cmd|x");
  pair.row.golden.name = "＝1";
  pair.mine.dtype = "@SUM(A1)";
  pair.golden.dtype = "%x";
  pair.mine.max = std::string_view("-x");
  pair.mine.min = std::string_view("-inf");
  pair.mine.mean = std::string_view("-5%");
  pair.golden.max = std::string_view("+1,2");
  pair.row.verdict.reason = "-1+1";
  const std::string text = line(pair, Content::statistics);
  EXPECT_THAT(text, HasSubstr("'=cmd|x,'＝1,'@SUM(A1),'%x,"));
  EXPECT_THAT(text, HasSubstr(",'-x,-inf,-5%,2.25,\"'+1,2\",-1.0,"));
  EXPECT_THAT(text, HasSubstr(",'-1+1\n"));
}

TEST(MsprobeProfile, WritesInfinitiesSoThatSpreadsheetsLeaveThemAlone) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.mine.max = kInf;
  pair.mine.min = -kInf;
  EXPECT_THAT(line(pair, Content::statistics, g3), HasSubstr(", inf, -inf,0.5,2.25,4.0"));
}

// ----- the call stack

const std::vector<std::string_view> kCalls = {"File net.py, line 7, in forward, \n x + y", "File it's.py"};

std::string stack_of(int index, Generation generation, std::string_view dtype,
                     std::span<const std::string_view> calls = kCalls) {
  MsprobePair pair("Torch.add.0.forward.input.0", Direction::input, index);
  pair.mine.dtype = dtype;
  const std::string text = line(pair, Content::checksums, generation, Stack::shown, calls);
  const std::string result = generation == g1 ? ",00000000,00000000,," : ",00000000,00000000,True,,";
  const size_t at = text.find(result);
  EXPECT_NE(at, std::string::npos) << text;
  return text.substr(at + result.size());
}

TEST(MsprobeProfile, ShowsTheStackOnTheFirstRowOfAnOperator) {
  const std::string list = "\"['File net.py, line 7, in forward, \\n x + y', \"\"File it's.py\"\"]\"\n";
  EXPECT_EQ(stack_of(0, g2, "torch.float32"), list);
  EXPECT_EQ(stack_of(1, g2, "torch.float32"), "N/A\n");
  EXPECT_EQ(stack_of(0, g2, "torch.float32", {}), "N/A\n");
  EXPECT_EQ(stack_of(0, g1, "Float32"), list);
  EXPECT_EQ(stack_of(1, g1, "Float32"), list);
}

// ----- rows and files

TEST(MsprobeProfile, KeepsTheRowsOfMine) {
  const Head head = msprobe_head(Content::data);
  const auto keeps = [&](const MsprobePair& pair, const MsprobeStyle& style) {
    const NodeResult node = node_of("Torch.add.0.forward", {pair.row});
    return msprobe_profile(style).keeps({head, "", node, node.rows[0]});
  };
  MsprobePair both("a"), alone("b"), golden("c"), weight("d", Direction::parameter),
      gradient("e", Direction::parameter_gradient);
  alone.lose_golden();
  golden.lose_mine();
  for (const Generation generation : {g1, g2, g3}) {
    EXPECT_TRUE(keeps(both, {.generation = generation}));
    EXPECT_TRUE(keeps(alone, {.generation = generation}));
    EXPECT_FALSE(keeps(golden, {.generation = generation}));
    EXPECT_EQ(keeps(weight, {.generation = generation}), generation != g1);
    EXPECT_EQ(keeps(gradient, {.generation = generation}), generation != g1);
  }
  EXPECT_FALSE(keeps(both, {.mapped_only = true}));
  alone.row.pair.why = Why::not_reached;
  EXPECT_FALSE(keeps(alone, {.generation = g1}));
  both.row.pair.why = Why::data_mapping;
  EXPECT_TRUE(keeps(both, {.mapped_only = true}));
}

TEST(MsprobeProfile, NamesFilesAndSheetsLikeTheOriginal) {
  Head head = msprobe_head(Content::data);
  EXPECT_EQ(msprobe_profile({}).file_stem(head), "compare_result_20250102030405");
  EXPECT_EQ(msprobe_profile({.per_rank = true}).file_stem(head), "compare_result_rank_20250102030405");
  head.at.rank = 3;
  EXPECT_EQ(msprobe_profile({}).file_stem(head), "compare_result_20250102030405");
  EXPECT_EQ(msprobe_profile({.per_rank = true}).file_stem(head), "compare_result_rank3_20250102030405");
  head.golden_rank = 10;
  EXPECT_EQ(msprobe_profile({.per_rank = true, .both_ranks = true}).file_stem(head),
            "compare_result_rank3-rank10_20250102030405");
  head.at.part = "pynative debug";
  EXPECT_EQ(msprobe_profile({.per_rank = true}).file_stem(head), "debug_compare_result_rank3_20250102030405");
  EXPECT_EQ(msprobe_profile({}).sheet, "Sheet1");
  EXPECT_EQ(msprobe_profile({.coloured = true}).sheet, "Sheet");
  EXPECT_EQ(msprobe_profile({.coloured = true}).print, Print::python_as_text);
  EXPECT_EQ(msprobe_profile({}).file_mode, 0640u);
  EXPECT_EQ(msprobe_profile({}).folder_mode, 0750u);
}

// 0.999990049681 of msprobe 1.1 is rounded before it is held against 0.99999.
TEST(MsprobeProfile, GenerationOneTakesACosineForOneOnceItIsRounded) {
  EXPECT_EQ(printed_cosine(0.9999900496814409, Generation::g1), 0.99999);
  EXPECT_EQ(printed_cosine(0.9999905100000000, Generation::g1), 1);
  EXPECT_EQ(printed_cosine(0.9999905100000000, Generation::g2), 0.999991);
  EXPECT_EQ(printed_cosine(0.99989, Generation::g1), 0.99989);
}

}  // namespace
}  // namespace assay
