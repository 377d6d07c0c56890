#include "assay/compat/msit/metric/opcheck_standard.h"

#include <fmt/format.h>

namespace assay {

OpcheckStandard opcheck_standard(DType dtype, bool is_first) {
  switch (dtype) {
    case DType::f32:
      return {is_first ? 1e-4 : 0x1p-20, 99.99};
    case DType::f16:
      return {is_first ? 1e-3 : 0x1p-10, 99.9};
    case DType::bf16:
      return {is_first ? 4e-3 : 0x1p-8, is_first ? 99.6 : 99.9};
    case DType::i8:
    case DType::i16:
    case DType::u16:
      return {1, 99.9};
    case DType::u8:
      return {1, 99};
    case DType::boolean:
      return {1e-4, 100};
    default:
      return {1e-4, 99.99};
  }
}

std::string text(const OpcheckStandard& standard) {
  return fmt::format("{}%(error<{})", standard.rate, standard.tolerance);
}

}  // namespace assay
