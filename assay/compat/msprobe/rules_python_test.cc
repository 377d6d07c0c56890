// Generation 1 on PyTorch, which looks at the values that Python has.
#include "assay/compat/msprobe/highlight.h"
#include "assay/compat/msprobe/rules_test_tools.h"

namespace assay {
namespace {

Verdict judged(Content content, TestRow row, bool highlight = false) {
  JudgedNode node({std::move(row)});
  const Head head = test_head(content, Generation::g1);
  const RuleSet rules = msprobe_rules(Generation::g1, {.as_python = true, .highlight = highlight});
  rules.prepare(head, {})(node.result);
  return node.result.rows[0].verdict;
}

TestRow with_max(const Scalar& mine, const Scalar& golden) {
  TestRow row;
  row.mine.stated.max = mine;
  row.golden.stated.max = golden;
  return row;
}

std::string_view word(const Scalar& mine, const Scalar& golden) {
  return judged(Content::statistics, with_max(mine, golden)).word;
}

TEST(MsprobePython, OneStatisticFarApartIsEnough) {
  const Verdict verdict = judged(Content::statistics, with_max(1.0, 9.0));
  EXPECT_EQ(verdict.word, "Warning");
  EXPECT_EQ(verdict.reason, "Need double check api accuracy.");
}

// |−1 − −2| / 2 is 0.5, which is not above 0.5; of the signed maximum it would be 1.
TEST(MsprobePython, DistanceIsRelativeToTheLargerMagnitude) {
  EXPECT_EQ(word(-1.0, -2.0), "");
  EXPECT_EQ(word(-1.0, -2.1), "Warning");
}

TEST(MsprobePython, TextsAndTruthValuesAreNoNumbers) {
  EXPECT_EQ(word("1", "9"), "");
  EXPECT_EQ(word(true, 9.0), "");
  EXPECT_EQ(word(Scalar::big("99999999999999999999"), 1.0), "Warning");
  EXPECT_EQ(word(kNan, 1.0), "");
  EXPECT_EQ(word(kInf, 1.0), "");
}

TEST(MsprobePython, WithoutCounterpart) {
  const TestRow row = {.matched = false, .status = Status::only_mine};
  const Verdict tensor = judged(Content::data, row);
  EXPECT_EQ(tensor.word, "None");
  EXPECT_EQ(tensor.no_metric, "unsupported");
  EXPECT_EQ(tensor.reason, "No bench data matched.");
  TestRow none = row;
  none.mine.stated.dtype = "None";  // which has no checksum, as nothing has
  EXPECT_EQ(judged(Content::checksums, none).word, "N/A");
}

TEST(MsprobePython, NanThatIsWrittenAsSuchIsRed) {
  TestRow row = with_max(kNan, 1.0);
  EXPECT_EQ(judged(Content::statistics, row, true).paint, Paint::none);  // the word Nan
  row.matched = false;
  row.status = Status::only_mine;
  EXPECT_EQ(judged(Content::statistics, row, true).paint, Paint::red);
  EXPECT_EQ(judged(Content::statistics, with_max("nan", 1.0), true).paint, Paint::red);
}

Paint output_paint(Content content, TestRow out) {
  TestRow in{.name = "Torch.add.0.forward.input.0", .direction = Direction::input};
  JudgedNode node({in, std::move(out)});
  MsprobeHighlight(test_head(content, Generation::g1), Generation::g1, true).paint(node.result);
  return node.result.rows[1].verdict.paint;
}

TEST(MsprobePython, TruthValuesCountAsMaximaOfTensors) {
  TestRow out = with_max(true, false);
  out.metrics.ratio_1e3 = 0.1;
  EXPECT_EQ(output_paint(Content::data, out), Paint::red);
  out.golden.stated.max = "False";
  EXPECT_EQ(output_paint(Content::data, out), Paint::none);
}

TEST(MsprobePython, DifferencesThatAreNotWrittenHaveNoColour) {
  TestRow out = with_max(1.0, 1.0);
  out.metrics.max_diff = kInf;  // written as a text with a tab
  EXPECT_EQ(output_paint(Content::statistics, out), Paint::none);
  out = with_max("30000000000", "1");
  out.metrics.max_diff = 3e10;
  EXPECT_EQ(output_paint(Content::statistics, out), Paint::none);
  out = with_max(3e10, 1.0);
  out.metrics.max_diff = 3e10;
  EXPECT_EQ(output_paint(Content::statistics, out), Paint::red);
}

TEST(MsprobePython, EmptyTensorsHaveTheZerosThatArePrinted) {
  TestRow out;
  out.mine.dims = out.golden.dims = {2, 0};
  EXPECT_EQ(output_paint(Content::data, out), Paint::red);  // ratio 1 of the input, 0 of the output
}

}  // namespace
}  // namespace assay
