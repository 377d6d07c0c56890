#include "assay/format/raw.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using namespace std::literals;
using ::testing::HasSubstr;

class Raw : public ::testing::Test {
 protected:
  Raw() {
    std::string name = (fs::temp_directory_path() / "raw_test_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Raw() override { fs::remove_all(folder_); }

  Result<TensorSet> open(std::string_view content, const FormatOptions& options) {
    const fs::path path = folder_ / "data.bin";
    std::ofstream(path, std::ios::binary) << content;
    return raw_format.open(File::open(path).value(), options);
  }

  fs::path folder_;
};

TEST_F(Raw, WithoutAShapeTheWholeFileIsOneRow) {
  const auto set = open("\1\0\2\0\3\0"sv, {.raw_dtype = DType::i16, .raw_shape = {}}).value();
  EXPECT_EQ(set.tensors[0].meta, (TensorMeta{DType::i16, Shape{{3}}}));
  Scratch scratch;
  EXPECT_EQ(set.tensors[0].data.value()->block(2, 1, scratch)->data[0], std::byte{3});
}

TEST_F(Raw, OffsetSkipsAForeignHeader) {
  const auto set =
      open("head\1\0\2\0"sv, {.raw_dtype = DType::i16, .raw_shape = Shape{{2, 1}}, .raw_offset = 4}).value();
  Scratch scratch;
  EXPECT_EQ(set.tensors[0].data.value()->block(0, 1, scratch)->data[0], std::byte{1});
  EXPECT_EQ(set.tensors[0].meta->shape.text(), "[2, 1]");
}

TEST_F(Raw, SmallTypesArePacked) {
  const auto set = open("\x21\x03"sv, {.raw_dtype = DType::u4, .raw_shape = Shape{{3}}}).value();
  Scratch scratch;
  EXPECT_EQ(set.tensors[0].data.value()->block(2, 1, scratch)->data[0], std::byte{3});
  EXPECT_EQ(open("\x21\x03"sv, {.raw_dtype = DType::u4, .raw_shape = {}})->tensors[0].meta->shape.text(),
            "[4]");
}

TEST_F(Raw, SizesThatDoNotFitAreRefused) {
  const auto message = [&](std::string_view content, const FormatOptions& options) {
    return open(content, options).error().message;
  };
  EXPECT_THAT(message("abc", {.raw_dtype = DType::i16, .raw_shape = {}}),
              HasSubstr("not a whole number of i16 elements of 2 bytes"));
  EXPECT_THAT(message("abc", {.raw_dtype = DType::i16, .raw_shape = Shape{{2}}}),
              HasSubstr("data.bin: shape [2] of i16 needs 4 bytes, but the file has 3"));
  EXPECT_THAT(message("abcdef", {.raw_dtype = DType::i16, .raw_shape = Shape{{2}}}),
              HasSubstr("needs 4 bytes"));
  EXPECT_THAT(message("abc", {.raw_dtype = DType::u8, .raw_shape = Shape{{-3}}}),
              HasSubstr("negative dimension"));
  EXPECT_THAT(message("abc", {.raw_dtype = DType::f64, .raw_shape = Shape{{int64_t{1} << 61}}}),
              HasSubstr("too large"));
  EXPECT_THAT(message("abc", {.raw_dtype = DType::u8, .raw_shape = {}, .raw_offset = 4}),
              HasSubstr("offset 4 lies outside"));
  EXPECT_THAT(message("abc", {}), HasSubstr("pass --dtype"));
}

TEST_F(Raw, RecognisesNothing) { EXPECT_FALSE(raw_format.sniff(as_bytes("anything"), 8)); }

}  // namespace
}  // namespace assay
