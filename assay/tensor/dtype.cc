#include "assay/tensor/dtype.h"

#include "assay/base/text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace assay {
namespace {

using enum DTypeKind;

// In the order of DType.
constexpr std::array<DTypeInfo, kDTypeCount> kInfo = {{
    {"f64", "float64", real, 8, 64, 52},
    {"f32", "float32", real, 4, 32, 23},
    {"f16", "float16", real, 2, 16, 10},
    {"bf16", "bfloat16", real, 2, 16, 7},
    {"f8e4m3fn", "float8_e4m3fn", real, 1, 8, 3},
    {"f8e5m2", "float8_e5m2", real, 1, 8, 2},
    {"f8e4m3fnuz", "float8_e4m3fnuz", real, 1, 8, 3},
    {"f8e5m2fnuz", "float8_e5m2fnuz", real, 1, 8, 2},
    {"f8e8m0", "float8_e8m0fnu", real, 1, 8, 0},
    {"hif8", "hifloat8", real, 1, 8, 3},
    {"f6e3m2", "float6_e3m2fn", real, 1, 6, 2},
    {"f6e2m3", "float6_e2m3fn", real, 1, 6, 3},
    {"f4e2m1", "float4_e2m1fn", real, 1, 4, 1},
    {"f4e1m2", "float4_e1m2", real, 1, 4, 2},
    {"i64", "int64", integer, 8, 64, 0},
    {"i32", "int32", integer, 4, 32, 0},
    {"i16", "int16", integer, 2, 16, 0},
    {"i8", "int8", integer, 1, 8, 0},
    {"i4", "int4", integer, 1, 4, 0},
    {"i2", "int2", integer, 1, 2, 0},
    {"u64", "uint64", natural, 8, 64, 0},
    {"u32", "uint32", natural, 4, 32, 0},
    {"u16", "uint16", natural, 2, 16, 0},
    {"u8", "uint8", natural, 1, 8, 0},
    {"u4", "uint4", natural, 1, 4, 0},
    {"u2", "uint2", natural, 1, 2, 0},
    {"u1", "uint1", natural, 1, 1, 0},
    {"bool", "bool", truth, 1, 8, 0},
    {"c32", "complex32", complex, 4, 32, 10},
    {"c64", "complex64", complex, 8, 64, 23},
    {"c128", "complex128", complex, 16, 128, 52},
}};

// Further spellings, lower case and without underscores.
constexpr std::pair<std::string_view, DType> kAliases[] = {
    {"double", DType::f64},        {"float", DType::f32},
    {"single", DType::f32},        {"fp64", DType::f64},
    {"fp32", DType::f32},          {"fp16", DType::f16},
    {"half", DType::f16},          {"bfloat", DType::bf16},
    {"f8e4m3", DType::f8e4m3fn},   {"float8e4m3", DType::f8e4m3fn},
    {"float8e8m0", DType::f8e8m0}, {"f8e8m0fnu", DType::f8e8m0},
    {"float6e3m2", DType::f6e3m2}, {"float6e2m3", DType::f6e2m3},
    {"float4e2m1", DType::f4e2m1}, {"f6e3m2fn", DType::f6e3m2},
    {"f6e2m3fn", DType::f6e2m3},   {"f4e2m1fn", DType::f4e2m1},
    {"long", DType::i64},          {"int", DType::i32},
    {"short", DType::i16},         {"char", DType::i8},
    {"byte", DType::u8},           {"boolean", DType::boolean},
    {"chalf", DType::c32},         {"cfloat", DType::c64},
    {"cdouble", DType::c128},
};

constexpr std::string_view kPrefixes[] = {"torch.", "numpy.", "np.", "mindspore.", "ml_dtypes.", "ms."};

}  // namespace

const DTypeInfo& info(DType dtype) { return kInfo[static_cast<size_t>(dtype)]; }

std::optional<DType> find_dtype(std::string_view name) {
  std::string key = to_lower(trim(name));
  for (const std::string_view prefix : kPrefixes)
    if (key.starts_with(prefix)) {
      key.erase(0, prefix.size());
      break;
    }
  std::erase(key, '_');
  for (int i = 0; i < kDTypeCount; ++i) {
    std::string long_name(kInfo[static_cast<size_t>(i)].long_name);
    std::erase(long_name, '_');
    if (key == kInfo[static_cast<size_t>(i)].name || key == long_name) return static_cast<DType>(i);
  }
  const auto* const alias =
      std::find_if(std::begin(kAliases), std::end(kAliases), [&](const auto& a) { return a.first == key; });
  if (alias == std::end(kAliases)) return std::nullopt;
  return alias->second;
}

DType component(DType dtype) {
  switch (dtype) {
    case DType::c32:
      return DType::f16;
    case DType::c64:
      return DType::f32;
    case DType::c128:
      return DType::f64;
    default:
      return dtype;
  }
}

DType coarser(DType a, DType b) {
  a = component(a);
  b = component(b);
  if (is_real(a) != is_real(b)) return is_real(a) ? a : b;
  if (info(a).mantissa_bits != info(b).mantissa_bits)
    return info(a).mantissa_bits < info(b).mantissa_bits ? a : b;
  return std::max(a, b);
}

bool fits_f32(DType dtype) {
  switch (component(dtype)) {
    case DType::f64:
    case DType::i64:
    case DType::i32:
    case DType::u64:
    case DType::u32:
      return false;
    default:
      return true;
  }
}

}  // namespace assay
