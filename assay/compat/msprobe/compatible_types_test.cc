#include "assay/compat/msprobe/compatible_types.h"

#include "assay/match/match_test_tools.h"

namespace assay {
namespace {

TEST(CompatibleTypes, FollowTheTable) {
  Indexed frames;
  frames.mine.push_back(make_frame({}, "mindspore"));
  frames.golden.push_back(make_frame({}, "mindspore"));
  const CompatibleTypes g2(frames, type_rule(Generation::g2, {}));
  EXPECT_TRUE(g2("Float32", "BFloat16"));
  EXPECT_TRUE(g2("torch.float16", "torch.bfloat16"));
  EXPECT_TRUE(g2("<class 'int'>", "<class 'int'>"));
  EXPECT_FALSE(g2("Float32", "Float64"));
  EXPECT_FALSE(g2("Float32", "torch.float32"));
  EXPECT_FALSE(g2("Int32", "Int64"));
  EXPECT_FALSE(g2("", "Float32"));
  const CompatibleTypes g3(frames, type_rule(Generation::g3, {}));
  EXPECT_TRUE(g3("Float32", "Float64"));
  EXPECT_TRUE(g3("torch.float64", "torch.bfloat16"));
  EXPECT_FALSE(g3("Float64", "torch.float64"));
  EXPECT_FALSE(g3("Int32", "Int64"));
  const CompatibleTypes g1(frames, type_rule(Generation::g1, {}));
  EXPECT_TRUE(g1("Float16", "Float32"));
  EXPECT_TRUE(g1("BFloat16", "Float16"));
  EXPECT_FALSE(g1("Float32", "BFloat16"));
}

TEST(CompatibleTypes, AcrossFrameworks) {
  Indexed frames;
  frames.mine.push_back(make_frame({}, "mindspore"));
  frames.golden.push_back(make_frame({}, "pytorch"));
  const CompatibleTypes g2(frames, type_rule(Generation::g2, {}));
  EXPECT_TRUE(g2("Float32", "torch.float64"));
  EXPECT_TRUE(g2("UInt8", "torch.int64"));
  EXPECT_TRUE(g2("Bool", "torch.bool"));
  EXPECT_TRUE(g2("Complex64", "torch.complex128"));
  EXPECT_FALSE(g2("Float32", "torch.int32"));
  EXPECT_FALSE(g2("float32", "torch.float32"));  // numpy's name is in no table
  EXPECT_FALSE(CompatibleTypes(frames, type_rule(Generation::g1, {}))("Float32", "torch.float32"));
  Mappings mappings;  // only with one of APIs or cells
  mappings.use_api_table = true;
  const CompatibleTypes g1(frames, type_rule(Generation::g1, mappings));
  EXPECT_TRUE(g1("Float32", "torch.float32"));
  EXPECT_TRUE(g1("Float16", "torch.bfloat16"));
  EXPECT_FALSE(g1("Float32", "torch.float64"));
}

}  // namespace
}  // namespace assay
