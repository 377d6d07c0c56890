// Names of tensors that differ in their layer alone.
#pragma once

#include "assay/match/alike/name_form.h"

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// A name with the number of its layer taken out of it.
struct Layered {
  std::string rest;  // "layers.#.attn.k"
  std::optional<int64_t> layer;

  explicit Layered(const NameForm& form);
  std::string at(int64_t number) const;  // of that layer
};

}  // namespace assay
