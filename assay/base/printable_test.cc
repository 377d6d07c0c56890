#include "assay/base/hostile_texts.h"
#include "assay/base/text.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

// An escape for every byte, whatever it is part of.
std::string escaped(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out.append("\\x") += kDigits[byte / 16];
    out += kDigits[byte % 16];
  }
  return out;
}

TEST(Printable, ShowsWhatSteersHidesOrMisleadsByteForByte) {
  EXPECT_EQ(printable("\x1b"), "\\x1b");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae");
  for (const std::string_view text : kHostileTexts) {
    std::string expected;  // "[31m" of a colour is plain text
    for (const char c : text)
      expected += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F
                      ? escaped({&c, 1})
                      : std::string(1, c);
    EXPECT_EQ(printable("n" + std::string(text) + "n"), "n" + expected + "n");
  }
  EXPECT_EQ(hostile_part(printable(hostile_name())), "");
  EXPECT_NE(hostile_part(hostile_name()), "");
}

TEST(Printable, NamesThatHoldTheTextOfAnEscapeStayApart) {
  EXPECT_EQ(printable_name("a\nb"), "a\\x0ab");
  EXPECT_EQ(printable_name("a\\x0ab"), "a\\x5cx0ab");
  EXPECT_EQ(printable_name("a\\x5cx0ab"), "a\\x5cx5cx0ab");
  EXPECT_EQ(printable_name("C:\\xyz\\x"), "C:\\xyz\\x");
}

TEST(Printable, LeavesHonestTextAlone) {
  for (const char* text : {"größe", "層.权重", "نموذج", "מודל", "модель", "テンソル", "텐서", "a\u00a0b",
                           "a\u3000b", "½ ≤ π", "ﬁ", "\ufffd", "\ue0b0", "▁▂▃", "🔥", "e\u0301"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, KeepsJoinersAndSelectorsWhereTheyShapeWhatIsSeen) {
  for (const char* text : {"👩\u200d💻", "❤\ufe0f", "❤\ufe0f\u200d🔥", "می\u200cخواهم", "क\u094d\u200dष"})
    EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("a\u200db"), "a\\xe2\\x80\\x8db");
  EXPECT_EQ(printable("\u200d"), "\\xe2\\x80\\x8d");
  EXPECT_EQ(printable("層\ufe0f\ufe0f"), "層\ufe0f\\xef\\xb8\\x8f");
  EXPECT_EQ(printable("層\u200d\u200d"), "層\u200d\\xe2\\x80\\x8d");
  EXPECT_EQ(printable("\u202e\u200d"), "\\xe2\\x80\\xae\\xe2\\x80\\x8d");
}

TEST(Printable, TwiceIsAsOnce) {
  for (const std::string& text :
       {hostile_name(), std::string("❤\ufe0f\u200d🔥\u200d\u200d"), std::string("a\\x1b")})
    EXPECT_EQ(printable(printable(text)), printable(text));
}

// Every character there is, against the ranges that docs/reports.md names.
TEST(Printable, HoldsForEveryControlCharacter) {
  for (unsigned code = 0; code < 0xA0; ++code) {
    const std::string text =
        code < 0x80 ? std::string(1, static_cast<char>(code)) : std::string("\xc2") + static_cast<char>(code);
    const bool is_control = code < 0x20 || code >= 0x7F;
    EXPECT_EQ(printable(text), is_control ? escaped(text) : text) << code;
  }
}

}  // namespace
}  // namespace assay
