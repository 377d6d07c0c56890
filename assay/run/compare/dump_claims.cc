#include "assay/run/compare/dump_claims.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

constexpr std::string_view kContradicts = "the dump contradicts itself";

// Who says so: what describes its tensors names their files, or lies beside them.
std::string_view witness(const Item& item) {
  return item.stated != nullptr && !item.stated->data_name.empty() ? "dump.json" : "the dump";
}

// NumPy has neither bf16 nor 8-bit floats: MindSpore writes them as f32.
bool may_hold(DType held, DType stated) {
  return held == stated || (held == DType::f32 && is_real(stated) && size_of(stated) <= 2);
}

std::optional<double> claim_of(const Scalar& stated) {
  if (const auto truth = stated.boolean()) return *truth ? 1 : 0;
  if (const auto real = stated.real()) return *real;
  if (const auto whole = stated.integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

// An extreme is one of the elements, perhaps rounded to f32, and printed with so many decimals.
bool may_be(double found, double stated, int8_t decimals) {
  if (!std::isfinite(stated)) return false;
  const double printed = decimals < 0 ? 0 : std::pow(10.0, -decimals);
  return std::abs(found - stated) <= std::ldexp(std::abs(found), -23) + printed;
}

std::string contradiction_of_side(const SideFacts& side, const SideSums& sums) {
  const Stated* const stated = side.item->stated;
  for (const bool is_max : {true, false}) {
    const auto claim = claim_of(is_max ? stated->max : stated->min);
    const double found = is_max ? sums.max : sums.min;
    if (claim && !may_be(found, *claim, stated->decimals))
      return fmt::format("{}: its {} element is {} where {} says {}: {}", display(side.file),
                         is_max ? "largest" : "smallest", found, witness(*side.item), *claim, kContradicts);
  }
  return {};
}

}  // namespace

std::string contradiction_of_type(const Item& item, const TensorMeta& held, const fs::path& file) {
  if (item.meta == nullptr || (item.meta->shape == held.shape && may_hold(held.dtype, item.meta->dtype)))
    return {};
  return fmt::format("{}: holds {} {} where {} says {} {}: {}", display(file), name(held.dtype),
                     held.shape.text(), witness(item), name(item.meta->dtype), item.meta->shape.text(),
                     kContradicts);
}

std::string contradiction_of_elements(const Comparison& row, const PairSums& gathered) {
  // Extremes are those of the elements that are finite on both sides.
  const auto all_finite = [](const SideSums& sums) { return sums.nans == 0 && sums.infs == 0; };
  if (gathered.count == 0 || !all_finite(gathered.mine) || !all_finite(gathered.golden)) return {};
  for (const Side side : {Side::mine, Side::golden}) {
    const SideFacts& facts = side == Side::mine ? row.mine : row.golden;
    // Of complex numbers dumps state other things.
    if (facts.item->stated == nullptr || !facts.meta || is_complex(facts.meta->dtype)) continue;
    std::string why = contradiction_of_side(facts, side == Side::mine ? gathered.mine : gathered.golden);
    if (!why.empty()) return why;
  }
  return {};
}

}  // namespace assay
