#include "assay/format/big_integer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using namespace std::string_literals;

// What Python's pickle.encode_long says.
TEST(BigInteger, IsWrittenAsPythonDoes) {
  EXPECT_EQ(big_integer_bytes("0"), "\0"s);
  EXPECT_EQ(big_integer_bytes("255"), "\xff\0"s);
  EXPECT_EQ(big_integer_bytes("-128"), "\x80"s);
  EXPECT_EQ(big_integer_bytes("-256"), "\0\xff"s);
  EXPECT_EQ(big_integer_bytes("18446744073709551616"), "\0\0\0\0\0\0\0\0\x01"s);
  EXPECT_EQ(big_integer_bytes("-18446744073709551617"), "\xff\xff\xff\xff\xff\xff\xff\xff\xfe"s);
}

TEST(BigInteger, HasOneTextHoweverManyBytes) {
  EXPECT_EQ(big_integer_text(""), "0");
  EXPECT_EQ(big_integer_text("\0\0\0\0\0\0\0\0\x01\0\0\0"s), "18446744073709551616");
  EXPECT_EQ(big_integer_text("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "-1");
  EXPECT_EQ(big_integer_text("\0\0\0\0\0\0\0\0\x80"s), "-2361183241434822606848");
  EXPECT_EQ(big_integer_text("\x05\0\0\0\0\0\0\0\0\0"s), "5");
  const std::string large = std::string(200, '\x12') + "\x93";
  EXPECT_THAT(big_integer_text(large), ::testing::StartsWith("0x931212"));
  EXPECT_EQ(big_integer_bytes(big_integer_text(large)), large);
  EXPECT_EQ(big_integer_bytes("1" + std::string(4299, '0')).size(),
            1786);  // (10**4299).bit_length() // 8 + 1
}

TEST(BigInteger, TextAndBytesGoBackAndForth) {
  for (const std::string digits :
       {"9223372036854775808", "-9223372036854775809", "1000000000000000000000000000",
        "-99999999999999999999999999999999", "340282366920938463463374607431768211455"})
    EXPECT_EQ(big_integer_text(big_integer_bytes(digits)), digits);
}

}  // namespace
}  // namespace assay
