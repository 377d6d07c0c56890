// The tables of msprobe, as its three generations write them.
#pragma once

#include "assay/compat/msprobe/row.h"
#include "assay/report/report.h"

#include <array>
#include <memory>

namespace assay {

// Which of the eight columns of statistics (max, min, mean, l2norm of mine, then of golden) hold nothing but
// numbers and at least one that is not whole: generation 3 then writes all of them with a point.
using RealColumns = std::array<bool, 8>;

// Generation 3 begins another file behind so many rows.
inline constexpr int64_t kMsprobeRowsPerCsv = 1'000'000;

struct MsprobeStyle {
  Generation generation = Generation::g2;
  enum class Stack : uint8_t { hidden, shown, if_found } stack = Stack::hidden;  // the column NPU_Stack_Info
  bool coloured = false;                                 // -hl: plain sheets whose rows have colours
  bool per_rank = false;                                 // one file per rank: "_rank3"
  std::shared_ptr<const RealColumns> real_columns = {};  // of the section that comes next
  bool mapped_only = false;                              // only rows that a mapping file names and pairs
  bool both_ranks = false;  // generation 1 names a file after both: "_rank0-rank4"
  bool as_python =
      false;  // generation 1 on PyTorch or with a data mapping: None and nan as Python prints them
  bool row_by_row = false;  // … with a mapping of data or layers: no row leans on the others of its call
};
Profile msprobe_profile(const MsprobeStyle& style);
// Of kernel dumps; needs SideFacts::measured.
Profile msprobe_kernel_profile(Generation generation);
// Of rounds of ATB, of version 26; needs SideFacts::measured as f32.
Profile msprobe_atb_profile();

// The folder of a rank or of a process: "rank3", "rank", "proc4711".
std::string msprobe_rank_name(const At& at);
// What files of a section are called beside "compare_result": "", "_rank3", "_rank3-rank10", "_proc4711".
std::string msprobe_suffix(const Head& head, bool per_rank, bool both_ranks = false);

}  // namespace assay
