#include "assay/base/text.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

using namespace std::literals;
using ::testing::ElementsAre;

TEST(Printable, KeepsUtf8AndShowsTheRest) {
  EXPECT_EQ(printable("größe 張量"), "größe 張量");
  EXPECT_EQ(printable("a\nb\x1B[0m\x7F"), "a\\x0ab\\x1b[0m\\x7f");
  EXPECT_EQ(printable("\0"sv), "\\x00");
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xE5\xBC"), "\\xe5\\xbc");  // cut off
}

TEST(NaturalCompare, NumbersCountByValue) {
  EXPECT_TRUE(natural_less("layer2", "layer10"));
  EXPECT_TRUE(natural_less("a2b10", "a10b2"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_TRUE(natural_less("a1", "b"));
  EXPECT_EQ(natural_compare("x", "x"), 0);
  EXPECT_TRUE(natural_less("99999999999999999999998", "99999999999999999999999"));
}

TEST(NaturalCompare, IsATotalOrder) {
  std::vector<std::string> names = {"10", "9", "09", "a", "a01", "a1", "a1b", "", "A", "a10", "0", "00"};
  for (const auto& a : names)
    for (const auto& b : names) {
      EXPECT_EQ(natural_compare(a, b), -natural_compare(b, a)) << a << " " << b;
      EXPECT_EQ(natural_compare(a, b) == 0, a == b) << a << " " << b;
      for (const auto& c : names) {
        if (natural_less(a, b) && natural_less(b, c)) {
          EXPECT_TRUE(natural_less(a, c)) << a << " " << b << " " << c;
        }
      }
    }
}

TEST(Glob, StarsQuestionMarksAndSets) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("layers.*.weight", "layers.0.mlp.weight"));
  EXPECT_TRUE(glob_match("a/*/c", "a/b/b/c"));
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_TRUE(glob_match("[a-c]x", "bx"));
  EXPECT_FALSE(glob_match("[!a-c]x", "bx"));
  EXPECT_TRUE(glob_match("[]]", "]"));
  EXPECT_TRUE(glob_match("[", "["));
  EXPECT_TRUE(glob_match("**a**", "xxaxx"));
  EXPECT_FALSE(glob_match("abc", "abcd"));
  EXPECT_FALSE(glob_match("", "a"));
}

TEST(Glob, ManyStarsDoNotExplode) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(5000, 'a')));
}

TEST(Text, SplitTrimLower) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(to_lower("FRACTAL_NZ Ü"), "fractal_nz Ü");
}

TEST(ParseInt, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_int("-12"), -12);
  EXPECT_EQ(parse_int("9223372036854775807"), 9223372036854775807);
  for (const auto* bad : {"", "-", "+1", "1 ", "1.5", "0x10", "9223372036854775808"})
    EXPECT_EQ(parse_int(bad), std::nullopt);
}

TEST(ParseDouble, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_double("+1.5e3"), 1500.0);
  EXPECT_EQ(parse_double("-inf"), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(parse_double("nan").value()));
  for (const auto* bad : {"", "1,5", "1.5x", "--1", " 1"}) EXPECT_EQ(parse_double(bad), std::nullopt) << bad;
}

TEST(Sizes, ReadAndWritten) {
  EXPECT_EQ(parse_size("64Ki"), 65536);
  EXPECT_EQ(parse_size("2GB"), int64_t{2} << 30);
  EXPECT_EQ(parse_size("512M"), int64_t{512} << 20);
  EXPECT_EQ(parse_size("1.5GiB"), int64_t{3} << 29);
  EXPECT_EQ(parse_size("100"), 100);
  EXPECT_EQ(parse_size("100 b"), 100);
  for (const auto* bad : {"", "G", "1X", "-1", "1GBx", "99999999999T"})
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
  EXPECT_EQ(format_size(1023), "1023 bytes");
  EXPECT_EQ(format_size(int64_t{3} << 29), "1.5 GiB");
}

}  // namespace
}  // namespace assay
