#include "assay/tensor/dense.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <numeric>
#include <random>

namespace assay {
namespace {

using namespace std::literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Dense : public ::testing::Test {
 protected:
  Dense() {
    std::string name = (fs::temp_directory_path() / "dense_test_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Dense() override { fs::remove_all(folder_); }

  std::shared_ptr<const File> file(std::string_view content) {
    const fs::path path = folder_ / "data.bin";
    std::ofstream(path, std::ios::binary) << content;
    return File::open(path).value();
  }

  fs::path folder_;
};

std::vector<int> bytes_of(const Result<Block>& block) {
  std::vector<int> out;
  for (const std::byte b : block.value().bytes()) out.push_back(std::to_integer<int>(b));
  return out;
}

std::vector<std::byte> random_bytes(size_t count, unsigned mask = 255) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() & mask);
  return bytes;
}

TEST_F(Dense, FileIsReadFromItsOffset) {
  const auto operand = dense_in_file(file("xx\1\0\2\0\3\0"sv), 2, {DType::i16, Shape{{3}}});
  Scratch scratch;
  EXPECT_THAT(bytes_of(operand->block(1, 2, scratch)), ElementsAre(2, 0, 3, 0));
  std::byte out[2];
  ASSERT_TRUE(operand->read(0, 1, out, scratch));
  EXPECT_EQ(out[0], std::byte{1});
  operand->will_need(0, 3);
}

TEST_F(Dense, BorrowedMemoryIsReadInPlace) {
  const int16_t values[] = {1, 2, 3};
  const auto operand = dense_in_borrowed_memory(std::as_bytes(std::span(values)), {DType::i16, Shape{{3}}});
  Scratch scratch;
  const auto block = operand->block(1, 2, scratch);
  EXPECT_THAT(bytes_of(block), ElementsAre(2, 0, 3, 0));
  EXPECT_EQ(block->data, reinterpret_cast<const std::byte*>(values + 1));
  EXPECT_FALSE(operand->place().has_value());
}

TEST_F(Dense, FileThatShrankIsAnError) {
  const auto operand = dense_in_file(file("\1\0\2"sv), 0, {DType::i16, Shape{{2}}});
  Scratch scratch;
  const auto block = operand->block(0, 2, scratch);
  ASSERT_FALSE(block);
  EXPECT_THAT(block.error().message, HasSubstr("data.bin: ends at byte 3"));
}

TEST_F(Dense, MemoryIsViewedWithoutCopying) {
  const auto operand = dense_in_memory(random_bytes(16), {DType::f32, Shape{{4}}});
  Scratch scratch, other;
  const Block whole = operand->block(0, 4, scratch).value();
  EXPECT_EQ(operand->block(2, 2, other)->data, whole.data + 8);
}

TEST_F(Dense, BigEndianIsSwappedPerComponent) {
  const auto swapped = [](DType dtype) {
    std::vector<std::byte> bytes(16);
    for (size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::byte>(i);
    const auto operand = byte_swapped(dense_in_memory(bytes, {dtype, Shape{{16 / size_of(dtype)}}}));
    Scratch scratch;
    return bytes_of(operand->block(0, operand->meta.shape.count(), scratch));
  };
  EXPECT_THAT(swapped(DType::f16), ElementsAre(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
  EXPECT_THAT(swapped(DType::c32), ElementsAre(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
  EXPECT_THAT(swapped(DType::u32), ElementsAre(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
  EXPECT_THAT(swapped(DType::c64), ElementsAre(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12));
  EXPECT_THAT(swapped(DType::f64), ElementsAre(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
  EXPECT_THAT(swapped(DType::c128), ElementsAre(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
}

TEST_F(Dense, BytesNeedNoSwapping) {
  const auto source = dense_in_memory(random_bytes(4), {DType::u8, Shape{{4}}});
  EXPECT_EQ(byte_swapped(source), source);
}

std::vector<int> unpacked(DType dtype, std::vector<int> packed, int64_t count) {
  std::vector<std::byte> from(packed.size()), to(static_cast<size_t>(count));
  for (size_t i = 0; i < packed.size(); ++i) from[i] = static_cast<std::byte>(packed[i]);
  unpack(dtype, from.data(), count, to.data());
  std::vector<int> values;
  for (const std::byte b : to)
    values.push_back(dtype == DType::i4 || dtype == DType::i2 ? static_cast<int8_t>(b)
                                                              : std::to_integer<int>(b));
  return values;
}

TEST_F(Dense, NibblesComeLowFirst) {
  EXPECT_THAT(unpacked(DType::u4, {0x21, 0xF3}, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(unpacked(DType::i4, {0x8F, 0x07}, 3), ElementsAre(-1, -8, 7));
  EXPECT_THAT(unpacked(DType::f4e2m1, {0xA5}, 2), ElementsAre(5, 10));
  EXPECT_THAT(unpacked(DType::f4e1m2, {0xA5}, 2), ElementsAre(5, 10));
}

TEST_F(Dense, PairsOfBitsComeLowFirstAndSingleBitsHighFirst) {
  EXPECT_THAT(unpacked(DType::u2, {0b11100100, 0b10}, 5), ElementsAre(0, 1, 2, 3, 2));
  EXPECT_THAT(unpacked(DType::i2, {0b11100100}, 4), ElementsAre(0, 1, -2, -1));
  EXPECT_THAT(unpacked(DType::u1, {0b10100001, 0b01000000}, 10), ElementsAre(1, 0, 1, 0, 0, 0, 0, 1, 0, 1));
}

TEST_F(Dense, FourSixBitElementsTakeThreeBytes) {
  // 1, 2, 3, 4 from the low bits up: 000100 000011 000010 000001
  EXPECT_THAT(unpacked(DType::f6e3m2, {0x81, 0x30, 0x10, 0x3F}, 5), ElementsAre(1, 2, 3, 4, 63));
  EXPECT_THAT(unpacked(DType::f6e2m3, {0x81, 0x30}, 2), ElementsAre(1, 2));
}

constexpr DType kPackedTypes[] = {DType::i4,     DType::u4,     DType::i2,     DType::u2,    DType::u1,
                                  DType::f6e3m2, DType::f6e2m3, DType::f4e2m1, DType::f4e1m2};

TEST_F(Dense, PackedSizesRoundUpToWholeBytes) {
  EXPECT_EQ(packed_size(DType::u4, 3), 2);
  EXPECT_EQ(packed_size(DType::f6e3m2, 4), 3);
  EXPECT_EQ(packed_size(DType::f6e3m2, 5), 4);
  EXPECT_EQ(packed_size(DType::u1, 8), 1);
  EXPECT_EQ(packed_size(DType::u1, 9), 2);
  EXPECT_EQ(packed_size(DType::u1, int64_t{1} << 62), int64_t{1} << 59);
  EXPECT_EQ(packed_size(DType::f32, 3), 12);
  EXPECT_EQ(packed_size(DType::u2, 0), 0);
}

TEST_F(Dense, PackUndoesUnpackAtEveryLength) {
  for (const DType dtype : kPackedTypes)
    for (int64_t count = 0; count < 20; ++count) {
      const auto size = static_cast<size_t>(packed_size(dtype, count));
      const auto packed = random_bytes(size);
      std::vector<std::byte> values(static_cast<size_t>(count)), again(size), values_again(values.size());
      unpack(dtype, packed.data(), count, values.data());
      pack(dtype, values.data(), count, again.data());
      unpack(dtype, again.data(), count, values_again.data());
      EXPECT_EQ(values, values_again) << name(dtype) << " " << count;
      if (count % 8 == 0) {
        EXPECT_EQ(packed, again) << name(dtype) << " " << count;
      }
    }
}

TEST_F(Dense, PackClearsTheBitsItDoesNotUse) {
  const std::byte values[] = {std::byte{0xFF}};  // -1 of i4
  std::byte packed{0xFF};
  pack(DType::i4, values, 1, &packed);
  EXPECT_EQ(packed, std::byte{0x0F});
}

TEST_F(Dense, PackedFileCanBeReadFromAnyElement) {
  const int64_t count = 61;
  for (const DType dtype : kPackedTypes) {
    const auto packed = random_bytes(static_cast<size_t>(packed_size(dtype, count)));
    std::vector<std::byte> whole(static_cast<size_t>(count));
    unpack(dtype, packed.data(), count, whole.data());
    const auto operand =
        packed_in_file(file("head" + std::string(as_text(packed))), 4, {dtype, Shape{{count}}});
    Scratch scratch;
    for (int64_t first = 0; first <= count; first += 3)
      for (int64_t part = 0; first + part <= count; part += 5) {
        const Block block = operand->block(first, part, scratch).value();
        ASSERT_TRUE(std::equal(block.bytes().begin(), block.bytes().end(), whole.begin() + first))
            << name(dtype);
      }
  }
}

TEST_F(Dense, WholeBytesAreNotPacked) {
  const auto operand = packed_in_file(file("\1\2\3"), 1, {DType::u8, Shape{{2}}});
  Scratch scratch;
  EXPECT_THAT(bytes_of(operand->block(0, 2, scratch)), ElementsAre(2, 3));
}

}  // namespace
}  // namespace assay
