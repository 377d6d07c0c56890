#include "assay/format/min_max.h"

#include "assay/format/format_test_tools.h"
#include "assay/format/npy.h"
#include "assay/format/npz.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using testing::open_as;
using testing::values_in;

Extremes extremes(DType dtype, double min, double max) {
  Extremes out;
  out.dtype = dtype;
  out.is_empty = false;
  from_f64(dtype, &min, 1, out.min.data());
  from_f64(dtype, &max, 1, out.max.data());
  return out;
}

// What np.result_type answers (NumPy 1.24).
TEST(MinMax, PromotesAsNumpyDoes) {
  using enum DType;
  struct Case {
    DType left, right, joined;
  };
  for (const Case& c :
       {Case{f16, i64, f64}, {f16, i8, f16},      {f16, i16, f32},   {f16, u16, f32},   {f32, i32, f64},
        {f32, u16, f32},     {boolean, f16, f16}, {u8, boolean, u8}, {u8, i8, i16},     {u32, i8, i64},
        {u64, i64, f64},     {u64, i8, f64},      {u16, i32, i32},   {i8, i32, i32},    {c64, f32, c64},
        {c64, f64, c128},    {c64, i32, c128},    {c64, i16, c64},   {c64, c128, c128}, {u64, f16, f64}}) {
    EXPECT_EQ(name(numpy_promotion(c.left, c.right)), name(c.joined)) << name(c.left) << " " << name(c.right);
    EXPECT_EQ(name(numpy_promotion(c.right, c.left)), name(c.joined)) << name(c.right) << " " << name(c.left);
  }
  EXPECT_EQ(numpy_stand_in(bf16), f32);
  EXPECT_EQ(numpy_stand_in(f8e4m3fn), f64);
  EXPECT_EQ(numpy_stand_in(i4), i8);
  EXPECT_EQ(numpy_stand_in(u1), u8);
  EXPECT_EQ(numpy_stand_in(i64), i64);
}

TEST(MinMax, KnowsNames) {
  EXPECT_EQ(name_before_min_max("fx/relu_min_max.npy"), "fx/relu.npy");
  EXPECT_EQ(name_before_min_max("Add.Add.1.2.3_min_max.npz"), "Add.Add.1.2.3");
  EXPECT_FALSE(name_before_min_max("x.npy"));
  EXPECT_FALSE(name_before_min_max("_min_max.npy"));
}

TEST(MinMax, WritesOneArrayForOneTensor) {
  const testing::TestFolder folder;
  const fs::path path = folder.path() / "x_min_max.npy";
  auto out = FileWriter::create(path, IfExists::refuse);
  ASSERT_TRUE(out);
  const StoredTensor array = min_max_array(extremes(DType::bf16, -2, 3));
  ASSERT_TRUE(npy_format.write(*out, std::span(&array, 1)));
  ASSERT_TRUE(out->publish());
  const auto set = open_as(npy_format, path);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->tensors[0].meta, (TensorMeta{DType::f32, Shape{{2}}}));
  EXPECT_EQ(values_in(set->tensors[0]), (std::vector<double>{-2, 3}));
}

TEST(MinMax, WritesRowsForInputsAndOutputs) {
  const testing::TestFolder folder;
  const fs::path path = folder.path() / "y_min_max.npz";
  auto out = FileWriter::create(path, IfExists::refuse);
  ASSERT_TRUE(out);
  const std::vector<Extremes> inputs = {extremes(DType::f16, 1, 2), extremes(DType::i64, -5, 7), Extremes{}};
  ASSERT_TRUE(npz_format.write(*out, min_max_tables(inputs, {}, {})));
  ASSERT_TRUE(out->publish());
  const auto set = open_as(npz_format, path);
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->tensors.size(), 2u);
  EXPECT_EQ(set->tensors[0].name, "inputs");
  EXPECT_EQ(set->tensors[0].meta, (TensorMeta{DType::f64, Shape{{3, 2}}}));
  const auto values = values_in(set->tensors[0]);
  EXPECT_EQ(std::vector<double>(values.begin(), values.begin() + 4), (std::vector<double>{1, 2, -5, 7}));
  EXPECT_TRUE(std::isnan(values[4]) && std::isnan(values[5]));  // of the empty tensor
  EXPECT_EQ(set->tensors[1].name, "outputs");
  EXPECT_EQ(set->tensors[1].meta, (TensorMeta{DType::f64, Shape{{0}}}));
}

}  // namespace
}  // namespace assay
