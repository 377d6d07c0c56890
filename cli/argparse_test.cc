#include "cli/argparse.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

// Every expectation, help text included, was printed by Python 3.11's argparse for the same table of flags
// (COLUMNS=80; const="" for flags whose value may be missing).

using Takes = ForeignFlag::Takes;

const ForeignCommand kCommand = {
    "tool compare",
    {{{"-i", "--input_path"}, Takes::one, "<Required> The compare input path, a dict json.", true},
     {{"-o", "--output_path"},
      Takes::perhaps_one,
      "<optional> The compare task result out path, where every table, every advice and every mapping is "
      "written. Default path: ./output"},
     {{"-s", "--stack_mode"}, Takes::nothing, "<optional> Whether to save stack info."},
     {{"-c", "--compare_only"}, Takes::nothing, "<optional> Whether to give advisor."},
     {{"-hl", "--highlight"}, Takes::nothing, "<optional> Whether to set result highlighting."},
     {{"-cm", "--cell_mapping"}, Takes::perhaps_one, "<optional> The cell mapping file path."},
     {{"-dm", "--data_mapping"}, Takes::one, "<optional> The data mapping file path."},
     {{"--rank"}, Takes::one, "<optional> Ranks."},
     {{"--backend"}, Takes::one, "<optional> Backend.", false, {"fsdp", "megatron"}},
     {{"-tensor_log", "--is_print_compare_log"}, Takes::nothing, "<Optional> whether to log."}}};

constexpr std::string_view kUsage =
    "usage: tool compare [-h] -i INPUT_PATH [-o [OUTPUT_PATH]] [-s] [-c] [-hl]\n"
    "                    [-cm [CELL_MAPPING]] [-dm DATA_MAPPING] [--rank RANK]\n"
    "                    [--backend {fsdp,megatron}] [-tensor_log]\n";

struct Case {
  std::vector<std::string> arguments;
  std::string_view expected;
};

// The flags that were given, in the order of the table; "error: …" without the usage before it; "help".
std::string outcome(const std::vector<std::string>& arguments) {
  const auto parsed = parse_foreign(kCommand, arguments);
  if (!parsed) {
    const ParseStop& stop = parsed.error();
    EXPECT_TRUE(stop.text.starts_with(kUsage)) << stop.text;
    if (stop.code == 0) return "help";
    EXPECT_EQ(stop.code, 2);
    EXPECT_EQ(stop.text.back(), '\n');
    const std::string start = std::string(kUsage) + "tool compare: ";
    return stop.text.substr(start.size(), stop.text.size() - start.size() - 1);
  }
  std::string out;
  for (const ForeignFlag& flag : kCommand.flags) {
    if (!parsed->has(flag.key())) continue;
    out += (out.empty() ? "" : " ") + std::string(flag.key().substr(2));
    if (const auto value = parsed->value(flag.key())) out += "=" + *value;
  }
  return out;
}

void check(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    std::string words;
    for (const std::string& argument : each.arguments) words += " '" + argument + "'";
    EXPECT_EQ(outcome(each.arguments), each.expected) << words;
  }
}

TEST(Argparse, ValuesStandBehindAnEqualsSignOrGluedOn) {
  check({
      {{"-i", "f"}, "input_path=f"},
      {{"-if"}, "input_path=f"},
      {{"-i=f"}, "input_path=f"},
      {{"-i="}, "input_path="},
      {{"-ix=y"}, "input_path=x=y"},
      {{"--input_path", "f"}, "input_path=f"},
      {{"--input_path=f"}, "input_path=f"},
      {{"--input_path="}, "input_path="},
      {{"--input_path=a=b"}, "input_path=a=b"},
      {{"-i", ""}, "input_path="},
      {{"-i", "-"}, "input_path=-"},
      {{"-i", "a b"}, "input_path=a b"},
      {{"-i", "f", "-i", "g"}, "input_path=g"},
      {{"-i", "f", "--rank=--x"}, "input_path=f rank=--x"},
      {{"-i", "f", "-dm=-x"}, "input_path=f data_mapping=-x"},
  });
}

TEST(Argparse, AValueMayBeLeftOutBeforeTheNextFlag) {
  check({
      {{"-o", "-i", "f"}, "input_path=f output_path"},
      {{"-i", "f", "-o"}, "input_path=f output_path"},
      {{"-i", "f", "-o", "out"}, "input_path=f output_path=out"},
      {{"-i", "f", "-oX"}, "input_path=f output_path=X"},
      {{"-i", "f", "-o=X"}, "input_path=f output_path=X"},
      {{"-i", "f", "-o="}, "input_path=f output_path="},
      {{"-o", "-s", "-i", "f"}, "input_path=f output_path stack_mode"},
      {{"-cm", "-o", "x", "-i", "f"}, "input_path=f output_path=x cell_mapping"},
      {{"-i", "f", "-cm=x"}, "input_path=f cell_mapping=x"},
      {{"-i", "f", "-o-s"}, "input_path=f output_path=-s"},
      {{"-o", "a", "b", "-i", "f"}, "error: unrecognized arguments: b"},
      {{"-i", "f", "-o", "x", "-o"}, "input_path=f output_path"},
  });
}

TEST(Argparse, LongFlagsMayBeShortenedToAnUnambiguousBeginning) {
  check({
      {{"--in", "f"}, "input_path=f"},
      {{"--input", "f"}, "input_path=f"},
      {{"--in=f"}, "input_path=f"},
      {{"--is", "--in", "f"}, "input_path=f is_print_compare_log"},
      {{"--out", "x", "--in", "f"}, "input_path=f output_path=x"},
      {{"--o=x", "--in", "f"}, "input_path=f output_path=x"},
      {{"--hi", "--in=f"}, "input_path=f highlight"},
      {{"--co", "--in=f"}, "input_path=f compare_only"},
      {{"--ce", "--in=f"}, "input_path=f cell_mapping"},
      {{"--r", "3", "-if"}, "input_path=f rank=3"},
      {{"--b=fsdp", "-if"}, "input_path=f backend=fsdp"},
      {{"-d", "x", "-if"}, "input_path=f data_mapping=x"},
      {{"-t", "-if"}, "input_path=f is_print_compare_log"},
      {{"-te", "-if"}, "input_path=f is_print_compare_log"},
      {{"-tensor_log", "-if"}, "input_path=f is_print_compare_log"},
  });
}

TEST(Argparse, ABeginningOfTwoFlagsIsRefused) {
  check({
      {{"--i", "f"}, "error: ambiguous option: --i could match --input_path, --is_print_compare_log"},
      {{"-i", "f", "--c"}, "error: ambiguous option: --c could match --compare_only, --cell_mapping"},
      {{"-i", "f", "--c=x"}, "error: ambiguous option: --c=x could match --compare_only, --cell_mapping"},
      {{"--input_path=f", "--i=x"},
       "error: ambiguous option: --i=x could match --input_path, --is_print_compare_log"},
  });
}

TEST(Argparse, FlagsOfOneLetterCluster) {
  check({
      {{"-sc", "-i", "f"}, "input_path=f stack_mode compare_only"},
      {{"-cs", "-i", "f"}, "input_path=f stack_mode compare_only"},
      {{"-sci", "f"}, "input_path=f stack_mode compare_only"},
      {{"-scif"}, "input_path=f stack_mode compare_only"},
      {{"-scoX", "-if"}, "input_path=f output_path=X stack_mode compare_only"},
      {{"-sco", "-if"}, "input_path=f output_path stack_mode compare_only"},
      {{"-i", "f", "-sx"}, "error: argument -s/--stack_mode: ignored explicit argument 'x'"},
      {{"-i", "f", "-scx"}, "error: argument -c/--compare_only: ignored explicit argument 'x'"},
      {{"-i", "f", "-cmx"}, "error: argument -c/--compare_only: ignored explicit argument 'mx'"},
      {{"-i", "f", "-dmx"}, "error: unrecognized arguments: -dmx"},
  });
}

TEST(Argparse, FlagsWithoutValueRefuseOne) {
  check({
      {{"-i", "f", "-s=x"}, "error: argument -s/--stack_mode: ignored explicit argument 'x'"},
      {{"-i", "f", "-s="}, "error: argument -s/--stack_mode: ignored explicit argument ''"},
      {{"-i", "f", "--stack_mode=1"}, "error: argument -s/--stack_mode: ignored explicit argument '1'"},
      {{"-i", "f", "--high=x"}, "error: argument -hl/--highlight: ignored explicit argument 'x'"},
      {{"-i", "f", "--high="}, "error: argument -hl/--highlight: ignored explicit argument ''"},
  });
}

TEST(Argparse, NegativeNumbersAreValues) {
  check({
      {{"-i", "-1"}, "input_path=-1"},
      {{"-i", "-1.5"}, "input_path=-1.5"},
      {{"-i", "-.5"}, "input_path=-.5"},
      {{"-i", "-1e3"}, "error: argument -i/--input_path: expected one argument"},
      {{"-i", "-5x"}, "error: argument -i/--input_path: expected one argument"},
      {{"-i", "f", "--rank", "-1"}, "input_path=f rank=-1"},
      {{"-i", "f", "-o", "-2"}, "input_path=f output_path=-2"},
      {{"-i", "f", "-1"}, "error: unrecognized arguments: -1"},
      {{"-i", "f", "-s", "-7"}, "error: unrecognized arguments: -7"},
  });
}

TEST(Argparse, WhatIsMissingIsNamed) {
  check({
      {{}, "error: the following arguments are required: -i/--input_path"},
      {{"-s"}, "error: the following arguments are required: -i/--input_path"},
      {{"-i"}, "error: argument -i/--input_path: expected one argument"},
      {{"--input_path"}, "error: argument -i/--input_path: expected one argument"},
      {{"-i", "-s"}, "error: argument -i/--input_path: expected one argument"},
      {{"-i", "f", "--rank"}, "error: argument --rank: expected one argument"},
      {{"-i", "f", "-dm", "-s"}, "error: argument -dm/--data_mapping: expected one argument"},
      {{"-i", "f", "--rank", "--xyz"}, "error: argument --rank: expected one argument"},
      {{"-o"}, "error: the following arguments are required: -i/--input_path"},
      {{"-s", "pos"}, "error: the following arguments are required: -i/--input_path"},
  });
}

TEST(Argparse, WhatIsNotKnownIsListed) {
  check({
      {{"-i", "f", "-x"}, "error: unrecognized arguments: -x"},
      {{"-i", "f", "--xyz=1", "pos"}, "error: unrecognized arguments: --xyz=1 pos"},
      {{"-i", "f", "-x", "1", "--y"}, "error: unrecognized arguments: -x 1 --y"},
      {{"-i", "f", "pos"}, "error: unrecognized arguments: pos"},
      {{"-i", "f", "---x"}, "error: unrecognized arguments: ---x"},
      {{"-i", "f", "="}, "error: unrecognized arguments: ="},
      {{"-i", "f", "-="}, "error: unrecognized arguments: -="},
      {{"-i", "f", ""}, "error: unrecognized arguments: "},
      {{"-i", "f", "-c", "on"}, "error: unrecognized arguments: on"},
  });
}

TEST(Argparse, ChoicesAreChecked) {
  check({
      {{"-i", "f", "--backend", "fsdp"}, "input_path=f backend=fsdp"},
      {{"-i", "f", "--backend=megatron"}, "input_path=f backend=megatron"},
      {{"-i", "f", "--backend", "tpu"},
       "error: argument --backend: invalid choice: 'tpu' (choose from 'fsdp', 'megatron')"},
      {{"-i", "f", "--backend="},
       "error: argument --backend: invalid choice: '' (choose from 'fsdp', 'megatron')"},
      {{"-i", "f", "--b=no"},
       "error: argument --backend: invalid choice: 'no' (choose from 'fsdp', 'megatron')"},
      {{"-i", "f", "--backend"}, "error: argument --backend: expected one argument"},
  });
}

TEST(Argparse, HelpComesBeforeErrors) {
  check({
      {{"-h"}, "help"},
      {{"--help"}, "help"},
      {{"-s", "-h"}, "help"},
      {{"-i", "f", "-h", "-x"}, "help"},
      {{"-x", "--help"}, "help"},
  });
}

TEST(Argparse, HelpIsWrappedAsInATerminalOfEightyColumns) {
  const auto parsed = parse_foreign(kCommand, std::vector<std::string>{"-h"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().text,
            std::string(kUsage) +
                "\n"
                "options:\n"
                "  -h, --help            show this help message and exit\n"
                "  -i INPUT_PATH, --input_path INPUT_PATH\n"
                "                        <Required> The compare input path, a dict json.\n"
                "  -o [OUTPUT_PATH], --output_path [OUTPUT_PATH]\n"
                "                        <optional> The compare task result out path, where\n"
                "                        every table, every advice and every mapping is\n"
                "                        written. Default path: ./output\n"
                "  -s, --stack_mode      <optional> Whether to save stack info.\n"
                "  -c, --compare_only    <optional> Whether to give advisor.\n"
                "  -hl, --highlight      <optional> Whether to set result highlighting.\n"
                "  -cm [CELL_MAPPING], --cell_mapping [CELL_MAPPING]\n"
                "                        <optional> The cell mapping file path.\n"
                "  -dm DATA_MAPPING, --data_mapping DATA_MAPPING\n"
                "                        <optional> The data mapping file path.\n"
                "  --rank RANK           <optional> Ranks.\n"
                "  --backend {fsdp,megatron}\n"
                "                        <optional> Backend.\n"
                "  -tensor_log, --is_print_compare_log\n"
                "                        <Optional> whether to log.\n");
}

// 78 columns fit on one line, 79 do not.
TEST(Argparse, UsageBreaksWhereTheLineIsFull) {
  const auto usage_of = [](size_t letters) {
    const std::string name = "--" + std::string(letters, 'x');
    const ForeignCommand command = {"p", {{{"-i"}, Takes::one, "", true}, {{name}}}};
    return parse_foreign(command, std::vector<std::string>{}).error().text;
  };
  const std::string rest = "p: error: the following arguments are required: -i\n";
  EXPECT_EQ(usage_of(55), "usage: p [-h] -i I [--" + std::string(55, 'x') + "]\n" + rest);
  EXPECT_EQ(usage_of(56), "usage: p [-h] -i I\n         [--" + std::string(56, 'x') + "]\n" + rest);
}

TEST(Argparse, SeveralMissingFlagsAreNamedTogether) {
  const ForeignCommand command = {
      "p", {{{"-t", "--tp"}, Takes::one, "", true}, {{"-s"}}, {{"-g", "--gp"}, Takes::one, "", true}}};
  const auto parsed = parse_foreign(command, std::vector<std::string>{"-s"});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().text,
            "usage: p [-h] -t TP [-s] -g GP\n"
            "p: error: the following arguments are required: -t/--tp, -g/--gp\n");
}

// Flags of ours: in the help, not in the usage.
TEST(Argparse, HiddenFlagsAreNotPartOfTheUsage) {
  const ForeignCommand command = {"p", {{{"--threads"}, Takes::one, "threads", false, {}, true}}};
  const auto help = parse_foreign(command, std::vector<std::string>{"--help"});
  ASSERT_FALSE(help);
  EXPECT_TRUE(help.error().text.starts_with("usage: p [-h]\n\n")) << help.error().text;
  EXPECT_NE(help.error().text.find("--threads THREADS"), std::string::npos) << help.error().text;
  const auto parsed = parse_foreign(command, std::vector<std::string>{"--threads", "2"});
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->value("--threads"), "2");
}

// Flags with several values, values that are checked, values that go by another name: printed by Python too.
TEST(Argparse, TakesSeveralValuesAndChecksThem) {
  ForeignFlag mapping = {{"--op-mapping-file", "-mf"}, Takes::one};
  mapping.metavar = "MAPPING_FILE";
  ForeignFlag rank = {{"--rank", "-r"}, Takes::one};
  rank.check = [](const std::string& value) {
    return value == "bad" ? std::optional<std::string>("bad is illegal. Please check.") : std::nullopt;
  };
  const ForeignCommand command = {"p",
                                  {mapping,
                                   {{"--custom-algorithms", "-alg"}, Takes::several},
                                   {{"--kind"}, Takes::several, "", false, {"a", "b"}},
                                   rank}};
  const std::string usage =
      "usage: p [-h] [--op-mapping-file MAPPING_FILE]\n"
      "         [--custom-algorithms CUSTOM_ALGORITHMS [CUSTOM_ALGORITHMS ...]]\n"
      "         [--kind {a,b} [{a,b} ...]] [--rank RANK]\n";
  const auto error = [&](const std::vector<std::string>& arguments) {
    const auto parsed = parse_foreign(command, arguments);
    return parsed ? "no error" : parsed.error().text;
  };
  EXPECT_EQ(error({"-alg"}),
            usage + "p: error: argument --custom-algorithms/-alg: expected at least one argument\n");
  EXPECT_EQ(error({"-alg=x", "y"}), usage + "p: error: unrecognized arguments: y\n");
  EXPECT_EQ(error({"--kind", "a", "c"}),
            usage + "p: error: argument --kind: invalid choice: 'c' (choose from 'a', 'b')\n");
  EXPECT_EQ(error({"-r", "bad"}), usage + "p: error: argument --rank/-r: bad is illegal. Please check.\n");
  const auto several = parse_foreign(command, std::vector<std::string>{"-alg", "x", "y", "-r", "1"});
  ASSERT_TRUE(several);
  EXPECT_EQ(several->values("--custom-algorithms"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(several->value("--rank"), "1");
  const auto twice = parse_foreign(command, std::vector<std::string>{"--kind", "a", "--kind", "b"});
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->values("--kind"), (std::vector<std::string>{"b"}));
}

}  // namespace
}  // namespace assay::cli
