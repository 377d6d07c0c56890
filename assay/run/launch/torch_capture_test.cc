#include "assay/run/launch/torch_capture.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include <fstream>
#include <map>

namespace assay {
namespace {

TEST(TorchCapture, ReadsSteps) {
  EXPECT_EQ(read_steps("0-2,5").value(), "0-2,5-5");
  EXPECT_EQ(read_steps(" 7 , 3-3 ").value(), "7-7,3-3");
  for (const char* const wrong : {"", "a", "2-1", "-1", "1-", "1,,2", "1-2-3"})
    EXPECT_FALSE(read_steps(wrong).has_value()) << wrong;
}

TEST(TorchCapture, PutsItselfBeforeTheProgramsPath) {
  ::setenv("PYTHONPATH", "/own:/other", 1);
  TorchCaptureSettings settings;
  settings.output = "/tmp/x/../dump";
  settings.modules = {"a.*", "b"};
  settings.functions = true;
  std::map<std::string, std::optional<std::string>> found;
  for (const EnvironmentChange& change : environment_of(settings, "/package"))
    found[change.name] = change.value;
  ::unsetenv("PYTHONPATH");
  EXPECT_EQ(found.at("PYTHONPATH"), "/package/_inject:/own:/other");
  EXPECT_EQ(found.at("ASSAY_CAPTURE"), "/tmp/dump");
  EXPECT_EQ(found.at("ASSAY_CAPTURE_MODULES"), "a.*\nb");
  EXPECT_EQ(found.at("ASSAY_CAPTURE_APIS"), "1");
  EXPECT_EQ(found.at("ASSAY_CAPTURE_STATS"), std::nullopt);  // taken away, whoever set it
  EXPECT_EQ(found.at("ASSAY_CAPTURE_STEPS"), std::nullopt);
}

class TorchCaptureFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay_capture_XXXXXX").native();
    root_ = ::mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  fs::path root_;
};

TEST_F(TorchCaptureFolder, TellsWhatWasRecordedAndWhatIsNotWhole) {
  EXPECT_TRUE(check_holds_no_dump(root_).has_value());
  EXPECT_NE(text_of_torch_capture(root_).find("nothing was recorded"), std::string::npos);
  put("capture.txt", "torch.compile of f\n");
  remove_notes_of_nothing(root_);
  EXPECT_TRUE(check_holds_no_dump(root_).has_value());
  put("step0/rank0/dump.json", "{}");
  put("step1/rank0/dump.json", "{}");
  put("step1/rank1/dump.json", "{}");
  put("steps/x", "");
  put("capture.txt", "rank0: 3 calls in 2 steps\nrank1: \x1b[31mred\n");
  remove_notes_of_nothing(root_);
  const std::string text = text_of_torch_capture(root_);
  EXPECT_EQ(text.find("rank0: 3 calls in 2 steps\n"), 0u);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("2 steps of 2 processes in "), std::string::npos);
  EXPECT_NE(text.find("next: assay compare"), std::string::npos);
  EXPECT_FALSE(check_holds_no_dump(root_).has_value());
  put("step1/rank1/dump.jsonl", "{}");
  EXPECT_NE(text_of_torch_capture(root_).find("rank1 ended before it was whole; `assay recover "),
            std::string::npos);
}

}  // namespace
}  // namespace assay
