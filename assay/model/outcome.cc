#include "assay/model/outcome.h"

namespace assay {

std::string_view text(Why why) {
  switch (why) {
    case Why::same_name:
      return "same name";
    case Why::same_stem:
      return "same name but for the suffix";
    case Why::only_one_each:
      return "one tensor on each side";
    case Why::same_position:
      return "same position";
    case Why::api_table:
      return "built-in API table";
    case Why::api_mapping:
      return "API mapping file";
    case Why::cell_mapping:
      return "cell mapping";
    case Why::data_mapping:
      return "data mapping file";
    case Why::layer_mapping:
      return "layer mapping";
    case Why::same_but_for_call:
      return "same name but for the call number";
    case Why::same_role:
      return "same role in the model";
    case Why::op_mapping:
      return "operator mapping file";
    case Why::last_output:
      return "logits of the token";
    case Why::same_origin:
      return "the graph says it was made of this one";
    case Why::fused_from:
      return "the graph says it was fused from this one";
    case Why::producer:
      return "the graph says its input comes from this one";
    case Why::own_input:
      return "its own input: it changes type or layout only";
    case Why::nothing_fits:
      return "no counterpart";
    case Why::left_out:
      return "the mapping file leaves it out";
    case Why::other_shape:
      return "same name, another shape";
    case Why::other_dtype:
      return "same name, another element type";
    case Why::not_reached:
      return "behind the point where msprobe 1.1 stops";
  }
  return "";
}

std::string_view text(Status status) {
  switch (status) {
    case Status::compared:
      return "compared";
    case Status::only_mine:
      return "only in mine";
    case Status::only_golden:
      return "only in golden";
    case Status::unreadable:
      return "unreadable";
    case Status::shape_mismatch:
      return "shape mismatch";
    case Status::no_data:
      return "no data";
  }
  return "";
}

std::string_view text(Level level) {
  switch (level) {
    case Level::pass:
      return "pass";
    case Level::ignored:
      return "ignored";
    case Level::fail:
      return "fail";
    case Level::error:
      return "error";
  }
  return "";
}

Direction direction_of(const Comparison& row) {
  const Item* const item = row.mine.item != nullptr ? row.mine.item : row.golden.item;
  return item != nullptr ? item->port.direction : Direction::none;
}

int find_column(const Head& head, std::string_view name) {
  for (size_t i = 0; i < head.metric_columns.size(); ++i)
    if (head.metric_columns[i] == name) return static_cast<int>(i);
  return -1;
}

}  // namespace assay
