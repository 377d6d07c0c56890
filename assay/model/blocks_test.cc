#include "assay/model/blocks.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Blocks, FormatsOfBlocks) {
  const auto is_blocked = [](std::string format) {
    return is_blocked_format({Fact{"storage_format", std::move(format)}});
  };
  for (const char* format : {"FRACTAL_NZ", "FRACTAL_Z", "NC1HWC0", "NDC1HWC0", "FRACTAL_Z_3D", "C1HWNCoC0"})
    EXPECT_TRUE(is_blocked(format)) << format;
  for (const char* format : {"ND", "NCHW", "NHWC", "HWCN", ""}) EXPECT_FALSE(is_blocked(format)) << format;
  EXPECT_FALSE(is_blocked_format({}));
  EXPECT_FALSE(is_blocked_format({Fact{"format", std::string("FRACTAL_NZ")}}));
  EXPECT_FALSE(is_blocked_format({Fact{"storage_format", int64_t{29}}}));
}

// Data is put back into the tensor's own shape when it is read; only what is stated keeps the blocks.
TEST(Blocks, OnlyOfWhatHasNoData) {
  const std::vector<Fact> facts = {Fact{"storage_format", std::string("FRACTAL_NZ")}};
  Item item;
  EXPECT_FALSE(states_blocks(item));
  item.facts = &facts;
  EXPECT_TRUE(states_blocks(item));
  item.data = TensorRef{};
  EXPECT_FALSE(states_blocks(item));
}

}  // namespace
}  // namespace assay
