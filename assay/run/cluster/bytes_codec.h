// Values as bytes, for another process of the same run: the same program on the same kind of machine.
#pragma once

#include "assay/base/result.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace assay {

class Encoder {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T)); }
  void text(std::string_view text) {
    put(static_cast<uint64_t>(text.size()));
    bytes_.append(text);
  }
  template <class T>
  void list(const std::vector<T>& values) {
    put(static_cast<uint64_t>(values.size()));
    for (const T& value : values) put(value);
  }
  std::string take() { return std::move(bytes_); }
  size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

// What ends too early aborts: messages and journals are checked before they come here.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : left_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    std::memcpy(&value, next(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view text() { return next(get<uint64_t>()); }
  template <class T>
  std::vector<T> list() {
    std::vector<T> values;
    for (auto count = get<uint64_t>(); count > 0; --count) values.push_back(get<T>());
    return values;
  }
  bool is_at_end() const { return left_.empty(); }
  std::string_view rest() const { return left_; }

 private:
  std::string_view next(uint64_t size) {
    ASSAY_CHECK(size <= left_.size());
    const std::string_view found = left_.substr(0, size);
    left_.remove_prefix(size);
    return found;
  }
  std::string_view left_;
};

}  // namespace assay
