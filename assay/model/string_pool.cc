#include "assay/model/string_pool.h"

#include <algorithm>
#include <cstring>

namespace assay {

std::string_view StringPool::keep(std::string_view text) {
  constexpr size_t kChunk = size_t{1} << 16;
  if (text.size() > size_ - used_) {
    size_ = std::max(kChunk, text.size());
    used_ = 0;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size_));
  }
  if (text.empty()) return {};
  char* const place = chunks_.back().get() + used_;
  std::memcpy(place, text.data(), text.size());
  used_ += text.size();
  return {place, text.size()};
}

}  // namespace assay
