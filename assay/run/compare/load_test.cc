#include "assay/run/compare/load.h"

#include "assay/dump/layout.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest() {
    std::string pattern = (fs::temp_directory_path() / "assay_load_XXXXXX").string();
    path_ = fs::path(::mkdtemp(pattern.data())) / "t.npy";
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
    header.resize(117, ' ');
    std::ofstream(path_, std::ios::binary)
        << std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + std::string("\0\0\x80\x3f", 4);
  }
  ~LoaderTest() override { fs::remove_all(path_.parent_path()); }

  Indexed index(OpenFiles* open_files) const {
    OpenOptions options;
    options.open_files = open_files;
    const Dump dump = open_dump(path_, options).value();
    Indexed indexed;
    indexed.mine.push_back(dump.layout->index(dump.frames.at(0), options).value());
    return indexed;
  }

  fs::path path_;
};

// Removed in between, so that whoever opens it a second time fails.
TEST_F(LoaderTest, ReadsWhatIndexingLeftOpen) {
  OpenFiles open_files;
  const Indexed indexed = index(&open_files);
  fs::remove(path_);
  Loader loader(indexed, {}, &open_files);
  const auto loaded = loader.load(Side::mine, {0, 0, 0});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto bytes = read_whole(*loaded->data, 4);
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(bytes->at(3), std::byte{0x3f});
}

TEST_F(LoaderTest, OpensWhatWasNotLeftOpen) {
  OpenFiles no_room(0);
  const Indexed indexed = index(&no_room);
  EXPECT_TRUE(Loader(indexed, {}, &no_room).load(Side::mine, {0, 0, 0}));
  fs::remove(path_);
  EXPECT_FALSE(Loader(indexed, {}, &no_room).load(Side::mine, {0, 0, 0}));
}

}  // namespace
}  // namespace assay
