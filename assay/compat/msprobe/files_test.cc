// The advice, the log lines and the mapping that msprobe writes beside its tables.
#include "assay/compat/msprobe/files.h"

#include "assay/compat/msprobe/profile.h"
#include "assay/compat/msprobe/sample_rows.h"
#include "assay/support/yaml.h"

#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// ----- the advisor

const Profile kTable = msprobe_profile({});

struct Advice {
  fs::path file;
  std::string text;
  std::vector<std::string> log;
};

Summary passing() {
  Summary summary;
  summary.rows = summary.compared = summary.passed = summary.of_mine = summary.of_golden = 1;
  summary.by[static_cast<size_t>(Evidence::elements)] = 1;
  return summary;
}

Advice advise(const std::vector<NodeResult>& nodes, Content content = Content::data, int rank = -1,
              const Summary& summary = passing()) {
  const TestFolder folder;
  const LogLines log;
  Head head = msprobe_head(content);
  head.at.rank = rank;
  const auto sink = msprobe_advisor({.folder = folder.path() / "out", .per_rank = rank >= 0}, kTable);
  const auto files = run_sink(*sink, head, nodes, summary);
  EXPECT_EQ(files.size(), 1u);
  if (files.empty()) return {};
  EXPECT_EQ(fs::status(files[0]).permissions(), fs::perms(0640));
  EXPECT_EQ(log.lines.back(), "The advisor summary is saved in: " + files[0].string());
  return {files[0].filename(), file_text(files[0]), log.lines};
}

std::string advice_for(const std::string& name, std::string_view word = "No") {
  MsprobePair pair(name);
  pair.row.verdict.word = word;
  const std::string text = advise({node_of("op", {pair.row})}).text;
  const std::string start = "Line: 0\nSuspect Nodes: " + name + "\nExpert Advice: ";
  EXPECT_THAT(text, StartsWith(start));
  return text.substr(std::min(text.size(), start.size()));
}

TEST(MsprobeAdvisor, AdvisesByTheNameOfTheRow) {
  EXPECT_EQ(
      advice_for("Functional.mul.0.forward.input.0"),
      "1. Analyze the model to view the input source.\n"
      "2. Check whether an inplace API causes the output result to overwrite the input result. That is, "
      "the fault is actually caused by a computation error.\n"
      "3. The fault may be caused by memory corruption and further analysis is required.\n");
  const std::string forward =
      "This is a forward API computation error. Check the computation implementation.\n";
  EXPECT_EQ(advice_for("Functional.mul.0.forward.output.0"), forward);
  EXPECT_EQ(advice_for("Module.fc.Linear.forward.0.parameters.weight"), forward);
  EXPECT_EQ(advice_for("Functional.mul.0.backward.input.0"),
            "Check whether the forward computation result is affected.\n");
  const std::string backward =
      "This is a backward API computation error. Check the computation implementation.\n";
  EXPECT_EQ(advice_for("Functional.mul.0.backward.output.0"), backward);
  EXPECT_EQ(advice_for("Module.fc.Linear.parameters_grad.0.weight"), backward);
}

TEST(MsprobeAdvisor, KnowsApisThatVaryFromRunToRun) {
  for (const std::string api : {"conv2d", "conv3d", "matmul", "nll_loss", "layer_norm", "lstm"})
    for (const std::string end : {"forward.output.0", "backward.output.0"})
      EXPECT_EQ(advice_for("Functional." + api + ".0." + end),
                "This torch api may be uncertainty in the calculation, can seed_all(mode=True) to enable "
                "deterministic computing.\n");
  EXPECT_THAT(advice_for("Functional.matmul.0.forward.input.0"), StartsWith("1. Analyze the model"));
  EXPECT_EQ(advice_for("Functional.matmul.0.backward.input.0"),
            "Check whether the forward computation result is affected.\n");
}

TEST(MsprobeAdvisor, TakesTheFirstRowOfTheTableThatFails) {
  MsprobePair good("Torch.a.0.forward.input.0"), golden("Torch.a.0.forward.input.1"),
      ignored("Torch.a.0.forward.input.2"), bad("Torch.a.0.forward.output.0"),
      worse("Torch.a.0.forward.output.1");
  good.row.verdict.word = "Yes";
  golden.row.verdict.word = "No";
  golden.lose_mine();  // not in the table, so not counted
  ignored.row.verdict.word = "None";
  bad.row.verdict.word = worse.row.verdict.word = "No";
  const Advice advice =
      advise({node_of("a", {good.row, golden.row, ignored.row}), node_of("b", {bad.row, worse.row})});
  EXPECT_THAT(advice.text, StartsWith("Line: 2\nSuspect Nodes: Torch.a.0.forward.output.0\n"));
  EXPECT_EQ(advice.file, "advisor_20250102030405.txt");
  EXPECT_THAT(advice.log,
              ElementsAre("Start analyzing the comparison result: all",
                          "warn Find Torch.a.0.forward.output.0 accuracy not reached, the line is 2",
                          "The summary of the expert advice is as follows: ", "Line: 2",
                          "Suspect Nodes: Torch.a.0.forward.output.0",
                          "Expert Advice: This is a forward API computation error. Check the computation "
                          "implementation.",
                          HasSubstr("The advisor summary is saved in: ")));
}

TEST(MsprobeAdvisor, KnowsTheWordsOfEveryMode) {
  MsprobePair pair("Torch.a.0.forward.output.0");
  for (const auto& [word, content, mode] : {std::tuple{"Warning", Content::statistics, "summary"},
                                            std::tuple{"Different", Content::checksums, "md5"}}) {
    pair.row.verdict.word = word;
    const Advice advice = advise({node_of("a", {pair.row})}, content);
    EXPECT_THAT(advice.text, StartsWith("Line: 0\n"));
    EXPECT_EQ(advice.log[0], std::string("Start analyzing the comparison result: ") + mode);
  }
}

TEST(MsprobeAdvisor, IsContentWhereNothingFails) {
  MsprobePair pair("Torch.a.0.forward.output.0");
  pair.row.verdict.word = "Yes";
  for (const std::vector<NodeResult>& nodes :
       {std::vector<NodeResult>{}, std::vector<NodeResult>{node_of("a", {pair.row})}}) {
    const Advice advice = advise(nodes, Content::data, 3);
    EXPECT_EQ(advice.file, "advisor_rank3_20250102030405.txt");
    EXPECT_EQ(advice.text,
              "Line: NA\nSuspect Nodes: NA\n"
              "Expert Advice: All data in comparison result meets the accuracy requirements.\n");
    EXPECT_EQ(advice.log[1], "All data from api input/output accuracy reached");
  }
}

TEST(MsprobeAdvisor, NamesTensorsThatDoNotFit) {
  MsprobePair pair("Torch.a.0.forward.input.0");
  pair.row.verdict.word = "Unmatched";
  const std::string line =
      "warn The tensor name matches but the shape or dtype does not match: Torch.a.0.forward.input.0";
  EXPECT_EQ(advise({node_of("a", {pair.row})}).log[1], line);
  EXPECT_THAT(advise({node_of("a", {pair.row})}, Content::statistics).log, Not(Contains(line)));
}

TEST(MsprobeAdvisor, EndsWithTheNodeThatMadeTheDifference) {
  const std::string advice =
      "Line: NA\nSuspect Nodes: NA\n"
      "Expert Advice: All data in comparison result meets the accuracy requirements.\n";
  const std::string origin =
      "First node whose inputs reach accuracy and whose output does not: Torch.a.0.forward";
  Summary summary = passing();
  EXPECT_EQ(advise({}, Content::data, -1, summary).text, advice);
  summary.first_origin.emplace().node = "Torch.a.0.forward";
  const Advice without_stack = advise({}, Content::data, -1, summary);
  EXPECT_EQ(without_stack.text, advice + origin + "\n");
  EXPECT_THAT(without_stack.log, Contains(origin));
  summary.first_origin->called_at = "File net.py, line 7";
  const Advice with_stack = advise({}, Content::data, -1, summary);
  EXPECT_EQ(with_stack.text, advice + origin + ", called at File net.py, line 7\n");
  EXPECT_THAT(with_stack.log, Contains(origin + ", called at File net.py, line 7"));
}

// The original's advice counts NaN, and what it could not compare, as reached.
TEST(MsprobeAdvisor, EndsWithWhatItsWordsDoNotCover) {
  MsprobePair pair("Torch.a.0.forward.output.0");
  pair.mine.max = std::nan("");
  EXPECT_THAT(advise({node_of("a", {pair.row})}, Content::statistics).text,
              EndsWith("NaN or Inf in 1 tensor of NPU where Bench has none, the first: "
                       "Torch.a.0.forward.output.0\n"));
  Summary nothing = passing();
  nothing.compared = nothing.passed = 0;
  nothing.by = {};
  EXPECT_THAT(advise({}, Content::data, -1, nothing).text,
              EndsWith("requirements.\nNOT COMPARED: 0 of 1 tensor of mine was compared.\n"));
}

// ----- log lines

std::vector<std::string> logged(const MsprobePair& pair, Content content, Generation generation,
                                MsprobeLog wanted = {}) {
  const Profile profile = msprobe_profile({.generation = generation});
  wanted.profile = &profile;
  wanted.table = "/out";
  const auto sink = msprobe_log(wanted);
  const LogLines log;
  EXPECT_THAT(run_sink(*sink, msprobe_head(content, generation), {node_of("a", {pair.row})}), IsEmpty());
  return log.lines;
}

constexpr std::string_view kSaving =
    "Saving result excel file in progress. The file path is: /out/compare_result_20250102030405.xlsx.";

TEST(MsprobeLog, HasTwoLinesPerTensor) {
  MsprobePair pair("Torch.a.0.forward.output.0");
  pair.row.metrics = {0.5, 0.25, 2.0, 1e-5, 1.0, 0.75, int64_t{0}};
  pair.row.verdict.reason = "Said.";
  EXPECT_THAT(
      logged(pair, Content::data, Generation::g2),
      ElementsAre("start compare: Torch.a.0.forward.output.0",
                  "[Torch.a.0.forward.output.0] Compare result: cosine 0.5, euc_dist 0.25, max_abs_err "
                  "2.0, max_relative_err 1e-05, one_thousand_err_ratio 1.0, five_thousand_err_ratio "
                  "0.75, Said.",
                  kSaving));
  EXPECT_EQ(
      logged(pair, Content::data, Generation::g1)[1],
      "[Torch.a.0.forward.output.0] Compare result: cosine 0.5, max_abs_err 2.0, max_relative_err 1e-05, "
      "one_thousand_err_ratio 1.0, five_thousand_err_ratio 0.75, Said.");
}

TEST(MsprobeLog, HasOnlyTheMessageOfTensorsWithoutFile) {
  for (const std::string message : {"NPU does not have data file.", "Bench does not have data file.",
                                    "No bench data matched.Bench api/module unmatched."}) {
    MsprobePair pair("Torch.a.0.forward.output.0");
    pair.row.verdict = {Level::fail, message, "None", "unsupported"};
    EXPECT_THAT(logged(pair, Content::data, Generation::g2)[1],
                StartsWith("[Torch.a.0.forward.output.0] Compare result: " + message));
  }
}

TEST(MsprobeLog, LeavesRowsOutWhereTheyAreNotWanted) {
  MsprobePair pair("Torch.a.0.forward.output.0");
  pair.row.verdict.no_metric = "unsupported";
  MsprobeLog without_rows, coloured, csv;
  without_rows.rows = false;
  coloured.coloured = true;
  csv.suffix = ".csv";
  EXPECT_THAT(logged(pair, Content::data, Generation::g2, without_rows), ElementsAre(kSaving));
  EXPECT_THAT(logged(pair, Content::statistics, Generation::g2), ElementsAre(kSaving));
  EXPECT_THAT(logged(pair, Content::statistics, Generation::g2, coloured),
              ElementsAre(kSaving, "Coloring Excel in progress."));
  EXPECT_THAT(logged(pair, Content::statistics, Generation::g2, csv)[0], HasSubstr("5.csv."));
  pair.lose_mine();
  EXPECT_THAT(logged(pair, Content::data, Generation::g2), ElementsAre(kSaving));
}

TEST(MsprobeKernelLog, NamesTheTableOfEverySection) {
  const LogLines log;
  Head head = msprobe_head(Content::data);
  head.at.rank = 1;
  head.at.step = 3;
  const auto sink = msprobe_kernel_log();
  EXPECT_TRUE(sink->begin(head));
  const std::vector<fs::path> files = {"/out/a.xlsx"};
  EXPECT_TRUE(sink->announce({}, files));
  EXPECT_THAT(log.lines, ElementsAre("Compare rank: 1 step: 3 finish. Compare result: /out/a.xlsx."));
}

// ----- the mapping

std::string mapping_of(const std::vector<NodeResult>& nodes) {
  const TestFolder folder;
  const auto files =
      run_sink(*msprobe_mapping({.folder = folder.path()}), msprobe_head(Content::data), nodes);
  EXPECT_EQ(files.size(), 1u);
  if (files.empty()) return {};
  EXPECT_EQ(files[0].filename(), "data_mapping_20250102030405.yaml");
  return file_text(files[0]);
}

TEST(MsprobeMapping, ListsTheItemsOfMineInTableOrder) {
  MsprobePair first("Mint.add.0.forward.input.0"), alone("Mint.add.0.forward.output.0"), golden("x.y");
  first.row.golden.name = "Torch.add.0.forward.input.0";
  alone.lose_golden();
  golden.lose_mine();
  EXPECT_EQ(mapping_of({node_of("a", {first.row, alone.row}), node_of("b", {golden.row})}),
            "Mint.add.0.forward.input.0: Torch.add.0.forward.input.0\nMint.add.0.forward.output.0: N/A\n");
}

TEST(MsprobeMapping, QuotesWhatYamlWouldReadOtherwise) {
  for (const std::string name :
       {"it's", "a: b", "# a",   "- a", "-a", "12", "1.5", "",   "[a]", "{a}",  "*a", "&a",
        "!a",   "a #b", "\"a\"", "%a",  "@a", "`a", "? a", "层", " a ", "a\\n", "|",  ">"}) {
    MsprobePair pair(name);
    const std::string text = mapping_of({node_of("a", {pair.row})});
    const auto root = parse_yaml(text, "mapping");
    ASSERT_TRUE(root) << text << root.error().message;
    ASSERT_TRUE(root->IsMap() && root->size() == 1) << text;
    EXPECT_EQ(root->begin()->first.Scalar(), name);
    EXPECT_EQ(root->begin()->second.Scalar(), name);
    // Quoted, or a plain scalar that is a text to every reader.
    EXPECT_EQ(root->begin()->first.Tag(), "!") << text;
  }
}

}  // namespace
}  // namespace assay
