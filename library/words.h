// Words that C hands over.
#pragma once

#include "assay/base/result.h"

#include <string>
#include <vector>

namespace assay::library {

inline Result<std::vector<std::string>> words_of(int count, const char* const* words) {
  std::vector<std::string> out;
  if (count < 0 || (count > 0 && words == nullptr))
    return fail(ErrorKind::bad_argument, "{} words, and {}", count,
                words == nullptr ? "none there" : "a list");
  for (int i = 0; i < count; ++i) {
    if (words[i] == nullptr)
      return fail(ErrorKind::bad_argument, "word {} of {} is a null pointer", i + 1, count);
    out.emplace_back(words[i]);
  }
  return out;
}

}  // namespace assay::library
