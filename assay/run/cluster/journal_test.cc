#include "assay/run/cluster/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace assay {
namespace {

using testing::HasSubstr;

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::path(testing::TempDir()) / "assay_journal_test";
    fs::remove(path_);
  }
  void TearDown() override { fs::remove(path_); }
  fs::path path_;
};

TEST_F(JournalTest, KeepsWorkFromRunToRun) {
  {
    auto first = Journal::open(path_, "assay 1 compare");
    ASSERT_TRUE(first);
    ASSERT_TRUE(first->keep("a", "rows of a"));
    ASSERT_TRUE(first->keep("b", ""));
  }
  const auto second = Journal::open(path_, "assay 1 compare");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->kept_before(), 2u);
  EXPECT_EQ(*second->find("a"), "rows of a");
  EXPECT_EQ(*second->find("b"), "");
  EXPECT_EQ(*second->find("c"), std::nullopt);
}

TEST_F(JournalTest, LeavesOutWhatAFallCutOff) {
  {
    auto first = Journal::open(path_, "assay 1 compare");
    ASSERT_TRUE(first->keep("a", "rows of a"));
    ASSERT_TRUE(first->keep("b", "rows of b"));
  }
  std::string whole(fs::file_size(path_), ' ');
  std::ifstream(path_, std::ios::binary).read(whole.data(), static_cast<std::streamsize>(whole.size()));
  for (size_t size = whole.size(); size-- > 0;) {
    std::ofstream(path_, std::ios::binary) << whole.substr(0, size);
    auto again = Journal::open(path_, "assay 1 compare");
    ASSERT_TRUE(again) << size;
    EXPECT_FALSE(again->has("b")) << size;
    ASSERT_TRUE(again->keep("c", "rows of c"));
    EXPECT_EQ(*again->find("c"), "rows of c") << size;
  }
}

TEST_F(JournalTest, LeavesOutWhatWasChanged) {
  {
    auto first = Journal::open(path_, "assay 1 compare");
    ASSERT_TRUE(first->keep("a", "rows of a"));
  }
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::ate).seekp(-1, std::ios::end) << 'b';
  EXPECT_FALSE(Journal::open(path_, "assay 1 compare")->has("a"));
}

TEST_F(JournalTest, BeginsAnewForAnotherCommand) {
  {
    auto first = Journal::open(path_, "assay 1 compare");
    ASSERT_TRUE(first->keep("a", "rows of a"));
  }
  EXPECT_FALSE(Journal::open(path_, "assay 2 compare")->has("a"));
}

TEST_F(JournalTest, LeavesFilesOfOthersAlone) {
  std::ofstream(path_) << "somebody's words";
  const auto refused = Journal::open(path_, "assay 1 compare");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is no journal of ours"));
  std::string words;
  std::getline(std::ifstream(path_), words);
  EXPECT_EQ(words, "somebody's words");
}

TEST_F(JournalTest, IsOfOneRunAtATime) {
  const auto first = Journal::open(path_, "assay 1 compare");
  const auto second = Journal::open(path_, "assay 1 compare");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another run of this command"));
}

}  // namespace
}  // namespace assay
