#include "assay/model/fx_arguments.h"

namespace assay {

std::string_view arguments_before(const Item& item) {
  if (item.facts == nullptr) return {};
  for (const Fact& fact : *item.facts)
    if (const auto* const text = std::get_if<std::string>(&fact.value);
        text != nullptr && fact.key == kArgumentsBefore)
      return *text;
  return {};
}

}  // namespace assay
