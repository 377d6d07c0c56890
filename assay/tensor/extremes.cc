#include "assay/tensor/extremes.h"

#include "assay/base/cancel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

namespace assay {
namespace {

// Elements that compare as T do: doubles hold every type but the 64-bit integers exactly.
template <class T>
struct Range {
  T min = {}, max = {};
  bool is_first = true;

  void add(T value) {
    min = is_first || value < min ? value : min;
    max = is_first || max < value ? value : max;
    is_first = false;
  }
};

struct Complex {
  double real = 0, imaginary = 0;
  bool operator<(const Complex& other) const {
    return real != other.real ? real < other.real : imaginary < other.imaginary;
  }
};

// Calls use(block) for all of the tensor, in order.
template <class Use>
Result<void> for_each_block(const Operand& operand, Use use) {
  Scratch scratch;
  const int64_t total = operand.meta.shape.count();
  for (int64_t first = 0; first < total; first += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY(const Block block, operand.block(first, std::min(kBlockElements, total - first), scratch));
    use(block);
  }
  return {};
}

template <class T>
void put(std::array<std::byte, 16>& out, const T& value) {
  std::memcpy(out.data(), &value, sizeof value);
}

template <class T>
Result<void> gather_integers(const Operand& operand, Extremes& out) {
  Range<T> range;
  ASSAY_TRY_DO(for_each_block(operand, [&](const Block& block) {
    for (int64_t i = 0; i < block.count; ++i) {
      T value;
      std::memcpy(&value, block.data + i * static_cast<int64_t>(sizeof value), sizeof value);
      range.add(value);
    }
  }));
  put(out.min, range.min);
  put(out.max, range.max);
  return {};
}

Result<void> gather_numbers(const Operand& operand, Extremes& out) {
  Range<double> range;
  double nan = 0;  // the first one, as NumPy answers it
  std::vector<double> values(static_cast<size_t>(kBlockElements));
  ASSAY_TRY_DO(for_each_block(operand, [&](const Block& block) {
    to_f64(out.dtype, block.data, block.count, values.data());
    for (int64_t i = 0; i < block.count; ++i) {
      const double value = values[static_cast<size_t>(i)];
      if (!std::isnan(value))
        range.add(value);
      else if (!std::isnan(nan))
        nan = value;
    }
  }));
  if (std::isnan(nan)) range.min = range.max = nan;
  from_f64(out.dtype, &range.min, 1, out.min.data());
  from_f64(out.dtype, &range.max, 1, out.max.data());
  return {};
}

Result<void> gather_complex(const Operand& operand, Extremes& out) {
  Range<Complex> range;
  std::optional<Complex> nan;
  std::vector<double> parts(static_cast<size_t>(2 * kBlockElements));
  ASSAY_TRY_DO(for_each_block(operand, [&](const Block& block) {
    to_f64(out.dtype, block.data, 2 * block.count, parts.data());
    for (int64_t i = 0; i < block.count; ++i) {
      const Complex value{parts[static_cast<size_t>(2 * i)], parts[static_cast<size_t>(2 * i + 1)]};
      if (!std::isnan(value.real) && !std::isnan(value.imaginary))
        range.add(value);
      else if (!nan)
        nan = value;
    }
  }));
  const auto put_parts = [&](const Complex& value, std::array<std::byte, 16>& into) {
    const double both[] = {value.real, value.imaginary};
    from_f64(out.dtype, both, 2, into.data());
  };
  put_parts(nan.value_or(range.min), out.min);
  put_parts(nan.value_or(range.max), out.max);
  return {};
}

}  // namespace

Result<Extremes> gather_extremes(const Operand& operand) {
  Extremes out;
  out.dtype = operand.meta.dtype;
  out.is_empty = operand.meta.shape.count() == 0;
  if (out.is_empty) return out;
  const auto gather = out.dtype == DType::i64   ? gather_integers<int64_t>
                      : out.dtype == DType::u64 ? gather_integers<uint64_t>
                      : is_complex(out.dtype)   ? gather_complex
                                                : gather_numbers;
  ASSAY_TRY_DO(gather(operand, out));
  return out;
}

}  // namespace assay
