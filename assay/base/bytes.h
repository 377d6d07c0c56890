// Raw bytes, and numbers on disk (always little-endian unless a name says otherwise).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace assay {

static_assert(std::endian::native == std::endian::little, "Assay keeps tensors little-endian in memory");

using Bytes = std::span<const std::byte>;

// Precondition: at least sizeof(T) bytes.
template <class T>
T load_le(Bytes bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace assay
