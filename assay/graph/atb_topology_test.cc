#include "assay/graph/atb_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMemory = int64_t{16} << 20;

class AtbTopologyTest : public ::testing::Test {
 protected:
  Result<AtbTopology> read(std::string_view text, int64_t memory = kMemory) {
    const fs::path path =
        fs::path(::testing::TempDir()) /
        (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".json");
    std::ofstream(path, std::ios::binary) << text;
    auto topology = read_atb_topology(path, memory);
    fs::remove(path);
    return topology;
  }
  std::string message(std::string_view text, int64_t memory = kMemory) {
    const auto topology = read(text, memory);
    return topology ? "" : topology.error().message;
  }
};

std::vector<std::string> names(const AtbTopology& topology) {
  std::vector<std::string> out;
  for (const AtbOp& op : topology.ops) out.push_back(op.name);
  return out;
}

TEST_F(AtbTopologyTest, ReadsAModelDepthFirst) {
  const auto topology = read_atb_topology(fs::path(ASSAY_TEST_DATA) / "topology/Demo_Prefill.json", kMemory);
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_TRUE(topology->is_model);
  EXPECT_EQ(topology->name, "Demo_Prefill");
  EXPECT_EQ(topology->start_order, 0);
  EXPECT_THAT(names(*topology),
              ElementsAre("Demo_Prefill", "WordEmbedding_0", "GatherOperation_0_0", "Prefill_layer_1",
                          "LinearOperation_1_0", "ElewiseOperation_1_1"));
  EXPECT_THAT(topology->ops[0].children, ElementsAre(1, 3));
  EXPECT_THAT(topology->ops[3].children, ElementsAre(4, 5));
  EXPECT_EQ(topology->ops[5].parent, 3);
  EXPECT_EQ(topology->ops[4].type, "LinearOperation");
  EXPECT_THAT(topology->ops[4].in_tensors, ElementsAre("h0", "w1"));
  EXPECT_THAT(topology->ops[4].out_tensors, ElementsAre("Prefill_layer_1_internal_0"));
  EXPECT_EQ(topology->ops[4].has_bias(), false);
  EXPECT_EQ(topology->ops[4].elewise_type(), std::nullopt);
  EXPECT_EQ(topology->ops[5].elewise_type(), 8);
  EXPECT_THAT(topology->inputs, ElementsAre("in0"));
  EXPECT_THAT(topology->weights, ElementsAre("w0", "w1"));
  EXPECT_THAT(topology->warnings, IsEmpty());
}

TEST_F(AtbTopologyTest, ReadsALayer) {
  const auto topology =
      read_atb_topology(fs::path(ASSAY_TEST_DATA) / "topology/dump/layer/27402/DemoLayer_0.json", kMemory);
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_FALSE(topology->is_model);
  EXPECT_THAT(names(*topology), ElementsAre("DemoLayer_0", "LinearOperation_0_0", "ElewiseOperation_0_1"));
  EXPECT_EQ(topology->ops[0].type, "DemoLayer");
}

TEST_F(AtbTopologyTest, StartOrderIsTheNumberOfTheFirstLayer) {
  EXPECT_EQ(read(R"({"modelName":"m","nodes":[{"opName":"Layer_28"},{"opName":"Layer_29"}]})")->start_order,
            28);
  EXPECT_EQ(read(R"({"modelName":"m_7","nodes":[{"opName":"Layer"}]})")->start_order, 0);
  EXPECT_EQ(read(R"({"modelName":"m_7","nodes":[]})")->start_order, 0);
  EXPECT_EQ(read(R"({"opName":"Layer_5"})")->start_order, 5);
}

TEST_F(AtbTopologyTest, TakesNestedParametersApart) {
  const auto topology = read(R"({"opName":"a","param":{"eps":1e-05,"norm":{"kind":"rms","deep":{"n":2}},
      "perm":[0,2,1],"grid":[[1],[2,3]],"none":[],"bad":NaN,"big":123456789012345678901,"":true}})");
  ASSERT_TRUE(topology) << topology.error().message;
  std::vector<std::string> keys;
  for (const OpParam& param : topology->ops[0].params) keys.push_back(param.key);
  EXPECT_THAT(keys, ElementsAre("eps", "norm.kind", "norm.deep.n", "perm", "grid.0", "grid.1", "none", "bad",
                                "big", ""));
  const auto& params = topology->ops[0].params;
  EXPECT_EQ(params[0].values, std::vector<Value>{1e-05});
  EXPECT_EQ(params[1].values, std::vector<Value>{std::string("rms")});
  EXPECT_EQ(params[3].values, (std::vector<Value>{int64_t{0}, int64_t{2}, int64_t{1}}));
  EXPECT_TRUE(params[3].is_list);
  EXPECT_FALSE(params[0].is_list);
  EXPECT_EQ(params[5].values, (std::vector<Value>{int64_t{2}, int64_t{3}}));
  EXPECT_THAT(params[6].values, IsEmpty());
  EXPECT_EQ(params[7].values, std::vector<Value>{std::string("NaN")});  // absent would be the default
  EXPECT_EQ(params[8].values, std::vector<Value>{123456789012345678901.0});
}

TEST_F(AtbTopologyTest, OfAKeyThatIsRepeatedTheLastCounts) {
  const auto topology = read(
      R"({"opName":"a","param":{"x":1,"y":2,"x":3},"nodes":[{"opName":"old"}],"nodes":[{"opName":"new"}]})");
  ASSERT_TRUE(topology);
  ASSERT_THAT(topology->ops[0].params, SizeIs(2));
  EXPECT_EQ(topology->ops[0].params[0].values, std::vector<Value>{int64_t{3}});
  EXPECT_THAT(names(*topology), ElementsAre("a", "new"));
  EXPECT_THAT(topology->ops[0].children, ElementsAre(1));
  EXPECT_THAT(topology->warnings, ElementsAre(HasSubstr("more than once")));
}

TEST_F(AtbTopologyTest, RemarksOnWhatIsMissingOrStrange) {
  const auto topology = read(R"({"modelName":"m","inTensors":"x","nodes":[
      {"opName":"a","opType":7,"inTensors":["t",3],"nodes":{}}, 5, {"opType":"B"}, {"opName":"a"}]})");
  ASSERT_TRUE(topology);
  EXPECT_THAT(topology->ops, SizeIs(4));
  EXPECT_THAT(topology->ops[1].in_tensors, ElementsAre("t", ""));
  EXPECT_THAT(
      topology->warnings,
      ElementsAre(HasSubstr("'inTensors' is not a list of names"), HasSubstr("'opType' is not a text"),
                  HasSubstr("'inTensors' holds something that is not a name"),
                  HasSubstr("'nodes' is not a list"), HasSubstr("something that is not an operation"),
                  HasSubstr("operation 2 of 3 has no opName"), HasSubstr("two operations are called 'a'")));
}

TEST_F(AtbTopologyTest, CountsRemarksBeyondTheFirstTwenty) {
  std::string text = R"({"modelName":"m","nodes":[0)";
  for (int i = 0; i < 99; ++i) text += ",0";
  const auto topology = read(text + "]}");
  ASSERT_TRUE(topology);
  EXPECT_THAT(topology->warnings, SizeIs(21));
  EXPECT_THAT(topology->warnings.back(), HasSubstr("80 more"));
}

TEST_F(AtbTopologyTest, WithoutNamesTheFileGivesOne) {
  const auto topology = read(R"({"nodes":[{"opName":"a_3"}]})");
  ASSERT_TRUE(topology);
  EXPECT_TRUE(topology->is_model);
  EXPECT_EQ(topology->name, "WithoutNamesTheFileGivesOne");
  EXPECT_EQ(topology->start_order, 3);
  EXPECT_THAT(topology->warnings, SizeIs(1));
}

TEST_F(AtbTopologyTest, RefusesWhatIsNoTopology) {
  EXPECT_THAT(message("{}"), HasSubstr("neither modelName nor opName"));
  EXPECT_THAT(message(R"({"modelName":3})"), HasSubstr("neither modelName nor opName"));
  EXPECT_THAT(message(R"({"name":"root","type":"Bloom","children":[]})"),
              HasSubstr("neither modelName nor opName"));
  EXPECT_THAT(message("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(message(""), HasSubstr(".json"));
  EXPECT_THAT(message(R"({"modelName":"m","nodes":[{"opNa)"), HasSubstr("cut off"));
}

TEST_F(AtbTopologyTest, RefusesDeepNesting) {
  std::string nodes, behind;
  for (int i = 0; i < 10'000; ++i) {
    nodes += R"({"opName":"a","nodes":[)";
    behind += "]}";
  }
  EXPECT_THAT(message(R"({"modelName":"m","nodes":[)" + nodes + behind + "]}"), HasSubstr("levels deep"));
  EXPECT_THAT(
      message(R"({"modelName":"m","param":)" + std::string(10'000, '[') + std::string(10'000, ']') + "}"),
      HasSubstr("levels deep"));
}

TEST_F(AtbTopologyTest, RefusesWhatTakesTooMuchMemory) {
  std::string text = R"({"modelName":"m","nodes":[{})";
  for (int i = 0; i < 10'000; ++i) text += ",{}";
  EXPECT_THAT(message(text + "]}", 1 << 20), HasSubstr("more than 512.0 KiB"));
  // One long key before many short ones: every key would repeat it.
  std::string params = R"({"opName":"a","param":{")" + std::string(10'000, 'k') + R"(":{"0":0)";
  for (int i = 1; i < 1'000; ++i) params += ",\"" + std::to_string(i) + "\":0";
  EXPECT_THAT(message(params + "}}}", 1 << 20), HasSubstr("more than 512.0 KiB"));
}

}  // namespace
}  // namespace assay
