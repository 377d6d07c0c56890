#include "assay/run/opcheck.h"

#include "assay/base/path_kind.h"
#include "assay/dump/atb_op_params.h"
#include "assay/dump/atb_op_table.h"
#include "assay/dump/atb_place.h"

namespace assay {

OpcheckPlace locate_operators(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  const fs::path start = whole.has_filename() ? whole : whole.parent_path();
  // "tensors/0_4001/0/2_Layer/1_Linear": the folders of operators begin with a number, those of tokens are
  // one.
  fs::path below;
  for (fs::path at = start; at.has_relative_path(); at = at.parent_path()) {
    const bool is_token = whole_number(at.filename().native()).has_value();
    if (is_token && is_atb_round(at))
      return below.empty() ? OpcheckPlace{path, {}} : OpcheckPlace{at, below.generic_string()};
    if (!is_folder(at)) break;
    below = below.empty() ? at.filename() : at.filename() / below;
  }
  return {path, {}};
}

Result<void> select_by_table(const fs::path& table, OpSelection& selection, GoldenOptions& golden) {
  ASSAY_TRY(const std::vector<OpTableRow> rows, read_op_table(table, &selection.dropped));
  if (rows.empty()) return fail(ErrorKind::not_found, "{}: lists no operator", display(table));
  auto params = std::make_shared<std::map<std::string, OpParams>>();
  selection.table = display(table);
  for (const OpTableRow& row : rows) {
    selection.exact_ids.push_back(row.id);
    OpParams told = parse_op_params(row.params.empty() ? "{}" : row.params,
                                    fmt::format("{}: {}_{}", display(table), row.type, row.id));
    const auto [known, is_new] = params->emplace(row.id, told);
    if (!is_new && known->second.text != told.text && known->second.trouble.empty())
      known->second.trouble = fmt::format("{}: lists {}_{} more than once, with other parameters",
                                          display(table), row.type, row.id);
  }
  golden.params = std::move(params);
  return {};
}

void check_operators(OpSelection selection, CompareRequest& request) {
  request.golden.clear();
  request.question = Question::operators;
  request.open.layout = "atb";
  request.matching.given = golden_op_matcher(std::move(selection), [](std::string_view type) {
    const GoldenOp* const op = find_golden_op(type);
    return op == nullptr ? std::span<const int>() : op->in_place.results;
  });
  request.add_stated_columns = false;
  request.least_compared = 0;  // types without a golden are listed and counted; they are no fault
}

}  // namespace assay
