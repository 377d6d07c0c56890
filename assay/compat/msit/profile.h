// The tables of msit llm compare and of its older name, ait llm compare.
#pragma once

#include "assay/report/report.h"

namespace assay {

struct MsitStyle {
  bool is_ait = false;     // its names, local time, no types of operators
  bool is_stats = false;   // statistics against statistics
  bool is_sheets = false;  // a workbook with one sheet per level
  bool is_weight = false;  // weights of two checkpoints
  // Operators of a compiled graph: paths with the number of the tensor, one table per rank and graph.
  bool is_torchair = false;
  bool is_msprobe = false;                   // … as msprobe names it
  std::vector<std::string> algorithms = {};  // functions of the user: columns of their own
};

Profile msit_profile(const MsitStyle& style);

// What the table leaves out of the rows of a run: shapes that do not fit, int8 against another type.
enum class MsitLeftOut : uint8_t { no, other_shape, int8 };
MsitLeftOut left_out_by_msit(const Comparison& row);

// A dict as Python prints it: what `msit llm compare` says of two files.
std::string msit_result_text(const Head& head, const Comparison& row, const MsitStyle& style);

}  // namespace assay
