// Which bytes of the storages of a .pt file its tensors show. A view may show less than its storage holds.
#pragma once

#include "assay/format/format.h"
#include "assay/format/pt_objects.h"

#include <map>

namespace assay {

class PtCoverage {
 public:
  // Bytes [begin, end) of the storage are shown.
  void add(std::string_view key, int64_t begin, int64_t end) {
    ranges_[std::string(key)].push_back({begin, end});
  }

  // What is left: storages, or parts of them, that no tensor shows.
  std::vector<Beside> rest(const PtStorages& storages) const;

 private:
  struct Range {
    int64_t begin, end;
  };
  static int64_t shown(std::vector<Range> ranges);  // bytes, none of them counted twice
  std::map<std::string, std::vector<Range>, std::less<>> ranges_;
};

// How many elements, from the first one of a view on, it shows without a gap; 0 if it leaves some out.
int64_t gapless_reach(const Shape& shape, const std::vector<int64_t>& strides);

}  // namespace assay
