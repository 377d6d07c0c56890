#include "assay/run/demo/demo.h"

#include "assay/format/format.h"
#include "assay/run/demo/demo_model.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <set>

namespace assay {
namespace {

// rel_l2 and the largest difference in units of the golden root mean square: what the default rules bound.
struct Distance {
  double rel_l2 = 0, max_over_rms = 0;
};

Distance distance(const DemoTensor& mine, const DemoTensor& golden) {
  double squares = 0, difference = 0, largest = 0;
  for (size_t i = 0; i < golden.values.size(); ++i) {
    const double g = double{golden.values[i]}, d = double{mine.values[i]} - g;
    squares += g * g;
    difference += d * d;
    largest = std::max(largest, std::fabs(d));
  }
  return {std::sqrt(difference / squares),
          largest / std::sqrt(squares / static_cast<double>(golden.values.size()))};
}

constexpr double kBf16 = 0.032;  // the bound of the default rule for bf16

TEST(DemoModel, HonestBf16StaysWithinHalfTheDefaultRule) {
  const auto golden = run_demo_model({}), honest = run_demo_model({.bf16 = true});
  ASSERT_EQ(golden.size(), honest.size());
  for (size_t i = 0; i < golden.size(); ++i) {
    const Distance d = distance(honest[i], golden[i]);
    EXPECT_LT(d.rel_l2, kBf16 / 2) << golden[i].name;
    EXPECT_LT(d.max_over_rms, 16 * kBf16 / 2) << golden[i].name;
  }
}

TEST(DemoModel, TheFaultIsTheFirstRowThatBreaksTheDefaultRule) {
  const auto golden = run_demo_model({}), faulty = run_demo_model({.bf16 = true, .faulty = true});
  ASSERT_EQ(golden.size(), faulty.size());
  bool seen = false;
  for (size_t i = 0; i < golden.size(); ++i) {
    seen = seen || golden[i].name == kDemoFault;
    const Distance d = distance(faulty[i], golden[i]);
    if (seen)
      EXPECT_GT(d.rel_l2, 1.5 * kBf16) << golden[i].name;  // and everything behind it is drawn along
    else
      EXPECT_LT(d.rel_l2, kBf16 / 2) << golden[i].name;
  }
  EXPECT_TRUE(seen);
}

TEST(DemoModel, NamesAreUniqueAndShapesFit) {
  std::set<std::string> names;
  for (const DemoTensor& tensor : run_demo_model({})) {
    EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
    EXPECT_EQ(tensor.shape.count(), std::ssize(tensor.values));
    for (const float value : tensor.values) ASSERT_TRUE(std::isfinite(value)) << tensor.name;
  }
}

class DemoFolder : public testing::Test {
 protected:
  DemoFolder() : root_(fs::path(testing::TempDir()) / fmt::format("assay_demo_test_{}", ::getpid())) {
    fs::remove_all(root_);
  }
  ~DemoFolder() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(DemoFolder, IsNumberedWhereOneExists) {
  const auto first = make_demo_folder(root_ / "demo"), second = make_demo_folder(root_ / "demo/");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, root_ / "demo");
  EXPECT_EQ(*second, root_ / "demo_2");
}

TEST_F(DemoFolder, DumpsReadBackInTheirTypes) {
  const auto dumps = write_demo_dumps(root_);
  ASSERT_TRUE(dumps) << dumps.error().message;
  EXPECT_EQ(dumps->tensors, std::ssize(run_demo_model({})));
  const auto golden = open_tensors(dumps->golden / "000_embedding.npy");
  const auto mine = open_tensors(dumps->mine / "000_embedding.pt");
  ASSERT_TRUE(golden) << golden.error().message;
  ASSERT_TRUE(mine) << mine.error().message;
  ASSERT_TRUE(golden->tensors.at(0).data && mine->tensors.at(0).data);
  EXPECT_EQ((*golden->tensors[0].data)->meta, (TensorMeta{DType::f32, {{16, 64}}}));
  EXPECT_EQ((*mine->tensors[0].data)->meta, (TensorMeta{DType::bf16, {{16, 64}}}));
}

TEST_F(DemoFolder, TheComparisonFindsThePlantedFault) {
  const auto dumps = write_demo_dumps(root_);
  ASSERT_TRUE(dumps) << dumps.error().message;
  const auto outcome = compare_demo_dumps({.dumps = *dumps,
                                           .reports = root_ / "report",
                                           .now = {},
                                           .version = "0",
                                           .command_line = "assay demo"});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(found_planted_fault(outcome->summary, *dumps));
  EXPECT_EQ(outcome->summary.passed, 48);  // as many operators run before the fault
}

TEST(FoundPlantedFault, WantsTheFaultFirstAndEverythingCompared) {
  const DemoDumps dumps{"mine", "golden", 10};
  Summary summary;
  summary.rows = summary.compared = 10;
  EXPECT_FALSE(found_planted_fault(summary, dumps));
  summary.first_divergence.emplace().mine = "048_layers.2.mlp.activation.pt";
  EXPECT_TRUE(found_planted_fault(summary, dumps));
  summary.unmatched = 1;
  EXPECT_FALSE(found_planted_fault(summary, dumps));
  summary.unmatched = 0;
  summary.first_divergence->mine = "040_layers.2.mlp.up.pt";
  EXPECT_FALSE(found_planted_fault(summary, dumps));
}

}  // namespace
}  // namespace assay
