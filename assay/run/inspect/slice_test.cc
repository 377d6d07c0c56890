#include "assay/run/inspect/slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Counting : public Operand {  // 0, 1, 2, … as u8
 public:
  explicit Counting(Shape shape) : Operand({DType::u8, std::move(shape)}), bytes_(256) {
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::byte>(i);
  }
  Result<Block> block(int64_t first, int64_t count, Scratch&) const override {
    return Block{DType::u8, bytes_.data() + first, count};
  }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<int> elements_of(const char* text, std::vector<int64_t> dims = {2, 3, 4}) {
  const auto slice = parse_slice(text);
  EXPECT_TRUE(slice) << slice.error().message;
  const auto part = sliced(std::make_shared<Counting>(Shape{std::move(dims)}), *slice);
  EXPECT_TRUE(part) << part.error().message;
  const auto bytes = read_whole(**part, 1 << 20);
  std::vector<int> out;
  for (const std::byte b : *bytes) out.push_back(std::to_integer<int>(b));
  return out;
}

std::string shape_of_slice(const char* text) {
  return (*sliced(std::make_shared<Counting>(Shape{{2, 3, 4}}), *parse_slice(text)))->meta.shape.text();
}

std::string slice_error(const char* text) {
  const auto slice = parse_slice(text);
  if (!slice) return slice.error().message;
  const auto part = sliced(std::make_shared<Counting>(Shape{{2, 3, 4}}), *slice);
  return part ? "" : part.error().message;
}

TEST(Slice, NamesElementsAsNumpyDoes) {
  EXPECT_THAT(elements_of("[1, :, 3]"), ElementsAre(15, 19, 23));
  EXPECT_EQ(shape_of_slice("[1, :, 3]"), "[3]");
  EXPECT_THAT(elements_of("1, 2, 3"), ElementsAre(23));
  EXPECT_EQ(shape_of_slice("1, 2, 3"), "[]");
  EXPECT_THAT(elements_of("[..., -1]"), ElementsAre(3, 7, 11, 15, 19, 23));
  EXPECT_EQ(shape_of_slice("[..., -1]"), "[2, 3]");
  EXPECT_THAT(elements_of("[0, 1:, ::2]"), ElementsAre(4, 6, 8, 10));
  EXPECT_THAT(elements_of("[0, -1, 1:3]"), ElementsAre(9, 10));
  EXPECT_EQ(shape_of_slice("[]"), "[2, 3, 4]");
  EXPECT_EQ(shape_of_slice("[:, 5:9]"), "[2, 0, 4]");
}

TEST(Slice, ExplainsMistakes) {
  EXPECT_THAT(slice_error("[0, 0, 0, 0]"),
              HasSubstr("has 3 dimensions, and the slice [0, 0, 0, 0] speaks of 4"));
  EXPECT_THAT(slice_error("[2]"), HasSubstr("2 in the slice [2] lies outside dimension 0 of [2, 3, 4]"));
  EXPECT_THAT(slice_error("[-3]"), HasSubstr("lies outside dimension 0"));
  EXPECT_THAT(slice_error("[a]"), HasSubstr("'a' in '[a]' is no number"));
  EXPECT_THAT(slice_error("[0,,1]"), HasSubstr("is no index and no range"));
  EXPECT_THAT(slice_error("[1:2:3:4]"), HasSubstr("is no index and no range"));
  EXPECT_THAT(slice_error("[::-1]"), HasSubstr("step -1"));
  EXPECT_THAT(slice_error("[..., ...]"), HasSubstr("more than one '...'"));
}

}  // namespace
}  // namespace assay
