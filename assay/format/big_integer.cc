#include "assay/format/big_integer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace assay {
namespace {

constexpr size_t kMostBytesAsDigits = 128;

bool is_negative(std::string_view bytes) {
  return !bytes.empty() && static_cast<signed char>(bytes.back()) < 0;
}

// The two's complement of the same number with the other sign.
std::string negated(std::string_view bytes) {
  std::string out;
  unsigned carry = 1;
  for (const char byte : bytes) {
    const unsigned sum = static_cast<unsigned char>(~byte) + carry;
    out.push_back(static_cast<char>(sum & 0xFF));
    carry = sum >> 8;
  }
  return out;
}

// Without bytes that only repeat the sign.
std::string_view shortest(std::string_view bytes) {
  const auto repeats_sign = [&] {
    const char last = bytes.back();
    return bytes.size() > 1 && (last == 0 || last == '\xFF') &&
           (last != 0) == is_negative(bytes.substr(0, bytes.size() - 1));
  };
  while (!bytes.empty() && repeats_sign()) bytes.remove_suffix(1);
  return bytes;
}

}  // namespace

std::string big_integer_bytes(std::string_view digits) {
  const bool negates = digits.starts_with('-');
  std::string bytes;
  for (const char digit : digits.substr(negates ? 1 : 0)) {
    unsigned carry = static_cast<unsigned>(digit - '0');
    for (char& byte : bytes) {
      const unsigned sum = static_cast<unsigned char>(byte) * 10U + carry;
      byte = static_cast<char>(sum & 0xFF);
      carry = sum >> 8;
    }
    if (carry != 0) bytes.push_back(static_cast<char>(carry));
  }
  bytes.push_back(0);
  return std::string(shortest(negates ? negated(bytes) : bytes));
}

std::string big_integer_text(std::string_view bytes) {
  bytes = shortest(bytes);
  if (bytes.size() > kMostBytesAsDigits) {
    std::string text = "0x";
    for (size_t i = bytes.size(); i-- > 0;)
      text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
    return text;
  }
  std::string size(bytes);
  size.push_back(is_negative(bytes) ? '\xFF' : '\0');  // room for the size of the smallest number
  if (is_negative(bytes)) size = negated(size);
  constexpr uint64_t kGroup = 1'000'000'000;
  std::vector<uint64_t> groups;  // of nine digits, the lowest first
  for (size_t i = size.size(); i-- > 0;) {
    uint64_t carry = static_cast<unsigned char>(size[i]);
    for (uint64_t& group : groups) {
      const uint64_t sum = group * 256 + carry;
      group = sum % kGroup;
      carry = sum / kGroup;
    }
    if (carry != 0) groups.push_back(carry);
  }
  if (groups.empty()) return "0";
  std::string text = fmt::format("{}{}", is_negative(bytes) ? "-" : "", groups.back());
  for (size_t i = groups.size() - 1; i-- > 0;) text += fmt::format("{:09}", groups[i]);
  return text;
}

}  // namespace assay
