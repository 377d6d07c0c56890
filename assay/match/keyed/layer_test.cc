#include "assay/match/keyed/layer.h"

#include "assay/match/keyed/layer_scope.h"
#include "assay/match/match_test_tools.h"

#include <gmock/gmock.h>

#include <map>

namespace assay {
namespace {

using ::testing::ElementsAre;

const fs::path kData = fs::path(ASSAY_TEST_DATA) / "msprobe";

const std::string kMsHook =
    "File /opt/site-packages/mindspore/nn/cell.py, line 505, in _run_construct, \n out";
const std::string kMsWrap = "File /opt/site-packages/msprobe/wrap_api.py, line 40, in ApiTemplate_call, \n x";
const std::string kMsUser = "File /home/user/ms/attn.py, line 77, in construct, \n o = ops.f(q)";
const std::string kPtWrap =
    "File /opt/site-packages/msprobe/wrap.py, line 61, in TensorOPTemplate_call, \n x";
const std::string kPtUser = "File /home/user/pt/attn.py, line 120, in forward, \n x = f(q)";
const std::string kPtImpl =
    "File /opt/site-packages/torch/nn/modules/module.py, line 1518, in _wrapped_call_impl, \n return";

TestEntry api(const std::string& name, const std::string& parent, const Texts& stack) {
  TestEntry entry = entry_of(name);
  entry.parent = parent;
  entry.stack = stack;
  return entry;
}
TestEntry layer(const std::string& name, const std::string& parent = {}) { return api(name, parent, {}); }

// The entries, parents and stacks of the fixture "lm".
Frame fixture_mine() {
  const std::string top = "Cell.network_with_loss.module", end = "ParallelTransformer.forward.0";
  std::vector<TestEntry> entries;
  for (const int i : {0, 1}) {
    const std::string at = fmt::format("{}.layers.{}", top, 5 + i);
    const std::string attention = at + ".attention.ParallelAttention.forward.0";
    entries.push_back(api(fmt::format("Functional.flash_attention_score.{}.forward", i), attention,
                          {kMsHook, kMsWrap, kMsUser}));
    entries.push_back(layer(at + ".attention.qkv_proj.ColumnParallelLinear.forward.0", attention));
    entries.push_back(layer(attention, at + ".ParallelTransformerLayer.forward.0"));
    entries.push_back(layer(at + ".ParallelTransformerLayer.forward.0", top + "." + end));
  }
  entries.push_back(layer(top + "." + end));
  entries.push_back(api("Mint.add.0.forward", top + "." + end, {kMsWrap, kMsUser}));
  entries.push_back(api("Mint.add.1.forward", top + "." + end, {kMsWrap, kMsUser}));
  entries.push_back(api("Tensor.__add__.0.forward", "", {kMsHook}));
  entries.push_back(api("Mint.add.1.backward", "", {}));
  entries.push_back(api("Functional.lonely.0.forward", top + "." + end, {kMsWrap}));
  return make_frame(entries, "mindspore");
}

Frame fixture_golden() {
  const std::string top = "Module.module.module", end = "ParallelTransformer.forward.0";
  std::vector<TestEntry> entries;
  for (const int i : {0, 1}) {
    const std::string at = fmt::format("{}.layers.{}", top, i);
    const std::string attention = at + ".self_attention.ParallelAttention.forward.0";
    entries.push_back(
        api(fmt::format("NPU.npu_fusion_attention.{}.forward", i), attention,
            {kPtWrap, "File /home/user/pt/attn.py, line 90, in core_attention_flash, \n o", kPtUser}));
    entries.push_back(
        layer(at + ".self_attention.query_key_value.ColumnParallelLinear.forward.0", attention));
    entries.push_back(layer(attention, at + ".ParallelTransformerLayer.forward.0"));
    entries.push_back(layer(at + ".ParallelTransformerLayer.forward.0", top + "." + end));
  }
  entries.push_back(layer(top + "." + end));
  entries.push_back(api("Torch.add.0.forward", top + "." + end, {kPtWrap, kPtUser}));
  entries.push_back(api("Torch.add.1.forward", top + "." + end, {kPtWrap, kPtUser}));
  entries.push_back(api("Tensor.__add__.0.forward", "", {kPtImpl}));
  entries.push_back(api("Torch.add.1.backward", "", {}));
  return make_frame(entries, "pytorch");
}

MatchOptions with(LayerMapping layers) {
  Mappings mappings;
  mappings.by_layer = true;
  mappings.layers = std::move(layers);
  MatchOptions options;
  options.mappings = std::make_shared<const Mappings>(std::move(mappings));
  return options;
}

// The items of mine and their partners.
std::map<std::string, std::string> partners(const Matched& matched) {
  std::map<std::string, std::string> out;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs)
      if (pair.mine)
        out.emplace(matched.item(Side::mine, *pair.mine).name,
                    pair.golden ? matched.item(Side::golden, *pair.golden).name : "N/A");
  return out;
}

TEST(FrameworkFunction, IsTheLastOfTheFrameworkBeforeUserCode) {
  const auto of = [](const Texts& lines, std::string_view framework) {
    const std::vector<std::string_view> stack(lines.begin(), lines.end());
    return std::string(framework_function(stack, framework));
  };
  EXPECT_EQ(of({kPtImpl}, "pytorch"), "_wrapped_call_impl");
  EXPECT_EQ(of({kPtImpl, kPtWrap, kPtUser, kPtImpl}, "pytorch"), "");
  EXPECT_EQ(of({kPtWrap, kPtImpl, kPtUser, kPtImpl}, "pytorch"), "_wrapped_call_impl");
  EXPECT_EQ(of({kMsHook}, "mindspore"), "");  // its function is a construct
  EXPECT_EQ(of({kMsWrap}, "mindspore"), "");
  EXPECT_EQ(of({}, "mindspore"), "");
  EXPECT_EQ(of({"", "no commas", "File site-packages/torch, line 1"}, "pytorch"), "");
  EXPECT_EQ(of({"File site-packages/torch/x.py, line 1, in"}, "pytorch"), "");
  EXPECT_EQ(of({"File site-packages/torch/x.py, line 1, in  f  g, code"}, "pytorch"), "f");
}

TEST(Layer, GivesTheMappingThatMsprobeGives) {
  const auto expected = read_name_mapping(kData / "lm" / "expected" / "g2_top.data_mapping.yaml");
  ASSERT_TRUE(expected) << expected.error().message;
  for (const std::string file : {"layer_mapping.yaml", "layer_mapping_seed.yaml"}) {
    const auto layers = read_layer_mapping(kData / "lm" / file);
    ASSERT_TRUE(layers) << layers.error().message;
    const auto matched = match_frames(layer_matcher, fixture_mine(), fixture_golden(), with(*layers));
    EXPECT_EQ(partners(matched), (std::map<std::string, std::string>(expected->begin(), expected->end())));
    EXPECT_EQ(reasons_of(matched)[0], Why::layer_mapping);
  }
}

TEST(Layer, PrefersTheLongestPath) {
  const std::vector<TestEntry> mine = {layer("Cell.net.a.b.Dense.forward.0"),
                                       layer("Cell.net.a.c.Dense.forward.0"),
                                       layer("Cell.net.Net.forward.0")};
  const std::vector<TestEntry> golden = {layer("Module.net.x.y.Linear.forward.0"),
                                         layer("Module.net.z.c.Linear.forward.0"),
                                         layer("Module.net.Net.forward.0")};
  LayerMapping layers;
  layers["Net"] = {{{"a"}, "z"}, {{"a", "b"}, "x.y"}};
  const auto matched = match_frames(layer_matcher, make_frame(mine), make_frame(golden), with(layers));
  const auto pairs = partners(matched);
  EXPECT_EQ(pairs.at("Cell.net.a.b.Dense.forward.0.input.0"), "Module.net.x.y.Linear.forward.0.input.0");
  EXPECT_EQ(pairs.at("Cell.net.a.c.Dense.forward.0.input.0"), "Module.net.z.c.Linear.forward.0.input.0");
}

TEST(Layer, GradientsOfParametersFollowTheirModule) {
  TestEntry mine = entry_of("Cell.net.fc.Dense.parameters_grad.0", {".weight"});
  TestEntry golden = entry_of("Module.net.linear.Linear.parameters_grad.0", {".weight"});
  const std::vector<TestEntry> ours = {layer("Cell.net.fc.Dense.forward.0"), mine,
                                       entry_of("Cell.net.old.Dense.parameters_grad", {".weight"})};
  const std::vector<TestEntry> theirs = {layer("Module.net.linear.Linear.forward.0"), golden,
                                         entry_of("Module.net.old.Linear.parameters_grad", {".weight"})};
  LayerMapping layers;
  layers["net"] = {{{"fc"}, "linear"}};
  const auto pairs =
      partners(match_frames(layer_matcher, make_frame(ours), make_frame(theirs), with(layers)));
  EXPECT_EQ(pairs.at("Cell.net.fc.Dense.parameters_grad.0.weight"),
            "Module.net.linear.Linear.parameters_grad.0.weight");
  EXPECT_EQ(pairs.at("Cell.net.old.Dense.parameters_grad.weight"),
            "Module.net.old.Linear.parameters_grad.weight");
}

TEST(Layer, CallsOfALayerPairInOrder) {
  const std::vector<TestEntry> mine = {layer("Cell.n.a.A.forward.0"), layer("Cell.n.a.A.forward.3"),
                                       layer("Cell.n.a.A.forward.4"), layer("Cell.n.a.A.backward.3")};
  const std::vector<TestEntry> golden = {layer("Module.n.a.A.forward.1"), layer("Module.n.a.A.forward.2"),
                                         layer("Module.n.a.A.backward.2")};
  const auto pairs = partners(match_frames(layer_matcher, make_frame(mine), make_frame(golden), with({})));
  EXPECT_EQ(pairs.at("Cell.n.a.A.forward.3.input.0"), "Module.n.a.A.forward.2.input.0");
  EXPECT_EQ(pairs.at("Cell.n.a.A.forward.4.input.0"), "N/A");
  EXPECT_EQ(pairs.at("Cell.n.a.A.backward.3.input.0"), "Module.n.a.A.backward.2.input.0");
}

TEST(Layer, WithoutStructureNamesAreMatchedAsTheyAre) {
  const std::vector<TestEntry> entries = {entry_of("Torch.add.0.forward", {".input.0"}),
                                          entry_of("x.0.debug", {""})};
  const auto matched = match_frames(layer_matcher, make_frame(entries), make_frame(entries), with({}));
  EXPECT_THAT(pairs_of(matched),
              ElementsAre("Torch.add.0.forward.input.0|Torch.add.0.forward.input.0", "x.0.debug|x.0.debug"));
  EXPECT_THAT(reasons_of(matched), ElementsAre(Why::same_name, Why::same_name));
}

TEST(Layer, WithoutParentsOnlyModulesHaveLayers) {
  const std::vector<TestEntry> mine = {layer("Cell.n.a.A.forward.0"), layer("Torch.add.1.forward"),
                                       layer("Torch.add.2.forward")};
  const std::vector<TestEntry> golden = {layer("Module.n.a.A.forward.5"), layer("Torch.add.2.forward")};
  const auto pairs = partners(match_frames(layer_matcher, make_frame(mine), make_frame(golden), with({})));
  EXPECT_EQ(pairs.at("Cell.n.a.A.forward.0.input.0"), "Module.n.a.A.forward.5.input.0");
  EXPECT_EQ(pairs.at("Torch.add.2.forward.input.0"), "Torch.add.2.forward.input.0");
  EXPECT_EQ(pairs.at("Torch.add.1.forward.input.0"), "N/A");
}

TEST(Layer, OddNamesAndParentsAreFine) {
  const std::vector<TestEntry> entries = {
      api("Torch.add.0.forward", "optimizer", {}),
      api("Torch.sub.0.forward", "....", {}),
      layer("Module.Net.forward.0"),
      layer("...."),
      layer("Module.backward.backward.backward"),
      layer("a.b.parameters_grad.parameters_grad"),
      layer("Module.x.layers.L99999999999999999999.ParallelTransformer.forward.0"),
      layer("Module.x.layers.L99999999999999999999.layers.99999999999999999999999.C.forward.0"),
      layer("")};
  const auto matched = match_frames(layer_matcher, make_frame(entries), make_frame(entries), with({}));
  for (const auto& [mine, golden] : partners(matched)) EXPECT_EQ(mine, golden);
}

TEST(Layer, RenumbersEachTransformerByItself) {
  const auto side = [](const std::string& kind, int first, int second) {
    std::vector<TestEntry> entries;
    for (const auto& [name, number] : {std::pair("enc", first), std::pair("dec", second)}) {
      entries.push_back(layer(fmt::format("{}.{}.layers.{}.L.forward.0", kind, name, number)));
      entries.push_back(layer(fmt::format("{}.{}.layers.{}.L.forward.0", kind, name, number + 1)));
      entries.push_back(layer(fmt::format("{}.{}.ParallelTransformer.forward.0", kind, name)));
    }
    return make_frame(entries);
  };
  const auto pairs =
      partners(match_frames(layer_matcher, side("Cell", 9, 3), side("Module", 0, 1), with({})));
  EXPECT_EQ(pairs.at("Cell.enc.layers.10.L.forward.0.input.0"), "Module.enc.layers.1.L.forward.0.input.0");
  EXPECT_EQ(pairs.at("Cell.dec.layers.3.L.forward.0.input.0"), "Module.dec.layers.1.L.forward.0.input.0");
}

TEST(Layer, IsLinear) {
  std::vector<TestEntry> mine, golden;
  for (int i = 0; i < 20'000; ++i) {
    const std::string at = fmt::format("net.block{}.layers.{}.attn", i % 50, i);
    mine.push_back(layer(fmt::format("Cell.{}.Dense.forward.0", at)));
    golden.push_back(layer(fmt::format("Module.{}.Linear.forward.0", at)));
  }
  for (int i = 0; i < 50; ++i) {
    mine.push_back(layer(fmt::format("Cell.net.block{}.ParallelTransformer.forward.0", i)));
    golden.push_back(layer(fmt::format("Module.net.block{}.ParallelTransformer.forward.0", i)));
  }
  std::string deep = "Module";
  for (int i = 0; i < 100'000; ++i) deep += ".a";
  mine.push_back(layer(deep + ".A.forward.0"));
  golden.push_back(layer(deep + ".A.forward.0"));
  const auto matched = match_frames(layer_matcher, make_frame(mine), make_frame(golden), with({}));
  size_t joined = 0;
  for (const Why why : reasons_of(matched)) joined += why == Why::layer_mapping;
  EXPECT_EQ(joined, 2 * mine.size());
}

TEST(Layer, CountsNamesThatNoLayerHas) {
  const auto warnings = [&](LayerMapping layers) {
    MatchOptions options;
    Mappings mappings;
    mappings.by_layer = true;
    mappings.layers = std::move(layers);
    options.mappings = std::make_shared<const Mappings>(std::move(mappings));
    return warnings_of(layer_matcher, fixture_mine(), fixture_golden(), options);
  };
  const auto used = read_layer_mapping(kData / "lm" / "layer_mapping.yaml");
  ASSERT_TRUE(used) << used.error().message;
  EXPECT_THAT(warnings(*used), ElementsAre());
  // The way to golden is lost at the top; what is below is in the dump all the same.
  LayerMapping lost = *used;
  lost["TopLayer"] = {{{"network_with_loss"}, "nowhere"}};
  EXPECT_THAT(warnings(lost), ElementsAre());
  LayerMapping slips = *used;
  slips["ParallelAttention"].push_back({{"qkv", "proj"}, "x"});
  slips["Paralel"] = {{{"attention"}, "y"}};
  EXPECT_THAT(warnings(slips),
              ElementsAre("2 of the 6 names of the layer mapping are not in the dump: "
                          "Paralel: attention of mine, ParallelAttention: qkv.proj of mine"));
}

}  // namespace
}  // namespace assay
