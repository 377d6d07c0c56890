#include "assay/dump/atb_op_table.h"

#include "assay/base/text.h"
#include "assay/support/csv.h"

#include <algorithm>
#include <map>

namespace assay {
namespace {

constexpr int64_t kMostRowBytes = int64_t{8}
                                  << 20;  // parameters list the lengths of all sequences of a batch
constexpr size_t kMostRows = 1'000'000;

}  // namespace

Result<std::vector<OpTableRow>> read_op_table(const fs::path& path, int64_t* dropped) {
  auto file = File::open(path);
  if (!file) return tl::unexpected<Error>(std::move(file.error()));
  CsvReader reader(*file, '|', kMostRowBytes);
  std::vector<std::string> cells;
  ASSAY_TRY(const bool has_head, reader.next(cells));
  std::map<std::string, size_t> columns;
  if (has_head)
    for (size_t i = 0; i < cells.size(); ++i) columns.emplace(trim(cells[i]), i);
  for (const char* const wanted : {"OpName", "OpParam", "OutDType"})
    if (!columns.contains(wanted))
      return fail(
          ErrorKind::bad_format,
          "{}: has no column {}; expected the operation_tensors_*.csv of a dump, with '|' between its cells",
          display(path), wanted);
  std::vector<OpTableRow> rows;
  while (true) {
    ASSAY_TRY(const bool is_row, reader.next(cells));
    if (!is_row) break;
    const auto cell = [&](const char* column) {
      const size_t i = columns[column];
      return i < cells.size() ? std::string(trim(cells[i])) : std::string();
    };
    const std::string name = cell("OpName");
    if (name.empty() || cell("OutDType").empty()) {
      if (dropped != nullptr) ++*dropped;
      continue;
    }
    if (rows.size() == kMostRows)
      return fail(ErrorKind::limit, "{}: lists more than {} operators", display(path), kMostRows);
    const size_t mark = std::min(name.find('_'), name.size());
    rows.push_back(
        {name.substr(0, mark), mark < name.size() ? name.substr(mark + 1) : std::string(), cell("OpParam")});
  }
  return rows;
}

}  // namespace assay
