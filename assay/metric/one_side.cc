#include "assay/metric/one_side.h"

#include "assay/base/cancel.h"
#include "assay/metric/tile_kernels.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

using tile::kTile;

// Joins the mean and the centred squares of two groups without cancellation (Chan, Golub, LeVeque).
void join_centred(OneSide& into, int64_t n, double sum, double centred) {
  if (n == 0) return;
  const double before = static_cast<double>(into.finite), more = static_cast<double>(n);
  const double shift = before == 0 ? 0 : sum / more - into.sum / before;
  into.centred_squares += centred + shift * shift * before * more / (before + more);
  into.finite += n;
  into.sum += sum;
}

void add_tile(const double* x, int64_t n, OneSide& out) {
  double finite[kTile];
  int64_t left = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (std::isfinite(x[i])) {
      finite[left++] = x[i];
      out.zeros += x[i] == 0;
    } else if (std::isnan(x[i])) {
      ++out.nans;
    } else {
      ++out.infs;
      out.minus_infs += x[i] < 0;
    }
  }
  out.count += n;
  if (left == 0) return;
  const tile::Core core = tile::measure(finite, finite, nullptr, left);
  const double mean = core.sum_a / static_cast<double>(left);
  double centred = 0;
  for (int64_t i = 0; i < left; ++i) centred += (finite[i] - mean) * (finite[i] - mean);
  join_centred(out, left, core.sum_a, centred);
  out.sum_squares += core.aa;
  out.min = std::min(out.min, core.min_a);
  out.max = std::max(out.max, core.max_a);
}

// use(block): called for every block, in order.
template <class Use>
Result<OneSide> gather(const Operand& operand, Use use) {
  OneSide out;
  out.min = std::numeric_limits<double>::infinity();
  out.max = -out.min;
  Scratch scratch;
  double values[kTile];
  const DType dtype = operand.meta.dtype;
  const int64_t total = operand.meta.shape.count();
  for (int64_t first = 0; first < total; first += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY(const Block block, operand.block(first, std::min(kBlockElements, total - first), scratch));
    use(block);
    const int64_t parts = block.count * components(dtype);
    for (int64_t done = 0; done < parts; done += kTile) {
      const int64_t n = std::min(kTile, parts - done);
      to_f64(dtype, block.data + done * size_of(component(dtype)), n, values);
      add_tile(values, n, out);
    }
  }
  return out;
}

}  // namespace

double OneSide::mean() const { return finite == 0 ? std::nan("") : sum / static_cast<double>(finite); }
double OneSide::norm() const { return std::sqrt(sum_squares); }
double OneSide::deviation() const {
  return finite == 0 ? std::nan("") : std::sqrt(centred_squares / static_cast<double>(finite));
}

Result<OneSide> gather_one(const Operand& operand) {
  return gather(operand, [](const Block&) {});
}

Result<ChecksummedSide> gather_one_with_checksum(const Operand& operand) {
  uLong crc = ::crc32(0, nullptr, 0);
  ASSAY_TRY(const OneSide side, gather(operand, [&](const Block& block) {
              const Bytes bytes = block.bytes();
              crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
            }));
  return ChecksummedSide{side, fmt::format("{:08x}", crc)};
}

}  // namespace assay
