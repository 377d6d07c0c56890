#include "assay/base/temporary_name.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

class TemporaryNames : public ::testing::Test {
 protected:
  TemporaryNames() {
    std::string name = (fs::temp_directory_path() / "temporary_name_test_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~TemporaryNames() override { fs::remove_all(folder_); }

  fs::path put(const fs::path& path) {
    std::ofstream(path) << "half";
    return path;
  }

  fs::path folder_;
};

TEST_F(TemporaryNames, DifferAndAreKnown) {
  const fs::path first = temporary_beside(folder_ / "x.csv");
  EXPECT_NE(first, temporary_beside(folder_ / "x.csv"));
  EXPECT_EQ(first.parent_path(), folder_);
  EXPECT_TRUE(is_temporary_name(first.filename().native()));
  EXPECT_LT(temporary_beside(folder_ / std::string(255, 'x')).filename().native().size(), 255U);
}

TEST_F(TemporaryNames, OfOthersAreNotOurs) {
  for (const char* name :
       {"x.csv", ".x.csv.4711.0.tmp", ".x.tmp", ".assay.tmp", ".x.assay.tmp", "x.host-1-2.assay.tmp",
        ".x.host-1.assay.tmp", ".x.host-1-b.assay.tmp", ".x.host-a-2.assay.tmp", ".host-1-2.assay.tmp",
        ".x.-1-2.assay.tmp", ".x.host-1-2.assay.tmp.bak"}) {
    EXPECT_FALSE(is_temporary_name(name)) << name;
    const fs::path path = put(folder_ / name);
    remove_leftover(path);
    EXPECT_TRUE(fs::exists(path)) << name;
  }
  EXPECT_TRUE(is_temporary_name(".x.host-1-2.assay.tmp"));
}

TEST_F(TemporaryNames, LeftoversOfTheDeadAreRemoved) {
  const fs::path path = put(temporary_beside(folder_ / "x.csv"));
  remove_leftovers_once(folder_);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TemporaryNames, ThoseOfTheLivingStay) {
  const fs::path path = put(temporary_beside(folder_ / "x.csv"));
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_TRUE(lock_temporary(descriptor));
  remove_leftover(path);
  EXPECT_TRUE(fs::exists(path));
  ::close(descriptor);
  remove_leftover(path);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TemporaryNames, AFileThatWasRemovedMeanwhileCannotBeLocked) {
  const fs::path path = put(temporary_beside(folder_ / "x.csv"));
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  remove_leftover(path);
  EXPECT_FALSE(lock_temporary(descriptor));
  ::close(descriptor);
}

TEST_F(TemporaryNames, OfAnotherMachineStayForADay) {
  const fs::path path = put(folder_ / ".x.csv.elsewhere_0-4711-0.assay.tmp");
  remove_leftover(path);
  EXPECT_TRUE(fs::exists(path));
  const timespec old[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
  remove_leftover(path);
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TemporaryNames, WhatIsNoPlainFileStays) {
  const fs::path target = put(folder_ / "target"), link = temporary_beside(folder_ / "x"),
                 pipe = temporary_beside(folder_ / "x"), inner = temporary_beside(folder_ / "x");
  fs::create_symlink(target, link);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_directory(inner);
  for (const fs::path& path : {link, pipe, inner}) {
    remove_leftover(path);
    EXPECT_TRUE(fs::exists(fs::symlink_status(path))) << path;
  }
  EXPECT_TRUE(fs::exists(target));
}

}  // namespace
}  // namespace assay
