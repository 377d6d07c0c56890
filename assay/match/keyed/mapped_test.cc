// The matchers that turn names by a mapping: api, cell, data.
#include "assay/match/keyed/api.h"
#include "assay/match/keyed/cell.h"
#include "assay/match/keyed/mapping_file.h"
#include "assay/match/match_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path kData = fs::path(ASSAY_TEST_DATA) / "msprobe";

MatchOptions with(Mappings mappings, bool every = false) {
  MatchOptions options;
  options.mappings = std::make_shared<const Mappings>(std::move(mappings));
  options.join.every = every;
  return options;
}

Mappings user_apis(std::vector<ApiMapping> apis) {
  Mappings mappings;
  mappings.use_api_table = true;
  mappings.apis = std::move(apis);
  return mappings;
}

TestEntry torch(const std::string& name, const Texts& rests) {
  return entry_of(name, rests, "[2, 3]", "torch.float32");
}

// The names of the fixture "am".
Frame api_mine() {
  return make_frame({entry_of("Functional.abs.0.forward"),
                     entry_of("Mint.add.0.forward", {".input.0", ".input.1", ".output.0"}),
                     entry_of("MintFunctional.relu.0.forward"), entry_of("Tensor.add.0.forward"),
                     entry_of("Functional.flash_attention_score.0.forward",
                              {".input.0", ".input.1", ".input.2", ".input.3", ".output.0", ".output.1"}),
                     entry_of("Primitive.mul.Mul.0.forward", {".input.0"})},
                    "mindspore");
}
Frame api_golden() {
  return make_frame({torch("Torch.abs.0.forward", {".input.0", ".output.0"}),
                     torch("Torch.add.0.forward", {".input.0", ".input.1", ".output.0"}),
                     torch("Functional.relu.0.forward", {".input.0", ".output.0"}),
                     torch("Tensor.add.0.forward", {".input.0", ".output.0"}),
                     torch("NPU.npu_fusion_attention.0.forward",
                           {".input.0", ".input.1", ".input.3", ".output.0", ".output.1"})},
                    "pytorch");
}

Texts of_mine(const Texts& pairs) {
  Texts out;
  for (const std::string& pair : pairs)
    if (!pair.starts_with("-|")) out.push_back(pair);
  return out;
}

TEST(Api, UsesTheBuiltInTable) {
  const auto matched = match_frames(api_matcher, api_mine(), api_golden(), with(user_apis({}), true));
  const Texts pairs = of_mine(pairs_of(matched));
  EXPECT_THAT(Texts(pairs.begin(), pairs.begin() + 9),
              ElementsAre("Functional.abs.0.forward.input.0|Torch.abs.0.forward.input.0",
                          "Functional.abs.0.forward.output.0|Torch.abs.0.forward.output.0",
                          "Mint.add.0.forward.input.0|Torch.add.0.forward.input.0",
                          "Mint.add.0.forward.input.1|Torch.add.0.forward.input.1",
                          "Mint.add.0.forward.output.0|Torch.add.0.forward.output.0",
                          "MintFunctional.relu.0.forward.input.0|Functional.relu.0.forward.input.0",
                          "MintFunctional.relu.0.forward.output.0|Functional.relu.0.forward.output.0",
                          "Tensor.add.0.forward.input.0|Tensor.add.0.forward.input.0",
                          "Tensor.add.0.forward.output.0|Tensor.add.0.forward.output.0"));
  EXPECT_THAT(pairs, Contains("Functional.flash_attention_score.0.forward.input.0|-"));
  EXPECT_THAT(pairs, Contains("Primitive.mul.Mul.0.forward.input.0|-"));
  EXPECT_EQ(reasons_of(matched)[0], Why::api_table);
  EXPECT_EQ(reasons_of(matched)[7], Why::same_name);
}

TEST(Api, TheFileOfTheUserGoesFirst) {
  const auto apis = read_api_mapping(kData / "am" / "api_mapping.yaml");
  ASSERT_TRUE(apis) << apis.error().message;
  const auto matched = match_frames(api_matcher, api_mine(), api_golden(), with(user_apis(*apis), true));
  const Texts pairs = of_mine(pairs_of(matched));
  const std::string mine = "Functional.flash_attention_score.0.forward",
                    golden = "NPU.npu_fusion_attention.0.forward";
  EXPECT_THAT(Texts(pairs.begin() + 9, pairs.begin() + 15),
              ElementsAre(mine + ".input.0|" + golden + ".input.1", mine + ".input.1|" + golden + ".input.0",
                          mine + ".input.2|-", mine + ".input.3|" + golden + ".input.3",
                          mine + ".output.0|" + golden + ".output.1", mine + ".output.1|-"));
  EXPECT_EQ(reasons_of(matched)[9], Why::api_mapping);
  EXPECT_EQ(reasons_of(matched)[11], Why::left_out);
  EXPECT_EQ(pairs[0], "Functional.abs.0.forward.input.0|Torch.abs.0.forward.input.0");
}

ApiMapping api_of(std::string mine, std::string golden) {
  ApiMapping api;
  api.mine = std::move(mine);
  api.golden = std::move(golden);
  api.file = "map.yaml";
  api.line = 7;
  return api;
}

TEST(Api, AnAbsentListMapsEveryIndexToItself) {
  ApiMapping api = api_of("Functional.abs", "NPU.abs");
  const auto matched = match_frames(api_matcher, make_frame({entry_of("Functional.abs.0.forward")}),
                                    make_frame({entry_of("NPU.abs.0.forward")}), with(user_apis({api})));
  EXPECT_THAT(pairs_of(matched), ElementsAre("Functional.abs.0.forward.input.0|NPU.abs.0.forward.input.0",
                                             "Functional.abs.0.forward.output.0|NPU.abs.0.forward.output.0"));
}

TEST(Api, AnEntryWhoseApiGoldenLacksIsLeftToTheTable) {
  ApiMapping api = api_of("Functional.abs", "NPU.abs");
  api.inputs = {{"9"}, {"9"}};  // not checked: the entry does not apply
  const auto matched =
      match_frames(api_matcher, make_frame({entry_of("Functional.abs.0.forward", {".input.0"})}),
                   make_frame({entry_of("Torch.abs.0.forward", {".input.0"})}), with(user_apis({api})));
  EXPECT_THAT(pairs_of(matched), ElementsAre("Functional.abs.0.forward.input.0|Torch.abs.0.forward.input.0"));
}

TEST(Api, RefusesAnIndexThatNoItemHas) {
  const auto error = [](ApiMapping::Indices inputs) {
    ApiMapping api = api_of("Functional.abs", "Torch.abs");
    api.inputs = std::move(inputs);
    Indexed frames;
    frames.mine.push_back(
        make_frame({entry_of("Functional.abs.0.forward", {".input.0", ".input.10", ".input.2"})}));
    frames.golden.push_back(make_frame({entry_of("Torch.abs.0.forward", {".output.0"})}));
    const auto pairing = api_matcher.match(frames, with(user_apis({api})));
    return pairing ? std::string("no error") : pairing.error().message;
  };
  EXPECT_EQ(error({{"1"}, {"0"}}),
            "map.yaml:7: ms_args: 1 is out of range; Functional.abs of mine has 0, 2, 10");
  EXPECT_EQ(error({{"10"}, {"3"}}), "map.yaml:7: pt_args: 3 is out of range; Torch.abs of golden has none");
}

TEST(Api, ANumberIsNotTheBeginningOfAnother) {
  ApiMapping api = api_of("Functional.abs", "Torch.abs");
  api.inputs = {{"1"}, {"0"}};
  const auto matched = match_frames(
      api_matcher,
      make_frame({entry_of("Functional.abs.0.forward", {".input.1", ".input.10", ".input.1.0"})}),
      make_frame({entry_of("Torch.abs.0.forward", {".input.0"})}), with(user_apis({api})));
  EXPECT_THAT(pairs_of(matched),
              ElementsAre("Functional.abs.0.forward.input.1|Torch.abs.0.forward.input.0",
                          "Functional.abs.0.forward.input.10|-", "Functional.abs.0.forward.input.1.0|-"));
}

// Two modules that the mapping gives one name keep their own counts.
TEST(Cell, RenumbersEachModuleForItself) {
  Mappings mappings;
  mappings.rename_cells = true;
  mappings.cells = {{"fc1.Linear", "fc2.Linear"}};
  MatchOptions options = with(std::move(mappings));
  options.renumber_backward = true;
  const auto side = [] {
    return make_frame({entry_of("Module.fc2.Linear.backward.0", {".input.0"}),
                       entry_of("Module.fc1.Linear.backward.0", {".input.0"})});
  };
  options.join.every = true;
  EXPECT_THAT(pairs_of(match_frames(cell_matcher, side(), side(), options)),
              Contains("Module.fc1.Linear.backward.0.input.0|Module.fc2.Linear.backward.0.input.0"));
}

TEST(Api, RenumbersTheMappedNames) {
  MatchOptions options = with(user_apis({}));
  options.renumber_backward = true;
  const auto matched = match_frames(api_matcher, make_frame({entry_of("Mint.add.1.backward", {".input.0"})}),
                                    make_frame({entry_of("Torch.add.4.backward", {".input.0"})}), options);
  EXPECT_THAT(pairs_of(matched), ElementsAre("Mint.add.1.backward.input.0|Torch.add.4.backward.input.0"));
}

TEST(Api, NamesOfOneWordAreFine) {
  const auto matched = match_frames(api_matcher, make_frame({{"x", {{"x"}, {""}, {"Mint."}}}}),
                                    make_frame({{"x", {{"x"}}}}), with(user_apis({})));
  EXPECT_THAT(pairs_of(matched), ElementsAre("x|x", "|-", "Mint.|-"));
}

TEST(Cell, RenamesCellsAndLeavesOthersOut) {
  const auto cells = read_name_mapping(kData / "cm" / "cell_mapping.yaml");
  ASSERT_TRUE(cells);
  Mappings mappings;
  mappings.rename_cells = true;
  mappings.cells = *cells;
  const auto matched = match_frames(
      cell_matcher,
      make_frame({entry_of("Cell.fc1.Dense.forward.0", {".input.0", ".parameters.weight"}),
                  entry_of("Cell.relu.ReLU.forward.0", {".input.0"}),
                  entry_of("Cell.conv1.Conv2d.forward.0", {".output.0"}),
                  entry_of("Cell.fc1.Dense.parameters_grad.0", {".weight"}),
                  entry_of("Functional.add.0.forward", {".input.0"}), entry_of("x.0.debug", {""})}),
      make_frame({entry_of("Module.fc1.Linear.forward.0", {".input.0", ".parameters.weight"}),
                  entry_of("Module.relu.ReLU.forward.0", {".input.0"}),
                  entry_of("Module.conv3.Conv2d.forward.0", {".output.0"}),
                  entry_of("Module.fc1.Linear.parameters_grad.0", {".weight"})}),
      with(mappings));
  EXPECT_THAT(
      pairs_of(matched),
      ElementsAre("Cell.fc1.Dense.forward.0.input.0|Module.fc1.Linear.forward.0.input.0",
                  "Cell.fc1.Dense.forward.0.parameters.weight|Module.fc1.Linear.forward.0.parameters.weight",
                  "Cell.relu.ReLU.forward.0.input.0|Module.relu.ReLU.forward.0.input.0",
                  "Cell.conv1.Conv2d.forward.0.output.0|Module.conv3.Conv2d.forward.0.output.0",
                  "Cell.fc1.Dense.parameters_grad.0.weight|Module.fc1.Linear.parameters_grad.0.weight",
                  "Functional.add.0.forward.input.0|-", "x.0.debug|-"));
  EXPECT_EQ(reasons_of(matched)[0], Why::cell_mapping);
  EXPECT_EQ(reasons_of(matched)[5], Why::nothing_fits);
  EXPECT_EQ(reasons_of(matched)[6], Why::left_out);
}

TEST(Cell, ReplacesPartsInFileOrderWhereAsked) {
  Mappings mappings;
  mappings.rename_cells = true;
  mappings.cells = {
      {"Dense", "Linear"}, {"net.fc.Dense", "whole.Linear"}, {"net", "model"}, {"odel", "ODEL"}};
  const std::vector<TestEntry> mine = {entry_of("Cell.net.a.Dense.forward.0", {".input.0"}),
                                       entry_of("Cell.net.fc.Dense.forward.0", {".input.0"})};
  const std::vector<TestEntry> golden = {entry_of("Module.mODEL.a.Linear.forward.0", {".input.0"}),
                                         entry_of("Module.whole.Linear.forward.0", {".input.0"})};
  const auto whole_only = match_frames(cell_matcher, make_frame(mine), make_frame(golden), with(mappings));
  EXPECT_THAT(pairs_of(whole_only),
              ElementsAre("-|Module.mODEL.a.Linear.forward.0.input.0", "Cell.net.a.Dense.forward.0.input.0|-",
                          "Cell.net.fc.Dense.forward.0.input.0|Module.whole.Linear.forward.0.input.0"));
  mappings.cells_by_part = true;
  const auto by_part = match_frames(cell_matcher, make_frame(mine), make_frame(golden), with(mappings));
  EXPECT_THAT(pairs_of(by_part),
              ElementsAre("Cell.net.a.Dense.forward.0.input.0|Module.mODEL.a.Linear.forward.0.input.0",
                          "Cell.net.fc.Dense.forward.0.input.0|Module.whole.Linear.forward.0.input.0"));
}

TEST(Cell, KeepsTheNamesOfModules) {
  Mappings mappings;
  mappings.rename_cells = true;
  const std::vector<TestEntry> entries = {entry_of("Module.rnn.LSTMCell.forward.0", {".input.0"})};
  const auto matched = match_frames(cell_matcher, make_frame(entries), make_frame(entries), with(mappings));
  EXPECT_EQ(reasons_of(matched)[0], Why::same_name);
  const auto odd = match_frames(cell_matcher, make_frame({{".", {{".forward."}, {"forward"}, {""}}}}),
                                make_frame({{".", {{".forward."}}}}), with(mappings));
  EXPECT_THAT(pairs_of(odd), ElementsAre(".forward.|.forward.", "forward|-", "|-"));
}

TEST(Cell, ManyKeysCostNoMoreThanFew) {
  Mappings mappings;
  mappings.rename_cells = mappings.cells_by_part = true;
  for (int i = 0; i < 20'000; ++i) mappings.cells.emplace_back(fmt::format("key{}", i), "x");
  std::vector<TestEntry> entries;
  for (int i = 0; i < 2'000; ++i)
    entries.push_back(entry_of(fmt::format("Cell.layer{}.Dense.forward.0", i), {".input.0"}));
  EXPECT_EQ(pairs_of(match_frames(cell_matcher, make_frame(entries), make_frame({}), with(mappings))).size(),
            2'000);
}

// The fixture "dm": two names share one, a target that is not there, a name that is in no mapping.
TEST(Data, JoinsTheNamesOfTheFile) {
  Mappings mappings;
  const auto data = read_name_mapping(kData / "dm" / "data_mapping.yaml");
  ASSERT_TRUE(data) << data.error().message;
  mappings.data = *data;
  const std::string fa = "Functional.flash_attention_score.4.forward",
                    fusion = "NPU.npu_fusion_attention.4.forward";
  const std::vector<TestEntry> mine = {entry_of(fa, {".input.0", ".input.1", ".output.0"}),
                                       entry_of("Cell.relu.ReLU.forward.0"),
                                       entry_of("Tensor.same.0.forward")};
  const std::vector<TestEntry> golden = {
      entry_of(fusion, {".input.0", ".input.1", ".output.0"}, "[6]", "Int8"),
      entry_of("Module.act.GELU.forward.0"), entry_of("Tensor.same.0.forward")};
  for (const bool every : {false, true}) {
    MatchOptions options = with(mappings, true);
    options.mapped_join.every = every;
    options.fuzzy = true;  // has no say where a data mapping is in force
    const auto matched = match_frames(data_matcher, make_frame(mine), make_frame(golden), options);
    EXPECT_THAT(of_mine(pairs_of(matched)),
                ElementsAre(fa + ".input.0|" + fusion + ".input.0", fa + ".input.1|" + fusion + ".input.0",
                            fa + ".output.0|" + fusion + ".output.0",
                            "Cell.relu.ReLU.forward.0.input.0|Module.act.GELU.forward.0.input.0",
                            "Cell.relu.ReLU.forward.0.output.0|-",
                            "Tensor.same.0.forward.input.0|Tensor.same.0.forward.input.0",
                            "Tensor.same.0.forward.output.0|Tensor.same.0.forward.output.0"));
    EXPECT_EQ(reasons_of(matched)[0], Why::data_mapping);
    EXPECT_EQ(reasons_of(matched)[5], Why::same_name);
  }
}

TEST(Data, FollowsTheRenumberedItemOfGolden) {
  Mappings mappings;
  mappings.data = {{"Mint.add.1.backward.input.0", "Torch.add.6.backward.input.0"},
                   {"Mint.mul.0.backward.input.0", "Torch.mul.0.backward.input.0"}};
  MatchOptions options = with(mappings);
  options.renumber_backward = true;
  // Golden has no Torch.mul.0, though its Torch.mul.3 is the first call.
  const auto matched = match_frames(
      data_matcher,
      make_frame({entry_of("Mint.add.1.backward", {".input.0"}),
                  entry_of("Mint.mul.0.backward", {".input.0"}),
                  entry_of("Torch.sub.3.backward", {".input.0"})}),
      make_frame(
          {entry_of("Torch.add.2.backward", {".input.0"}), entry_of("Torch.add.6.backward", {".input.0"}),
           entry_of("Torch.mul.3.backward", {".input.0"}), entry_of("Torch.sub.1.backward", {".input.0"})}),
      options);
  EXPECT_THAT(
      of_mine(pairs_of(matched)),
      ElementsAre("Mint.add.1.backward.input.0|Torch.add.6.backward.input.0", "Mint.mul.0.backward.input.0|-",
                  "Torch.sub.3.backward.input.0|Torch.sub.1.backward.input.0"));
}

TEST(Data, NeedsAMapping) {
  Indexed frames;
  const auto pairing = data_matcher.match(frames, {});
  ASSERT_FALSE(pairing);
  EXPECT_THAT(pairing.error().message, HasSubstr("needs a data mapping"));
}

// ----- names that no dump has

TEST(Api, CountsNamesThatNoDumpHas) {
  const auto warnings = [&](std::vector<ApiMapping> apis) {
    return warnings_of(api_matcher, api_mine(), api_golden(), with(user_apis(std::move(apis))));
  };
  EXPECT_THAT(warnings({}), IsEmpty());
  EXPECT_THAT(warnings({api_of("Functional.abs", "Torch.abs")}), IsEmpty());
  EXPECT_THAT(warnings({api_of("Functional.abs", "Torch.abz"), api_of("Functional.ab\n", "Torch.abs")}),
              ElementsAre("2 of the 4 names of the api mapping are not in the dump: Torch.abz of golden, "
                          "Functional.ab\\x0a of mine"));
  EXPECT_THAT(
      warnings({api_of("a.a", "b.b"), api_of("c.c", "d.d")}),
      ElementsAre("4 of the 4 names of the api mapping are not in the dump: a.a of mine, b.b of golden, "
                  "c.c of mine, …"));
}

TEST(Cell, CountsNamesThatNoDumpHas) {
  const auto warnings = [&](NameMapping cells, bool by_part) {
    Mappings mappings;
    mappings.rename_cells = true;
    mappings.cells = std::move(cells);
    mappings.cells_by_part = by_part;
    return warnings_of(cell_matcher, make_frame({entry_of("Cell.net.fc1.Dense.forward.0")}),
                       make_frame({entry_of("Module.net.fc2.Linear.forward.0")}), with(std::move(mappings)));
  };
  EXPECT_THAT(warnings({}, false), IsEmpty());
  EXPECT_THAT(warnings({{"net.fc1.Dense", "net.fc2.Linear"}}, false), IsEmpty());
  EXPECT_THAT(warnings({{"fc1.Dense", "net.fc2.Linear"}}, false),
              ElementsAre("1 of the 2 names of the cell mapping is not in the dump: fc1.Dense of mine"));
  EXPECT_THAT(
      warnings({{"net.fc1.Dense", "net.fc3.Linear"}}, false),
      ElementsAre("1 of the 2 names of the cell mapping is not in the dump: net.fc3.Linear of golden"));
  EXPECT_THAT(warnings({{"fc1.Dense", "fc2.Linear"}}, true), IsEmpty());
  EXPECT_THAT(warnings({{"fc1.Dense", "fc2.Linear"}, {"fc7", "fc8"}}, true),
              ElementsAre("1 of the 2 names of the cell mapping is not in the dump: fc7 of mine"));
}

// A name that stands in the dump twice is one name of the file.
TEST(Data, CountsNamesThatNoDumpHas) {
  Mappings mappings;
  mappings.data = NameMapping{{"a.0", "b.0"}, {"c.0", "d.0"}};
  EXPECT_THAT(warnings_of(data_matcher, make_frame({{"a", {{"a.0"}, {"a.0"}}}}),
                          make_frame({{"b", {{"b.0"}}}}), with(std::move(mappings))),
              ElementsAre("1 of the 2 names of the data mapping is not in the dump: c.0 of mine"));
}

}  // namespace
}  // namespace assay
