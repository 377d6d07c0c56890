#include "assay/format/pt_coverage.h"

#include "assay/base/text.h"

#include <algorithm>

namespace assay {

int64_t PtCoverage::shown(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  int64_t bytes = 0, reached = 0;
  for (const Range& range : ranges) {
    bytes += std::max<int64_t>(0, range.end - std::max(range.begin, reached));
    reached = std::max(reached, range.end);
  }
  return bytes;
}

std::vector<Beside> PtCoverage::rest(const PtStorages& storages) const {
  std::vector<Beside> out;
  for (const auto& [key, bytes] : storages.sizes()) {
    if (bytes == 0) continue;
    const auto found = ranges_.find(key);
    if (found == ranges_.end())
      out.push_back({fmt::format("storage {}, which no tensor shows", printable(key))});
    else if (shown(found->second) < bytes)
      out.push_back({fmt::format("a part of storage {} that no tensor shows", printable(key))});
  }
  return out;
}

int64_t gapless_reach(const Shape& shape, const std::vector<int64_t>& strides) {
  std::vector<std::pair<int64_t, int64_t>> steps;  // stride, how many
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    if (shape.dims[i] == 0) return 0;
    if (shape.dims[i] > 1 && strides[i] != 0) steps.emplace_back(strides[i], shape.dims[i] - 1);
  }
  std::sort(steps.begin(), steps.end());
  int64_t last = 0;  // all elements up to this one are shown; no overflow: the view lies in its storage
  for (const auto& [stride, count] : steps) {
    if (stride > last + 1) return 0;
    last += stride * count;
  }
  return last + 1;
}

}  // namespace assay
