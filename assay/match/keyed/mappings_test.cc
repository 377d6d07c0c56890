#include "assay/match/keyed/mappings.h"

#include "assay/match/keyed/api_table.h"
#include "assay/support/log.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include <unistd.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;

const fs::path kData = fs::path(ASSAY_TEST_DATA) / "msprobe";

// A file of this text, for as long as the test needs it.
struct Written {
  explicit Written(std::string_view text) {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    path = fs::path(::testing::TempDir()) /
           fmt::format("{}_{}_{}.yaml", info->test_suite_name(), info->name(), ::getpid());
    std::ofstream(path, std::ios::binary) << text;
  }
  ~Written() { fs::remove(path); }
  fs::path path;
};

// The message behind the folder.
template <class Read>
std::string error_of(const Read& read, std::string_view text) {
  const Written file(text);
  const fs::path& path = file.path;
  const auto result = read(path);
  if (result) return "no error";
  const std::string prefix = path.string();
  EXPECT_TRUE(result.error().message.starts_with(prefix)) << result.error().message;
  return result.error().message.substr(std::min(prefix.size(), result.error().message.size()));
}

std::string api_error(std::string_view text) {
  return error_of([](const fs::path& path) { return read_api_mapping(path); }, text);
}
std::string name_error(std::string_view text) { return error_of(read_name_mapping, text); }
std::string layer_error(std::string_view text) { return error_of(read_layer_mapping, text); }

TEST(ApiTable, IsSortedAndComplete) {
  const auto table = api_table();
  EXPECT_EQ(table.size(), 399);
  EXPECT_TRUE(std::is_sorted(table.begin(), table.end(),
                             [](const ApiTwins& a, const ApiTwins& b) { return a.mindspore < b.mindspore; }));
  EXPECT_EQ(find_pytorch_api("Functional.abs"), "Torch.abs");
  EXPECT_EQ(find_pytorch_api("Tensor.add"), "Tensor.add");
  EXPECT_EQ(find_pytorch_api("Functional.ab"), "");
  EXPECT_EQ(find_pytorch_api("Functional.abss"), "");
  EXPECT_EQ(find_pytorch_api("zzz"), "");
  EXPECT_EQ(find_pytorch_api(""), "");
}

TEST(ApiMappingFile, ReadsAList) {
  const auto apis = read_api_mapping(kData / "am" / "api_mapping.yaml");
  ASSERT_TRUE(apis) << apis.error().message;
  ASSERT_EQ(apis->size(), 1);
  const ApiMapping& api = apis->front();
  EXPECT_EQ(api.mine, "Functional.flash_attention_score");
  EXPECT_EQ(api.golden, "NPU.npu_fusion_attention");
  EXPECT_THAT(api.inputs->mine, ElementsAre("0", "1", "3"));
  EXPECT_THAT(api.inputs->golden, ElementsAre("1", "0", "3"));
  EXPECT_THAT(api.outputs->golden, ElementsAre("1"));
  EXPECT_TRUE(api.parameters->mine.empty());
  EXPECT_EQ(api.line, 1);
}

TEST(ApiMappingFile, ReadsTheObjectOfTheManual) {
  const auto apis = read_api_mapping(kData / "am" / "api_mapping_doc.yaml");
  ASSERT_TRUE(apis) << apis.error().message;
  ASSERT_EQ(apis->size(), 1);
  EXPECT_EQ(apis->front().golden, "Torch.abs");
  EXPECT_THAT(apis->front().outputs->mine, ElementsAre("0"));
  EXPECT_FALSE(apis->front().parameters);
}

TEST(ApiMappingFile, NamesParameters) {
  const Written file(
      "ms_api: A.b\npt_api: C.d\nms_parameters: [gamma]\npt_parameters: [weight]\nms_args: [00]\n"
      "pt_args: [1]\n");
  const auto apis = read_api_mapping(file.path);
  ASSERT_TRUE(apis) << apis.error().message;
  EXPECT_THAT(apis->front().parameters->golden, ElementsAre("weight"));
  EXPECT_THAT(apis->front().inputs->mine, ElementsAre("0"));
}

TEST(ApiMappingFile, RefusesWrongEntriesWithTheirLine) {
  EXPECT_THAT(api_error("just text"), HasSubstr(":1: expected an API"));
  EXPECT_THAT(api_error("- 3\n"), HasSubstr(":1: expected an API with the keys"));
  EXPECT_THAT(api_error("ms_api: A.b\n"), HasSubstr(":1: the API has no 'pt_api'"));
  EXPECT_THAT(api_error("ms_api: A.b\npt_api: [x]\n"), HasSubstr(":2: expected the name of an API"));
  EXPECT_THAT(api_error("ms_api: abs\npt_api: A.b\n"), HasSubstr(":1: 'ms_api' is abs; expected a type"));
  EXPECT_THAT(api_error("ms_api: A.b\npt_api: C.d\nms_arg: [0]\n"), HasSubstr(":3: unknown key 'ms_arg'"));
  EXPECT_THAT(api_error("- {ms_api: A.b, pt_api: C.d}\n- {ms_api: A.b, pt_api: C.d}\n"),
              HasSubstr(":2: A.b is mapped to C.d twice"));
}

TEST(ApiMappingFile, RefusesWrongListsWithTheirLine) {
  const auto lists = [](std::string_view text) {
    return api_error(fmt::format("ms_api: A.b\npt_api: C.d\n{}", text));
  };
  EXPECT_THAT(lists("ms_args: [0, 1]\npt_args: [0]\n"),
              EndsWith(":4: 'ms_args' has 2 entries and 'pt_args' 1; expected as many"));
  EXPECT_THAT(lists("ms_args: [0, 0]\npt_args: [0, 1]\n"), EndsWith(":3: 'ms_args' holds 0 twice"));
  EXPECT_THAT(lists("ms_args: [-1]\npt_args: [0]\n"), HasSubstr(":3: 'ms_args' holds -1; expected numbers"));
  EXPECT_THAT(lists("ms_args: [x]\npt_args: [0]\n"), HasSubstr(":3: 'ms_args' holds x; expected numbers"));
  EXPECT_THAT(lists("ms_args: [99999999999999999999]\npt_args: [0]\n"),
              HasSubstr(":3: 'ms_args' holds 9999"));
  EXPECT_THAT(lists("ms_args: 0\npt_args: 0\n"), HasSubstr(":3: 'ms_args' needs a list"));
  EXPECT_THAT(lists("ms_args:\n"), HasSubstr(":3: 'ms_args' needs a list"));
  EXPECT_THAT(lists("ms_args: [[0]]\npt_args: [0]\n"), HasSubstr(":3: 'ms_args' holds no plain number"));
  EXPECT_THAT(lists("pt_outputs: [0]\n"), EndsWith(":3: 'pt_outputs' is given without 'ms_outputs'"));
  EXPECT_THAT(lists("ms_output: [0]\nms_outputs: [1]\n"), HasSubstr(":4: 'ms_outputs' is given in both"));
}

// A mistake in one API is no reason to do without the others.
TEST(ApiMappingFile, PassesOverAnApiWhoseListsDoNotGoTogether) {
  const Written file(
      "- {ms_api: A.b, pt_api: C.d, ms_args: [0], pt_args: [0, 1]}\n"
      "- {ms_api: E.f, pt_api: G.h, ms_args: [1], pt_args: [0]}\n"
      "- {ms_api: I.j, pt_api: K.l, pt_outputs: [0]}\n");
  std::vector<std::string> warnings;
  log::set_writer([&](log::Level, std::string_view text) { warnings.emplace_back(text); });
  const auto apis = read_api_mapping(file.path, UnevenLists::pass_over);
  log::set_writer({});
  ASSERT_TRUE(apis) << apis.error().message;
  ASSERT_EQ(apis->size(), 1u);
  EXPECT_EQ(apis->front().mine, "E.f");
  EXPECT_THAT(
      warnings,
      ElementsAre(EndsWith(":1: 'ms_args' has 1 entries and 'pt_args' 2; expected as many; the mapping "
                           "of A.b is passed over"),
                  EndsWith(":3: 'pt_outputs' is given without 'ms_outputs'; the mapping of I.j is "
                           "passed over")));
  EXPECT_FALSE(read_api_mapping(file.path));
}

// … except for outputs under the spelling that msprobe reads and does not count.
TEST(ApiMappingFile, PairsAsManyOutputsAsBothSidesHave) {
  const Written file(
      "- {ms_api: A.b, pt_api: C.d, ms_args: [0], pt_args: [1], ms_output: [1], pt_output: [0, 1]}\n"
      "- {ms_api: E.f, pt_api: G.h, ms_outputs: [1], pt_outputs: [0, 1]}\n"
      "- {ms_api: I.j, pt_api: K.l, ms_args: [1], pt_args: [0, 1], ms_output: [1], pt_output: [1]}\n");
  std::vector<std::string> warnings;
  log::set_writer([&](log::Level, std::string_view text) { warnings.emplace_back(text); });
  const auto apis = read_api_mapping(file.path, UnevenLists::pair_outputs);
  log::set_writer({});
  ASSERT_TRUE(apis) << apis.error().message;
  ASSERT_EQ(apis->size(), 1u);
  EXPECT_EQ(apis->front().mine, "A.b");
  EXPECT_THAT(apis->front().outputs->mine, ElementsAre("1"));
  EXPECT_THAT(apis->front().outputs->golden, ElementsAre("0"));
  EXPECT_THAT(
      warnings,
      ElementsAre(EndsWith(":1: 'ms_output' has 1 entries and 'pt_output' 2; expected as many; of A.b the "
                           "first 1 are paired"),
                  EndsWith("the mapping of E.f is passed over"),
                  EndsWith("the mapping of I.j is passed over")));
  EXPECT_THAT(read_api_mapping(file.path, UnevenLists::pass_over)->size(), 0u);
}

TEST(NameMappingFile, KeepsTheOrderOfTheFile) {
  const auto cells = read_name_mapping(kData / "cm" / "cell_mapping.yaml");
  ASSERT_TRUE(cells) << cells.error().message;
  EXPECT_THAT(*cells, ElementsAre(Pair("fc1.Dense", "fc1.Linear"), Pair("conv1.Conv2d", "conv3.Conv2d")));
  const Written empty("");
  EXPECT_TRUE(read_name_mapping(empty.path)->empty());
}

TEST(NameMappingFile, RefusesWhatIsNoName) {
  EXPECT_THAT(name_error("- a\n"), HasSubstr(":1: expected lines of the form"));
  EXPECT_THAT(name_error("a: b\nc:\n"), HasSubstr(":2: 'c' needs one name of golden"));
  EXPECT_THAT(name_error("a: b\nc: [d]\n"), HasSubstr(":2: 'c' needs one name of golden"));
  EXPECT_THAT(name_error("a: b\n'': c\n"), HasSubstr(":2: expected a name of mine"));
  EXPECT_THAT(name_error("a: b\na: c\n"), HasSubstr(":2: key 'a' is given twice"));
  EXPECT_THAT(name_error("a: b\nc: *x\n"), HasSubstr(":2: aliases"));
  EXPECT_THAT(name_error("a: {b\n"), HasSubstr(":2: "));
  const auto missing = read_name_mapping("no/such/file.yaml");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("no/such/file.yaml"));
}

TEST(NameMappingFile, MayBeLongerThanAFileOfRules) {
  std::string text;
  for (int i = 0; i < 30'000; ++i)
    text +=
        fmt::format("Functional.flash_attention_score.{}.forward.input.0: NPU.x.{}.forward.input.0\n", i, i);
  ASSERT_GT(text.size(), size_t{1} << 20);
  const auto names = read_name_mapping(Written(text).path);
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_EQ(names->size(), 30'000);
}

TEST(LayerMappingFile, ReadsNumbersPathsAndRemarks) {
  const auto layers = read_layer_mapping(kData / "lm" / "layer_mapping_seed.yaml");
  ASSERT_TRUE(layers) << layers.error().message;
  ASSERT_EQ(layers->count("TopLayer"), 1);  // called Cell in the file
  EXPECT_EQ(layers->at("TopLayer")[0].target, "module");
  EXPECT_THAT(layers->at("layers")[1].path, ElementsAre("6"));
  const auto more = read_layer_mapping(Written("Net:\n  a.b: c.d (Linear)\n  5: 0\n").path);
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_THAT(more->at("Net")[0].path, ElementsAre("a", "b"));
  EXPECT_EQ(more->at("Net")[0].target, "c.d");
  EXPECT_THAT(more->at("Net")[1].path, ElementsAre("5"));
}

TEST(LayerMappingFile, RefusesWhatIsNoLayer) {
  EXPECT_THAT(layer_error("Net: a\n"), HasSubstr(":1: 'Net' needs lines"));
  EXPECT_THAT(layer_error("[]"), HasSubstr(":1: expected a map of type names"));
  EXPECT_THAT(layer_error("Net:\n  a: [b]\n"), HasSubstr(":2: 'a' needs one name"));
  EXPECT_THAT(layer_error("Net:\n  a..b: c\n"), HasSubstr(":2: 'a..b' has an empty part"));
  EXPECT_THAT(layer_error("Net:\n  a: (b)\n"), HasSubstr(":2: 'a' is mapped to '(b)'"));
  EXPECT_THAT(layer_error("Cell:\n  a: b\nTopLayer:\n  a: c\n"), HasSubstr(":3: 'Cell' and 'TopLayer'"));
}

}  // namespace
}  // namespace assay
