#include "assay/format/min_max.h"

#include "assay/format/format_test_tools.h"
#include "assay/format/npz.h"
#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using ::testing::ElementsAre;
using testing::values_in;

StoredTensor table(std::string name, DType dtype, std::vector<int64_t> dims,
                   const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(component(dtype))));
  from_f64(dtype, values.data(), std::ssize(values), bytes.data());
  StoredTensor tensor{.name = std::move(name), .data = {}, .meta = {}, .stats = {}, .facts = {}};
  tensor.meta = TensorMeta{dtype, Shape{std::move(dims)}};
  tensor.data = dense_in_memory(std::move(bytes), *tensor.meta);
  return tensor;
}

std::vector<std::string> names_after(std::vector<StoredTensor> tensors) {
  TensorSet set;
  set.tensors = std::move(tensors);
  const auto split = split_min_max(std::move(set));
  EXPECT_TRUE(split) << split.error().message;
  std::vector<std::string> names;
  if (split)
    for (const StoredTensor& tensor : split->tensors) names.push_back(tensor.name);
  return names;
}

TEST(MinMaxRows, ATensorForEveryRow) {
  TensorSet set;
  set.warnings = {std::string("kept")};
  set.tensors = {table("outputs", DType::f64, {1, 2}, {NAN, NAN}),
                 table("inputs", DType::f16, {2, 2}, {-1, 2, 3, 4})};
  const auto split = split_min_max(std::move(set));
  ASSERT_TRUE(split) << split.error().message;
  ASSERT_EQ(split->tensors.size(), 3U);
  EXPECT_EQ(split->tensors[0].name, "input.0");
  EXPECT_EQ(values_in(split->tensors[0]), (std::vector<double>{-1, 2}));
  EXPECT_EQ(split->tensors[1].name, "input.1");
  EXPECT_EQ(values_in(split->tensors[1]), (std::vector<double>{3, 4}));
  EXPECT_EQ(split->tensors[1].meta, (TensorMeta{DType::f16, Shape{{2}}}));
  EXPECT_EQ(split->tensors[2].name, "output.0");
  EXPECT_TRUE(std::isnan(values_in(split->tensors[2])[0]));
  EXPECT_THAT(split->warnings, ElementsAre(::testing::HasSubstr("kept")));
}

TEST(MinMaxRows, OperatorsWithoutTensors) {
  EXPECT_THAT(names_after({table("inputs", DType::f64, {0}, {}), table("outputs", DType::f64, {0}, {})}),
              ElementsAre());
  EXPECT_THAT(
      names_after({table("inputs", DType::f64, {0, 2}, {}), table("outputs", DType::i8, {1, 2}, {1, 2})}),
      ElementsAre("output.0"));
}

TEST(MinMaxRows, BytesOfBuffersAreNoTensors) {
  const auto of = [](std::string name, DType dtype = DType::f32) {
    return table(std::move(name), dtype, {1, 2}, {1, 2});
  };
  EXPECT_THAT(names_after({of("inputs"), of("outputs"), of("others", DType::u8)}),
              ElementsAre("input.0", "output.0"));
  // Not what compaction writes: somebody else's arrays, which stay as they are.
  EXPECT_THAT(names_after({of("others", DType::u8)}), ElementsAre("others"));
  EXPECT_THAT(names_after({of("inputs"), of("outputs"), of("others")}),
              ElementsAre("inputs", "outputs", "others"));
}

TEST(MinMaxRows, ComplexNumbers) {
  TensorSet set;
  set.tensors = {table("outputs", DType::c64, {1, 2}, {1, 2, 3, 4})};
  const auto split = split_min_max(std::move(set));
  ASSERT_TRUE(split);
  EXPECT_EQ(values_in(split->tensors.at(0)), (std::vector<double>{1, 2, 3, 4}));
}

// Other archives of that name stay as they are.
TEST(MinMaxRows, WhatLooksOtherwise) {
  EXPECT_THAT(names_after({table("inputs", DType::f32, {1, 3}, {1, 2, 3})}), ElementsAre("inputs"));
  EXPECT_THAT(names_after({table("inputs", DType::f32, {1, 1, 2}, {1, 2})}), ElementsAre("inputs"));
  EXPECT_THAT(names_after({table("inputs", DType::f32, {2}, {1, 2})}), ElementsAre("inputs"));
  EXPECT_THAT(
      names_after({table("inputs", DType::f32, {1, 2}, {1, 2}), table("w", DType::f32, {1, 2}, {1, 2})}),
      ElementsAre("inputs", "w"));
  StoredTensor broken{.name = "inputs", .data = {}, .meta = {}, .stats = {}, .facts = {}};
  broken.data = tl::unexpected(Error{ErrorKind::bad_format, "it is cut short"});
  EXPECT_THAT(names_after({broken}), ElementsAre("inputs"));
}

// A small archive that inflates to very many rows: each would cost hundreds of bytes.
TEST(MinMaxRows, MoreRowsThanAnOperatorHasTensors) {
  constexpr int64_t kRows = 1'000'000;
  EXPECT_THAT(names_after({table("inputs", DType::i8, {kRows, 2}, std::vector<double>(2 * kRows))}),
              ElementsAre("inputs"));
}

TEST(MinMaxRows, BrokenArchivesAreErrors) {
  const testing::TestFolder folder;
  for (const std::string_view content : {std::string_view(), std::string_view("PK\x03\x04"),
                                         std::string_view("PK\x05\x06\0\0\0\0\xff\xff\xff\xff", 12)}) {
    const auto set = open_tensors(folder.put("a_min_max.npz", content), {});
    ASSERT_FALSE(set);
    EXPECT_THAT(set.error().message, ::testing::HasSubstr("a_min_max.npz"));
  }
}

}  // namespace
}  // namespace assay
