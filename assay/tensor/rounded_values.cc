#include "assay/tensor/rounded_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace assay {
namespace {

// So few could be exact by chance.
constexpr int64_t kFewest = 16;
// Of rounded values three quarters use the last two bits that their type has; of plain ones few do.
constexpr double kLeastUse = 0.5;

struct Candidate {
  DType dtype;
  int spare_bits;  // of the fraction of an f32, behind that of the type
  bool fits = true;
  int64_t uses = 0;  // elements that need its last two bits
};

struct Sight {
  std::array<Candidate, 3> candidates;
  int64_t nonzero = 0;
  bool has_fractions = false;
};

bool is_exact(DType dtype, float value) {
  constexpr uint32_t kBeyondF16 = (1 << 13) - 1;  // of the fraction
  if (dtype == DType::bf16) return bf16_to_f32(f32_to_bf16(value)) == value;
  if (dtype != DType::f16) return true;
  return (std::bit_cast<uint32_t>(value) & kBeyondF16) == 0 && f16_to_f32(f32_to_f16(value)) == value;
}

bool any_fits(const Sight& sight) { return std::ranges::any_of(sight.candidates, &Candidate::fits); }

void look_at(double value, Sight& sight) {
  if (value == 0 || !std::isfinite(value)) return;
  ++sight.nonzero;
  sight.has_fractions |= value != std::trunc(value);
  const auto narrow = static_cast<float>(value);
  const bool fits_f32 = static_cast<double>(narrow) == value;
  for (Candidate& candidate : sight.candidates) {
    candidate.fits = candidate.fits && fits_f32 && is_exact(candidate.dtype, narrow);
    candidate.uses += ((std::bit_cast<uint32_t>(narrow) >> candidate.spare_bits) & 3) != 0;
  }
}

}  // namespace

Result<std::optional<DType>> find_rounded_type(const Operand& operand, Scratch& scratch) {
  const DType own = operand.meta.dtype;
  if (own != DType::f32 && own != DType::f64) return std::nullopt;
  Sight sight{{{{DType::bf16, 16}, {DType::f16, 13}, {DType::f32, 0, own == DType::f64}}}};
  const int64_t total = operand.meta.shape.count();
  std::vector<double> values;
  scratch.forget();
  // Plain values show what they are at once: few are looked at before more are read.
  constexpr int64_t kGlance = 64;
  for (int64_t first = 0, count = 0; first < total && any_fits(sight); first += count) {
    count = std::min(first == 0 ? kGlance : kBlockElements, total - first);
    ASSAY_TRY(const Block block, operand.block(first, count, scratch));
    values.resize(static_cast<size_t>(count));
    to_f64(own, block.data, count, values.data());
    for (const double value : values) look_at(value, sight);
  }
  scratch.forget();
  if (sight.nonzero < kFewest || !sight.has_fractions) return std::nullopt;
  for (const Candidate& each : sight.candidates)
    if (each.fits && static_cast<double>(each.uses) >= kLeastUse * static_cast<double>(sight.nonzero))
      return each.dtype;
  return std::nullopt;
}

}  // namespace assay
