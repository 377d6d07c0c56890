#include "assay/support/json_tape.h"

#include "assay/base/caller_test_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class JsonMembers : public testing::Test {
 protected:
  JsonMembers() {
    std::string pattern = (fs::temp_directory_path() / "assay_json_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "dump.json";
  }
  ~JsonMembers() override { fs::remove_all(folder_); }

  // Members as "key=value", those of "data" with a / in front; an error as its message.
  std::vector<std::string> read(const std::string& text, int64_t memory = int64_t{1} << 20) {
    std::ofstream(path_, std::ios::binary) << text;
    std::vector<std::string> out;
    const auto file = File::open(path_);
    const auto done =
        read_json_members(**file, "data", memory, [&](const JsonMember& member) -> Result<bool> {
          out.push_back(fmt::format("{}{}={}{}", member.inside ? "/" : "", member.key,
                                    python_str(member.value, 0), member.value.too_deep() ? " too deep" : ""));
          return member.key != "stop";
        });
    if (!done) out.push_back(done.error().message);
    return out;
  }

  fs::path folder_, path_;
};

TEST_F(JsonMembers, ComeOneByOneAndThoseOfDataToo) {
  EXPECT_THAT(read(R"({"task": "tensor", "data": {"a": [1, 2.5, null], "b": {"k": true}}, "level": "L1"})"),
              ElementsAre("task=tensor", "/a=[1, 2.5, None]", "/b={'k': True}", "data={}", "level=L1"));
  EXPECT_THAT(read(R"({"data": {}})"), ElementsAre("data={}"));
  EXPECT_THAT(read(R"({"data": [1]})"), ElementsAre("data=[1]"));
  EXPECT_THAT(read("{}"), ElementsAre());
}

TEST_F(JsonMembers, ACallerWhoGaveUpIsNotKeptWaiting) {
  Listener caller;
  const CallerScope scope(&caller);
  caller.cancel();
  EXPECT_THAT(read(R"({"a": 1})"), ElementsAre(HasSubstr("interrupted")));
}

TEST_F(JsonMembers, BareNanAndInfinityAreNumbers) {
  EXPECT_THAT(read(R"({"a": [NaN, Infinity, -Infinity]})"), ElementsAre("a=[nan, inf, -inf]"));
}

TEST_F(JsonMembers, IntegersStayIntegersHoweverLong) {
  EXPECT_THAT(read(R"({"a": [9223372036854775807, -9223372036854775808, 18446744073709551615]})"),
              ElementsAre("a=[9223372036854775807, -9223372036854775808, 18446744073709551615]"));
}

TEST_F(JsonMembers, NumbersAreReadToTheLastBit) {
  EXPECT_THAT(
      read(
          R"({"a": [0.30000000000000004, 2.2250738585072014e-308, 1e-400, -0.0, 18446744073709551615551615]})"),
      ElementsAre("a=[0.30000000000000004, 2.2250738585072014e-308, 0.0, -0.0, 18446744073709551615551615]"));
  EXPECT_THAT(read(R"({"a": [Infinitye0]})").back(), HasSubstr("is not JSON"));
  EXPECT_THAT(read(R"({"a": [NaNe1]})").back(), HasSubstr("is not JSON"));
}

TEST_F(JsonMembers, NumbersBeyondTheRangeOfADoubleAreInfiniteOrExactAsInPython) {
  const std::string long_integer(400, '7');
  EXPECT_THAT(read(R"({"a": [1e309, -1e400, 1.5E+999, )" + long_integer + "]}"),
              ElementsAre("a=[inf, -inf, inf, " + long_integer + "]"));
}

TEST_F(JsonMembers, EscapesAreWhatTheyStandFor) {
  EXPECT_THAT(read(R"({"a\u00e9": "\"\\\/\u4e2d\ud83d\ude00"})"),
              ElementsAre("a\xC3\xA9=\"\\/\xE4\xB8\xAD\xF0\x9F\x98\x80"));
  EXPECT_THAT(read(R"({"a": "\b\f\n\r\t"})"), ElementsAre("a=\b\f\n\r\t"));
}

TEST_F(JsonMembers, HalfASurrogatePairDoesNotEndTheRun) {
  EXPECT_THAT(read(R"({"a": "\ud800", "b": "\ud83dx", "c": "\udfffz", "d": "\ud83d\ud83d\ude00"})"),
              ElementsAre("a=\\ud800", "b=\\ud83dx", "c=\\udfffz", "d=\\ud83d\xF0\x9F\x98\x80"));
  // How Python writes the byte 0xE9 of a file name that is not UTF-8.
  EXPECT_THAT(read(R"({"a": "\udce9.pt"})"), ElementsAre("a=\xE9.pt"));
}

TEST_F(JsonMembers, WhatPythonRefusesIsRefused) {
  for (const std::string_view value :
       {"01",    "+1",      ".5",          "1.",       "1e",   "1e+",        "-",
        "--1",   "1.2.3",   "0x1",         "tru",      "nul",  "True",       "-Infinit",
        "'a'",   "\"\\x\"", "\"\\u12g4\"", "\"a\nb\"", "[1,]", "{\"a\":1,}", "{\"a\"}",
        "{1:2}", "[1 2]",   "[1}",         "# x\n1",   "]"})
    EXPECT_THAT(read(fmt::format("{{\"k\": {}}}", value)).back(), HasSubstr("is not JSON at byte")) << value;
  EXPECT_THAT(read(R"({"a": 1} x)").back(), HasSubstr("is not JSON at byte 9"));
  EXPECT_THAT(read(std::string("{\"a\": \"\0\"}", 11)).back(), HasSubstr("is not JSON at byte 7"));
  EXPECT_THAT(read(std::string("{\"a\": 1}\0", 10)).back(), HasSubstr("is not JSON at byte 8"));
  EXPECT_THAT(read(R"({"a": nullx})").back(), HasSubstr("is not JSON at byte 10"));
}

TEST_F(JsonMembers, EveryShorterTextEndsInTheMiddle) {
  const std::string text = R"({"a": [1.5e-3, true, "x\u4e2d\ud83d\ude00", -Infinity, {"k": null}]})";
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_THAT(read(text.substr(0, size)).back(), HasSubstr("ends in the middle")) << text.substr(0, size);
  EXPECT_THAT(read(text),
              ElementsAre("a=[0.0015, True, 'x\xE4\xB8\xAD\xF0\x9F\x98\x80', -inf, {'k': None}]"));
}

TEST_F(JsonMembers, TheEndOfTheBufferMayFallAnywhere) {
  const std::string value =
      R"([12345678901234567890, -1.25e-3, "plain text", "\u4e2d\ud83d\ude00\n", true, null, NaN, -Infinity, {"k": [0]}])";
  const auto expected = read("{\"a\": " + value + "}");
  ASSERT_EQ(expected.size(), 1u);
  const size_t window = size_t{1} << 16;  // of the scanner
  for (size_t behind = 0; behind <= value.size() + 8; ++behind)
    EXPECT_EQ(read(std::string(window - behind, ' ') + "{\"a\": " + value + "}"), expected) << behind;
}

TEST_F(JsonMembers, OneHugeTextOrNumberIsBoundToo) {
  const std::string megabyte(size_t{1} << 20, '7');
  EXPECT_THAT(read(R"({"a": ")" + megabyte + R"("})", 300'000).back(),
              HasSubstr("the entry 'a' takes more than"));
  EXPECT_THAT(read(R"({"a": )" + megabyte + "}", 300'000).back(), HasSubstr("the entry 'a' takes more than"));
  EXPECT_THAT(read(R"({")" + megabyte + R"(": 1})", 300'000).back(), HasSubstr("takes more than"));
  EXPECT_THAT(read(R"({"a": ")" + megabyte + R"("})", 3'000'000), ElementsAre("a=" + megabyte));
}

TEST_F(JsonMembers, StopWhenTheReaderHasEnough) {
  EXPECT_THAT(read(R"({"stop": 1, "more": 2, broken)"), ElementsAre("stop=1"));
}

TEST_F(JsonMembers, SayWhatIsWrong) {
  EXPECT_THAT(read("[1, 2]").back(), HasSubstr("is not a JSON object"));
  EXPECT_THAT(read("17").back(), HasSubstr("is not a JSON object"));
  EXPECT_THAT(read("").back(), HasSubstr("ends in the middle"));
  EXPECT_THAT(read(R"({"data": {"a": [1, 2)").back(), HasSubstr("ends in the middle"));
  EXPECT_THAT(read(R"({"a": 1 "b": 2})").back(), HasSubstr("is not JSON at byte 8"));
  EXPECT_THAT(read(R"({"a": [")" + std::string(5000, 'x') + R"("]})", 1000).back(),
              HasSubstr("the entry 'a' takes more than"));
}

TEST_F(JsonMembers, DeepNestingCostsNoStackAndOnlyItsOwnMember) {
  const int depth = 200'000;
  const std::string deep = std::string(depth, '[') + std::string(depth, ']');
  const auto members = read(R"({"deep": )" + deep + R"(, "after": 1})", int64_t{64} << 20);
  ASSERT_EQ(members.size(), 2u);
  EXPECT_THAT(members[0], testing::EndsWith("too deep"));
  EXPECT_EQ(members[1], "after=1");
}

TEST_F(JsonMembers, LongerThanTheBufferOfTheReader) {
  std::string text = "{";
  for (int i = 0; i < 50'000; ++i) text += fmt::format("{}\"key{}\": \"value {}\"", i == 0 ? "" : ", ", i, i);
  const auto members = read(text + "}");
  ASSERT_EQ(members.size(), 50'000u);
  EXPECT_EQ(members[49'999], "key49999=value 49999");
}

TEST(JsonText, AllowsCommentsAndTrailingCommas) {
  const auto tape =
      parse_json_text("{\"a\": \"x # y\", # why\n \"b\": [1, 2,], // this too\n}", "compare.json");
  ASSERT_TRUE(tape) << tape.error().message;
  EXPECT_EQ(python_str(*tape, 0), "{'a': 'x # y', 'b': [1, 2]}");
  EXPECT_EQ(tape->find(0, "absent"), 0u);
  const auto broken = parse_json_text("{\n\n\"a\" 1}", "compare.json");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("compare.json:3: is not JSON: expected ':' behind a key"));
  EXPECT_TRUE(parse_json_text("\xEF\xBB\xBF{}", "x"));
  EXPECT_FALSE(parse_json_text("{} {}", "x"));
  EXPECT_FALSE(parse_json_text("", "x"));
  EXPECT_FALSE(parse_json_text("# only\n", "x"));
}

TEST(JsonTapeFind, TakesTheLastOfARepeatedKey) {
  const auto tape = parse_json_text(R"({"a": 1, "b": {"a": 2}, "a": 3})", "x");
  EXPECT_EQ(tape->integer(tape->find(0, "a")), 3);
}

TEST(PythonText, IsWhatPythonPrints) {
  const auto text = [](double value) {
    std::string out;
    append_python_float(out, value);
    return out;
  };
  EXPECT_EQ(text(1), "1.0");
  EXPECT_EQ(text(-0.0), "-0.0");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(1e-5), "1e-05");
  EXPECT_EQ(text(1e16), "1e+16");
  EXPECT_EQ(text(1e15), "1000000000000000.0");
  EXPECT_EQ(text(123456789.25), "123456789.25");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(text(std::nan("")), "nan");
  EXPECT_EQ(python_repr("it"), "'it'");
  EXPECT_EQ(python_repr("it's"), "\"it's\"");
  EXPECT_EQ(python_repr("a\n\"'\\"), "'a\\n\"\\'\\\\'");
}

}  // namespace
}  // namespace assay
