// Which element types msprobe takes for comparable, by their names in the dumps.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

// A frame of golden comes from PyTorch, and mine does not.
bool is_cross_framework(const Indexed& frames);

class CompatibleTypes {
 public:
  CompatibleTypes(const Indexed& frames, const MatchOptions& options);
  bool operator()(std::string_view mine, std::string_view golden) const;

 private:
  DTypeRule rule_;
  bool cross_;  // names of both frameworks mean the same
};

}  // namespace assay
