#include "assay/format/big_integer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace assay {
namespace {

constexpr size_t kMostBytesAsDigits = 64;
constexpr std::string_view kHexDigits = "0123456789abcdef";

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

std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (size_t i = digits.size(); i > 1; i -= 2)
    bytes.push_back(static_cast<char>(kHexDigits.find(digits[i - 2]) << 4 | kHexDigits.find(digits[i - 1])));
  return bytes;
}

}  // namespace

std::string big_integer_bytes(std::string_view text) {
  if (text.starts_with("0x")) return from_hex(text.substr(2));
  const bool negates = text.starts_with('-');
  if (negates) text.remove_prefix(1);
  std::vector<uint32_t> words;  // the lowest first
  while (!text.empty()) {
    const size_t count = std::min<size_t>(text.size(), 9);
    uint64_t factor = 1, carry = 0;
    for (const char digit : text.substr(0, count)) {
      factor *= 10;
      carry = carry * 10 + static_cast<uint64_t>(digit - '0');
    }
    text.remove_prefix(count);
    for (uint32_t& word : words) {
      const uint64_t sum = word * factor + carry;
      word = static_cast<uint32_t>(sum);
      carry = sum >> 32;
    }
    if (carry != 0) words.push_back(static_cast<uint32_t>(carry));
  }
  std::string bytes;
  for (const uint32_t word : words)
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(word >> shift & 0xFF));
  bytes.push_back(0);
  return std::string(shortest(negates ? negated(bytes) : bytes));
}

std::string big_integer_text(std::string_view bytes) {
  bytes = shortest(bytes);
  if (bytes.size() > kMostBytesAsDigits) {
    std::string text = "0x";
    for (size_t i = bytes.size(); i-- > 0;) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      text += kHexDigits[byte >> 4];
      text += kHexDigits[byte & 0xF];
    }
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
