#include "assay/compat/msprobe/highlight.h"

#include "assay/compat/msprobe/rules_test_tools.h"

namespace assay {
namespace {

constexpr Generation g1 = Generation::g1, g2 = Generation::g2;
constexpr std::string_view kOverflow = "maximum or minimum is nan, -inf, or inf";
constexpr std::string_view kHuge = "maximum absolute error exceeds 1e+10";
constexpr std::string_view kRatioFalls =
    "The input/parameter's one thousandth err ratio exceeds 0.9, while the output's is below 0.6";
constexpr std::string_view kRatioDecreases =
    "The output's one thousandth err ratio decreases by more than 0.1 compared to the input/parameter's";
constexpr std::string_view kRelative = "maximum relative error exceeds 0.5";
constexpr std::string_view kRelativeGrows =
    "The output's maximum relative error exceeds 0.1, while the input/parameter's is below 0.01";
constexpr std::string_view kMagnitude =
    "maximum absolute error of both input/parameters and output exceed 1, with the output larger by an order "
    "of magnitude";
constexpr std::string_view kCosine =
    "The output's cosine decreases by more than 0.1 compared to the input/parameter's";
constexpr std::string_view kGrad = "requires_grad is inconsistent";

TestRow in(TestMetrics metrics = {}) {
  return {
      .name = "Torch.add.0.forward.input.0", .direction = Direction::input, .metrics = std::move(metrics)};
}
TestRow out(TestMetrics metrics = {}) { return {.metrics = std::move(metrics)}; }

// Colours and their texts alone, without the rules that set words.
std::vector<Verdict> painted(Content content, std::vector<TestRow> rows, Generation generation = g2) {
  JudgedNode node(std::move(rows));
  MsprobeHighlight(test_head(content, generation), generation).paint(node.result);
  std::vector<Verdict> verdicts;
  for (const Comparison& row : node.result.rows) verdicts.push_back(row.verdict);
  return verdicts;
}
Verdict tensor_pair(TestMetrics input, TestMetrics output, Generation generation = g2) {
  const auto verdicts = painted(Content::data, {in(std::move(input)), out(std::move(output))}, generation);
  EXPECT_EQ(verdicts[0].paint, Paint::none);
  return verdicts[1];
}
Verdict statistics_pair(TestMetrics input, TestMetrics output, Generation generation = g2) {
  return painted(Content::statistics, {in(std::move(input)), out(std::move(output))}, generation)[1];
}

void expect(const Verdict& verdict, Paint paint, std::string_view reason) {
  EXPECT_EQ(verdict.paint, paint) << reason;
  EXPECT_EQ(verdict.reason, reason);
}

TEST(MsprobeHighlight, LeavesGoodRowsAlone) {
  for (const Content content : {Content::data, Content::statistics})
    for (const Verdict& verdict : painted(content, {in(), out()})) expect(verdict, Paint::none, "");
}

TEST(MsprobeHighlight, InfiniteExtremesAreRed) {
  for (const Content content : {Content::data, Content::statistics})
    for (const Generation generation : {g1, g2})
      for (Scalar Stated::*const member : {&Stated::max, &Stated::min})
        for (const double bad : {kInf, -kInf}) {
          TestRow row = in();
          row.mine.stated.*member = bad;
          expect(painted(content, {row, out()}, generation)[0], Paint::red, kOverflow);
        }
  TestRow row = in();
  row.mine.stated.max = kNan;  // printed as the word Nan
  row.golden.stated.max = row.golden.stated.min = kInf;
  row.mine.stated.norm = kInf;
  expect(painted(Content::data, {row, out()})[0], Paint::none, "");
}

TEST(MsprobeHighlight, HugeErrorsAreRed) {
  const auto alone = [](Content content, double error) {
    return painted(content, {in({.max_abs = error, .max_diff = error})})[0];
  };
  expect(alone(Content::data, 1.01e10), Paint::red, kHuge);
  expect(alone(Content::data, 1e10), Paint::none, "");
  expect(alone(Content::statistics, 1.01e10), Paint::red, kHuge);
  expect(alone(Content::statistics, -1.01e10), Paint::red, kHuge);
  expect(alone(Content::statistics, -1e10), Paint::none, "");
  expect(alone(Content::statistics, kNan), Paint::none, "");
}

TEST(MsprobeHighlight, OutputsWithFewerGoodElementsThanInputs) {
  const auto ratios = [](double input, double output) {
    return tensor_pair({.ratio_1e3 = input}, {.ratio_1e3 = output});
  };
  expect(ratios(0.91, 0.59), Paint::red, kRatioFalls);
  expect(ratios(0.91, 0.6), Paint::yellow, kRatioDecreases);
  expect(ratios(0.9, 0.59), Paint::yellow, kRatioDecreases);
  expect(ratios(0.75, 0.64), Paint::yellow, kRatioDecreases);
  expect(ratios(0.75, 0.66), Paint::none, "");
  expect(ratios(0.5, 0.9), Paint::none, "");
}

TEST(MsprobeHighlight, OutputsThatTurnAway) {
  expect(tensor_pair({.cosine = 0.75}, {.cosine = 0.64}), Paint::yellow, kCosine);
  expect(tensor_pair({.cosine = 0.75}, {.cosine = 0.66}), Paint::none, "");
  expect(tensor_pair({.cosine = kNan}, {.cosine = 0.1}), Paint::none, "");
  expect(tensor_pair({.cosine = 1.0}, {.cosine = kNan}), Paint::none, "");
}

TEST(MsprobeHighlight, ErrorsThatGrowByAnOrderOfMagnitude) {
  const auto errors = [](double input, double output) {
    const Verdict of_tensors = tensor_pair({.max_abs = input}, {.max_abs = output});
    const Verdict of_statistics = statistics_pair({.max_diff = input}, {.max_diff = output});
    EXPECT_EQ(of_tensors.reason, of_statistics.reason);
    return of_tensors;
  };
  expect(errors(2, 20), Paint::yellow, kMagnitude);
  expect(errors(2, 19.9), Paint::none, "");
  expect(errors(1.5, 100), Paint::yellow, kMagnitude);
  expect(errors(1, 100), Paint::none, "");  // both must exceed 1
  expect(errors(20, 2), Paint::none, "");
  expect(statistics_pair({.max_diff = -2.0}, {.max_diff = -20.0}), Paint::yellow, kMagnitude);
}

TEST(MsprobeHighlight, GenerationOneTakesSmallErrorsForOne) {
  constexpr std::string_view kText =
      "maximum absolute error of both input and output exceed 1, with the output larger by an order of "
      "magnitude";
  expect(tensor_pair({.max_abs = 0.5}, {.max_abs = 10.0}, g1), Paint::yellow, kText);
  expect(tensor_pair({.max_abs = 0.0}, {.max_abs = 9.9}, g1), Paint::none, "");
  expect(tensor_pair({.max_abs = 0.5}, {.max_abs = 10.0}), Paint::none, "");
}

TEST(MsprobeHighlight, RelativeDifferencesOfMaxima) {
  const auto percentages = [](double input, double output) {
    return statistics_pair({.max_pct = input}, {.max_pct = output});
  };
  expect(percentages(2, 50.1), Paint::red, kRelative);
  expect(percentages(2, 50), Paint::none, "");
  expect(percentages(0.99, 10.1), Paint::yellow, kRelativeGrows);
  expect(percentages(0.99, 10), Paint::none, "");
  expect(percentages(1, 10.1), Paint::none, "");
  expect(percentages(0.5, 60), Paint::red, kRelative);  // yellow texts stand in yellow rows only
  expect(statistics_pair({.max_pct = Value()}, {.max_pct = 60.0}), Paint::red, kRelative);
  expect(statistics_pair({.max_pct = 0.0}, {.max_pct = Value()}), Paint::none, "");
}

TEST(MsprobeHighlight, GenerationOneRelatesToTheBenchOrOneHundredth) {
  const auto verdict = [](double difference, double bench) {
    TestRow output = out({.max_diff = difference, .max_pct = 0.0});
    output.golden.stated.max = bench;
    return painted(Content::statistics, {in({.max_diff = 0.5}), output}, g1)[1];
  };
  expect(verdict(1.02, 2), Paint::red, kRelative);
  expect(verdict(1, 2), Paint::none, "");
  expect(verdict(0.0051, 0), Paint::red, kRelative);  // 0.0051 / 0.01
  expect(verdict(0.0049, 0), Paint::none, "");
}

TEST(MsprobeHighlight, GenerationOneSpeaksOfInputs) {
  EXPECT_EQ(tensor_pair({.ratio_1e3 = 0.91}, {.ratio_1e3 = 0.59}, g1).reason,
            "The input's one thousandth err ratio exceeds 0.9, while the output's is below 0.6");
  EXPECT_EQ(tensor_pair({.ratio_1e3 = 0.91}, {.ratio_1e3 = 0.7}, g1).reason,
            "The output's one thousandth err ratio decreases by more than 0.1 compared to the input's");
  EXPECT_EQ(tensor_pair({.cosine = 0.9}, {.cosine = 0.1}, g1).reason,
            "The output's cosine decreases by more than 0.1 compared to the input's");
  EXPECT_EQ(statistics_pair({.max_diff = 0.0}, {.max_diff = 0.2}, g1).reason,
            "The output's maximum relative error exceeds 0.1, while the input's is below 0.01");
}

// msprobe 1.1.1 on MindSpore: a mask among the inputs counts there.
TEST(MsprobeHighlight, TruthValuesAreNumbersInGenerationOneAlone) {
  TestRow mask = in({.ratio_1e3 = 1.0});
  for (Stated* const stated : {&mask.mine.stated, &mask.golden.stated}) stated->max = true;
  const TestRow output = out({.ratio_1e3 = 0.5});
  EXPECT_EQ(painted(Content::data, {mask, output}, g1)[1].paint, Paint::red);
  expect(painted(Content::data, {mask, output})[1], Paint::none, "");
}

TEST(MsprobeHighlight, RowsThatDifferInRequiresGradAreYellow) {
  TestRow row = in();
  row.mine.stated.requires_grad = "True";
  row.golden.stated.requires_grad = "False";
  expect(painted(Content::data, {row})[0], Paint::yellow, kGrad);
  expect(painted(Content::data, {row}, g1)[0], Paint::none, "");
  row.metrics.max_abs = 1e11;
  expect(painted(Content::data, {row})[0], Paint::red, kHuge);
}

TEST(MsprobeHighlight, TextsStandInTheOrderOfTheChecks) {
  TestRow output = out({.cosine = 0.5, .max_abs = 50.0, .ratio_1e3 = 0.7});
  output.mine.stated.requires_grad = "True";
  const auto verdicts = painted(Content::data, {in({.max_abs = 2.0}), output});
  EXPECT_EQ(verdicts[1].paint, Paint::yellow);
  std::string expected;
  for (const std::string_view text : {kMagnitude, kRatioDecreases, kCosine, kGrad})
    expected += (expected.empty() ? "" : "\n") + std::string(text);
  EXPECT_EQ(verdicts[1].reason, expected);
}

// As in the original: once per input that gives the reason.
TEST(MsprobeHighlight, EveryInputSpeaksForItself) {
  TestRow weight = in();
  weight.name = "Torch.add.0.forward.parameters.weight";
  weight.direction = Direction::parameter;
  TestRow gradient = in();
  gradient.direction = Direction::parameter_gradient;
  const auto verdicts = painted(Content::data, {in(), weight, gradient, out({.cosine = 0.5})});
  EXPECT_EQ(verdicts[3].reason, std::string(kCosine) + "\n" + std::string(kCosine));
}

TEST(MsprobeHighlight, RowsWithoutNumbersAreNotHeldAgainstOthers) {
  const TestMetrics bad = {.cosine = 0.1, .ratio_1e3 = 0.1};
  for (int what = 0; what < 4; ++what) {
    TestRow input = in();
    if (what == 0) input.mine.stated.max = kNan;
    if (what == 1) input.golden.stated.max = std::string_view("None");
    if (what == 2) input.mine.stated.data_name = {};
    if (what == 3) input.matched = false;
    EXPECT_EQ(painted(Content::data, {input, out(bad)})[1].paint, Paint::none) << what;
  }
  TestRow output = out(bad);
  output.golden.dims = {6};
  EXPECT_EQ(painted(Content::data, {in(), output})[1].paint, Paint::none);
  output = out(bad);
  output.mine.dims = output.golden.dims = {1};  // has a ratio, but no cosine
  expect(painted(Content::data, {in(), output})[1], Paint::red, kRatioFalls);
}

TEST(MsprobeHighlight, BenchRowsAreNotInTheTable) {
  JudgedNode node({in(), out({.max_abs = 1e11})});
  node.result.rows[1].mine = {};
  MsprobeHighlight(test_head(Content::data, g2), g2).paint(node.result);
  expect(node.result.rows[1].verdict, Paint::none, "");
}

// ----- many rows

// The obvious way, with the thresholds of the original: every output is held against every input.
std::vector<Verdict> paint_every_pair(Content content, const std::vector<TestRow>& rows) {
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto number = [](const Value& value) { return std::get<double>(value); };
    const TestMetrics& o = rows[i].metrics;
    const bool tensors = content == Content::data;
    std::vector<std::string_view> red, yellow;
    if (std::abs(number(tensors ? o.max_abs : o.max_diff)) > 1e10) red.push_back(kHuge);
    for (size_t j = 0; j < rows.size() && i > 0 && rows[i].direction == Direction::output; ++j) {
      if (j > 0 &&
          (rows[j].direction == Direction::output || rows[j].direction == Direction::parameter_gradient))
        continue;
      const TestMetrics& m = rows[j].metrics;
      const double in_error = std::abs(number(tensors ? m.max_abs : m.max_diff)),
                   out_error = std::abs(number(tensors ? o.max_abs : o.max_diff));
      if (in_error > 1 && out_error > 1 && in_error <= out_error &&
          std::log10(out_error) - std::log10(in_error) >= 1)
        yellow.push_back(kMagnitude);
      if (!tensors) {
        const double in_relative = number(m.max_pct) / 100, out_relative = number(o.max_pct) / 100;
        if (out_relative > 0.5) red.push_back(kRelative);
        if (out_relative > 0.1 && in_relative < 0.01) yellow.push_back(kRelativeGrows);
        continue;
      }
      if (number(m.ratio_1e3) > 0.9 && number(o.ratio_1e3) < 0.6)
        red.push_back(kRatioFalls);
      else if (number(m.ratio_1e3) - number(o.ratio_1e3) > 0.1)
        yellow.push_back(kRatioDecreases);
      if (number(m.cosine) - number(o.cosine) > 0.1) yellow.push_back(kCosine);
    }
    Verdict& verdict = verdicts.emplace_back();
    if (red.empty() && yellow.empty()) continue;
    verdict.paint = red.empty() ? Paint::yellow : Paint::red;
    for (const std::string_view text : red.empty() ? yellow : red)
      verdict.reason += (verdict.reason.empty() ? "" : "\n") + std::string(text);
  }
  return verdicts;
}

TEST(MsprobeHighlight, SaysWhatEveryPairWouldSay) {
  uint32_t state = 7;
  const auto below = [&](uint32_t limit) { return (state = state * 1664525u + 1013904223u) / 65536 % limit; };
  const auto one_of = [&](const std::vector<double>& values) {
    return values[below(uint32_t(values.size()))];
  };
  for (int round = 0; round < 400; ++round) {
    const Content content = round % 2 == 0 ? Content::data : Content::statistics;
    // Few alarming numbers in some rounds, many in others.
    const bool calm = round % 3 == 0;
    std::vector<TestRow> rows(1 + below(40));
    for (TestRow& row : rows) {
      row.direction = std::vector{Direction::input, Direction::parameter, Direction::output,
                                  Direction::parameter_gradient}[below(4)];
      row.metrics.cosine = one_of({1.0, 0.99, 0.9, 0.89, calm ? 1.0 : 0.5});
      row.metrics.ratio_1e3 = one_of({1.0, 0.91, 0.9, 0.85, 0.8, calm ? 0.8 : 0.59});
      row.metrics.max_abs = row.metrics.max_diff =
          one_of({0.0, 1.0, 1.5, 2.0, 15.0, 20.0, kInf, calm ? 3.0 : 2e10});
      row.metrics.max_pct = one_of({0.0, 0.5, 1.0, 10.0, 11.0, calm ? 12.0 : 51.0});
    }
    const auto verdicts = painted(content, rows), expected = paint_every_pair(content, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(verdicts[i].paint, expected[i].paint) << round << ' ' << i;
      EXPECT_EQ(verdicts[i].reason, expected[i].reason) << round << ' ' << i;
    }
  }
}

TEST(MsprobeHighlight, HasNoMoreTextThanACellHolds) {
  std::vector<TestRow> rows(1000, in());
  rows.push_back(out({.cosine = 0.5, .ratio_1e3 = 0.7}));
  rows.push_back(out({.ratio_1e3 = 0.5}));
  const auto verdicts = painted(Content::data, rows), whole = paint_every_pair(Content::data, rows);
  for (const size_t i : {1000, 1001}) {
    ASSERT_GT(whole[i].reason.size(), 40'000u);
    EXPECT_EQ(verdicts[i].paint, whole[i].paint);
    EXPECT_EQ(verdicts[i].reason.substr(0, 32'767), whole[i].reason.substr(0, 32'767));
    EXPECT_LT(verdicts[i].reason.size(), 33'000u);
  }
}

// A hundred million pairs; the file of such an operator has a few megabytes.
TEST(MsprobeHighlight, DoesNotLookAtEveryPair) {
  std::vector<TestRow> rows(10'000, in({.cosine = 0.85}));
  rows[7'000].metrics.cosine = 0.95;
  rows.resize(20'000, out({.cosine = 0.8}));
  const auto verdicts = painted(Content::data, std::move(rows));
  for (const size_t i : {10'000, 19'999}) expect(verdicts[i], Paint::yellow, kCosine);
}

// ----- through the rule sets

MsprobeRuleStyle highlighted() { return {.highlight = true}; }

TEST(MsprobeHighlight, TextsFollowThoseOfTheRules) {
  TestRow output = out({.max_diff = 9.0, .max_pct = 90.0});
  output.golden.stated.max = 10.0;
  const auto verdicts = judge_rows(g2, Content::statistics, {in({.max_pct = 5.0}), output}, highlighted());
  EXPECT_EQ(verdicts[1].word, "Warning");
  expect(verdicts[1], Paint::red, "Need double check api accuracy. \n" + std::string(kRelative));
}

TEST(MsprobeHighlight, IsThereOnlyWhereAskedFor) {
  const std::vector<TestRow> rows = {in(), out({.max_abs = 1e11})};
  EXPECT_EQ(judge_rows(g2, Content::data, rows)[1].paint, Paint::none);
  EXPECT_EQ(judge_rows(g2, Content::data, rows, highlighted())[1].paint, Paint::red);
  EXPECT_EQ(judge_rows(g2, Content::checksums, rows, highlighted())[1].paint, Paint::none);
  Head debug = test_head(Content::data, g2);
  debug.at.part = "debug";
  EXPECT_EQ(judge_rows(g2, Content::data, rows, highlighted(), &debug)[1].paint, Paint::none);
}

}  // namespace
}  // namespace assay
