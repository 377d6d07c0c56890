#include "probe/topology.h"

#include "probe/overflow_watch.h"

#include <gmock/gmock.h>

namespace assay::probe {
namespace {

using ::testing::Optional;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string layer(const std::string& name, const std::string& type) {
  return R"({"opType":")" + type + R"(","opName":")" + name +
         R"(","inTensorNum":1,"outTensorNum":1,"param":{"a":1e-05},"nodes":[]})";
}

TEST(Json, KeepsNumbersAndOrderAsTheyAre) {
  const std::string text = R"({"b":1e-05,"a":[1.0,-0,null,true,"x\"\\\n\u00e9"],"c":{}})";
  EXPECT_EQ(compact_text(parse_json(text).value()),
            "{\"b\":1e-05,\"a\":[1.0,-0,null,true,\"x\\\"\\\\\\n\xc3\xa9\"],\"c\":{}}");
  EXPECT_FALSE(parse_json("{\"a\":"));
  EXPECT_FALSE(parse_json(std::string(100000, '[')));
}

TEST(Layers, CutOffOperatorsWhoseTensorsDoNotExist) {
  std::string trouble;
  const auto named =
      named_layer("L_0", R"({"opType":"L","opName":"L_0","inTensorNum":1,"outTensorNum":1,"nodes":[
    {"opType":"A","opName":"A_0_0","inTensorNum":1,"outTensorNum":1,"inTensorIds":[0],"outTensorIds":[7]},
    {"opType":"B","opName":"B_0_1","inTensorNum":1,"outTensorNum":1,"inTensorIds":[0],"outTensorIds":[1]}]})",
                  trouble);
  ASSERT_TRUE(named);
  EXPECT_EQ(
      compact_text(*named),
      R"({"opName":"L_0","opType":"L","param":"","inTensors":["L_0_input_0"],"outTensors":["L_0_output_0"],"nodes":[)"
      R"({"opName":"B_0_1","opType":"B","inTensors":["L_0_input_0"],"outTensors":["L_0_output_0"]}]})");
}

TEST(Layers, AreRefusedWithAReason) {
  std::string trouble;
  EXPECT_FALSE(named_layer("L_0", "{", trouble));
  EXPECT_FALSE(named_layer("M_0", layer("L_0", "L"), trouble));
  EXPECT_FALSE(named_layer("L_0", R"({"opName":"L_0"})", trouble));
  EXPECT_THAT(trouble, ::testing::HasSubstr("lacks"));
}

// Eleven operators, each given what the one before made: the tenth is no child of the first.
TEST(Aliases, TellTheTenthOperatorFromChildrenOfTheFirst) {
  std::string nodes;
  for (int k = 0; k < 11; ++k)
    nodes += (k == 0 ? "" : ",") + std::string(R"({"opType":"A","opName":"A_0_)") + std::to_string(k) +
             R"(","inTensorNum":1,"outTensorNum":1,"inTensorIds":[)" + std::to_string(k == 0 ? 0 : k + 1) +
             R"(],"outTensorIds":[)" + std::to_string(k == 10 ? 1 : k + 2) + "]}";
  std::string trouble;
  const auto named = named_layer(
      "L_0",
      R"({"opType":"L","opName":"L_0","inTensorNum":1,"outTensorNum":1,"internalTensorNum":10,"nodes":[)" +
          nodes + "]}",
      trouble);
  ASSERT_TRUE(named) << trouble;
  const auto aliases = find_aliases(*named);
  ASSERT_TRUE(aliases);
  EXPECT_THAT(aliases->of, ::testing::Contains(Pair("0_10_intensor0.bin", "0_9_outtensor0.bin")));
  EXPECT_THAT(aliases->of, ::testing::Contains(Pair("0_2_intensor0.bin", "0_1_outtensor0.bin")));
  EXPECT_THAT(aliases->of, ::testing::Contains(Pair("0_outtensor0.bin", "0_10_outtensor0.bin")));
  EXPECT_EQ(aliases->of.size(), 12u);
}

TEST(Aliases, KeepWhatWasMadeInPlace) {
  std::string trouble;
  const auto named =
      named_layer("L_0", R"({"opType":"L","opName":"L_0","inTensorNum":1,"outTensorNum":0,"nodes":[
    {"opType":"A","opName":"A_0_0","inTensorNum":1,"outTensorNum":1,"inTensorIds":[0],"outTensorIds":[0]}]})",
                  trouble);
  const auto aliases = find_aliases(*named);
  ASSERT_TRUE(aliases);
  EXPECT_TRUE(aliases->real.contains("0_0_outtensor0.bin"));
  EXPECT_EQ(aliases->of.at("0_0_intensor0.bin"), "0_intensor0.bin");
}

TEST(Models, NameNodesByTypeAndNotByCounting) {
  Models models;
  std::string trouble;
  models.add(*named_layer("Other_0", layer("Other_0", "Other"), trouble));
  models.add(*named_layer("A_1", layer("A_1", "A"), trouble));
  models.add(*named_layer("B_2", layer("B_2", "B"), trouble));
  const std::string model =
      R"({"modelName":"M","nodes":[{"opName":"B","inTensors":["x"],"outTensors":["y"]}]})";
  EXPECT_EQ(
      compact_text(*models.name_nodes("M", model, trouble)),
      R"({"modelName":"M","nodes":[{"opName":"B_2","inTensors":["x"],"outTensors":["y"],"opType":"B"}]})");
  EXPECT_FALSE(models.may_be_new("M"));
  EXPECT_TRUE(models.may_be_new("N"));
  EXPECT_FALSE(models.name_nodes("M", model, trouble));  // the next round
  models.add(*named_layer("B_3", layer("B_3", "B"), trouble));
  EXPECT_TRUE(models.may_be_new("M"));  // another model of that name
  EXPECT_THAT(compact_text(*models.name_nodes("M", model, trouble)), ::testing::HasSubstr("B_3"));
  EXPECT_EQ(models.reported("M"), 2);
}

TEST(Overflow, IsBlamedOnWhoMadeIt) {
  const float fine[] = {1, 2}, bad[] = {1, __builtin_inff()};
  const uint16_t bad_bf16[] = {0x3f80, 0x7fc0};  // NaN, which ATB takes for a number
  OverflowWatch watch;
  const auto see = [&](const char* path, bool is_input, DType dtype, const auto& values) {
    return watch.see(path, is_input, dtype, std::as_bytes(std::span(values)));
  };
  EXPECT_FALSE(see("0_7/0/0_L/before/intensor0.bin", true, DType::f32, fine));
  EXPECT_FALSE(see("0_7/0/0_L/0_A/before/intensor0.bin", true, DType::f32, fine));
  EXPECT_THAT(see("0_7/0/0_L/0_A/0_MatMulKernel/after/outtensor0.bin", false, DType::bf16, bad_bf16),
              Optional(std::string("A_0_0:MatMulKernel")));
  EXPECT_FALSE(
      see("0_7/0/0_L/0_A/after/outtensor0.bin", false, DType::bf16, bad_bf16));  // its kernel made it
  EXPECT_FALSE(see("0_7/0/0_L/1_B/before/intensor0.bin", true, DType::bf16, bad_bf16));
  EXPECT_FALSE(see("0_7/0/0_L/1_B/after/outtensor0.bin", false, DType::f32, bad));  // passed on
  EXPECT_FALSE(see("0_7/0/0_L/after/outtensor0.bin", false, DType::f32, bad));
  EXPECT_FALSE(see("0_7/1/0_L/before/intensor0.bin", true, DType::f32, fine));
  EXPECT_THAT(see("0_7/1/0_L/after/outtensor0.bin", false, DType::f32, bad),
              Optional(std::string("L_0")));  // the next round
  EXPECT_EQ(watch.outside().count, 0);
}

TEST(Overflow, TellsWhatCameFromOutsideUntilSomebodyMadeSome) {
  const float fine[] = {1, 2}, bad[] = {1, __builtin_inff()};
  OverflowWatch watch;
  const auto see = [&](const char* path, bool is_input, const auto& values) {
    return watch.see(path, is_input, DType::f32, std::as_bytes(std::span(values)));
  };
  see("0_7/0/0_L/before/intensor0.bin", true, fine);
  see("0_7/0/0_L/before/intensor1.bin", true, bad);
  see("0_7/0/0_L/after/intensor1.bin", true, bad);  // the same
  see("0_7/1/0_L/before/intensor1.bin", true, bad);
  EXPECT_EQ(watch.outside().count, 2);
  EXPECT_EQ(watch.outside().first, "0_7/0/0_L/before/intensor1.bin");
  EXPECT_TRUE(see("0_7/2/0_L/after/outtensor0.bin", false, bad));
  see("0_7/2/1_L/before/intensor1.bin", true, bad);
  EXPECT_EQ(watch.outside().count, 2);
}

}  // namespace
}  // namespace assay::probe
