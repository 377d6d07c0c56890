// What stands in a cell of a dump or of a report.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace assay {

using Value =
    std::variant<std::monostate, bool, int64_t, double, std::string>;  // absent, True, 3, 0.1, "N/A"

// The same for the index of a dump, which has millions of them: 16 bytes, the text in the pool of a frame.
class Scalar {
 public:
  Scalar() = default;
  Scalar(bool value) : kind_(Kind::boolean) { held_.boolean = value; }
  Scalar(double value) : kind_(Kind::real) { held_.real = value; }
  Scalar(std::string_view text) : kind_(Kind::text), size_(static_cast<uint32_t>(text.size())) {
    held_.text = text.data();
  }
  Scalar(const char* text) : Scalar(std::string_view(text)) {}
  // An integer that 64 bits do not hold, as its digits.
  static Scalar big(std::string_view digits) {
    Scalar scalar(digits);
    scalar.kind_ = Kind::big;
    return scalar;
  }
  template <std::signed_integral T>
  Scalar(T value) : kind_(Kind::integer) {
    held_.integer = value;
  }

  bool is_absent() const { return kind_ == Kind::absent; }
  std::optional<bool> boolean() const {
    return kind_ == Kind::boolean ? std::optional(held_.boolean) : std::nullopt;
  }
  std::optional<int64_t> integer() const {
    return kind_ == Kind::integer ? std::optional(held_.integer) : std::nullopt;
  }
  std::optional<double> real() const {
    return kind_ == Kind::real ? std::optional(held_.real) : std::nullopt;
  }
  std::optional<std::string_view> text() const {
    return kind_ == Kind::text ? std::optional(std::string_view(held_.text, size_)) : std::nullopt;
  }
  std::optional<std::string_view> digits() const {
    return kind_ == Kind::big ? std::optional(std::string_view(held_.text, size_)) : std::nullopt;
  }
  friend bool operator==(const Scalar& a, const Scalar& b);  // of the same kind and value

 private:
  enum class Kind : uint8_t { absent, boolean, integer, real, text, big };
  Kind kind_ = Kind::absent;
  uint32_t size_ = 0;
  union {
    bool boolean;
    int64_t integer;
    double real;
    const char* text;
  } held_ = {.integer = 0};
};

Value to_value(const Scalar& scalar);

// A number, or the text of one; True, None and other texts are none.
std::optional<double> number_of(const Scalar& scalar);

struct Fact {
  std::string key;
  Value value;
};

// How many elements are no finite numbers (-1: not said), and the statistics of the others where there are
// such (absent: not said).
struct Nonfinite {
  int64_t nans = -1, infs = -1;
  int64_t minus_infs = -1;  // those of the infs that are negative
  Scalar max = {}, min = {}, mean = {}, norm = {};
  friend bool operator==(const Nonfinite&, const Nonfinite&) = default;
};

// Statistics of one tensor as a tensor file states them.
struct Stats {
  Value max, min, mean, norm;
  std::string checksum;
  Nonfinite nonfinite = {};
  int8_t decimals = -1;  // that the real ones were printed with and cut to; -1: as many as they have
};

}  // namespace assay
