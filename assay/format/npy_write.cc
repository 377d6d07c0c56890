#include "assay/format/npy_write.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace assay {

std::string_view numpy_descr(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "<f8";
    case DType::f32:
      return "<f4";
    case DType::f16:
      return "<f2";
    case DType::i64:
      return "<i8";
    case DType::i32:
      return "<i4";
    case DType::i16:
      return "<i2";
    case DType::i8:
      return "|i1";
    case DType::u64:
      return "<u8";
    case DType::u32:
      return "<u4";
    case DType::u16:
      return "<u2";
    case DType::u8:
      return "|u1";
    case DType::boolean:
      return "|b1";
    case DType::c64:
      return "<c8";
    case DType::c128:
      return "<c16";
    default:
      return {};
  }
}

std::string npy_header(const TensorMeta& meta) {
  const auto& dims = meta.shape.dims;
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 numpy_descr(meta.dtype), fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
  // NumPy leaves room for the first dimension to grow to 21 digits, then pads to a multiple of 64.
  if (!dims.empty()) text.append(21 - std::to_string(dims[0]).size(), ' ');
  constexpr size_t kAlignment = 64, kPrefix1 = 10, kPrefix2 = 12;
  const auto padding = [&](size_t prefix) { return kAlignment - (prefix + text.size() + 1) % kAlignment; };
  const bool fits = text.size() + 1 + padding(kPrefix1) <= 0xFFFF;
  text.append(padding(fits ? kPrefix1 : kPrefix2), ' ');
  text.push_back('\n');
  std::string header(kNpyMagic);
  header.push_back(fits ? '\1' : '\2');
  header.push_back('\0');
  for (size_t i = 0; i < (fits ? 2U : 4U); ++i) header.push_back(static_cast<char>(text.size() >> (8 * i)));
  return header + text;
}

}  // namespace assay
