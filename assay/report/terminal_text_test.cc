#include "assay/report/terminal_text.h"

#include "assay/report/terminal_table.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay {
namespace {

TEST(TerminalText, WhatIsLessThanOneIsNotShownAsOne) {
  EXPECT_EQ(brief(Value(0.999999)), "0.999999");
  EXPECT_EQ(brief(Value(1.0)), "1");
  EXPECT_EQ(brief(Value(0.99)), "0.99");
  EXPECT_EQ(brief(Value(std::nextafter(1.0, 0.0))), "0.9999999999999999");
  EXPECT_EQ(brief(Value(int64_t{12345678})), "12345678");
}

TEST(TerminalText, BreaksBehindSemicolonsFirst) {
  EXPECT_EQ(wrapped("a b; c d", 80, 2), "  a b; c d\n");
  EXPECT_EQ(wrapped("aaa bbb; ccc ddd", 12, 2), "  aaa bbb;\n    ccc ddd\n");
  EXPECT_EQ(wrapped("aaaa bbbb cccc dddd", 12, 2), "  aaaa bbbb\n    cccc\n    dddd\n");
  EXPECT_EQ(wrapped("", 12, 2), "  \n");
}

TEST(TerminalText, ShowsTheRowOfTheWorstElementAlone) {
  Comparison row;
  row.mine.meta = TensorMeta{DType::f32, {{2, 3}}};
  row.near = std::make_shared<const Neighbours>(
      Neighbours{.first = 0, .count = 6, .mine = {0, 1, 2, 3, 40, 5}, .golden = {0, 1, 2, 3, 4, 5}});
  EXPECT_EQ(neighbourhood(row, 4, 80),
            "            [1, 0]  [1, 1]  [1, 2]\n"
            "    mine         3      40       5\n"
            "    golden       3       4       5\n");
  EXPECT_EQ(neighbourhood(row, 4, 30),
            "            [1, 0]  [1, 1]\n"
            "    mine         3      40\n"
            "    golden       3       4\n");
  EXPECT_EQ(neighbourhood(row, 4, 20), "");
  row.mine.meta = TensorMeta{DType::f32, {{}}};
  EXPECT_EQ(neighbourhood(row, 0, 80), "");
}

TEST(TerminalText, ErrorsJumpAsBars) {
  const TrendRow rows[] = {{"a", 0, Level::pass, false},
                           {"b", 1e-4, Level::pass, false},
                           {"c", 1, Level::fail, true},
                           {"d", std::numeric_limits<double>::infinity(), Level::fail, false},
                           {"e", std::numeric_limits<double>::quiet_NaN(), Level::fail, false}};
  EXPECT_EQ(trend(rows, 80),
            "   verdict  name  rel_l2\n"
            "   pass     a          0\n"
            "   pass     b     0.0001  ████▊\n"
            ">  fail     c          1  ████████████████████████\n"
            "   fail     d        nan  ████████████████████████\n"
            "   fail     e          -\n");
}

TEST(TerminalTable, LongNamesGiveWayWhereTheyAreEqual) {
  const auto names = [](std::vector<std::string> cells) {
    std::string text = terminal_table({{.title = "name", .cells = std::move(cells), .flexible = true}}, 30);
    return text.substr(text.find('\n') + 1);
  };
  EXPECT_EQ(names({"model.decoder.layers.7.self_attn.q_proj.weight",
                   "model.decoder.layers.11.self_attn.k_proj.weight"}),
            "…layers.7.…q_proj.…\n…layers.11.…k_proj.…\n");
  // Names of other lengths: what they begin and end with.
  EXPECT_EQ(names({"model.decoder.first.norm.weight.npy", "model.decoder.layers.7.self_attn.weight.npy"}),
            "…first.norm.…\n…layers.7.self_attn.…\n");
  // One whose words are all in the others, too.
  EXPECT_EQ(names({"[token 0] 0_Layer/0_LinearOperation/before/in0.bin", "[token 0] 0_Layer/before/in0.bin"}),
            "… 0_Layer/0_LinearOperation/…\n… 0_Layer/…\n");
  EXPECT_EQ(names({"short.a", "short.b"}), "short.a\nshort.b\n");
}

// Numbers give way before names become alike.
TEST(TerminalTable, NamesThatDifferStayApart) {
  const std::vector<std::string> names = {"x/aaaaaaaaaa_1_aaaaaaaaaa/y", "x/aaaaaaaaaa_2_aaaaaaaaaa/y",
                                          "z/aaaaaaaaaa_1_aaaaaaaaaa"};
  const std::string title(30, 't');
  const std::string table = terminal_table({{.title = "name", .cells = names, .flexible = true},
                                            {.title = "first", .cells = {"1", "2", "3"}},
                                            {.title = title, .cells = {"1", "2", "3"}, .optional = true}},
                                           60);
  EXPECT_EQ(table.find(title), std::string::npos) << table;
  for (const std::string& name : names) EXPECT_NE(table.find(name), std::string::npos) << table;
}

}  // namespace
}  // namespace assay
