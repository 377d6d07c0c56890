// What stands in a cell of a dump or of a report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace assay {

using Value =
    std::variant<std::monostate, bool, int64_t, double, std::string>;  // absent, True, 3, 0.1, "N/A"

// The same for the index of a dump, which has millions of them: the text lies in the pool of a frame.
using Scalar = std::variant<std::monostate, bool, int64_t, double, std::string_view>;

inline Value to_value(const Scalar& scalar) {
  return std::visit(
      [](const auto& held) -> Value {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string_view>)
          return std::string(held);
        else
          return held;
      },
      scalar);
}

// A number, or the text of one; True, None and other texts are none.
std::optional<double> number_of(const Scalar& scalar);

struct Fact {
  std::string key;
  Value value;
};

// Statistics of one tensor as a tensor file states them.
struct Stats {
  Value max, min, mean, norm;
  std::string checksum;
};

}  // namespace assay
