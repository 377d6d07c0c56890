#include "assay/format/atb_bin_write.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay {
namespace {

constexpr AtbDType kAtbDTypes[] = {
    {0, "float", DType::f32},
    {1, "float16", DType::f16},
    {2, "int8", DType::i8},
    {3, "int32", DType::i32},
    {4, "uint8", DType::u8},
    {6, "int16", DType::i16},
    {7, "uint16", DType::u16},
    {8, "uint32", DType::u32},
    {9, "int64", DType::i64},
    {10, "uint64", DType::u64},
    {11, "double", DType::f64},
    {12, "bool", DType::boolean},
    {13, "string", std::nullopt},
    {16, "complex64", DType::c64},
    {17, "complex128", DType::c128},
    {27, "bf16", DType::bf16},
    {29, "int4", DType::i4},
    {30, "uint1", DType::u1},
    {33, "complex32", DType::c32},
    {34, "hifloat8", DType::hif8},
    {35, "float8_e5m2", DType::f8e5m2},
    {36, "float8_e4m3fn", DType::f8e4m3fn},
    {37, "float8_e8m0", DType::f8e8m0},
    {38, "float6_e3m2", DType::f6e3m2},
    {39, "float6_e2m3", DType::f6e2m3},
    {40, "float4_e2m1", DType::f4e2m1},
    {41, "float4_e1m2", DType::f4e1m2},
};

constexpr std::pair<int64_t, std::string_view> kAtbFormats[] = {
    {-1, "undefined"},
    {0, "nchw"},
    {1, "nhwc"},
    {2, "nd"},
    {3, "nc1hwc0"},
    {4, "fractal_z"},
    {12, "nc1hwc0_c04"},
    {16, "hwcn"},
    {27, "ndhwc"},
    {29, "fractal_nz"},
    {30, "ncdhw"},
    {32, "ndc1hwc0"},
    {33, "fractal_z_3d"},
    {35, "nc"},
    {47, "ncl"},
    {50, "fractal_nz_c0_16"},
    {51, "fractal_nz_c0_32"},
};

}  // namespace

const AtbDType* find_atb_dtype(int64_t code) {
  const auto* const found = std::find_if(std::begin(kAtbDTypes), std::end(kAtbDTypes),
                                         [&](const auto& d) { return d.code == code; });
  return found == std::end(kAtbDTypes) ? nullptr : found;
}

const AtbDType* find_atb_dtype(DType dtype) {
  const auto* const found = std::find_if(std::begin(kAtbDTypes), std::end(kAtbDTypes),
                                         [&](const auto& d) { return d.dtype == dtype; });
  return found == std::end(kAtbDTypes) ? nullptr : found;
}

std::string atb_format_name(int64_t code) {
  for (const auto& [number, name] : kAtbFormats)
    if (number == code) return std::string(name);
  return fmt::format("format {}", code);
}

std::optional<int64_t> find_atb_format(std::string_view name) {
  for (const auto& [number, known] : kAtbFormats)
    if (known == name) return number;
  return std::nullopt;
}

std::string atb_bin_header(const AtbDescription& tensor, std::optional<int64_t> bytes,
                           std::string_view more) {
  const int64_t length = bytes.value_or(0);
  std::string text =
      fmt::format("$Version=1.0\n$Object.Count={}\n$Object.Length={}\nformat={}\ndtype={}\ndims={}\n{}",
                  bytes ? 1 : 0, length, tensor.format, tensor.dtype, tensor.dims, more);
  if (bytes) text += fmt::format("$Object.data=0,{}\n", length);
  return text + "$End=1\n";
}

}  // namespace assay
