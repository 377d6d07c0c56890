#include "assay/report/page/embedded.h"

#include "assay/base/result.h"

#include <zlib.h>

#include <cstdint>
#include <new>

namespace assay {

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t word = 0;
    for (size_t i = 0; i < 3; ++i)
      word = word << 8 | (i < count ? static_cast<uint8_t>(bytes[at + i]) : uint32_t{0});
    for (size_t i = 0; i < 4; ++i) out += i <= count ? kDigits[word >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

std::string base64_of_hex(std::string_view digits) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string bytes;
  for (size_t at = 0; at + 1 < digits.size(); at += 2)
    bytes += static_cast<char>(value(digits[at]) << 4 | value(digits[at + 1]));
  return base64(bytes);
}

std::string deflated(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  // Level 4 takes half the time of 6, and a tenth more room.
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                             reinterpret_cast<const Bytef*>(text.data()), text.size(), 4);
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  ASSAY_CHECK(code == Z_OK);
  out.resize(size);
  return out;
}

std::string unbase64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    const int digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (digit < 0) continue;
    word = word << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits >= 8) out += static_cast<char>(word >> (bits -= 8) & 255);
  }
  return out;
}

std::optional<std::string> inflated(std::string_view bytes, size_t most) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::string block(size_t{1} << 18, '\0');
  int code = Z_OK;
  while (code == Z_OK && out.size() <= most) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(block, 0, block.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END || out.size() > most) return std::nullopt;
  return out;
}

std::string json_in_html(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace assay
