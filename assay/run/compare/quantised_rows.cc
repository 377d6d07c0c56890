#include "assay/run/compare/quantised_rows.h"

namespace assay {

bool is_left_quantised(const Pairing& pairing, const TensorMeta& mine, const TensorMeta& golden) {
  return pairing.dequantises && ((mine.dtype == DType::i8 && is_real(golden.dtype)) ||
                                 (golden.dtype == DType::i8 && is_real(mine.dtype)));
}

void refuse_int8(Comparison& row, std::string_view why) {
  row.status = Status::no_data;
  row.is_excused = true;
  const DType mine = row.mine.meta->dtype, golden = row.golden.meta->dtype;
  row.note = fmt::format("int8 against {}: {}", name(mine == DType::i8 ? golden : mine), why);
}

}  // namespace assay
