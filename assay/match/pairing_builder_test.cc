#include "assay/match/pairing_builder.h"

#include "assay/match/match_test_tools.h"

#include <gmock/gmock.h>

#include <functional>

namespace assay {
namespace {

using ::testing::ElementsAre;

// What becomes of two frames after `act` has said what belongs together.
Matched built(Frame mine, Frame golden, const std::function<void(PairingBuilder&)>& act) {
  Matched matched;
  matched.frames.mine.push_back(std::move(mine));
  matched.frames.golden.push_back(std::move(golden));
  PairingBuilder builder(matched.frames);
  act(builder);
  matched.pairing = builder.finish();
  return matched;
}

Texts nodes_of(const Matched& matched) {
  Texts names;
  for (const PairedNode& node : matched.pairing.nodes) names.emplace_back(node.name);
  return names;
}

Frame fused() { return make_frame({entry_of("qkv", {".out"}), entry_of("o", {".out"})}); }
Frame apart() {
  return make_frame({entry_of("q", {".out"}), entry_of("k", {".in", ".out"}), entry_of("o", {".out"})});
}

TEST(PairingBuilderCover, WhatIsCoveredHasNoRowOfItsOwn) {
  const Matched matched = built(fused(), apart(), [](PairingBuilder& builder) {
    builder.join(0, 0, Why::same_role);
    builder.cover(Side::golden, 1, 0);
    builder.cover(Side::golden, 2, 0);
    builder.join(1, 3, Why::same_role);
    EXPECT_TRUE(builder.is_joined(Side::golden, 2));
    EXPECT_EQ(builder.joined(), 2U);  // it is no pair
  });
  EXPECT_THAT(pairs_of(matched), ElementsAre("qkv.out|q.out", "o.out|o.out"));
  EXPECT_THAT(nodes_of(matched), ElementsAre("qkv", "o"));
}

// The rest of its node stands where it is covered, not in a node of its own.
TEST(PairingBuilderCover, TheRestOfItsNodeKeepsItsPlace) {
  const Matched matched = built(fused(), apart(), [](PairingBuilder& builder) {
    builder.join(0, 0, Why::same_role);
    builder.cover(Side::golden, 2, 0);
    builder.join(1, 3, Why::same_role);
  });
  EXPECT_THAT(pairs_of(matched), ElementsAre("-|k.in", "qkv.out|q.out", "o.out|o.out"));
  EXPECT_THAT(nodes_of(matched), ElementsAre("qkv", "o"));
}

// A node of mine of which nothing is left has no place in the report; a node of nothing but covered items
// would else be one without rows.
TEST(PairingBuilderCover, ANodeOfMineThatIsCoveredWholeIsGone) {
  const Matched matched = built(apart(), fused(), [](PairingBuilder& builder) {
    builder.join(0, 0, Why::same_role);
    builder.cover(Side::mine, 1, 0);
    builder.cover(Side::mine, 2, 0);
    builder.join(3, 1, Why::same_role);
  });
  EXPECT_THAT(pairs_of(matched), ElementsAre("q.out|qkv.out", "o.out|o.out"));
  EXPECT_THAT(nodes_of(matched), ElementsAre("q", "o"));
  const Matched in_part = built(apart(), fused(), [](PairingBuilder& builder) {
    builder.join(0, 0, Why::same_role);
    builder.cover(Side::mine, 2, 0);
  });
  EXPECT_THAT(pairs_of(in_part), ElementsAre("q.out|qkv.out", "-|o.out", "k.in|-", "o.out|-"));
  EXPECT_THAT(nodes_of(in_part), ElementsAre("q", "o", "k", "o"));
}

// It may be compared by itself as well, with a split of the fused tensor.
TEST(PairingBuilderCover, AnItemMayBeCoveredAndJoined) {
  for (const bool covered_first : {true, false}) {
    const Matched matched = built(fused(), apart(), [&](PairingBuilder& builder) {
      if (covered_first) builder.cover(Side::golden, 2, 0);
      builder.join(0, 0, Why::same_role);
      builder.join(1, 2, Why::same_role);
      if (!covered_first) builder.cover(Side::golden, 2, 0);
    });
    EXPECT_THAT(pairs_of(matched), testing::IsSupersetOf({"qkv.out|q.out", "o.out|k.out"}));
    EXPECT_THAT(pairs_of(matched), testing::Not(testing::Contains("-|k.out")));
  }
}

}  // namespace
}  // namespace assay
