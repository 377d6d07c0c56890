#include "assay/model/blocks.h"

#include <algorithm>

namespace assay {

bool is_blocked_format(const std::vector<Fact>& facts) {
  return std::any_of(facts.begin(), facts.end(), [](const Fact& fact) {
    const auto* const text = std::get_if<std::string>(&fact.value);
    return fact.key == "storage_format" && text != nullptr &&
           (text->find("FRACTAL") != std::string::npos || text->find("C0") != std::string::npos);
  });
}

}  // namespace assay
