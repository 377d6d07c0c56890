#include "assay/model/op_values.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

constexpr Port kIn = {Direction::input, 0}, kOut = {Direction::output, 0};

int32_t add(OpTree& tree, int32_t parent, std::vector<std::string_view> inputs,
            std::vector<std::string_view> outputs) {
  TreeOp op;
  op.parent = parent;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return tree.add(std::move(op));
}

TEST(OpValues, AnInputIsTheOutputThatMadeIt) {
  OpTree tree;
  const int32_t root = add(tree, -1, {}, {});
  const int32_t first = add(tree, root, {"x"}, {"h"}), second = add(tree, root, {"h"}, {"y"});
  const OpValues values(tree);
  EXPECT_EQ(values.of(second, kIn), values.of(first, kOut));
  EXPECT_NE(values.of(second, kIn), values.of(second, kOut));
  EXPECT_EQ(values.maker(values.of(second, kIn)), first);
  EXPECT_EQ(values.maker(values.of(first, kIn)), OpValues::kUnknown);
}

// Graphs write to one internal tensor again and again.
TEST(OpValues, ANameStandsForWhatWasWrittenLast) {
  OpTree tree;
  const int32_t root = add(tree, -1, {}, {});
  const int32_t first = add(tree, root, {"h"}, {"h"}), second = add(tree, root, {"h"}, {"h"});
  const OpValues values(tree);
  EXPECT_EQ(values.of(second, kIn), values.of(first, kOut));
  EXPECT_NE(values.of(first, kIn), values.of(first, kOut));
  EXPECT_NE(values.of(first, kOut), values.of(second, kOut));
}

TEST(OpValues, ABlockGivesWhatItsChildrenMade) {
  OpTree tree;
  const int32_t root = add(tree, -1, {}, {});
  const int32_t block = add(tree, root, {"x"}, {"y"}), inner = add(tree, block, {"x"}, {"y"});
  const int32_t behind = add(tree, root, {"y"}, {"z"});
  const OpValues values(tree);
  EXPECT_EQ(values.of(block, kOut), values.of(inner, kOut));
  EXPECT_EQ(values.of(behind, kIn), values.of(inner, kOut));
  EXPECT_EQ(values.maker(values.of(block, kOut)), inner);
}

// The names inside a block may be of another kind; then the block itself is what makes its output.
TEST(OpValues, ABlockWithOtherNamesInsideMakesItsOutputItself) {
  OpTree tree;
  const int32_t root = add(tree, -1, {}, {});
  const int32_t before = add(tree, root, {}, {"y"});
  const int32_t block = add(tree, root, {"x"}, {"y"}), inner = add(tree, block, {"a"}, {"b"});
  const OpValues values(tree);
  EXPECT_EQ(values.maker(values.of(block, kOut)), block);
  EXPECT_NE(values.of(block, kOut), values.of(before, kOut));
  EXPECT_NE(values.of(block, kOut), values.of(inner, kOut));
}

TEST(OpValues, KnowsNothingOfUnnamedTensors) {
  OpTree tree;
  const int32_t op = add(tree, -1, {"x"}, {});
  const OpValues values(tree);
  EXPECT_EQ(values.of(op, kOut), OpValues::kUnknown);
  EXPECT_EQ(values.of(op, {Direction::input, 1}), OpValues::kUnknown);
  EXPECT_EQ(values.of(op, {Direction::input, -1}), OpValues::kUnknown);
  EXPECT_EQ(values.of(op, {Direction::none, 0}), OpValues::kUnknown);
}

}  // namespace
}  // namespace assay
