#include "assay/run/compare/rope.h"

#include "assay/tensor/dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

namespace assay {
namespace {

// 0, 1, 2, …
OperandPtr counting(std::vector<int64_t> dims);
OperandPtr holding(std::vector<int64_t> dims, const std::vector<float>& values);
std::vector<float> values_of(const Operand& operand);

TEST(Rope, TakesTheRowOfTheLastPosition) {
  const auto row = row_of_angles(counting({1, 1, 4, 3}), 3, Angles::cosines);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->rows->meta.shape.text(), "[1, 3]");
  EXPECT_EQ(values_of(*row->rows), (std::vector<float>{6, 7, 8}));
}

TEST(Rope, FindsPositionsInTheSecondDimensionWhereTheThirdIsTooShort) {
  const auto row = row_of_angles(counting({2, 4, 1, 2}), 2, Angles::sines);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->rows->meta.shape.text(), "[2, 1, 2]");
  EXPECT_EQ(values_of(*row->rows), (std::vector<float>{2, 3, 10, 11}));
}

TEST(Rope, TakesOneKindOfAnglesFromATableOfBoth) {
  const auto row = row_of_angles(counting({3, 2, 2}), 2, Angles::sines);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->rows->meta.shape.text(), "[1, 2]");
  EXPECT_EQ(values_of(*row->rows), (std::vector<float>{5, 7}));
}

// The whole length is not below the number of positions: the original takes no row then.
TEST(Rope, LeavesTablesThatAreTooShortAlone) {
  for (const int64_t length : {int64_t{0}, int64_t{-1}, int64_t{4}, INT64_MAX}) {
    const OperandPtr table = counting({1, 1, 4, 3});
    EXPECT_EQ(row_of_angles(table, length, Angles::cosines).value().rows, table) << length;
  }
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{}, {4}, {4, 3}, {4, 3, 1}, {1, 0, 4, 3}, {1, 1, 1, 4, 3}}) {
    const OperandPtr table = counting(dims);
    EXPECT_EQ(row_of_angles(table, 2, Angles::sines).value().rows, table) << table->meta.shape.text();
  }
}

TEST(Rope, TakesTheRowsAtHand) {
  const auto values = [](std::vector<int64_t> dims, std::vector<int64_t> lengths, int64_t rows) {
    const auto made = rows_of_angles(counting(std::move(dims)), lengths, rows, Angles::sines);
    EXPECT_TRUE(made);
    return values_of(*made->rows);
  };
  using Values = std::vector<float>;
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{4, 3}, {1, 4, 3}, {1, 1, 4, 3}, {1, 4, 1, 3}})
    EXPECT_EQ(values(dims, {3}, 2), (Values{3, 4, 5, 6, 7, 8}));     // the last two of three
  EXPECT_EQ(values({4, 2}, {4}, 1), (Values{6, 7}));                 // the last there is
  EXPECT_EQ(values({4, 2}, {2, 1}, 3), (Values{0, 1, 2, 3, 0, 1}));  // two prompts
  EXPECT_EQ(values({4, 2}, {2, 4}, 2), (Values{2, 3, 6, 7}));        // one position each
  EXPECT_EQ(values({4, 3, 2}, {2}, 1), (Values{7, 9, 11}));          // sines and cosines in one table
  EXPECT_EQ(values({2, 3}, {9}, 2), (Values{0, 1, 2, 3, 4, 5}));     // torch gives those at hand
}

// A pass does not speak of the positions that nothing was compared with.
TEST(Rope, SaysHowManyPositionsItTakes) {
  const auto taken = [](std::vector<int64_t> dims, std::vector<int64_t> lengths, int64_t rows) {
    const auto made = rows_of_angles(counting(std::move(dims)), lengths, rows, Angles::cosines);
    EXPECT_TRUE(made);
    return std::pair(made->positions.taken, made->positions.of);
  };
  EXPECT_EQ(taken({9, 2}, {3}, 3), std::pair(int64_t{3}, int64_t{9}));
  EXPECT_EQ(taken({1, 9, 1, 2}, {5}, 1), std::pair(int64_t{1}, int64_t{9}));
  EXPECT_EQ(taken({9, 2}, {4, 2, 3}, 9), std::pair(int64_t{4}, int64_t{9}));  // the others repeat the first
  EXPECT_EQ(taken({9, 2}, {7, 3}, 4), std::pair(int64_t{4}, int64_t{9}));
  EXPECT_EQ(taken({3, 2}, {3}, 3), std::pair(int64_t{3}, int64_t{3}));
  EXPECT_EQ(taken({3, 2}, {9}, 3), std::pair(int64_t{0}, int64_t{0}));  // as it stands
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{1, 1, 4, 3}, {2, 4, 1, 2}, {4, 2, 2}}) {
    const auto row = row_of_angles(counting(dims), 2, Angles::cosines);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->positions.taken, 1);
    EXPECT_EQ(row->positions.of, 4);
  }
}

TEST(Rope, LeavesTablesAloneThatDoNotTellTheRows) {
  const std::vector<int64_t> none, three = {3}, zero = {0}, past = {5}, two = {3, 3}, many(5000, 1),
                                   huge = {INT64_MAX, INT64_MAX};
  for (const auto& lengths : {none, zero, past, two, many, huge}) {
    const OperandPtr table = counting({1, 4, 3});
    EXPECT_EQ(rows_of_angles(table, lengths, 3, Angles::cosines).value().rows, table);
  }
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {4}, {0, 4}, {2, 4, 3}}) {
    const OperandPtr table = counting(dims);
    EXPECT_EQ(rows_of_angles(table, three, 1, Angles::cosines).value().rows, table)
        << table->meta.shape.text();
  }
}

TEST(Rope, DropsRepeatedColumns) {
  const auto row = without_repeated_columns(holding({1, 6}, {1, 1, 2, 2, 0, -0.0F}));
  ASSERT_TRUE(row);
  EXPECT_EQ((*row)->meta.shape.text(), "[1, 3]");
  EXPECT_EQ(values_of(**row), (std::vector<float>{1, 2, 0}));
  EXPECT_EQ(values_of(*without_repeated_columns(holding({2, 2}, {1, 1, 3, 3})).value()),
            (std::vector<float>{1, 3}));
}

TEST(Rope, KeepsColumnsThatDiffer) {
  for (const OperandPtr& row :
       {holding({1, 4}, {1, 1, 2, 3}), holding({1, 3}, {1, 1, 1}), holding({2, 2}, {1, 1, 1, 2}),
        holding({2}, {1, 1}), holding({1, 2}, {std::nanf(""), std::nanf("")}), counting({1, 0})})
    EXPECT_EQ(without_repeated_columns(row).value(), row) << row->meta.shape.text();
}

OperandPtr holding(std::vector<int64_t> dims, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return dense_in_memory(std::move(bytes), {DType::f32, Shape{std::move(dims)}});
}

OperandPtr counting(std::vector<int64_t> dims) {
  std::vector<float> values(static_cast<size_t>(Shape{dims}.count()));
  std::iota(values.begin(), values.end(), 0.0F);
  return holding(std::move(dims), values);
}

std::vector<float> values_of(const Operand& operand) {
  const auto bytes = read_whole(operand, 1 << 20).value();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace
}  // namespace assay
