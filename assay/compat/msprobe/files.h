// What msprobe writes beside its tables: advice, log lines, the mapping that -lm found, the first difference.
#pragma once

#include "assay/compat/msprobe/row.h"
#include "assay/report/report.h"

namespace assay {

struct MsprobeFiles {
  fs::path folder;
  bool per_rank = false, both_ranks = false;
};

// advisor_{time}.txt: the first row of the table that does not reach accuracy, and what to do about it; then
// the first node that does not although its inputs do.
std::unique_ptr<Sink> msprobe_advisor(const MsprobeFiles& files, const Profile& table);
// The lines msprobe logs for every row of a tensor dump, and those around a table.
struct MsprobeLog {
  bool rows = true;       // is_print_compare_log
  bool coloured = false;  // -hl
  const Profile* profile = nullptr;
  fs::path table;  // folder; the file name comes from the profile
  std::string_view suffix = ".xlsx";
};
std::unique_ptr<Sink> msprobe_log(const MsprobeLog& options);
// "Compare rank: 0 step: 3 finish." with the table of the section.
std::unique_ptr<Sink> msprobe_kernel_log();
// data_mapping_{time}.yaml: which item of mine was paired with which of golden.
std::unique_ptr<Sink> msprobe_mapping(const MsprobeFiles& files);
// -da: compare_result_rank{N}_{time}.json per rank, and diff_analyze_{time}.json with the first operator per
// rank that differs before the first communication, or else what the walk through communication finds.
std::unique_ptr<Sink> msprobe_first_difference(const MsprobeFiles& files, const Profile& profile,
                                               Generation generation);

}  // namespace assay
