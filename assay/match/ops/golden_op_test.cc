#include "assay/match/ops/golden_op.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(GoldenOp, NumbersOperatorsAsTheirFoldersDo) {
  EXPECT_EQ(op_id("0_Decoder/6_Mlp/10_LinearOperation"), "0_6_10");
  EXPECT_EQ(op_id("24_LinearOperation"), "24");
  EXPECT_EQ(op_name("0_Decoder/6_Mlp/10_LinearOperation"), "LinearOperation");
  EXPECT_EQ(op_name("2_Prefill_layer"), "layer");
}

TEST(GoldenOp, SelectsByNumbersAndAllInside) {
  OpSelection selection;
  selection.ids = {"24"};
  EXPECT_TRUE(is_selected(selection, "24_Layer", "Layer"));
  EXPECT_TRUE(is_selected(selection, "24_Layer/1_Linear", "Linear"));
  EXPECT_FALSE(is_selected(selection, "240_Layer", "Layer"));
  EXPECT_FALSE(is_selected(selection, "2_Layer/4_Linear", "Linear"));
}

TEST(GoldenOp, SelectsByTypeNameAndFolder) {
  OpSelection selection;
  selection.types = {"Linear*"};
  EXPECT_TRUE(is_selected(selection, "1_X/2_LinearOperation", "LinearOperation"));
  EXPECT_FALSE(is_selected(selection, "1_X/2_RopeOperation", "RopeOperation"));
  selection = {};
  selection.name_parts = {"linear", "norm"};
  EXPECT_TRUE(is_selected(selection, "1_RmsNormOperation", "RmsNormOperation"));
  EXPECT_FALSE(is_selected(selection, "1_Linear_layer", "x"));
  selection = {};
  selection.below = "1_X";
  EXPECT_TRUE(is_selected(selection, "1_X/2_A", "A"));
  EXPECT_FALSE(is_selected(selection, "1_Xy/2_A", "A"));
}

}  // namespace
}  // namespace assay
