// What a page knows of the run: a JSON object, as docs/page_data.md describes it.
#pragma once

#include "assay/report/rows.h"

namespace assay {

struct PageCounts {
  int64_t rows = 0, failed = 0, held = 0, held_failed = 0;
};
std::string page_run_json(const PageCounts& counts, const std::vector<Column>& columns, const RowTable& table,
                          const Summary& summary);

}  // namespace assay
