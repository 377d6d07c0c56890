#include "assay/tensor/dtype_limits.h"

#include <limits>

namespace assay {

RealLimits limits_of(DType dtype) {
  switch (component(dtype)) {
    case DType::f64:
      return {std::numeric_limits<double>::max(), std::numeric_limits<double>::min()};
    case DType::f32:
      return {double{std::numeric_limits<float>::max()}, double{std::numeric_limits<float>::min()}};
    case DType::f16:
      return {65504, 0x1p-14};
    case DType::bf16:
      return {0x1.FEp127, 0x1p-126};
    case DType::f8e4m3fn:
      return {448, 0x1p-6};
    case DType::f8e5m2:
      return {57344, 0x1p-14};
    case DType::f8e4m3fnuz:
      return {240, 0x1p-7};
    case DType::f8e5m2fnuz:
      return {57344, 0x1p-15};
    case DType::f8e8m0:
      return {0x1p127, 0};
    case DType::hif8:
      return {0x1p15, 0x1p-15};
    case DType::f6e3m2:
      return {28, 0x1p-2};
    case DType::f6e2m3:
      return {7.5, 1};
    case DType::f4e2m1:
      return {6, 1};
    case DType::f4e1m2:
      return {1.75, 1};
    default:
      return {0, 0};
  }
}

}  // namespace assay
