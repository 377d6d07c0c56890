#include "capture/tally.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace assay::capture {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class TallyFileTest : public ::testing::Test {
 protected:
  TallyFileTest() {
    std::string name = (fs::temp_directory_path() / "assay_tally_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ / "capture.json";
  }
  ~TallyFileTest() override { fs::remove_all(folder_); }
  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  void put(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  // What became of it: "", or why not.
  static std::string write(TallyFile& file) {
    Tally tally;
    tally.tensors = 1;
    const auto done = file.write(tally, true, {});
    return done ? "" : done.error().message;
  }

  fs::path folder_, path_;
};

TEST_F(TallyFileTest, LeavesAFileOfSomebodyElseAsItIs) {
  const std::string much = "{\n \"5\":{\"a\":\"" + std::string(3000, 'x') + "\n\"}\n}\n";
  for (const std::string& theirs : {std::string(), std::string("{\"a\": [1, 2]}\n"), much}) {
    put(theirs);
    TallyFile file(path_, "");
    EXPECT_THAT(write(file), HasSubstr("another file is in the way"));
    EXPECT_EQ(text(), theirs);
  }
}

TEST_F(TallyFileTest, LeavesWhatTookItsPlaceAsItIs) {
  TallyFile file(path_, "");
  EXPECT_EQ(write(file), "");
  fs::remove(path_);
  const std::string theirs(4096, 'x');
  put(theirs);
  EXPECT_THAT(write(file), HasSubstr("another file is in the way"));
  EXPECT_EQ(text(), theirs);
}

// Of a process that was killed while it added its own.
TEST_F(TallyFileTest, WritesOverARecordThatWasCutShort) {
  TallyFile first(path_, "");
  EXPECT_EQ(write(first), "");
  const std::string whole = text();
  put(whole.substr(0, whole.size() - 2) + ",\"77\":{\"tens");
  TallyFile second(path_, "");
  EXPECT_EQ(write(second), "");
  EXPECT_EQ(text().size(), 2 + 2 * 1024 + 2);
  EXPECT_THAT(text(), HasSubstr("\n,\"" + std::to_string(::getpid()) + ".2\":{"));
  EXPECT_THAT(text(), EndsWith("}\n"));
}

}  // namespace
}  // namespace assay::capture
