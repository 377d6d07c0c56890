#include "assay/support/yaml.h"

#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

namespace assay {
namespace {

using testing::HasSubstr;

std::string error(std::string_view text, const YamlLimits& limits = {}) {
  const auto node = parse_yaml(text, "x.yaml", limits);
  return node ? "no error" : node.error().message;
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Yaml, ReadsListsMapsAndScalars) {
  const auto node = parse_yaml("a: [1, 2]\nb: {c: text}\nd: |\n  two\n  lines\n", "x.yaml");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ((*node)["a"][1].as<int>(), 2);
  EXPECT_EQ((*node)["b"]["c"].Scalar(), "text");
  EXPECT_EQ((*node)["d"].Scalar(), "two\nlines\n");
  EXPECT_TRUE(parse_yaml("", "x.yaml")->IsNull());
}

TEST(Yaml, ErrorsNameFileAndLine) {
  EXPECT_THAT(error("a: 1\nb: [1, 2\n"), HasSubstr("x.yaml:"));
  EXPECT_THAT(error("a: 1\n  b: 2\n"), HasSubstr("x.yaml:2: "));
  EXPECT_EQ(error("a: 1\nb: 2\na: 3\n"), "x.yaml:3: key 'a' is given twice");
  EXPECT_EQ(error("? [1]\n: 2\n"), "x.yaml:1: a key must be a plain word");
}

TEST(Yaml, SameKeyInTwoMapsIsFine) { EXPECT_TRUE(parse_yaml("- {a: 1, b: {a: 2}}\n- {a: 1}\n", "x.yaml")); }

// Also where nobody refers to them: `a: &b` is a null to YAML, and a name to whoever wrote it.
TEST(Yaml, RefusesAnchors) {
  for (const char* const text : {"b: 1\na: &x\n", "b: 1\na: &x 2\n", "b: 1\n&x a: 2\n", "b: 1\na: &x [1]\n",
                                 "b: 1\na: &x {c: 1}\n", "b: 1\na: &x [1]\nc: *x\n"})
    EXPECT_THAT(error(text), HasSubstr("x.yaml:2: anchors (&name) are not supported")) << text;
}

TEST(Yaml, RefusesAliases) {
  EXPECT_THAT(error("a: *x\n"), HasSubstr("x.yaml:1: aliases"));
  EXPECT_THAT(error("b: 1\na: [*x]\n"), HasSubstr("x.yaml:2: aliases"));
}

TEST(Yaml, BoundsDepthOfEveryKindOfNesting) {
  EXPECT_TRUE(parse_yaml(repeated("[", 32) + repeated("]", 32), "x.yaml"));
  EXPECT_THAT(error(repeated("[", 33) + repeated("]", 33)), HasSubstr("nested more than 32 deep"));
  EXPECT_NE(error(repeated("[", 1 << 20)), "no error");
  EXPECT_NE(error(repeated("{a: ", 100000)), "no error");
  EXPECT_THAT(error(repeated("- ", 100000)), HasSubstr("nested"));
  EXPECT_NE(error(repeated("? ", 100000)), "no error");
  std::string steps;
  for (int i = 0; i < 1000; ++i) steps += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(error(steps), HasSubstr("x.yaml:33: nested"));
}

TEST(Yaml, BoundsSize) {
  EXPECT_TRUE(parse_yaml("# " + std::string((1 << 20) - 2, 'x'), "x.yaml"));
  EXPECT_THAT(error(std::string((1 << 20) + 1, 'x')), HasSubstr("x.yaml: 1.0 MiB of YAML; at most"));
}

TEST(Yaml, RefusesControlCharacters) {
  EXPECT_THAT(error(std::string_view("a: 1\nb: \0", 9)), HasSubstr("x.yaml:2: control character \\x00"));
  EXPECT_THAT(error("a: 1\n\x04 b: ["), HasSubstr("control character \\x04"));
}

TEST(Yaml, RefusesASecondDocument) {
  EXPECT_THAT(error("a: 1\n---\na: 2\n"), HasSubstr("more than one YAML document"));
}

// Whatever a file holds, there is an answer: prefixes and small changes of one that has a bit of everything.
TEST(Yaml, AnswersForDamagedText) {
  const std::string text =
      "%YAML 1.2\n---\nrules: &r\n  - match: \"*\\x41\"\n    pass: 'it''s' # c\n  - {a: [b, c], ? d : e}\n  "
      "- |+\n   x\n  - !!str 3\n...\n";
  for (size_t i = 0; i <= text.size(); ++i) parse_yaml(text.substr(0, i), "x.yaml");
  for (size_t i = 0; i < text.size(); ++i)
    for (const char c :
         {'[', '}', ':', '*', '&', '"', '\'', '|', '%', '!', '\n', '\t', '?', '-', ',', '\xff'}) {
      std::string damaged = text;
      damaged[i] = c;
      parse_yaml(damaged, "x.yaml");
    }
}

}  // namespace
}  // namespace assay
