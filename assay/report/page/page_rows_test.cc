#include "assay/report/page/page_rows.h"

#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {

PageRow row(int64_t number, Level level = Level::pass, size_t size = 10) {
  return {
      .number = number, .order = number, .level = level, .has_both = true, .text = std::string(size, 'x')};
}

std::vector<int64_t> numbers(const PageRows& rows) {
  std::vector<int64_t> all;
  for (const PageRow* each : rows.in_order()) all.push_back(each->number);
  return all;
}

TEST(PageRows, HoldsAllThatFitInOrder) {
  PageRows rows(1000, 1 << 20);
  rows.open_section();
  for (int64_t i = 1; i <= 1000; ++i) rows.add(row(i, i % 100 == 0 ? Level::fail : Level::pass));
  EXPECT_TRUE(rows.holds_all());
  EXPECT_EQ(rows.held_failed(), 10);
  const std::vector<int64_t> all = numbers(rows);
  ASSERT_EQ(all.size(), 1000U);
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i + 1);
}

TEST(PageRows, BeyondThatKeepsWhatFailedAndWhatStandsAroundTheFirst) {
  PageRows rows(1000, 1 << 30);
  rows.open_section();
  for (int64_t i = 1; i <= 100'000; ++i)
    rows.add(row(i, i >= 70'000 && i % 500 == 0 ? Level::fail : Level::pass));
  EXPECT_EQ(rows.offered(), 100'000);
  EXPECT_EQ(rows.held(), 1000);
  EXPECT_EQ(rows.held_failed(), 61);
  EXPECT_EQ(rows.offered_failed(), 61);
  const std::vector<int64_t> all = numbers(rows);
  EXPECT_EQ(all.size(), 1000U);
  const std::set<int64_t> held(all.begin(), all.end());
  for (int64_t i = 70'000 - 60; i <= 70'000 + 60; ++i) EXPECT_TRUE(held.contains(i)) << i;
  // The sample is spread over the whole.
  for (int64_t tenth = 0; tenth < 10; ++tenth)
    EXPECT_GT(std::distance(held.lower_bound(tenth * 10'000), held.lower_bound((tenth + 1) * 10'000)), 40)
        << tenth;
}

TEST(PageRows, AreTheSameEveryTime) {
  const auto choose = [] {
    PageRows rows(100, 1 << 30);
    rows.open_section();
    for (int64_t i = 1; i <= 5000; ++i) rows.add(row(i, i % 7 == 0 ? Level::error : Level::pass));
    return numbers(rows);
  };
  EXPECT_EQ(choose(), choose());
}

TEST(PageRows, WhereMoreFailThanFitTheFirstStay) {
  PageRows rows(30'000, int64_t{1} << 40);
  rows.open_section();
  for (int64_t i = 1; i <= 60'000; ++i) rows.add(row(i, Level::fail));
  EXPECT_EQ(rows.held(), 30'000);
  EXPECT_EQ(rows.held_failed(), 30'000);
  const std::vector<int64_t> all = numbers(rows);
  EXPECT_EQ(all[19'999], 20'000);
}

TEST(PageRows, AreBoundedInBytesToo) {
  PageRows rows(50'000, 1 << 20);
  rows.open_section();
  for (int64_t i = 1; i <= 5000; ++i) rows.add(row(i, i % 2 == 0 ? Level::fail : Level::pass, 20'000));
  int64_t bytes = 0;
  for (const PageRow* each : rows.in_order()) bytes += std::ssize(each->text);
  EXPECT_LE(bytes, (1 << 20) + 60 * 20'000);
  EXPECT_EQ(rows.held(), std::ssize(numbers(rows)));
}

TEST(PageRows, EachSectionHasAFirst) {
  PageRows rows(400, 1 << 30);
  for (int section = 0; section < 2; ++section) {
    rows.open_section();
    for (int64_t i = 1; i <= 10'000; ++i)
      rows.add(row(section * 10'000 + i, i == 5000 ? Level::fail : Level::pass));
  }
  const std::vector<int64_t> all = numbers(rows);
  const std::set<int64_t> held(all.begin(), all.end());
  for (const int64_t first : {5000, 15'000})
    for (int64_t i = first - 60; i <= first + 60; ++i) EXPECT_TRUE(held.contains(i)) << i;
}

}  // namespace
}  // namespace assay
