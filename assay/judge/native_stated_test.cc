// Rows that are judged by what the dumps say of their tensors, where they do not say everything.
#include "assay/judge/judge.h"

#include <gmock/gmock.h>

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
    NodeResult node{"op", 0, {}, {row_}, place};
    native_rules.prepare(head, {})(node);
    return node.rows[0].verdict;
  }
  Level level(const ModelPlace& place = {}) { return judged(place).level; }

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
