#include "assay/model/detail.h"

namespace assay {

std::string_view text(DiagnosisKind kind) {
  switch (kind) {
    case DiagnosisKind::equal:
      return "equal";
    case DiagnosisKind::scaled:
      return "scaled";
    case DiagnosisKind::offset:
      return "offset";
    case DiagnosisKind::affine:
      return "affine";
    case DiagnosisKind::sign_flipped:
      return "sign flipped";
    case DiagnosisKind::shifted:
      return "shifted";
    case DiagnosisKind::transposed:
      return "transposed";
    case DiagnosisKind::halves_swapped:
      return "halves swapped";
    case DiagnosisKind::halves_interleaved:
      return "halves interleaved";
    case DiagnosisKind::permuted:
      return "permuted";
    case DiagnosisKind::region:
      return "region";
    case DiagnosisKind::elements:
      return "elements";
    case DiagnosisKind::zeros:
      return "zeros";
    case DiagnosisKind::constant:
      return "constant";
    case DiagnosisKind::saturated:
      return "saturated";
    case DiagnosisKind::rounded:
      return "rounded";
    case DiagnosisKind::nonfinite:
      return "nonfinite";
  }
  return "";
}

std::string Detail::sentence() const {
  std::string out;
  for (const Diagnosis& each : diagnoses) {
    if (!out.empty()) out += "; ";
    out += each.text;
  }
  return out;
}

}  // namespace assay
