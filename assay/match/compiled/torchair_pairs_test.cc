#include "assay/match/compiled/torchair_pairs.h"

#include "assay/match/compiled/torchair_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Outline::Kind;
using Positions = std::vector<std::pair<size_t, size_t>>;

TEST(Outline, WhatMayBeTheSame) {
  EXPECT_TRUE(may_be_same({Kind::real, 8}, {Kind::real, 8}));
  EXPECT_FALSE(may_be_same({Kind::real, 8}, {Kind::real, 4}));
  EXPECT_FALSE(may_be_same({Kind::real, 8}, {Kind::whole, 8}));
  EXPECT_TRUE(may_be_same({}, {Kind::whole, 8}));
  EXPECT_TRUE(may_be_same({Kind::real, -1}, {Kind::real, 8}));
}

TEST(Align, TheMostThatCanBePairedInOrder) {
  const Outline four{Kind::real, 4}, eight{Kind::real, 8}, one{Kind::real, 1};
  EXPECT_EQ(align({four, eight}, {four, one, eight}), (Positions{{0, 0}, {1, 2}}));
  EXPECT_EQ(align({one, four, eight}, {four, eight}), (Positions{{1, 0}, {2, 1}}));
  EXPECT_EQ(align({four, eight}, {eight, four}).size(), 1U);  // never crosswise
  EXPECT_EQ(align({four, four}, {four}), (Positions{{0, 0}}));
  EXPECT_THAT(align({}, {four}), IsEmpty());
  EXPECT_THAT(align(std::vector<Outline>(2000), std::vector<Outline>(2000)), IsEmpty());  // too much work
}

TEST(FormOnly, CastsAndLayouts) {
  EXPECT_TRUE(changes_form_only({"n", "Cast", {}, {}, 0}));
  EXPECT_TRUE(changes_form_only({"n", "TransData", {}, {}, 0}));
  EXPECT_FALSE(changes_form_only({"Cast_1", "Add", {}, {}, 0}));
}

// Tensors of one operator of each side.
class TorchairPairs : public ::testing::Test {
 protected:
  void set(std::vector<TestTensor> mine, std::vector<TestTensor> golden) {
    frames_.mine.clear();
    frames_.golden.clear();
    frames_.mine.push_back(make_graph_frame("ge", {{"op", "", std::move(mine)}}));
    frames_.golden.push_back(make_graph_frame("ge", {{"op", "", std::move(golden)}}));
    builder_ = std::make_unique<PairingBuilder>(frames_);
    mine_ = std::make_unique<GraphOps>(*builder_, Side::mine, 0);
    golden_ = std::make_unique<GraphOps>(*builder_, Side::golden, 0);
  }
  Positions paired(const std::vector<size_t>& of_golden) const {
    std::vector<TensorPair> pairs;
    pair_lists(*mine_, mine_->all()[0].inputs, *golden_, of_golden, Why::same_name, pairs);
    Positions out;
    for (const TensorPair& pair : pairs) out.emplace_back(pair.mine, pair.golden);
    return out;
  }

  Indexed frames_;
  std::unique_ptr<PairingBuilder> builder_;
  std::unique_ptr<GraphOps> mine_, golden_;
};

TEST_F(TorchairPairs, AsManyGoOneByOneWhateverTheyAre) {
  set({{0, DType::f16, {4}}, {1, DType::i32, {2}}}, {{0, DType::i64, {9}}, {1, DType::f32, {1}}});
  EXPECT_EQ(paired({0, 1}), (Positions{{0, 0}, {1, 1}}));
  EXPECT_EQ(paired({kNotDumped, 1}), (Positions{{1, 1}}));
}

TEST_F(TorchairPairs, OthersByTypeAndSize) {
  set({{0, DType::f16, {4}}, {1, DType::i32, {2}}},
      {{0, DType::f16, {4}}, {1, DType::f16, {1}}, {2, DType::i64, {2}}});
  EXPECT_EQ(paired({0, 1, 2}), (Positions{{0, 0}, {1, 2}}));
  EXPECT_EQ(paired({kNotDumped, 1, 2}), (Positions{{1, 2}}));
  EXPECT_THAT(paired({}), IsEmpty());
}

TEST_F(TorchairPairs, OutlinesOfWhatIsNotKnown) {
  set({{0, DType::f16, {4}, false}, {1, DType::boolean, {3}}, {2, DType::c64, {5}}}, {});
  EXPECT_EQ(mine_->outline(0).kind, Kind::unknown);
  EXPECT_EQ(mine_->outline(1).kind, Kind::whole);
  EXPECT_EQ(mine_->outline(2).kind, Kind::real);
  EXPECT_EQ(mine_->outline(2).elements, 5);
  EXPECT_EQ(mine_->find("nothing"), nullptr);
}

TEST_F(TorchairPairs, ATokenHasItsPartner) {
  Indexed frames;
  for (const int token : {0, 3}) frames.mine.push_back(make_graph_frame("ge", {}, nullptr, token));
  frames.golden.push_back(make_graph_frame("ge", {}, nullptr, 3));
  EXPECT_EQ(partner_of(frames, frames.mine[0], false), std::nullopt);
  EXPECT_EQ(partner_of(frames, frames.mine[1], false), 0);
  frames.mine.pop_back();
  EXPECT_EQ(partner_of(frames, frames.mine[0], false), 0);  // the only ones of both sides
  EXPECT_EQ(partner_of(frames, frames.mine[0], true), std::nullopt);
}

}  // namespace
}  // namespace assay
