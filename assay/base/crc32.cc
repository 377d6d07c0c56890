#include "assay/base/crc32.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace assay {
namespace {

constexpr uint32_t kPolynomial = 0xEDB88320;  // bits reversed: the lowest one is the highest power

// kCrcTables[k][b]: what the byte b leaves behind after k more bytes of zeros.
constexpr std::array<std::array<uint32_t, 256>, 8> make_crc_tables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = rest;
  }
  for (size_t k = 1; k < 8; ++k)
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  return tables;
}
constexpr auto kCrcTables = make_crc_tables();

uint32_t by_table(uint32_t rest, Bytes bytes) {
  while (bytes.size() >= 8) {
    const uint64_t word = load_le<uint64_t>(bytes) ^ rest;
    rest = 0;
    for (size_t k = 0; k < 8; ++k) rest ^= kCrcTables[7 - k][(word >> (8 * k)) & 0xFF];
    bytes = bytes.subspan(8);
  }
  for (const std::byte byte : bytes)
    rest = (rest >> 8) ^ kCrcTables[0][(rest ^ static_cast<uint32_t>(byte)) & 0xFF];
  return rest;
}

#if defined(__x86_64__)
// Four lanes of 128 bits are carried over 64 bytes at a time by two products each; then one lane over 16; the
// last 128 bits become 32 by Barrett's reduction. The constants are powers of x modulo the polynomial
// (x^(4·128±32), x^(128±32), x^64), bits reversed, and the two of the reduction.
__attribute__((target("pclmul,sse4.1"))) uint32_t by_products(uint32_t rest, Bytes& bytes) {
  const auto load = [](const std::byte* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); };
  const __m128i over64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4),
                over16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
  const std::byte* at = bytes.data();
  __m128i lane[4];
  for (int k = 0; k < 4; ++k) lane[k] = load(at + 16 * k);
  lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi32_si128(static_cast<int>(rest)));
  at += 64;
  const std::byte* const end = bytes.data() + bytes.size();
  for (; end - at >= 64; at += 64)
    for (int k = 0; k < 4; ++k)
      lane[k] = _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(lane[k], over64, 0x00),
                                            _mm_clmulepi64_si128(lane[k], over64, 0x11)),
                              load(at + 16 * k));
  __m128i sum = lane[0];
  for (int k = 1; k < 4; ++k)
    sum = _mm_xor_si128(
        _mm_xor_si128(_mm_clmulepi64_si128(sum, over16, 0x00), _mm_clmulepi64_si128(sum, over16, 0x11)),
        lane[k]);
  for (; end - at >= 16; at += 16)
    sum = _mm_xor_si128(
        _mm_xor_si128(_mm_clmulepi64_si128(sum, over16, 0x00), _mm_clmulepi64_si128(sum, over16, 0x11)),
        load(at));
  const __m128i low32 = _mm_setr_epi32(-1, 0, -1, 0);
  sum = _mm_xor_si128(_mm_srli_si128(sum, 8), _mm_clmulepi64_si128(sum, over16, 0x10));
  sum = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(sum, low32), _mm_set_epi64x(0, 0x163cd6124), 0x00),
                      _mm_srli_si128(sum, 4));
  const __m128i reduction = _mm_set_epi64x(0x1f7011641, 0x1db710641);
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(sum, low32), reduction, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low32), reduction, 0x00);
  bytes = bytes.subspan(static_cast<size_t>(at - bytes.data()));
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(sum, quotient), 1));
}
bool has_products() {
  static const bool has = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  return has;
}
#elif defined(__aarch64__)
__attribute__((target("+crc"))) uint32_t by_products(uint32_t rest, Bytes& bytes) {
  while (bytes.size() >= 8) {
    rest = __crc32d(rest, load_le<uint64_t>(bytes));
    bytes = bytes.subspan(8);
  }
  return rest;
}
bool has_products() {
  static const bool has = (::getauxval(AT_HWCAP) & (1UL << 7)) != 0;  // HWCAP_CRC32
  return has;
}
#endif

}  // namespace

uint32_t crc32_of(uint32_t crc, Bytes bytes) {
  uint32_t rest = ~crc;
#if defined(__x86_64__) || defined(__aarch64__)
  if (bytes.size() >= 64 && has_products()) rest = by_products(rest, bytes);
#endif
  return ~by_table(rest, bytes);
}

}  // namespace assay
