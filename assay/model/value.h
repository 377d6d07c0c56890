// What stands in a cell of a dump or of a report.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace assay {

using Value =
    std::variant<std::monostate, bool, int64_t, double, std::string>;  // absent, True, 3, 0.1, "N/A"

struct Fact {
  std::string key;
  Value value;
};

// Statistics of one tensor, as a dump states them or as we compute them.
struct Stats {
  Value max, min, mean, norm;
  std::string checksum;
};

}  // namespace assay
