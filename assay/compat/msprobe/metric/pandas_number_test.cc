#include "assay/compat/msprobe/metric/pandas_number.h"

#include "assay/compat/msprobe/metric/metrics.h"
#include "assay/metric/metric_test_tools.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace assay {
namespace {

// pandas.to_numeric of the text of the first gave the second (pandas 2.0.3).
TEST(PandasNumber, IsWhatPandasMakesOfTheText) {
  const std::pair<double, double> numbers[] = {
      {0.002588749257847667, 0.0025887492578476},
      {-0.002577539703249931, -0.0025775397032499},
      {0.017039645463228226, 0.0170396454632282},
      {-0.00012345678901234567, -0.0001234567890123},
      {0.30000000000000004, 0.3},
      {3.5390942096710205, 3.5390942096710205},
      {2.718281828459045, 2.718281828459045},
      {1e-05, 1e-05},
      {1.1897314453125e-07, 1.1897314453125e-07},
      {123456.789, 123456.789},
      {12345678901234567.0, 12345678901234567.0},
      {1.2345678901234567e+19, 1.2345678901234567e+19},
      {1e22, 1e22},
      {5e-324, 5e-324},
      {-9.87654321e-310, -9.87654321e-310},
      {2.2250738585072014e-308, 2.2250738585072014e-308},
      {1.7976931348623157e+308, 1.7976931348623157e+308},
      {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()},
      {0.0, 0.0},
      {-3.0, -3.0},
  };
  for (const auto& [number, read] : numbers) EXPECT_EQ(read_by_pandas(number), read) << number;
}

TEST(PandasNumber, OfIntegersDropsDigitsBehindThe17th) {
  EXPECT_EQ(pandas_number(Scalar(std::numeric_limits<int64_t>::max())), 9.223372036854778e18);
  EXPECT_EQ(pandas_number(Scalar(int64_t{-12})), -12);
}

// Of msprobe 8.3.3 and 26.2.0: only the latter divides by golden as pandas reads it.
TEST(PandasNumber, GivesTheDifferencesOfMsprobe) {
  Stated mine, golden;
  mine.mean = 0.002588749257847667;
  golden.mean = -0.002577539703249931;
  const std::vector<std::string> names = {"stat_diff_g2", "stat_diff_g3"};
  const auto plan = plan_metrics(names, msprobe_metrics());
  ASSERT_TRUE(plan);
  const std::vector<Value> row = plan->finish_stated(mine, golden);
  const auto number = [&](std::string_view column) {
    const auto at = static_cast<size_t>(std::ranges::find(plan->columns, column) - plan->columns.begin());
    return std::get<double>(row.at(at));
  };
  EXPECT_EQ(number("mean_diff_g2"), 0.0025887492578476 - -0.0025775397032499);
  EXPECT_EQ(number("mean_diff_g3"), 0.0025887492578476 - -0.0025775397032499);
  EXPECT_EQ(number("mean_diff_pct_g2"), std::abs(number("mean_diff_g2") / -0.002577539703249931 * 100));
  EXPECT_EQ(number("mean_diff_pct_g3"), std::abs(number("mean_diff_g3") / -0.0025775397032499 * 100));
}

}  // namespace
}  // namespace assay
