#include "assay/match/alike/dims.h"

#include <algorithm>
#include <numeric>

namespace assay {

const std::vector<std::vector<int64_t>> kFusedRatios = {
    {1, 1},    {1, 1, 1}, {2, 1, 1},  {3, 1, 1},  {4, 1, 1},  {5, 1, 1}, {6, 1, 1},
    {7, 1, 1}, {8, 1, 1}, {10, 1, 1}, {12, 1, 1}, {14, 1, 1}, {16, 1, 1}};

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

int64_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> found;
  for (int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      found.push_back(i);
      if (i * i != number) found.push_back(number / i);
    }
  std::sort(found.begin(), found.end());
  return found;
}

Piece simplified(Piece piece) {
  Piece out{piece.source, piece.base, {}, {}};
  for (size_t i = 0; i < piece.dims.size(); ++i) {
    if (piece.dims[i] == 1) continue;
    if (!out.dims.empty() && out.strides.back() == piece.strides[i] * piece.dims[i]) {
      out.dims.back() *= piece.dims[i];
      out.strides.back() = piece.strides[i];
    } else {
      out.dims.push_back(piece.dims[i]);
      out.strides.push_back(piece.strides[i]);
    }
  }
  return out;
}

}  // namespace assay
