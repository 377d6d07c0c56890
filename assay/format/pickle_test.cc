#include "assay/format/pickle.h"

#include "assay/format/pickle_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace assay {
namespace {

using namespace std::string_literals;
using Kind = PickleValue::Kind;
using ::testing::HasSubstr;

Result<PickleGraph> load(const std::string& bytes, int64_t memory = 1 << 24) {
  const auto read = [&](int64_t offset, std::span<std::byte> out) -> Result<void> {
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    return {};
  };
  PickleInput input(read, 0, std::ssize(bytes), memory, "test.pkl");
  return read_pickle(input, memory);
}

const PickleValue& root(const Result<PickleGraph>& graph) { return (*graph)[graph->root]; }

std::string error_of(const std::string& bytes, int64_t memory = 1 << 24) {
  const auto graph = load(bytes, memory);
  if (graph) return "loaded";
  EXPECT_THAT(graph.error().message, HasSubstr("test.pkl"));
  return graph.error().message;
}

TEST(Pickle, ReadsNumbersOfEveryProtocol) {
  EXPECT_EQ(root(load("K\x07."s)).integer, 7);
  EXPECT_EQ(root(load("M\x01\x02."s)).integer, 0x201);
  EXPECT_EQ(root(load("J\xff\xff\xff\xff."s)).integer, -1);
  EXPECT_EQ(root(load("I-12\n."s)).integer, -12);
  EXPECT_EQ(root(load("L34L\n."s)).integer, 34);
  EXPECT_EQ(root(load("\x8a\x00."s)).integer, 0);
  EXPECT_EQ(root(load("\x8a\x01\xff."s)).integer, -1);
  EXPECT_EQ(root(load("\x8a\x02\xff\x00."s)).integer, 255);
  EXPECT_EQ(root(load("\x8b\x01\x00\x00\x00\x05."s)).integer, 5);
  EXPECT_EQ(root(load("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s)).kind, Kind::big_integer);
  EXPECT_EQ(root(load("F1.5\n."s)).real, 1.5);
  EXPECT_EQ(root(load("G\x3f\xf8\x00\x00\x00\x00\x00\x00."s)).real, 1.5);
  EXPECT_EQ(root(load("I01\n."s)).kind, Kind::boolean);
  EXPECT_EQ(root(load("\x88."s)).integer, 1);
  EXPECT_EQ(root(load("N."s)).kind, Kind::none);
}

TEST(Pickle, ReadsTextOfEveryProtocol) {
  EXPECT_EQ(root(load("S'a\\'b\\x41'\n."s)).text, "a'bA");
  EXPECT_EQ(root(load("Vx\\u00e9\n."s)).text, "x\xc3\xa9");
  EXPECT_EQ(root(load("X\x02\x00\x00\x00hi."s)).text, "hi");
  EXPECT_EQ(root(load("\x8c\x02hi."s)).text, "hi");
  EXPECT_EQ(root(load("\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi."s)).text, "hi");
  EXPECT_EQ(root(load("C\x02\x00\xff."s)).text, "\0\xff"s);
  EXPECT_EQ(root(load("U\x02hi."s)).kind, Kind::bytes);
}

TEST(Pickle, ReadsContainersMemoAndFrames) {
  const auto graph = load(
      "\x80\x04\x95\x09\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01K\x02"
      "eh\x00."s);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(root(graph).kind, Kind::list);
  EXPECT_EQ(root(graph).items.size(), 2U);
  EXPECT_EQ(root(load("}(K\x01K\x02K\x03K\x04u."s)).items.size(), 4U);
  EXPECT_EQ(root(load("(K\x01K\x02t."s)).kind, Kind::tuple);
  EXPECT_EQ(root(load("\x8f(K\x01\x90."s)).kind, Kind::set);
}

TEST(Pickle, CallsAreRecordedAndNotMade) {
  const auto graph = load("cos\nsystem\n(S'echo'\ntR}S'a'\nK\x01sb."s);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(root(graph).kind, Kind::call);
  EXPECT_EQ((*graph)[root(graph).items[0]].text, "os.system");
  EXPECT_EQ((*graph)[root(graph).state].kind, Kind::dict);
  for (const std::string& other : {"\x8c\x02os\x8c\x06system\x93)R."s, "(ios\nsystem\n."s,
                                   "(cos\nsystem\no."s, "cos\nsystem\n)\x81."s, "cos\nsystem\n)}\x92."s}) {
    const auto again = load(other);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ((*again)[root(again).items[0]].text, "os.system");
  }
}

TEST(Pickle, RefusesNonsense) {
  EXPECT_THAT(error_of(""), HasSubstr("truncated"));
  EXPECT_THAT(error_of("."), HasSubstr("empty stack"));
  EXPECT_THAT(error_of("K"), HasSubstr("truncated"));
  EXPECT_THAT(error_of("N("), HasSubstr("truncated"));
  EXPECT_THAT(error_of("N(."), HasSubstr("empty stack"));  // the mark hides what is below
  EXPECT_THAT(error_of("t."), HasSubstr("mark"));
  EXPECT_THAT(error_of("h\x05."s), HasSubstr("never remembered"));
  EXPECT_THAT(error_of("g-1\n."), HasSubstr("never remembered"));
  EXPECT_THAT(error_of("Na."), HasSubstr("empty stack"));
  EXPECT_THAT(error_of("NNa."), HasSubstr("cannot hold"));
  EXPECT_THAT(error_of("}(Nu."), HasSubstr("without a value"));
  EXPECT_THAT(error_of("NNR."), HasSubstr("not a tuple"));
  EXPECT_THAT(error_of("}Nb."), HasSubstr("not an object"));
  EXPECT_THAT(error_of("\x80\x09N."s), HasSubstr("protocol 9"));
  EXPECT_THAT(error_of("?"), HasSubstr("unknown opcode 0x3f"));
  EXPECT_THAT(error_of("\x82\x01."s), HasSubstr("extension"));
  EXPECT_THAT(error_of("X\xff\xff\xff\xff."s), HasSubstr("wants 4294967295 bytes"));
  EXPECT_THAT(error_of("\x8e\xff\xff\xff\xff\xff\xff\xff\xff."s),
              HasSubstr("wants 18446744073709551615 bytes"));
  EXPECT_THAT(error_of("cos"), HasSubstr("truncated"));
  EXPECT_THAT(error_of("Ix\n."), HasSubstr("integer is expected"));
}

TEST(Pickle, MillionLevelsNeitherOverflowNorLeakTheStack) {
  std::string nested(1000000, ']');
  nested.append(999999, 'a').push_back('.');
  const auto graph = load(nested, 1 << 28);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->values.size(), 1000003U);
}

TEST(Pickle, MemoryIsBounded) {
  EXPECT_THAT(error_of(std::string(100000, ']') + ".", 1 << 20), HasSubstr("limit"));
  EXPECT_THAT(error_of("N" + std::string(1000000, '2') + ".", 1 << 20), HasSubstr("limit"));  // DUP
  EXPECT_THAT(error_of(std::string(1000000, '(') + ".", 1 << 20), HasSubstr("limit"));
  EXPECT_THAT(error_of("](" + std::string(1000000, 'N') + "e.", 1 << 20), HasSubstr("limit"));
  EXPECT_THAT(error_of("V" + std::string(3 << 20, 'x') + "\n.", 1 << 20), HasSubstr("limit"));
  EXPECT_THAT(error_of("Nr\xff\xff\xff\xff."s), "loaded");  // a memo of 2^32 entries is not made
}

TEST(PickleText, LatinOneIsBytes) {
  EXPECT_EQ(to_latin1("a\xc3\xbf\xc2\x80"), "a\xff\x80"s);
  EXPECT_EQ(to_latin1("\xe2\x82\xac"), std::nullopt);
  EXPECT_EQ(to_latin1("\xc3"), std::nullopt);
  EXPECT_EQ(unquote_python("'a"), std::nullopt);
  EXPECT_EQ(unquote_python("'\\x4'"), std::nullopt);
  EXPECT_EQ(unquote_python("'\\'"), std::nullopt);
  EXPECT_EQ(decode_raw_unicode("\\u12"), std::nullopt);
  EXPECT_EQ(decode_raw_unicode("\\U0001F600"), "\xf0\x9f\x98\x80");
}

}  // namespace
}  // namespace assay
