#include "assay/judge/rounded_types.h"

#include "assay/judge/call_name.h"

#include <gmock/gmock.h>

#include <deque>

namespace assay {
namespace {

using testing::Eq;
using testing::Optional;

class StatedCalls {
 public:
  void begin(std::string_view name) {
    NodeResult node;
    node.name = name;
    types_.begin(node);
  }
  // The types of both sides, and the largest number, which tells tensors from each other.
  std::optional<DType> add(Direction direction, DType mine, double max, DType golden = DType::f32) {
    Stated& stated = stated_.emplace_back();
    stated.max = max;
    stated.min = -1.0;
    stated.mean = 0.25;
    stated.norm = 3.0;
    Item& item = items_.emplace_back();
    item.port = {direction, 0};
    item.stated = &stated;
    Comparison row;
    row.basis = Basis::stated;
    row.evidence = Evidence::statistics;
    row.mine = {"x", TensorMeta{mine, Shape{{4, 4}}}, {}, &item};
    row.golden = {"x", TensorMeta{golden, Shape{{4, 4}}}, {}, &item};
    return types_.of_row(row);
  }
  std::optional<DType> in(DType mine, double max) { return add(Direction::input, mine, max); }
  std::optional<DType> out(DType mine, double max) { return add(Direction::output, mine, max); }

 private:
  RoundedTypes types_;
  std::deque<Stated> stated_;
  std::deque<Item> items_;
};

TEST(RoundedTypes, WhatWasRoundedStaysRounded) {
  StatedCalls run;
  run.begin("Functional.linear.0.forward");
  EXPECT_EQ(run.in(DType::f32, 1), std::nullopt);
  EXPECT_EQ(run.out(DType::bf16, 2), std::nullopt);  // its own type says so
  run.begin("Tensor.float.0.forward");
  EXPECT_EQ(run.in(DType::bf16, 2), std::nullopt);
  EXPECT_THAT(run.out(DType::f32, 2.5), Optional(Eq(DType::bf16)));
  // Known again by its statistics, though its type is f32.
  run.begin("Tensor.pow.0.forward");
  EXPECT_THAT(run.in(DType::f32, 2.5), Optional(Eq(DType::bf16)));
  EXPECT_THAT(run.out(DType::f32, 4), Optional(Eq(DType::bf16)));
}

TEST(RoundedTypes, AnOperatorThatWasGivenNoneOfItIsJudgedByItsOwnType) {
  StatedCalls run;
  run.begin("Functional.linear.0.forward");
  run.in(DType::f32, 1);
  EXPECT_EQ(run.out(DType::f32, 2), std::nullopt);
  run.begin("Functional.linear.1.forward");
  EXPECT_EQ(run.out(DType::bf16, 3), std::nullopt);
  run.begin("Functional.linear.2.forward");
  EXPECT_EQ(run.in(DType::f32, 2), std::nullopt);  // as the first call made it
  EXPECT_EQ(run.out(DType::f32, 5), std::nullopt);
}

TEST(RoundedTypes, BackwardCallsUseWhatTheirForwardCallsHad) {
  StatedCalls run;
  run.begin("Functional.linear.0.forward");
  run.in(DType::bf16, 1);
  run.begin("Functional.linear.0.backward");
  EXPECT_THAT(run.out(DType::f32, 2), Optional(Eq(DType::bf16)));
  run.begin("Functional.linear.1.backward");
  EXPECT_EQ(run.out(DType::f32, 3), std::nullopt);
}

TEST(CallName, KnowsTheForwardCallOfTheGradientsOfWeights) {
  EXPECT_EQ(forward_call_of_gradients("Module.fc.Linear.parameters_grad.0"), "Module.fc.Linear.forward.0");
  EXPECT_EQ(forward_call_of_gradients("Module.fc.Linear.parameters_grad"), "Module.fc.Linear.forward.0");
  EXPECT_EQ(forward_call_of_gradients("Module.fc.Linear.backward.0"), "");
}

TEST(CallName, KnowsTheForwardCallOfABackwardOne) {
  EXPECT_EQ(CallName("Module.layers.0.fc.Linear.backward.1").forward(),
            "Module.layers.0.fc.Linear.forward.1");
  EXPECT_TRUE(CallName("Functional.relu.0.backward").is_backward());
  EXPECT_FALSE(CallName("Functional.relu.0.forward").is_backward());
  EXPECT_EQ(CallName("Functional.relu.0.forward").forward(), "Functional.relu.0.forward");
}

}  // namespace
}  // namespace assay
