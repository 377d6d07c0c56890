#include "assay/compat/msprobe/row.h"

#include "assay/base/text.h"
#include "assay/compat/msprobe/consistent_matcher.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool same_shape(const Comparison& row, Generation generation) {
  if (!row.mine.meta || !row.golden.meta) return true;
  const Shape &mine = row.mine.meta->shape, &golden = row.golden.meta->shape;
  // Generation 3 drops dimensions of size 1 when it loads a tensor.
  return generation == Generation::g3 ? same_but_for_ones(mine, golden) : mine == golden;
}

bool is_scalar(const Comparison& row, Generation generation) {
  const Shape& shape = row.mine.meta->shape;
  return shape.dims.empty() || (generation == Generation::g3 && shape.count() == 1);
}

}  // namespace

std::string_view suffix_of(Generation generation) {
  return generation == Generation::g1 ? "_g1" : generation == Generation::g2 ? "_g2" : "_g3";
}

MsprobeColumns::MsprobeColumns(const Head& head, Generation generation) {
  const auto find = [&](std::string_view name) { return find_column(head, name); };
  const auto of_generation = [&](std::string_view name) {
    const int of_kernels = find(fmt::format("{}_kernel{}", name, generation == Generation::g1 ? "_g1" : ""));
    return of_kernels >= 0 ? of_kernels : find(fmt::format("{}{}", name, suffix_of(generation)));
  };
  cosine = find("cosine_msprobe");
  l2 = find("l2");
  max_abs = find("max_abs");
  max_rel = of_generation("max_rel");
  ratio_1e3 = of_generation("ratio_1e3");
  ratio_5e3 = of_generation("ratio_5e3");
  mine_norm = find("mine_norm");
  golden_norm = find("golden_norm");
  kind_mismatch = find("nonfinite_kind_mismatch");
  worst_mine = find("worst_mine");
  worst_golden = find("worst_golden");
  // Where generation 1 does not go through pandas, its columns are those without a suffix.
  const std::string_view suffix = generation == Generation::g3            ? "_g3"
                                  : find_column(head, "max_diff_g2") >= 0 ? "_g2"
                                                                          : "";
  const auto of_statistics = [&](std::string_view name) { return find(fmt::format("{}{}", name, suffix)); };
  max_diff = of_statistics("max_diff");
  max_diff_pct = of_statistics("max_diff_pct");
  norm_diff_pct = of_statistics("norm_diff_pct");
}

std::optional<double> metric(const Comparison& row, int column) {
  if (column < 0 || column >= std::ssize(row.metrics)) return std::nullopt;
  const Value& value = row.metrics[static_cast<size_t>(column)];
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return std::nullopt;
}

Scalar in_f32(const Scalar& scalar) {
  const auto number = number_of(scalar);
  return number ? Scalar(double{static_cast<float>(*number)}) : scalar;
}

const Stated& stated_of(const SideFacts& side) {
  static const Stated kNothing;
  return side.item != nullptr && side.item->stated != nullptr ? *side.item->stated : kNothing;
}

std::string_view requires_grad(const SideFacts& side) {
  const std::string_view text = stated_of(side).requires_grad;
  return text.empty() ? "N/A" : text;
}

bool grad_consistent(const Comparison& row) { return requires_grad(row.mine) == requires_grad(row.golden); }

bool stands_for_nan(const Stated& stated) { return stated.checksum == "nan"; }

std::string_view printed_checksum(const SideFacts& side) {
  const Stated& stated = stated_of(side);
  // A tensor without one has the CRC-32 of nothing, and so has one that stands for itself and is 0; where
  // that is NaN, there is nothing in its cell.
  if (stands_for_nan(stated)) return "N/A";
  const bool is_zero = stated.checksum == "0" || stated.checksum == "0.0" || stated.checksum == "-0.0";
  if (!stated.checksum.empty() && !is_zero) return stated.checksum;
  return side.item != nullptr && stated.dtype != "None" ? "00000000" : "N/A";
}

double scalar_max_abs(const Comparison& row, const MsprobeColumns& columns) {
  if (const auto measured = metric(row, columns.max_abs)) return *measured;
  const auto mine = metric(row, columns.worst_mine), golden = metric(row, columns.worst_golden);
  return mine && golden ? std::abs(*mine - *golden) : kNan;
}

double scalar_max_rel(const Comparison& row, const MsprobeColumns& columns, Generation generation) {
  // Generation 3 measures a single element like this itself.
  if (metric(row, columns.max_abs) || generation == Generation::g3)
    return metric(row, columns.max_rel).value_or(kNan);
  const auto mine = metric(row, columns.worst_mine), golden = metric(row, columns.worst_golden);
  if (!mine || !golden) return kNan;
  return *golden == 0 ? std::abs(*mine) : std::abs((*mine - *golden) / *golden);
}

bool is_python_number(const Scalar& scalar) { return scalar.real() || scalar.integer() || scalar.digits(); }

bool is_shown(const Comparison& row, Generation generation) {
  if (row.mine.item == nullptr) return false;
  if (generation != Generation::g1) return true;
  const Direction direction = direction_of(row);
  return direction != Direction::parameter && direction != Direction::parameter_gradient &&
         row.pair.why != Why::not_reached;
}

double printed_cosine(double cosine, Generation generation) {
  double value = rounded(cosine, 12);
  if (value > 0.9999) value = rounded(value, 6);
  return generation == Generation::g1 && value > 0.99999 ? 1 : value;
}

TensorCase tensor_case(const Comparison& row, const MsprobeColumns& columns, Generation generation) {
  if (row.mine.name == kNoModule) return TensorCase::unmatched;
  if (stated_of(row.mine).data_name.empty()) return TensorCase::no_mine_file;
  if (row.golden.item == nullptr) return TensorCase::unmatched;
  if (stated_of(row.golden).data_name.empty()) return TensorCase::no_golden_file;
  const bool lacks_part = row.status == Status::no_data && row.pair.plans != nullptr;  // of what is joined
  if (row.status == Status::unreadable || lacks_part) return TensorCase::unreadable;
  if (row.basis == Basis::stated) return TensorCase::only_statistics;
  if (!row.mine.meta || row.mine.meta->shape.count() == 0) return TensorCase::empty;
  if (row.status == Status::shape_mismatch || !same_shape(row, generation)) return TensorCase::other_shape;
  if (is_scalar(row, generation)) return TensorCase::scalar;
  if (metric(row, columns.kind_mismatch).value_or(0) > 0) return TensorCase::other_nonfinite;
  return TensorCase::measured;
}

}  // namespace assay
