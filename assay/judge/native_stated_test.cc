// Rows that are judged by what the dumps say of their tensors, where they do not say everything.
#include "assay/judge/judge.h"

#include <gmock/gmock.h>

#include <limits>

namespace assay {
namespace {

using testing::HasSubstr;

class NativeStated : public ::testing::Test {
 protected:
  NativeStated() { set(DType::f32, DType::f32); }

  void set(DType mine, DType golden) {
    row_ = {};
    row_.basis = Basis::stated;
    row_.mine = {"a", TensorMeta{mine, Shape{{4}}}, {}, &mine_item_};
    row_.golden = {"b", TensorMeta{golden, Shape{{4}}}, {}, &golden_item_};
    mine_item_.stated = &mine_;
    golden_item_.stated = &golden_;
  }
  Verdict judged(const ModelPlace& place = {}) {
    Head head;
    head.mine_layout = layout_;
    head.golden_layout = golden_layout_;
    NodeResult node{"op", 0, {}, {row_}, place};
    note_stated_evidence(false, node.rows[0]);
    native_rules.prepare(head, {})(node);
    return node.rows[0].verdict;
  }
  Level level(const ModelPlace& place = {}) { return judged(place).level; }

  std::string_view layout_, golden_layout_;
  Stated mine_, golden_;
  Item mine_item_, golden_item_;
  Comparison row_;
};

// One dump writes the extremes of a mask as True and False, the other as numbers.
TEST_F(NativeStated, ExtremesOfAMask) {
  set(DType::boolean, DType::boolean);
  mine_.max = true;
  mine_.min = false;
  golden_.max = 1.0;
  golden_.min = int64_t{0};
  EXPECT_EQ(level(), Level::pass);
  golden_.min = 1.0;
  EXPECT_EQ(level(), Level::fail);
  EXPECT_THAT(judged().reason, HasSubstr("min false of mine, 1 of golden"));
}

// What a picture of norms draws as the bound is what decides.
TEST_F(NativeStated, SaysWhatNormsMayBeApart) {
  set(DType::bf16, DType::bf16);
  golden_.norm = 8.0;
  mine_.norm = 8.0;
  const double allowed = judged().allowed.relative;
  ASSERT_GT(allowed, 0);
  mine_.norm = 8.0 * (1 + 0.99 * allowed);
  EXPECT_EQ(level(), Level::pass);
  mine_.norm = 8.0 * (1 + 1.01 * allowed);
  EXPECT_EQ(level(), Level::fail);
  EXPECT_EQ(judged().allowed.relative, static_cast<float>(allowed));
  golden_.norm = 0.0;
  EXPECT_LT(judged().allowed.relative, 0);
}

// What was computed from data says everything; the dump need not.
TEST_F(NativeStated, ADumpNeedNotStateWhatTheOtherSideComputes) {
  mine_.max = 2.0;
  mine_.min = 1.0;
  golden_ = mine_;
  golden_.norm = 3.0;
  golden_.mean = 1.5;
  EXPECT_EQ(level(), Level::fail);  // both only say: then they have to say the same
  row_.golden.computed = std::make_shared<Stated>(golden_);
  EXPECT_EQ(level(), Level::pass);
  mine_.max = 9.0;
  EXPECT_EQ(level(), Level::fail);
}

// msprobe 26 states no mean and norm of whole numbers and f64, and their extremes as they are; msprobe 8
// takes all four of them as f32.
TEST_F(NativeStated, VersionsOfMsprobeStateOtherStatistics) {
  layout_ = golden_layout_ = "msprobe";
  for (const DType dtype : {DType::i64, DType::f64, DType::f32}) {
    set(dtype, dtype);
    mine_ = golden_ = {};
    mine_.given = golden_.given = Given::tensor;
    mine_.max = golden_.max = 3.0;
    mine_.min = golden_.min = 1.0;
    golden_.mean = 2.0;
    golden_.norm = 4.0;
    EXPECT_EQ(level(), Level::pass);
    std::swap(mine_, golden_);
    EXPECT_EQ(level(), Level::pass);
    golden_layout_ = "torch_hook";
    EXPECT_EQ(level(), Level::fail);
    golden_layout_ = "msprobe";
    golden_.min = 1.01;
    EXPECT_EQ(level(), Level::fail);
    golden_.min = 1.0;
    mine_.max = 16777216.0;
    golden_.max = dtype == DType::i64 ? Scalar(int64_t{16777217}) : Scalar(16777216.5);
    (golden_.norm.is_absent() ? mine_ : golden_).norm = 16777217.0;
    EXPECT_EQ(level(), Level::pass) << info(dtype).name;
    mine_.min = Scalar();
    EXPECT_EQ(level(), Level::fail);
  }
  // Both of one version: every number counts.
  set(DType::i64, DType::i64);
  mine_ = golden_ = {};
  mine_.given = golden_.given = Given::tensor;
  mine_.max = int64_t{16777216};
  golden_.max = int64_t{16777217};
  mine_.min = golden_.min = int64_t{0};
  EXPECT_EQ(level(), Level::fail);
}

// … but what is silent where it has data to compute from is not excused.
TEST_F(NativeStated, TheComputedSideIsNotSilent) {
  golden_.max = 2.0;
  mine_.max = 2.0;
  mine_.norm = 3.0;
  row_.golden.computed = std::make_shared<Stated>(golden_);
  EXPECT_EQ(level(), Level::fail);
  EXPECT_THAT(judged().reason, HasSubstr("norm 3 of mine, nothing of golden"));
}

// Of blocks that are filled up with zeros no mean can be told.
TEST_F(NativeStated, BlocksNeedNotStateTheirMean) {
  const std::vector<Fact> blocked = {Fact{"storage_format", std::string("FRACTAL_NZ")}};
  mine_.max = golden_.max = 2.0;
  golden_.mean = 0.5;
  EXPECT_EQ(level(), Level::fail);
  mine_item_.facts = &blocked;
  EXPECT_EQ(level(), Level::pass);
  mine_item_.data = TensorRef{};  // its data is put into the tensor's own shape
  EXPECT_EQ(level(), Level::fail);
}

// Tables of the graph engine leave NaN out of the maximum, and count them.
TEST_F(NativeStated, CountsOfWhatIsNotFiniteMustAgree) {
  mine_.max = golden_.max = 2.0;
  Nonfinite of_mine{.nans = 3, .infs = 0, .minus_infs = 0}, of_golden{.nans = 0, .infs = 0, .minus_infs = 0};
  mine_.nonfinite = &of_mine;
  EXPECT_EQ(level(), Level::pass);  // golden does not say
  golden_.nonfinite = &of_golden;
  EXPECT_EQ(judged().reason, "3 elements of mine are NaN, 0 of golden");
  of_mine = {.nans = 0, .infs = 0};
  of_golden = {.nans = 0, .infs = 2};
  EXPECT_EQ(judged().reason, "0 elements of mine are infinite, 2 of golden");
  of_mine = {.nans = 0, .infs = 2, .minus_infs = 1};
  EXPECT_EQ(level(), Level::pass);  // golden does not say of which sign
  of_golden.minus_infs = 2;
  EXPECT_EQ(judged().reason, "1 elements of mine are -inf, 2 of golden");
  of_golden = {};
  EXPECT_EQ(level(), Level::pass);
}

// What NumPy makes of a tensor with a NaN is NaN; an engine may give the largest of the others.
TEST_F(NativeStated, AnEngineMayLeaveNanOutOfItsStatistics) {
  Nonfinite counts{.nans = 1, .infs = 0, .minus_infs = 0};
  mine_.max = 2.0;
  golden_.max = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(level(), Level::fail);
  mine_.nonfinite = &counts;
  EXPECT_EQ(level(), Level::ignored);  // and nothing else is there to compare
  golden_.nonfinite = &counts;
  EXPECT_EQ(level(), Level::ignored);
  counts.max = 2.0;  // of the finite elements of golden
  EXPECT_EQ(level(), Level::pass);
  counts.max = 3.0;
  EXPECT_EQ(judged().reason, "max of the finite elements 2 of mine, 3 of golden; 0.00072 apart is allowed");
  golden_.max = 3.0;  // two numbers are compared still
  EXPECT_EQ(level(), Level::fail);
}

// In a compiled graph the depth is known: extremes are single elements, and no further off than the whole.
TEST_F(NativeStated, ExtremesInACompiledGraph) {
  const ModelPlace first{.is_compiled = true}, fourth{.layers_before = 3, .is_compiled = true};
  set(DType::f16, DType::f16);
  golden_.max = 2.0;
  golden_.min = mine_.min = -4.0;
  mine_.max = 2.03;  // 2 * 0.004 of the larger extreme is 0.032
  EXPECT_EQ(level(first), Level::pass);
  mine_.max = 2.04;
  EXPECT_EQ(judged(first).reason, "max 2.04 of mine, 2 of golden; 0.032 apart is allowed");
  EXPECT_EQ(level(fourth), Level::pass);
  EXPECT_EQ(level(), Level::pass);  // 16 T where nobody knows how deep it lies
  mine_.max = 2.07;
  EXPECT_EQ(level(fourth), Level::fail);
  set(DType::bf16, DType::bf16);
  mine_.max = 2.25;
  EXPECT_EQ(level(first), Level::pass);  // 0.256
  mine_.max = 2.26;
  EXPECT_EQ(level(first), Level::fail);
}

// Without a norm nothing says what a mean that cancels to almost nothing is the mean of, but the extremes.
// Forms of statistics say different things of a tensor.
TEST_F(NativeStated, WhatOneSideOfACompiledGraphDoesNotSay) {
  const ModelPlace place{.is_compiled = true};
  mine_.max = 2.0;
  mine_.min = 1.0;
  golden_ = mine_;
  golden_.norm = 3.0;
  EXPECT_EQ(level(place), Level::pass);
  golden_.min = -1.0;
  EXPECT_EQ(level(place), Level::fail);
}

// The engine prints six digits of any number that is no short integer.
TEST_F(NativeStated, DigitsOfTheEngine) {
  const ModelPlace place{.is_compiled = true};
  set(DType::i64, DType::i64);
  mine_.max = mine_.min = 1.23457e6;
  golden_.max = golden_.min = int64_t{1234567};
  layout_ = "torchair_ge";
  EXPECT_EQ(level(place), Level::pass);
  mine_.max = mine_.min = int64_t{1234570};
  EXPECT_EQ(level(place), Level::fail);
}

TEST_F(NativeStated, MeansInACompiledGraph) {
  const ModelPlace place{.is_compiled = true};
  set(DType::f16, DType::f16);
  mine_.max = golden_.max = 2.0;
  mine_.mean = -0.00004;
  golden_.mean = -0.00016;
  EXPECT_EQ(level(place), Level::pass);
  mine_.mean = 0.017;  // 0.016 is allowed
  EXPECT_EQ(level(place), Level::fail);
}

TEST_F(NativeStated, TheSmallestStepsOfF16) {
  const ModelPlace place{.is_compiled = true};
  set(DType::f16, DType::f16);
  golden_.max = 0x1p-20;  // 16 of its steps
  mine_.max = 0x1p-20 + 4 * 0x1p-24;
  EXPECT_EQ(level(place), Level::pass);
  mine_.max = 0x1p-20 + 5 * 0x1p-24;
  EXPECT_EQ(level(place), Level::fail);
}

// One extreme that is infinite does not make room for the other.
TEST_F(NativeStated, AnInfinityBoundsNothing) {
  mine_.max = golden_.max = std::numeric_limits<double>::infinity();
  golden_.min = -1.0;
  mine_.min = -1.0001;
  EXPECT_EQ(level(), Level::pass);
  mine_.min = -2.0;
  EXPECT_EQ(level(), Level::fail);
}

// f32 whose numbers were rounded to f16 before: as exact as f16, 0.004.
TEST_F(NativeStated, WhatWasRoundedBeforeStaysCoarse) {
  mine_.norm = 1.003;
  golden_.norm = 1.0;
  EXPECT_EQ(level(), Level::fail);
  EXPECT_EQ(level({.coarsest = DType::f16}), Level::pass);
  mine_.norm = 1.005;
  EXPECT_EQ(level({.coarsest = DType::f16}), Level::fail);
  EXPECT_EQ(level({.coarsest = DType::bf16}), Level::pass);
  // Whole numbers are not rounded.
  set(DType::i32, DType::i32);
  mine_ = golden_ = {};
  mine_.max = int64_t{1001};
  golden_.max = int64_t{1000};
  EXPECT_EQ(level({.coarsest = DType::bf16}), Level::fail);
}

}  // namespace
}  // namespace assay
