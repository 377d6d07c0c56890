#include "assay/report/page/run_json.h"

#include "assay/report/json_rows.h"
#include "assay/report/page/page_columns.h"

#include <fmt/format.h>

namespace assay {
namespace {

constexpr int kVersion = 1;  // of what docs/page_data.md describes

}  // namespace

std::string page_run_json(const PageCounts& counts, const std::vector<Column>& columns, const RowTable& table,
                          const Summary& summary) {
  std::string out = fmt::format(
      "{{\"page\": {{\"version\": {}, \"rows\": {}, \"failed\": {}, \"held\": {}, \"held_failed\": {}, "
      "\"columns\": ",
      kVersion, counts.rows, counts.failed, counts.held, counts.held_failed);
  append_page_columns(out, columns);
  out += "}, \"run\": {";
  append_json_run(out, table);
  out += "}, \"summary\": ";
  append_json_summary(out, table, summary);
  return out + "}";
}

}  // namespace assay
