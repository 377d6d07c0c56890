#include "assay/dump/torch_hook.h"

#include "assay/dump/dump_test_tools.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kTree =
    R"({"name": "root", "type": "Model", "children": [{"name": "root.fc", "type": "Linear", "children": []}]})";

class TorchHook : public DumpFolder {
 protected:
  Result<Frame> index() const {
    ASSAY_TRY(const Dump dump, open_dump(root_, {}));
    EXPECT_EQ(dump.layout->name, "torch_hook");
    return dump.layout->index(dump.frames.at(0), {});
  }
};

TEST_F(TorchHook, TakesInputsBeforeOutputsAndChildrenBeforeParents) {
  put("model_tree.json", kTree);
  for (const auto* file : {"output_2_1.pth", "output_0.pth", "input_10.pth", "input_2.pth", "notes.txt"})
    put(fs::path("0/root") / file);
  put("0/root.fc/output.pth");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("root.fc/output.pth", "root/input_2.pth", "root/input_10.pth",
                                         "root/output_0.pth", "root/output_2_1.pth"));
  EXPECT_EQ(frame->nodes[1].items[3].port.index, 2);
  EXPECT_EQ(frame->nodes[0].type, "Linear");
}

// They are the same for all tokens.
TEST_F(TorchHook, TakesWeightsWithTheFirstToken) {
  put("model_tree.json", kTree);
  put("weights/root.fc.weight.pth");
  put("weights/root.fc.bias.pth");
  put("weights/notes.txt");
  put("weights/odd.pth");
  put("0/root.fc/output.pth");
  put("1/root.fc/output.pth");
  const auto dump = open_dump(root_, {});
  ASSERT_TRUE(dump);
  ASSERT_THAT(dump->frames, SizeIs(2));
  const auto first = dump->layout->index(dump->frames[0], {}),
             second = dump->layout->index(dump->frames[1], {});
  ASSERT_TRUE(first && second);
  EXPECT_THAT(names(*first), ElementsAre("root.fc/output.pth", "weights/root.fc.bias.pth",
                                         "weights/root.fc.weight.pth", "weights/odd.pth"));
  EXPECT_EQ(first->nodes[0].items[2].port.direction, Direction::parameter);
  EXPECT_EQ(first->nodes[0].items[2].port.index, kWeightPort);
  EXPECT_EQ(fs::weakly_canonical(first->files[2].path), fs::canonical(root_ / "weights/root.fc.weight.pth"));
  EXPECT_THAT(names(*second), ElementsAre("root.fc/output.pth"));
}

TEST_F(TorchHook, LeavesAFolderOfWeightsToThePlainLayout) {
  put("model_tree.json", kTree);
  put("weights/root.fc.weight.pth");
  const auto dump = open_dump(root_ / "weights", {});
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(dump->layout->name, "folder");
}

TEST_F(TorchHook, TakesWeightsForNoTokenAndNamesTokens) {
  put("model_tree.json", kTree);
  put("weights/root.fc.weight.pth");
  put("3/root.fc/output.pth");
  put("last/root.fc/output.pth");
  const auto dump = open_dump(root_, {});
  ASSERT_TRUE(dump);
  ASSERT_THAT(dump->frames, SizeIs(2));
  EXPECT_EQ(dump->frames[0].at.token, 3);
  EXPECT_EQ(dump->frames[1].at.part, "last");
}

TEST_F(TorchHook, ReadsStatisticsOfModules) {
  put("model_tree.json", kTree);
  put("0/root.fc/statistics.csv",
      "NodeName,NodeType,InputOutput,Index,DataType,Shape,Max,Min,Mean,L2Norm\n"
      "root.fc,Linear,Input,0,torch.float32,\"(1, 3, 4)\",2.5,-1.0,0.25,7.0\n"
      "root.fc,Linear,Output,1,torch.float16,\"(3,)\",1.0,1.0,1.0,1.7\n"
      "root.fc,Linear,Output,2,torch.float16,\"(99999999999, 99999999999)\",1,1,1,1\n"
      "too,short\n");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_EQ(frame->content, Content::statistics);
  ASSERT_THAT(names(*frame), ElementsAre("root.fc/input_0", "root.fc/output_1", "root.fc/output_2"));
  const auto& items = frame->nodes[0].items;
  EXPECT_EQ(*items[0].meta, (TensorMeta{DType::f32, Shape{{1, 3, 4}}}));
  EXPECT_EQ(number_of(items[0].stated->norm), 7);
  EXPECT_EQ(items[1].meta->shape, (Shape{{3}}));
  EXPECT_EQ(items[2].meta, nullptr);
}

TEST_F(TorchHook, SaysWhichTableLacksAColumn) {
  put("model_tree.json", kTree);
  put("0/root.fc/statistics.csv", "NodeName,Max\nroot.fc,1\n");
  put("0/root/output.pth");
  const auto frame = index();
  ASSERT_TRUE(frame);
  EXPECT_THAT(frame->warnings, Contains(HasSubstr("root.fc/statistics.csv: lacks a column")));
}

TEST_F(TorchHook, DoesWithoutABrokenTree) {
  put("0/root.a.b/output.pth");
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += R"({"name": "m", "type": "t", "children": [)";
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string(R"({"type": "x"})"), deep}) {
    put("model_tree.json", text);
    const auto frame = index();
    ASSERT_TRUE(frame) << frame.error().message;
    EXPECT_THAT(names(*frame), ElementsAre("root.a.b/output.pth"));
  }
}

// Unless a token has modules that the tree lacks.
TEST_F(TorchHook, TokensShareTheTree) {
  put("model_tree.json", kTree);
  put("0/root.fc/output.pth");
  put("1/root.fc/output.pth");
  put("2/root.other/output.pth");
  const auto dump = open_dump(root_, {});
  ASSERT_TRUE(dump);
  ASSERT_THAT(dump->frames, SizeIs(3));
  fs::remove(root_ / "model_tree.json");  // nobody reads it again
  std::vector<std::shared_ptr<const Graph>> graphs;
  for (const FrameInfo& info : dump->frames) graphs.push_back(dump->layout->index(info, {})->graph);
  EXPECT_EQ(graphs[0], graphs[1]);
  EXPECT_NE(graphs[0], graphs[2]);
  EXPECT_THAT(dump->warnings, IsEmpty());
}

TEST_F(TorchHook, SaysOnceThatTheTreeIsBroken) {
  put("model_tree.json", "{");
  put("0/root.fc/output.pth");
  put("1/root.fc/output.pth");
  const auto dump = open_dump(root_, {});
  ASSERT_TRUE(dump);
  EXPECT_THAT(dump->warnings, ElementsAre(HasSubstr("modules are told apart by their names alone")));
  for (const FrameInfo& info : dump->frames) EXPECT_THAT(dump->layout->index(info, {})->warnings, IsEmpty());
}

TEST_F(TorchHook, TakesNamesWithOddCharacters) {
  put("model_tree.json", kTree);
  put("0/root.\xff\n..x/output.pth");
  put("0/.../output_99999999999999999999.pth");
  const auto frame = index();
  ASSERT_TRUE(frame);
  EXPECT_THAT(names(*frame), SizeIs(2));
  EXPECT_THAT(names(*frame), Contains("root.\\xff\\x0a..x/output.pth"));
}

TEST_F(TorchHook, EndsLoopsOfLinks) {
  put("model_tree.json", kTree);
  put("0/root.fc/output.pth");
  fs::create_directory_symlink(root_ / "0", root_ / "0" / "root.loop");
  fs::create_symlink("output_1.pth", root_ / "0/root.fc/output_1.pth");
  const auto frame = index();
  ASSERT_TRUE(frame);
  EXPECT_THAT(names(*frame), Contains("root.fc/output.pth"));
}

TEST_F(TorchHook, SaysThatThereIsNoToken) {
  put("model_tree.json", kTree);
  const auto dump = open_dump(root_, {});
  ASSERT_FALSE(dump);
  EXPECT_THAT(dump.error().message, HasSubstr("holds no folder of a token"));
}

}  // namespace
}  // namespace assay
