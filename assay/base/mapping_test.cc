#include "assay/base/mapping.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

constexpr int64_t kSize = int64_t{4} << 20;

class MappingTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/assay_mapping_XXXXXX";
    const int descriptor = ::mkstemp(name);
    ASSERT_GE(descriptor, 0);
    ::close(descriptor);
    path_ = name;
    std::ofstream out(path_, std::ios::binary);
    for (int64_t i = 0; i < kSize; ++i) out.put(static_cast<char>(i % 251));
  }
  void TearDown() override { fs::remove(path_); }
  fs::path path_;
};

TEST_F(MappingTest, ShowsTheBytesOfTheFile) {
  const auto file = File::open(path_);
  ASSERT_TRUE(file.has_value());
  MappedWindow window(*file);
  for (const int64_t offset : {int64_t{0}, int64_t{1}, int64_t{4095}, int64_t{1000000}, kSize - 300000}) {
    const auto bytes = window.view(offset, 300000);
    if (!bytes) GTEST_SKIP() << "this kernel cannot fill a mapping in advance";
    ASSERT_EQ(bytes->size(), 300000u);
    for (size_t i = 0; i < bytes->size(); i += 997)
      ASSERT_EQ(static_cast<int>((*bytes)[i]), (offset + static_cast<int64_t>(i)) % 251);
  }
}

TEST_F(MappingTest, LeavesWhatIsBeyondTheEndToTheReader) {
  const auto file = File::open(path_);
  ASSERT_TRUE(file.has_value());
  MappedWindow window(*file);
  EXPECT_FALSE(window.view(kSize - 10, 11).has_value());
}

TEST_F(MappingTest, SurvivesAFileThatShrinksAndSaysSo) {
  const auto file = File::open(path_);
  ASSERT_TRUE(file.has_value());
  MappedWindow window(*file);
  const auto bytes = window.view(kSize - 500000, 500000);
  if (!bytes) GTEST_SKIP() << "this kernel cannot fill a mapping in advance";
  const int64_t before = lost_pages();
  ASSERT_EQ(::truncate(path_.c_str(), 4096), 0);
  int sum = 0;
  for (const std::byte byte : *bytes) sum += static_cast<int>(byte);
  EXPECT_EQ(sum, 0);
  EXPECT_GT(lost_pages(), before);
  EXPECT_TRUE((*file)->mapping()->broken());
  EXPECT_FALSE(window.view(0, 4096).has_value());  // a broken mapping is not looked through again
  std::byte one[1];
  EXPECT_FALSE((*file)->read(kSize - 1, one).has_value());
}

// No signal tells of it: the rest of the last page reads as zeros.
TEST_F(MappingTest, NoticesWhatIsMissingOfItsLastPage) {
  const auto file = File::open(path_);
  ASSERT_TRUE(file.has_value());
  const int64_t before = lost_pages();
  {
    MappedWindow window(*file);
    if (!window.view(kSize - 5000, 5000)) GTEST_SKIP() << "this kernel cannot fill a mapping in advance";
    ASSERT_EQ(::truncate(path_.c_str(), kSize - 100), 0);
    EXPECT_EQ(lost_pages(), before);
  }
  EXPECT_EQ(lost_pages(), before + 1);
  EXPECT_TRUE((*file)->mapping()->broken());
}

}  // namespace
}  // namespace assay
