#include "assay/support/text_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class TextFormat : public testing::Test {
 protected:
  TextFormat() {
    std::string pattern = (fs::temp_directory_path() / "assay_text_format_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~TextFormat() override { fs::remove_all(folder_); }

  std::shared_ptr<const File> file(std::string_view text) const {
    const fs::path path = folder_ / "message.txt";
    std::ofstream(path, std::ios::binary) << text;
    return *File::open(path);
  }

  // Fields as key="string", key=word, key{ and }; an error as its message. Strings are read unless `pass`.
  std::vector<std::string> walk(std::string_view text, bool pass = false, int64_t memory = 1 << 20) const {
    TextFormatReader reader(file(text), memory);
    std::vector<std::string> out;
    std::string value;
    for (;;) {
      const TextEvent event = reader.next();
      const std::string key(reader.key());
      if (event == TextEvent::text && (pass || reader.read_text(value)))
        out.push_back(pass ? key + "=..." : key + "=\"" + value + "\"");
      if (event == TextEvent::word) out.push_back(key + "=" + std::string(reader.word()));
      if (event == TextEvent::open) out.push_back(key + "{");
      if (event == TextEvent::close) out.push_back("}");
      if (event == TextEvent::end) return out;
      if (event == TextEvent::failed) {
        EXPECT_THAT(reader.error().message, AllOf(HasSubstr("message.txt"), Not(HasSubstr("\n"))));
        EXPECT_EQ(reader.next(), TextEvent::failed);
        out.push_back(reader.error().message);
        return out;
      }
    }
  }
  std::string error_of(std::string_view text, bool pass = false, int64_t memory = 1 << 20) const {
    const auto all = walk(text, pass, memory);
    return all.empty() ? "no error" : all.back();
  }

  fs::path folder_;
};

TEST_F(TextFormat, FieldsAndBlocks) {
  EXPECT_THAT(walk("name: \"a\"\nop {\n  i: 3\n}\nb: true"),
              ElementsAre("name=\"a\"", "op{", "i=3", "}", "b=true"));
  EXPECT_THAT(walk("a{b{c:1}}d:<e:2>f:{}g<>"),
              ElementsAre("a{", "b{", "c=1", "}", "}", "d{", "e=2", "}", "f{", "}", "g{", "}"));
  EXPECT_THAT(walk("a: 1, b: 2; c { d: 3, } ;"), ElementsAre("a=1", "b=2", "c{", "d=3", "}"));
  EXPECT_THAT(walk(""), IsEmpty());
  EXPECT_THAT(walk("\xEF\xBB\xBF# nothing but this"), IsEmpty());
  EXPECT_THAT(walk("# one\na: # two { \"\n 1 # three\n#"), ElementsAre("a=1"));
}

TEST_F(TextFormat, WordsAreNumbersAndNames) {
  EXPECT_THAT(walk("a: -1 b: 1.5e-3 c: .5 d: 0x1F e: 1.f f: -.25F g: 007 h: 1e+10"),
              ElementsAre("a=-1", "b=1.5e-3", "c=.5", "d=0x1F", "e=1.f", "f=-.25F", "g=007", "h=1e+10"));
  EXPECT_THAT(walk("a: inf b: -inf c: nan d: - # why not\n 3 e: DT_FLOAT f: -Infinity"),
              ElementsAre("a=inf", "b=-inf", "c=nan", "d=-3", "e=DT_FLOAT", "f=-Infinity"));
}

TEST_F(TextFormat, KeysMayBeNumbersAndExtensions) {
  EXPECT_THAT(walk("5: 1 6 { 7: \"x\" } [my.ext]: 2 [type.googleapis.com/a.B] { c: 1 } [ a . b ]: 3"),
              ElementsAre("5=1", "6{", "7=\"x\"", "}", "[my.ext]=2", "[type.googleapis.com/a.B]{", "c=1", "}",
                          "[a.b]=3"));
}

TEST_F(TextFormat, ElementsOfListsAreFields) {
  EXPECT_THAT(walk("a: [1, -2, X] b: [] c: [\"p\" \"q\", 'r'] d: 1"),
              ElementsAre("a=1", "a=-2", "a=X", "c=\"pq\"", "c=\"r\"", "d=1"));
  EXPECT_THAT(walk("ab [{ c: [1, 2] x { y: [<>] } }, <d: 3>] e: 4"),
              ElementsAre("ab{", "c=1", "c=2", "x{", "y{", "}", "}", "}", "ab{", "d=3", "}", "e=4"));
  EXPECT_THAT(error_of("a: [1 2]"),
              HasSubstr("message.txt:1: found '2', expected a comma or ] in the list of line 1"));
  EXPECT_THAT(error_of("a: [1,]"), HasSubstr("found ']', expected a value of a"));
  EXPECT_THAT(error_of("a: [[1]]"), HasSubstr("found '[', expected a value of a"));
  EXPECT_THAT(error_of("a [1"), HasSubstr("found the end of the file, expected a comma or ]"));
}

TEST_F(TextFormat, EscapesBecomeBytes) {
  EXPECT_THAT(walk(R"(a: "\n\r\t\"\'\\\a\b\f\v\?")"), ElementsAre("a=\"\n\r\t\"'\\\a\b\f\v?\""));
  EXPECT_THAT(walk(R"(a: "\0018\1x\377\x41g\xAz\X4a")"), ElementsAre("a=\"\0018\001x\377Ag\nzJ\""));
  EXPECT_THAT(walk(R"(a: "\u00e9\u4e2d\U0001F600")"), ElementsAre("a=\"\u00e9\u4e2d\U0001F600\""));
  EXPECT_THAT(walk("a: 'it\"s { # }' 'x' \"y\" # then\n \"'\" b: 1"),
              ElementsAre("a=\"it\"s { # }xy'\"", "b=1"));
  EXPECT_THAT(error_of(R"(a: "\q")"), HasSubstr("message.txt:1: found 'q', expected an escape"));
  EXPECT_THAT(error_of(R"(a: "\777")"), HasSubstr("beyond \\377"));
  EXPECT_THAT(error_of(R"(a: "\xg")"), HasSubstr("expected an escape"));
  EXPECT_THAT(error_of(R"(a: "\u12")"), HasSubstr("4 hexadecimal digits"));
  EXPECT_THAT(error_of(R"(a: "\UFFFFFFFF")"), HasSubstr("10FFFF"));
}

TEST_F(TextFormat, StringsThatNobodyReadsArePassedOver) {
  EXPECT_THAT(walk(R"(a: "x\"}" 'y\\' b: 1 c { d: "\000\001\\" })", true),
              ElementsAre("a=...", "b=1", "c{", "d=...", "}"));
  TextFormatReader reader(file(R"(skip { a: "}" b { c: [{}, {d: "{"}] } } list: [{x: 1}, {y: 2}] last: 1)"),
                          1 << 20);
  EXPECT_EQ(reader.next(), TextEvent::open);
  EXPECT_TRUE(reader.skip_block());
  EXPECT_EQ(reader.next(), TextEvent::open);
  EXPECT_EQ(reader.key(), "list");
  EXPECT_TRUE(reader.skip_block());
  EXPECT_EQ(reader.next(), TextEvent::open);
  EXPECT_EQ(reader.key(), "list");
  EXPECT_EQ(reader.next(), TextEvent::word);
  EXPECT_EQ(reader.key(), "y");
  EXPECT_EQ(reader.next(), TextEvent::close);
  EXPECT_EQ(reader.next(), TextEvent::word);
  EXPECT_EQ(reader.key(), "last");
  EXPECT_EQ(reader.next(), TextEvent::end);
}

// A window is 256 KiB: whatever lies across its end must come out whole, wherever the cut falls.
TEST_F(TextFormat, TokensMayLieAcrossWindows) {
  const std::string tail =
      "key_of_some_length: \"a\\001\\U0001F600b\" 'c' n: -12345.5e-10 [x.y] { l: [1, 2] } # end\n last: 1";
  const auto expected = walk(tail);
  ASSERT_EQ(expected.size(), 7u);
  for (const char* const filler : {" ", "#", "\""})
    for (int shift = 0; shift < 130; shift += *filler == ' ' ? 1 : 7) {
      const auto size = static_cast<size_t>((1 << 18) - shift);
      std::string text(size, *filler);
      if (*filler == '#') text.back() = '\n';
      if (*filler == '"') text = "s: \"" + std::string(size, 'x') + "\" ";
      auto all = walk(text + tail);
      if (*filler == '"') {
        ASSERT_EQ(all.front().size(), size + 4);
        all.erase(all.begin());
      }
      ASSERT_EQ(all, expected) << filler << shift;
    }
  for (int shift = 0; shift < 20; ++shift)
    EXPECT_THAT(
        walk("s: \"" + std::string(static_cast<size_t>((1 << 18) - shift), 'x') + "\\\\\\n\\\"\" t: 1", true),
        ElementsAre("s=...", "t=1"));
}

TEST_F(TextFormat, BrokenTextIsAnErrorWithItsLine) {
  EXPECT_THAT(error_of("a: 1\nb"),
              HasSubstr("message.txt:2: found the end of the file, expected ':' or a block behind b"));
  EXPECT_THAT(error_of("a 1"), HasSubstr("found '1', expected ':' or a block behind a"));
  EXPECT_THAT(error_of("a: }"), HasSubstr("found '}', expected a value of a"));
  EXPECT_THAT(error_of("a:"), HasSubstr("found the end of the file, expected a value of a"));
  EXPECT_THAT(error_of("a: -x"), HasSubstr("expected a number behind '-'"));
  EXPECT_THAT(error_of("a: -"), HasSubstr("found the end of the file"));
  EXPECT_THAT(error_of("a: 1.2.3"), HasSubstr("found '1', expected a value of a"));
  EXPECT_THAT(error_of("a: 12x"), HasSubstr("found '12x', expected a value of a"));
  EXPECT_THAT(error_of("a: 0x"), HasSubstr("expected a value of a"));
  EXPECT_THAT(error_of("= 1"), HasSubstr("found '=', expected the name of a field"));
  EXPECT_THAT(error_of("[a"), HasSubstr("found the end of the file, expected the name of an extension"));
  EXPECT_THAT(error_of("[a{]: 1"), HasSubstr("found '{'"));
  EXPECT_THAT(error_of("a {\nb < c: 1 }"),
              HasSubstr("message.txt:2: found '}', expected a field, or > of the block of line 2"));
  EXPECT_THAT(error_of("}"), HasSubstr("found '}', expected the name of a field"));
  EXPECT_THAT(error_of("a {\n\nb {"), HasSubstr("message.txt:3: the file ends inside the block of line 3"));
  EXPECT_THAT(error_of("a: \"abc"), HasSubstr("the file ends inside a string"));
  EXPECT_THAT(error_of("a: \"abc\\"), HasSubstr("expected an escape"));
  EXPECT_THAT(error_of("a: \"abc\\", true), HasSubstr("expected an escape"));
  EXPECT_THAT(error_of("a: \"abc\n\""), HasSubstr("message.txt:1: a string does not end in its line"));
  EXPECT_THAT(error_of("a: \"abc\\\n\"", true),
              HasSubstr("message.txt:1: a string does not end in its line"));
  EXPECT_THAT(error_of(std::string_view("a: 1\0", 5)), HasSubstr("found '\\x00'"));
  EXPECT_THAT(error_of("\xff\xfe\x80"), HasSubstr("found '\\xff'"));
}

TEST_F(TextFormat, LimitsHold) {
  EXPECT_THAT(error_of("a: \"" + std::string(5000, 'x') + "\"", false, 4096),
              HasSubstr("the string of a takes more memory than"));
  EXPECT_THAT(error_of("a: \"" + std::string(5000, 'x') + "\"", true, 4096), "a=...");
  EXPECT_THAT(error_of(std::string(2000, 'k') + ": 1"), HasSubstr("more than 1024 characters"));
  EXPECT_THAT(error_of("a: " + std::string(500'000, '9')), HasSubstr("more than 1024 characters"));
  EXPECT_THAT(error_of("[" + std::string(2000, 'k') + "]: 1"), HasSubstr("more than 1024 characters"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += i % 2 == 0 ? "a{" : "b:[<";
  EXPECT_THAT(error_of(deep, false, 1 << 16), HasSubstr("nested"));
  EXPECT_THAT(error_of(deep, false, 1 << 24), HasSubstr("the file ends inside the block of line 1"));
}

}  // namespace
}  // namespace assay
