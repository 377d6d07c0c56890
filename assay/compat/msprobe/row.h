// A row of an msprobe comparison as its rules and its reports see it.
#pragma once

#include "assay/compat/msprobe/metric/generation.h"
#include "assay/model/outcome.h"

namespace assay {

// Of the metrics that each generation computes in its own way: "_g1".
std::string_view suffix_of(Generation generation);

// Places of the metrics in Comparison::metrics, looked up once per section.
struct MsprobeColumns {
  MsprobeColumns(const Head& head, Generation generation);
  int cosine, l2, max_abs, max_rel, ratio_1e3, ratio_5e3;
  int mine_norm, golden_norm, kind_mismatch, worst_mine, worst_golden;
  int max_diff, max_diff_pct, norm_diff_pct;  // the first of four: max, min, mean, norm
};

std::optional<double> metric(const Comparison& row, int column);  // nothing where it is absent or a word

const Stated& stated_of(const SideFacts& side);  // an empty one where there is none
Scalar in_f32(const Scalar& scalar);             // as the originals read the numbers of a kernel's table
std::string_view requires_grad(const SideFacts& side);  // "N/A" where it is not said
bool grad_consistent(const Comparison& row);
bool stands_for_nan(const Stated& stated);  // a 0-d tensor may stand in the place of its checksum
std::string_view printed_checksum(const SideFacts& side);  // "N/A" where there is nothing to have one

// What Python calls a number and not a truth value or a text.
bool is_python_number(const Scalar& scalar);

// The rows that the tables have: those of mine; generation 1 knows only inputs and outputs, and on PyTorch it
// may stop before the last of them.
bool is_shown(const Comparison& row, Generation generation);

// Why a row of a tensor dump has numbers or not, in the order in which msprobe finds out.
enum class TensorCase : uint8_t {
  measured,
  no_mine_file,
  no_golden_file,
  unmatched,
  unreadable,
  only_statistics,  // data that was compacted: the original would find no file
  empty,
  scalar,  // 0-d: only the two maxima are measured
  other_shape,
  other_nonfinite,
};
// The two maxima that a 0-d tensor has, of which one side may be NaN or infinite: NaN where there is no
// error.
double scalar_max_abs(const Comparison& row, const MsprobeColumns& columns);
double scalar_max_rel(const Comparison& row, const MsprobeColumns& columns, Generation generation);

// Cosine as the report prints it, which is what the thresholds look at too.
double printed_cosine(double cosine, Generation generation);

TensorCase tensor_case(const Comparison& row, const MsprobeColumns& columns, Generation generation);

}  // namespace assay
