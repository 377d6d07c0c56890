// What the tests of layouts share.
#pragma once

#include "assay/dump/layout.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {

// A folder of its own for each test, gone at the end.
class DumpFolder : public ::testing::Test {
 protected:
  DumpFolder() {
    std::string pattern = (fs::temp_directory_path() / "assay_dump_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~DumpFolder() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void put(const fs::path& relative, std::string_view content = "x") const {
    fs::create_directories((root_ / relative).parent_path());
    std::ofstream(root_ / relative, std::ios::binary) << content;
  }
  // Of the first frame.
  Result<Frame> index_first(const OpenOptions& options = {}) const {
    ASSAY_TRY(const Dump dump, open_dump(root_, options));
    return dump.layout->index(dump.frames.at(0), options);
  }

  static std::vector<std::string> names(const Frame& frame) {
    std::vector<std::string> out;
    for (const Node& node : frame.nodes)
      for (const Item& item : node.items) out.emplace_back(item.name);
    return out;
  }
  static std::string all_warnings(const Frame& frame) {
    std::string out;
    for (const std::string& warning : frame.warnings) out += warning + "\n";
    return out;
  }

  fs::path root_;
};

}  // namespace assay
