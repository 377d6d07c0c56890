#include "assay/match/ops/quantised.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

struct Tensor {
  std::string_view file;
  Port port;
  DType dtype;
  std::vector<int64_t> dims;
};

class QuantGraph : public ::testing::Test {
 protected:
  QuantGraph() {
    frame_.graph = graph_;
    graph_->add({});
  }

  void add(const std::vector<std::string_view>& inputs, const std::vector<std::string_view>& outputs,
           const std::vector<Tensor>& tensors, std::optional<int> elewise_type = {}) {
    GraphOp op;
    op.parent = 0;
    for (const std::string_view name : inputs) op.inputs.push_back({name});
    for (const std::string_view name : outputs) op.outputs.push_back({.name = name});
    op.elewise_type = elewise_type;
    frame_.set_ops(frame_.nodes.size(), {static_cast<int32_t>(graph_->ops.size())});
    Node& node = frame_.nodes.emplace_back();
    for (const Tensor& tensor : tensors) {
      Item& item = node.items.emplace_back();
      item.name = tensor.file;
      item.port = tensor.port;
      item.meta = &frame_.metas.emplace_back(TensorMeta{tensor.dtype, Shape{tensor.dims}});
      item.data = TensorRef{};
    }
    graph_->add(std::move(op));
    graph_->connect_by_names();
  }

  static Port in(int index) { return {Direction::input, index}; }
  static Port out(int index) { return {Direction::output, index}; }

  const std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  Frame frame_;
};

const Tensor kScale = {"q/before/intensor1.bin", {Direction::input, 1}, DType::f16, {1}};
const Tensor kOffset = {"q/before/intensor2.bin", {Direction::input, 2}, DType::i8, {1}};
const Tensor kSmall = {"q/after/outtensor0.bin", {Direction::output, 0}, DType::i8, {2, 4}};

TEST_F(QuantGraph, FindsTheFactorsOfAnOutputAndOfTheInputItBecomes) {
  add({"x", "s", "o"}, {"small"}, {kScale, kOffset, kSmall}, 17);
  add({"small"}, {"y"}, {{"l/before/intensor0.bin", in(0), DType::i8, {2, 4}}});
  const QuantSources sources(frame_, 0);
  for (const ItemId id : {ItemId{0, 0, 2}, ItemId{0, 1, 0}}) {
    const auto found = sources.find(id);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->scale, (ItemId{0, 0, 0}));
    EXPECT_EQ(found->offset, (ItemId{0, 0, 1}));
  }
}

// x, gamma, beta, scale, offset: gamma has a number per channel too.
TEST_F(QuantGraph, DoesNotTakeTheWeightsOfANormForItsScale) {
  add({"x", "gamma", "beta", "s", "o"}, {"small"},
      {{"q/before/intensor1.bin", in(1), DType::f16, {4}},
       {"q/before/intensor2.bin", in(2), DType::f16, {4}},
       {"q/before/intensor3.bin", in(3), DType::f16, {1}},
       {"q/before/intensor4.bin", in(4), DType::i8, {1}},
       kSmall});
  const auto found = QuantSources(frame_, 0).find({0, 0, 4});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->scale, (ItemId{0, 0, 2}));
}

TEST_F(QuantGraph, FindsNothingWhereTheDumpHasNothing) {
  add({"x", "s", "o"}, {"small"}, {kSmall}, 17);                                   // no inputs dumped
  add({"weight"}, {"y"}, {{"l/before/intensor0.bin", in(0), DType::i8, {2, 4}}});  // from outside
  add({"x", "s", "o"}, {"z"}, {{"q/before/intensor1.bin", in(1), DType::f16, {3}}, kOffset, kSmall}, 17);
  const QuantSources sources(frame_, 0);
  EXPECT_FALSE(sources.find({0, 0, 0}));
  EXPECT_FALSE(sources.find({0, 1, 0}));
  EXPECT_FALSE(sources.find({0, 2, 2}));  // three scales, four channels
}

TEST_F(QuantGraph, TakesTheFactorsThatTheOperatorStates) {
  add({"x"}, {"small"}, {kSmall}, 6);
  GraphOp& op = graph_->ops.back();
  EXPECT_FALSE(QuantSources(frame_, 0).find({0, 0, 0}));
  op.quant_step = QuantStep{20, -3};
  const auto found = QuantSources(frame_, 0).find({0, 0, 0});
  ASSERT_TRUE(found && found->stated);
  EXPECT_EQ(found->stated->scale, 20);
  EXPECT_EQ(found->stated->offset, -3);
  for (const double scale : {0.0, HUGE_VAL, std::nan("")}) {
    op.quant_step = QuantStep{scale, 0};
    EXPECT_FALSE(QuantSources(frame_, 0).find({0, 0, 0})) << scale;
  }
}

TEST_F(QuantGraph, AQuantisationMayHaveNoOffset) {
  add({"x", "s"}, {"small"}, {kScale, kSmall}, 17);
  const auto found = QuantSources(frame_, 0).find({0, 0, 1});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->offset);
}

}  // namespace
}  // namespace assay
