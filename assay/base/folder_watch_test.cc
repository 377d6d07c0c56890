#include "assay/base/folder_watch.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = 1'000'000'000;

class FolderWatchTest : public ::testing::Test {
 protected:
  FolderWatchTest() {
    std::string pattern = (fs::temp_directory_path() / "assay_watch_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~FolderWatchTest() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(FolderWatchTest, TellsWhenAWriterIsDone) {
  auto watch = FolderWatch::open();
  ASSERT_TRUE(watch);
  ASSERT_TRUE(watch->add(root_));
  std::ofstream file(root_ / "x");
  EXPECT_THAT(watch->wait(kSecond).finished, IsEmpty());
  file.close();
  EXPECT_THAT(watch->wait(kSecond).finished, ElementsAre(root_ / "x"));
  fs::rename(root_ / "x", root_ / "y");
  EXPECT_THAT(watch->wait(kSecond).finished, ElementsAre(root_ / "y"));
}

TEST_F(FolderWatchTest, TellsOfNewFolders) {
  auto watch = FolderWatch::open();
  ASSERT_TRUE(watch);
  ASSERT_TRUE(watch->add(root_));
  fs::create_directory(root_ / "token_0");
  EXPECT_THAT(watch->wait(kSecond).folders, ElementsAre(root_ / "token_0"));
  EXPECT_FALSE(watch->add(root_ / "nowhere"));
}

TEST_F(FolderWatchTest, WaitsNoLongerThanItMay) {
  auto watch = FolderWatch::open();
  ASSERT_TRUE(watch);
  const auto events = watch->wait(kSecond / 100);
  EXPECT_THAT(events.finished, IsEmpty());
  EXPECT_FALSE(events.lost);
}

}  // namespace
}  // namespace assay
