#include "assay/dump/logits.h"

#include "assay/model/logits.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string parsed(std::string_view file_name) {
  const auto name = parse_logits_name(file_name);
  if (!name) return name.error().message;
  return name->language + "|" + name->key + "|" + name->token;
}

// Answers of the original for the same names.
TEST(LogitsName, TakesTheLastTwoNumbers) {
  EXPECT_EQ(parsed("logits_boolq_12_0.pth"), "|12|0");
  EXPECT_EQ(parsed("1_2.pth"), "|1|2");
  EXPECT_EQ(parsed("logits_007_08.pth"), "|7|8");
  EXPECT_EQ(parsed("logits_-3_+4.pth"), "|-3|4");
  EXPECT_EQ(parsed("logits_123456789012345678901234567890_0.pth"), "|123456789012345678901234567890|0");
}

TEST(LogitsName, KeepsTheLanguageOfAKey) {
  EXPECT_EQ(parsed("logits_humanevalx_cpp_12_3.pth"), "cpp|12|3");
  EXPECT_EQ(parsed("logits_go_python_05_06.pth"), "python|05|6");
  EXPECT_EQ(parsed("java_1_x_2.pth"), "java|1|2");
}

TEST(LogitsName, SaysWhatIsWrong) {
  EXPECT_EQ(parsed("invalid_file.pth"), "invalid_format_invalid_file");
  EXPECT_EQ(parsed("logits.pth"), "invalid logits file name");
  EXPECT_EQ(parsed("logits_cpp_12.pth"), "missing_digits_after_cpp");
  EXPECT_EQ(parsed("a_1_.pth"), "invalid_format_1_");
  EXPECT_EQ(parsed(".pth"), "invalid logits file name");
  EXPECT_EQ(parsed("a_\n_1.pth"), "invalid_format_\\x0a_1");
}

class LogitsFolder : public ::testing::Test {
 protected:
  LogitsFolder() {
    std::string pattern = (fs::temp_directory_path() / "assay_logits_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~LogitsFolder() override { fs::remove_all(root_); }
  void touch(const std::string& name) const { std::ofstream(root_ / name) << "x"; }
  fs::path root_;
};

TEST_F(LogitsFolder, SortsNumbersThenLanguagesThenTheRest) {
  for (const char* name : {"zz.pth", "l_10_0.pth", "l_9_10.pth", "l_9_2.pth", "l_python_1_0.pth",
                           "l_cpp_10_0.pth", "l_cpp_9_0.pth", "l_-1_0.pth", "notes.txt"})
    touch(name);
  const auto frame = logits_layout.index({At{}, {root_}}, {});
  ASSERT_TRUE(frame);
  std::vector<std::string_view> names;
  for (const Node& node : frame->nodes) names.push_back(node.name);
  EXPECT_THAT(names, ElementsAre("l_-1_0.pth", "l_9_2.pth", "l_9_10.pth", "l_10_0.pth", "l_cpp_9_0.pth",
                                 "l_cpp_10_0.pth", "l_python_1_0.pth", "zz.pth"));
  const Item& first = frame->nodes[0].items[0];
  ASSERT_NE(first.facts, nullptr);
  EXPECT_EQ((*first.facts)[0].key, kLogitsKey);
  EXPECT_EQ((*first.facts)[0].value, Value("-1"));
  EXPECT_EQ((*frame->nodes[4].items[0].facts)[0].value, Value("cpp/9"));
  EXPECT_EQ(frame->nodes[7].items[0].trouble, "parse_error:invalid logits file name");
  EXPECT_FALSE(frame->nodes[7].items[0].data);
}

// A name that says nothing would be an error of this layout, and is none of a plain folder.
TEST_F(LogitsFolder, IsRecognisedWhereEveryNameFits) {
  EXPECT_EQ(logits_layout.recognise(root_), 0);
  touch("logits_boolq_1_0.pth");
  touch("logits_humanevalx_cpp_7_3.pt");
  EXPECT_GT(logits_layout.recognise(root_), 50);  // a plain folder
  touch("weights_1_0.pth");
  EXPECT_EQ(logits_layout.recognise(root_), 0);
  fs::remove(root_ / "weights_1_0.pth");
  touch("notes.txt");
  EXPECT_EQ(logits_layout.recognise(root_), 0);
  EXPECT_EQ(logits_layout.recognise(root_ / "notes.txt"), 0);
  EXPECT_EQ(logits_layout.recognise(root_ / "gone"), 0);
}

TEST_F(LogitsFolder, RefusesAFile) {
  touch("a_1_0.pth");
  const auto frames = logits_layout.survey(root_ / "a_1_0.pth", {});
  ASSERT_FALSE(frames);
  EXPECT_THAT(frames.error().message, HasSubstr("is not a folder"));
  const auto frame = logits_layout.index({At{}, {root_ / "gone"}}, {});
  ASSERT_FALSE(frame);
  EXPECT_THAT(frame.error().message, HasSubstr("gone"));
}

}  // namespace
}  // namespace assay
