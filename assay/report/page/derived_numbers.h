// Numbers of a row that no column of a report holds, and conditions over rows may name all the same: "layer",
// "count", "eps". The page has them from web/src/data/: names.ts and filter.ts.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace assay {

// text(column): of the row at hand; empty where it has none.
std::optional<double> derived_number(std::string_view name,
                                     const std::function<std::string_view(std::string_view column)>& text);

}  // namespace assay
