#include "assay/base/crc32.h"

#include <gmock/gmock.h>

#include <vector>

namespace assay {
namespace {

uint32_t bit_by_bit(uint32_t crc, Bytes bytes) {
  uint32_t rest = ~crc;
  for (const std::byte byte : bytes) {
    rest ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~rest;
}

TEST(Crc32, IsTheOneOfZip) {
  EXPECT_EQ(crc32_of(0, as_bytes("123456789")), 0xCBF43926);  // the check value of the standard
  EXPECT_EQ(crc32_of(0, {}), 0u);
}

TEST(Crc32, AgreesBitByBitAtAwkwardLengthsAndWhenItGoesOn) {
  std::vector<std::byte> bytes(1100);
  uint32_t seed = 12345;
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((seed = seed * 1664525 + 1013904223) >> 24);
  for (size_t start : {0, 1, 7})
    for (size_t length = 0; length + start <= 1000; length += length < 200 ? 1 : 13) {
      const Bytes part = Bytes(bytes).subspan(start, length);
      const uint32_t whole = bit_by_bit(0, part);
      ASSERT_EQ(crc32_of(0, part), whole) << start << ' ' << length;
      ASSERT_EQ(crc32_of(crc32_of(0, part.first(length / 3)), part.subspan(length / 3)), whole);
    }
}

}  // namespace
}  // namespace assay
