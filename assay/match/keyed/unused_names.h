// A name of a mapping file that no dump has is mostly a slip of its writer: one warning counts them and names
// a few.
#pragma once

#include "assay/model/pairing.h"

#include <string>
#include <string_view>

namespace assay {

class UnusedNames {
 public:
  explicit UnusedNames(std::string_view mapping) : mapping_(mapping) {}  // "api"
  void add(Side side, std::string_view name, bool is_used);
  void warn() const;

 private:
  const std::string_view mapping_;
  size_t names_ = 0, unused_ = 0;
  std::string some_;
};

}  // namespace assay
