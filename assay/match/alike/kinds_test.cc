#include "assay/match/alike/kinds.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::IsEmpty;

Holder holder(std::string_view name) {
  Holder made;
  made.form = form_of(name);
  made.positions = {0};
  return made;
}

TEST(Kinds, WhatOneLayerShowedHoldsInOthers) {
  Holders holders;
  for (const char* name : {"layers.0.q", "layers.0.k", "layers.7.q", "layers.7.k", "layers.8.q"})
    holders.on(Side::golden).push_back(holder(name));
  for (const char* name : {"h.0.qk1", "h.7.qk1", "h.7.qk2", "h.8.qk1"})
    holders.on(Side::mine).push_back(holder(name));
  auto& golden = holders.on(Side::golden);
  auto& mine = holders.on(Side::mine);
  Kinds kinds;
  const PartGroup seen{Side::golden, {&golden[0], &golden[1]}, &mine[0]};
  kinds.learn(seen, 5);
  EXPECT_EQ(kinds.arrangement(seen), 5u);
  golden[0].is_joined = golden[1].is_joined = mine[0].is_joined = true;
  const auto predicted = kinds.predict(holders);  // layer 8 lacks a part, and qk2 is another kind
  ASSERT_EQ(predicted.size(), 1u);
  EXPECT_EQ(predicted[0].first.whole, &mine[1]);
  EXPECT_EQ(predicted[0].first.parts, (std::vector<Holder*>{&golden[2], &golden[3]}));
  EXPECT_EQ(predicted[0].second, 5u);
}

TEST(Kinds, TheNumberOfAnExpertStaysAsItIs) {
  Holders holders;
  for (const char* name :
       {"layers.0.experts.0.w", "layers.0.experts.1.w", "layers.1.experts.0.w", "layers.1.experts.1.w"})
    holders.on(Side::mine).push_back(holder(name));
  for (const char* name : {"layers.0.w", "layers.1.w"}) holders.on(Side::golden).push_back(holder(name));
  auto& mine = holders.on(Side::mine);
  Kinds kinds;
  kinds.learn({Side::mine, {&mine[0], &mine[1]}, &holders.on(Side::golden)[0]}, 0);
  mine[0].is_joined = mine[1].is_joined = holders.on(Side::golden)[0].is_joined = true;
  const auto predicted = kinds.predict(holders);
  ASSERT_EQ(predicted.size(), 1u);
  EXPECT_EQ(predicted[0].first.parts, (std::vector<Holder*>{&mine[2], &mine[3]}));
}

TEST(Kinds, AContradictionMakesAKindUnsure) {
  Holders holders;
  for (const char* name : {"a.0", "a.1", "a.2"}) {
    holders.on(Side::mine).push_back(holder(name));
    holders.on(Side::golden).push_back(holder(std::string("b") + (name + 1)));
  }
  auto& mine = holders.on(Side::mine);
  auto& golden = holders.on(Side::golden);
  Kinds kinds;
  kinds.learn({Side::mine, {&mine[0]}, &golden[0]}, 0);
  kinds.learn({Side::mine, {&mine[1]}, &golden[2]}, 0);
  mine[0].is_joined = mine[1].is_joined = golden[0].is_joined = golden[2].is_joined = true;
  EXPECT_THAT(kinds.predict(holders), IsEmpty());
}

}  // namespace
}  // namespace assay
