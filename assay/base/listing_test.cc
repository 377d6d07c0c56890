#include "assay/base/listing.h"

#include "assay/base/caller_test_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>

namespace assay {
namespace {

namespace fs = std::filesystem;
using Kind = ListedEntry::Kind;

class Listings : public ::testing::Test {
 protected:
  Listings() : root_(fs::temp_directory_path() / ("assay_listing_" + std::to_string(::getpid()))) {
    fs::create_directories(root_ / "folder");
    std::ofstream(root_ / "file") << "four";
  }
  ~Listings() override { fs::remove_all(root_); }

  static std::map<std::string, ListedEntry> by_name(const fs::path& folder) {
    std::map<std::string, ListedEntry> found;
    const auto listing = list_folder(folder);
    for (const ListedEntry& entry : listing->entries) found.emplace(entry.name, entry);
    return found;
  }

  const fs::path root_;
};

TEST_F(Listings, SayWhatEachEntryIsAndWhereLinksLead) {
  fs::create_symlink("file", root_ / "to_file");
  fs::create_symlink("folder", root_ / "to_folder");
  fs::create_symlink("nothing", root_ / "to_nothing");
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  const auto found = by_name(root_);
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found.at("file").kind, Kind::file);
  EXPECT_EQ(found.at("file").size, 4);
  EXPECT_FALSE(found.at("file").is_link);
  EXPECT_EQ(found.at("folder").kind, Kind::folder);
  EXPECT_EQ(found.at("pipe").kind, Kind::pipe);
  EXPECT_EQ(found.at("to_file").kind, Kind::file);
  EXPECT_EQ(found.at("to_file").size, 4);
  EXPECT_TRUE(found.at("to_file").is_link);
  EXPECT_EQ(found.at("to_folder").kind, Kind::folder);
  EXPECT_TRUE(found.at("to_folder").is_link);
  EXPECT_EQ(found.at("to_nothing").kind, Kind::unreadable);
  EXPECT_EQ(found.at("to_nothing").error, ENOENT);
  EXPECT_EQ(list_folder(root_ / "gone")->error, ENOENT);
  EXPECT_EQ(list_folder(root_ / "file")->error, ENOTDIR);
}

TEST_F(Listings, AreRememberedForOneRunOnly) {
  {
    const ListingMemory run;
    EXPECT_EQ(by_name(root_).size(), 2U);
    {
      const ListingMemory part_of_it;
      std::ofstream(root_ / "later") << "x";
    }
    EXPECT_EQ(by_name(root_).size(), 2U);
    EXPECT_EQ(by_name(root_ / "").size(), 2U);  // called otherwise
  }
  EXPECT_EQ(by_name(root_).size(), 3U);
}

// A run that began before must not tell a later one what there was.
TEST_F(Listings, AreRememberedForEachCallerApart) {
  Listener early, late;
  {
    const CallerScope scope(&early);
    const ListingMemory memory;
    EXPECT_EQ(by_name(root_).count("new"), 0u);
    std::ofstream(root_ / "new") << "x";
    EXPECT_EQ(by_name(root_).count("new"), 0u);
    const CallerScope other(&late);
    const ListingMemory of_other;
    EXPECT_EQ(by_name(root_).count("new"), 1u);
  }
}

}  // namespace
}  // namespace assay
