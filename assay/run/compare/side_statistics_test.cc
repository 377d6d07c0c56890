// Statistics of each side by itself, through the whole pipeline.
#include "assay/run/compare/compare.h"

#include <gmock/gmock.h>

#include <map>

namespace assay {
namespace {

// Keeps what it is given; the names in it live as long as the run.
class KeepMaxima : public Sink {
 public:
  using Maxima = std::map<std::string, std::pair<Value, Value>>;
  explicit KeepMaxima(Maxima& into) : into_(into) {}
  Result<void> begin(const Head&) override { return {}; }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) override {
    const auto maximum = [](const SideFacts& side) { return side.measured ? side.measured->max : Value(); };
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows)
        into_[fmt::format("{} {}", section, row.mine.name.empty() ? row.golden.name : row.mine.name)] = {
            maximum(row.mine), maximum(row.golden)};
    return {};
  }
  Result<void> end(const Summary&) override { return {}; }

 private:
  Maxima& into_;
};

KeepMaxima::Maxima maxima_of_kernels(bool side_statistics) {
  CompareRequest request;
  request.mine = fs::path(ASSAY_TEST_DATA) / "msprobe/kernel/npu";
  request.golden = fs::path(ASSAY_TEST_DATA) / "msprobe/kernel/bench";
  request.metrics = plan_metrics(std::vector<std::string>{"max_abs"}).value();
  request.side_statistics = side_statistics ? SideStatistics::own_type : SideStatistics::none;
  KeepMaxima::Maxima maxima;
  ReportSet reports;
  reports.add(std::make_unique<KeepMaxima>(maxima));
  const auto outcome = compare(request, reports);
  EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message);
  return maxima;
}

// The expected numbers are those of NumPy.
TEST(SideStatistics, AreMeasuredOfEverySideWithData) {
  const auto maxima = maxima_of_kernels(true);
  ASSERT_EQ(maxima.size(), 13u);  // nine of rank 0, four of rank 1
  using Pair = std::pair<Value, Value>;
  EXPECT_EQ(maxima.at("rank 0 step 0 Default_net-MatMul-op1.3.output.0#1"),
            Pair(-0.7220417261123657, -0.7224026918411255));
  EXPECT_EQ(maxima.at("rank 0 step 0 Dt.7.output.0"), Pair(2.4551825523376465, 1.130859375));
  EXPECT_EQ(maxima.at("rank 0 step 0 Sh.6.output.0"), Pair(0.3284110724925995, -0.08258774131536484));
  EXPECT_EQ(maxima.at("rank 0 step 0 OnlyNpu.5.output.0"), Pair(0.9181458950042725, Value()));
  EXPECT_EQ(maxima.at("rank 0 step 0 OnlyBench.5.output.0"), Pair(Value(), 0.516367495059967));
}

TEST(SideStatistics, AreNotMeasuredUnlessAskedFor) {
  for (const auto& [name, pair] : maxima_of_kernels(false))
    EXPECT_EQ(pair, std::make_pair(Value(), Value())) << name;
}

}  // namespace
}  // namespace assay
