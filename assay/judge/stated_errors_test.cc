// Statistics of calls of msprobe, judged in order: what cancels keeps the errors of its terms.
#include "assay/judge/stated_errors.h"

#include <gmock/gmock.h>

#include <deque>
#include <limits>

namespace assay {
namespace {

using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Numbers4 {
  double max, min, mean, norm;
};

class StatedErrorsTest : public ::testing::Test {
 protected:
  StatedErrorsTest() {
    head_.mine_layout = head_.golden_layout = "msprobe";
    judge_ = native_rules.prepare(head_, options_);
  }

  NodeResult& call(std::string_view name) {
    nodes_.push_back({name, std::ssize(nodes_)});
    return nodes_.back();
  }
  Comparison& add(NodeResult& node, Direction direction, DType dtype, std::vector<int64_t> dims,
                  Numbers4 mine, Numbers4 golden) {
    Comparison row;
    row.basis = Basis::stated;
    row.mine = side(direction, dtype, dims, mine);
    row.golden = side(direction, dtype, dims, golden);
    note_stated_evidence(false, row);
    node.rows.push_back(std::move(row));
    return node.rows.back();
  }
  Verdict judged(NodeResult& node) {
    judge_(node);
    return node.rows.back().verdict;
  }

 private:
  SideFacts side(Direction direction, DType dtype, const std::vector<int64_t>& dims,
                 const Numbers4& numbers) {
    Stated& stated = stated_.emplace_back();
    stated.max = numbers.max;
    stated.min = numbers.min;
    stated.mean = numbers.mean;
    stated.norm = numbers.norm;
    Item& item = items_.emplace_back();
    item.port = {direction, 0};
    item.stated = &stated;
    return {"x", TensorMeta{dtype, Shape{dims}}, {}, &item};
  }

  Head head_;
  RuleOptions options_;
  Judge judge_;
  std::deque<Stated> stated_;
  std::deque<Item> items_;
  std::deque<NodeResult> nodes_;
};

constexpr Direction kIn = Direction::input, kOut = Direction::output;
constexpr DType kF16 = DType::f16;  // T is 0.004
const Numbers4 kTerms{3.5, -3.25, 0.125, 100};

// The mean of 10,000 numbers of typical size 1: 0.004 * 100 / 10,000 apart is allowed.
TEST_F(StatedErrorsTest, AMeanThatCancels) {
  NodeResult& good = call("Tensor.mean.0.forward");
  add(good, kIn, kF16, {10000}, kTerms, kTerms);
  add(good, kOut, kF16, {}, {.00103, .00103, .00103, .00103}, {.001, .001, .001, .001});
  EXPECT_EQ(judged(good).level, Level::pass);
  EXPECT_THAT(good.rows.back().note, HasSubstr("by the sizes of what it was computed from, 10 times"));
  NodeResult& bad = call("Tensor.mean.1.forward");
  add(bad, kIn, kF16, {10000}, kTerms, kTerms);
  add(bad, kOut, kF16, {}, {.00105, .00105, .00105, .00105}, {.001, .001, .001, .001});
  EXPECT_EQ(judged(bad).level, Level::fail);
  // Nothing says what another function makes of it.
  NodeResult& other = call("Tensor.cos.0.forward");
  add(other, kIn, kF16, {10000}, kTerms, kTerms);
  add(other, kOut, kF16, {}, {.0010297, .0010297, .0010297, .0010297}, {.001, .001, .001, .001});
  EXPECT_EQ(judged(other).level, Level::fail);
}

// What is computed from it has as much, and so has the same tensor where it is an input.
TEST_F(StatedErrorsTest, WhatIsComputedFromItInheritsThat) {
  const Numbers4 mine{.0010312, .0010312, .0010312, .0010312}, golden{.001, .001, .001, .001};
  NodeResult& mean = call("Tensor.mean.0.forward");
  add(mean, kIn, kF16, {10000}, kTerms, kTerms);
  add(mean, kOut, kF16, {}, mine, golden);
  EXPECT_EQ(judged(mean).level, Level::pass);
  NodeResult& next = call("Tensor.mul.0.forward");
  add(next, kIn, kF16, {}, mine, golden);
  add(next, kOut, kF16, {}, {1.0559, 1.0559, 1.0559, 1.0559}, {1.024, 1.024, 1.024, 1.024});
  EXPECT_EQ(judged(next).level, Level::pass);
  EXPECT_EQ(next.rows.front().verdict.level, Level::pass);
  NodeResult& twice = call("Tensor.mul.1.forward");
  add(twice, kIn, kF16, {}, mine, golden);
  add(twice, kOut, kF16, {}, {2.1, 2.1, 2.1, 2.1}, {1.024, 1.024, 1.024, 1.024});
  EXPECT_EQ(judged(twice).level, Level::fail);
}

// Where nothing but the layer has that gradient, the weight's tells what is added up: terms of size 1, a
// thousandth of which is left.
TEST_F(StatedErrorsTest, TheGradientOfABiasBesideThatOfTheWeight) {
  const Numbers4 rows{3.5, -3.25, 0.125, 25.3}, sums{3.25, -3.5, 0.125, 64}, left{.003, -.002, 1e-5, .008};
  NodeResult& forward = call("Module.k.Linear.forward.0");
  add(forward, kIn, kF16, {10, 64}, rows, rows);
  EXPECT_EQ(judged(forward).level, Level::pass);
  const auto judged_bias = [&](std::string_view name, const Numbers4& mine) {
    NodeResult& node = call(name);
    add(node, Direction::parameter_gradient, kF16, {64, 64}, sums, sums);
    add(node, Direction::parameter_gradient, kF16, {64}, mine, left);
    return judged(node).level;
  };
  EXPECT_EQ(judged_bias("Module.k.Linear.parameters_grad.0", {.007, -.006, -2e-5, .016}), Level::pass);
  EXPECT_EQ(judged_bias("Module.k.Linear.parameters_grad", {.007, -.006, -2e-5, .016}), Level::pass);
  EXPECT_EQ(judged_bias("Module.k.Linear.parameters_grad.0", {.02, -.006, -2e-5, .08}), Level::fail);
  EXPECT_EQ(judged_bias("Module.q.Linear.parameters_grad.0", {.0071, -.006, -2e-5, .016}), Level::fail);
}

// The gradient of a bias is the sum of what came from above, which a norm behind it makes nothing.
TEST_F(StatedErrorsTest, TheGradientOfABias) {
  NodeResult& node = call("Functional.conv2d.0.backward");
  add(node, kIn, kF16, {4, 8, 10, 10}, kTerms, kTerms);
  add(node, kOut, kF16, {8}, {.1, -.1, .01, .28}, {.0001, -.0001, .00001, .00028});
  EXPECT_EQ(judged(node).level, Level::pass);
  NodeResult& spoilt = call("Functional.conv2d.1.backward");
  add(spoilt, kIn, kF16, {4, 8, 10, 10}, kTerms, kTerms);
  add(spoilt, kOut, kF16, {8}, {.1, -.1, .01, .5}, {.0001, -.0001, .00001, .0003});
  EXPECT_EQ(judged(spoilt).level, Level::fail);
}

// Of gradients behind a function with a bend the root of the tolerance, 0.063.
TEST_F(StatedErrorsTest, GradientsBehindABend) {
  const auto gradient = [&](std::string_view name, double norm) {
    NodeResult& node = call(name);
    add(node, kOut, kF16, {100}, {2, -2, .01, norm}, {2, -2, .01, 10});
    return judged(node).level;
  };
  EXPECT_EQ(gradient("Functional.linear.0.backward", 10.5), Level::fail);
  EXPECT_EQ(gradient("Functional.relu.0.backward", 10.5), Level::pass);
  EXPECT_EQ(gradient("Functional.linear.1.backward", 10.6), Level::pass);
  EXPECT_EQ(gradient("Functional.linear.2.backward", 10.7), Level::fail);
  EXPECT_EQ(gradient("Functional.linear.1.forward", 10.55), Level::fail);
}

// Errors of T move no mean by more than T of a typical element.
TEST_F(StatedErrorsTest, AMeanThatIsMoved) {
  NodeResult& node = call("Functional.linear.0.forward");
  add(node, kOut, kF16, {10000}, {3.5, -3.25, 0.1289, 100}, {3.5, -3.25, 0.125, 100});
  EXPECT_EQ(judged(node).level, Level::pass);
  NodeResult& moved = call("Functional.linear.1.forward");
  add(moved, kOut, kF16, {10000}, {3.5, -3.25, 0.1295, 100}, {3.5, -3.25, 0.125, 100});
  EXPECT_THAT(judged(moved).reason, HasSubstr("mean 0.1295 of mine, 0.125 of golden; 0.004 apart"));
}

// Scores with a mask are known again by their largest, single numbers by their bits; masks and constants are
// many.
TEST_F(StatedErrorsTest, WhatIsKnownAgain) {
  const auto key = [&](std::vector<int64_t> dims, Numbers4 numbers) {
    NodeResult& node = call("Tensor.add.0.forward");
    return key_of_statistics(add(node, kOut, kF16, std::move(dims), numbers, numbers)).has_value();
  };
  EXPECT_TRUE(key({4, 4}, {4.125, -kInf, -kInf, kInf}));
  EXPECT_FALSE(key({4, 4}, {0, -kInf, -kInf, kInf}));
  EXPECT_FALSE(key({4, 4}, {1, 1, 1, 4}));
  EXPECT_TRUE(key({}, {.0034567891, .0034567891, .0034567891, .0034567891}));
  EXPECT_FALSE(key({}, {.5, .5, .5, .5}));
  EXPECT_FALSE(key({4}, {std::nan(""), 1, 1, 1}));
}

// A choice whose candidates agree is a flip, as the values chosen tell.
TEST_F(StatedErrorsTest, Flips) {
  const auto choose = [&](std::string_view name, Numbers4 values) {
    NodeResult& node = call(name);
    add(node, kIn, kF16, {8, 4}, {.75, .001, .25, 1.5}, {.7502, .001, .25, 1.5});
    add(node, kOut, kF16, {8, 2}, values, {.7502, .2, .3, 1.4});
    add(node, kOut, DType::i64, {8, 2}, {3, 0, 1.5, 7.25}, {3, 0, 1.25, 7});
    return judged(node);
  };
  const Verdict flip = choose("Torch.topk.0.forward", {.75, .2, .3, 1.4});
  EXPECT_TRUE(flip.is_flip);
  EXPECT_THAT(flip.reason, HasSubstr("a flip: inputs agree, and so do the values at the places chosen"));
  EXPECT_FALSE(choose("Torch.topk.1.forward", {.5, .2, .3, 1.2}).is_flip);
}

}  // namespace
}  // namespace assay
