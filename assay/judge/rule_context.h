// What a rule may ask about a row, and which columns it needs for that.
#pragma once

#include "assay/judge/judge.h"
#include "assay/judge/ledger.h"

namespace assay {

inline constexpr std::string_view kErrorColumn = "rel_l2";  // what `inherited` adds up
inline constexpr std::string_view kMismatchColumn = "nonfinite_mismatch";
inline constexpr std::string_view kRestColumn = "rel_l2_rest";

struct RowContext {
  const Comparison& row;
  const Head& head;
  DType dtype;
  int32_t layers_before;
  double inherited;
  const NoiseFloor* noise = nullptr;
  const Allowance* allowance = nullptr;

  // Of a metric column or a variable; nothing where the row has no such number.
  std::optional<double> value(std::string_view name) const;
  static std::optional<double> look(const void* context, std::string_view name);  // for Expression
};

std::optional<double> number_in(const Value& value);

// A rule that reads one of the columns says itself what NaN, or infinities, mean.
struct Decides {
  bool on_nan = false, on_inf = false;
};
Decides decides_on(const Expression& rule);

}  // namespace assay
