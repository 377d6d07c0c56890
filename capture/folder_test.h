// A test with a folder of its own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace assay::capture {

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    std::string name = (std::filesystem::temp_directory_path() / "assay_capture_XXXXXX").string();
    root_ = ::mkdtemp(name.data());
  }
  ~FolderTest() override {
    std::error_code ignored;
    std::filesystem::permissions(root_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(root_, ignored);
  }
  std::string at(const std::string& name) const { return root_ / name; }
  std::string text(const std::string& name) const {
    std::ifstream file(root_ / name, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_))
      if (!entry.is_directory()) out.push_back(std::filesystem::relative(entry.path(), root_));
    return out;
  }

  std::filesystem::path root_;
};

}  // namespace assay::capture
