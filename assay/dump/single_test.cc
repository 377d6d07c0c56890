#include "assay/dump/single.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::HasSubstr;

class SingleTest : public ::testing::Test {
 protected:
  SingleTest() {
    std::string pattern = (fs::temp_directory_path() / "assay_single_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~SingleTest() override { fs::remove_all(root_); }

  fs::path put(const std::string& name, const std::string& bytes) {
    std::ofstream(root_ / name, std::ios::binary) << bytes;
    return root_ / name;
  }
  static Result<Frame> index(const fs::path& path, const OpenOptions& options = {}) {
    ASSAY_TRY(const Dump dump, open_dump(path, options));
    EXPECT_EQ(dump.layout->name, "single");
    return dump.layout->index(dump.frames.at(0), options);
  }

  fs::path root_;
};

// Two tensors: header length, JSON, eight bytes of data.
std::string safetensors_bytes() {
  std::string header =
      R"({"b.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"I32","shape":[],"data_offsets":[4,8]}})";
  while (header.size() % 8 != 0) header += ' ';
  std::string out(8, '\0');
  out[0] = static_cast<char>(header.size());
  return out + header + std::string("\0\0\x80\x3f\x07\0\0\0", 8);
}

TEST_F(SingleTest, EveryTensorIsANode) {
  const fs::path path = put("two.safetensors", safetensors_bytes());
  const auto frame = index(path);
  ASSERT_TRUE(frame) << frame.error().message;
  ASSERT_EQ(frame->nodes.size(), 2);
  for (const Node& node : frame->nodes) {
    ASSERT_EQ(node.items.size(), 1);
    EXPECT_EQ(node.name, node.items[0].name);
    EXPECT_NE(node.items[0].meta, nullptr);
    EXPECT_EQ(node.items[0].data->file, 0);
  }
  EXPECT_EQ(frame->files.size(), 1);
  EXPECT_EQ(frame->files[0].path, path);
  OpenOptions options;
  options.only = {"*.weight"};
  ASSERT_EQ(index(path, options)->nodes.size(), 1);
  EXPECT_EQ(index(path, options)->nodes[0].name, "b.weight");
}

TEST_F(SingleTest, UnnamedTensorHasTheNameOfItsFile) {
  OpenOptions options;
  options.format.raw_dtype = DType::f16;
  options.format.raw_shape = Shape{{2, 2}};
  const auto frame = index(put("bytes.raw", "12345678"), options);
  ASSERT_TRUE(frame) << frame.error().message;
  ASSERT_EQ(frame->nodes.size(), 1);
  EXPECT_EQ(frame->nodes[0].items[0].name, "bytes.raw");
  EXPECT_EQ(*frame->nodes[0].items[0].meta, (TensorMeta{DType::f16, Shape{{2, 2}}}));
}

TEST_F(SingleTest, UnknownFileGetsTheAnswerOfTheFormats) {
  const auto frame = index(put("notes.xyz", "hello, world"));
  ASSERT_FALSE(frame);
  EXPECT_THAT(frame.error().message, HasSubstr("notes.xyz"));
  EXPECT_THAT(frame.error().message, HasSubstr("--dtype"));
}

TEST_F(SingleTest, PipesAndEmptyFilesAreRefused) {
  ASSERT_EQ(::mkfifo((root_ / "pipe").c_str(), 0600), 0);
  auto frame = index(root_ / "pipe");
  ASSERT_FALSE(frame);
  EXPECT_THAT(frame.error().message, HasSubstr("a pipe"));
  frame = index(put("empty.npy", ""));
  ASSERT_FALSE(frame);
  EXPECT_THAT(frame.error().message, HasSubstr("is empty"));
}

}  // namespace
}  // namespace assay
