// What conclude.cc and origins.cc both ask of a row.
#pragma once

#include "assay/model/outcome.h"

namespace assay {

inline std::string one_of(const Comparison& row) {
  return std::string(row.mine.name.empty() ? row.golden.name : row.mine.name);
}

inline bool is_unmatched(const Comparison& row) {
  return row.status == Status::only_mine || row.status == Status::only_golden;
}

}  // namespace assay
