#include "assay/dump/stated_rows.h"

#include "assay/base/text.h"

namespace assay {

std::optional<int64_t> parse_count(std::string_view cell) {
  if (const size_t point = cell.find('.'); point != std::string_view::npos && point + 1 < cell.size() &&
                                           cell.find_first_not_of('0', point + 1) == std::string_view::npos)
    cell = cell.substr(0, point);
  const bool is_plain = !cell.empty() && cell.find_first_not_of("0123456789") == std::string_view::npos;
  return is_plain ? parse_int(cell) : std::nullopt;
}

}  // namespace assay
