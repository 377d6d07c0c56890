#include "assay/match/alike/layered_name.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Layered layered(std::string_view name) { return Layered(form_of(name)); }

TEST(Layered, TakesTheFirstNumberOutOfAName) {
  const Layered name = layered("model.layers.12.mlp.experts.3.w1.weight");
  EXPECT_EQ(name.layer, 12);
  EXPECT_EQ(name.at(12), form_of("model.layers.12.mlp.experts.3.w1.weight").plain);
  EXPECT_EQ(name.rest, layered("model.layers.4.mlp.experts.3.w1.weight").rest);
  EXPECT_NE(name.rest, layered("model.layers.12.mlp.experts.4.w1.weight").rest);
}

TEST(Layered, NumbersMayStandBehindLetters) {
  EXPECT_EQ(layered("layer0conv1.weight").layer, 0);
  EXPECT_EQ(layered("block7.norm.weight").at(3), form_of("block3.norm.weight").plain);
}

TEST(Layered, HashesAndNamesWithoutNumbersAreNoLayers) {
  EXPECT_FALSE(layered("x34f7e.weight").layer.has_value());
  EXPECT_FALSE(layered("embed_tokens.weight").layer.has_value());
}

}  // namespace
}  // namespace assay
