#include "assay/model/outcome.h"

#include <algorithm>
#include <cmath>

namespace assay {

std::string_view text(Why why) {
  switch (why) {
    case Why::same_name:
      return "same name";
    case Why::same_stem:
      return "same name but for the suffix";
    case Why::only_one_each:
      return "one tensor on each side";
    case Why::renumbered:
      return "same name but for its running number";
    case Why::renamed:
      return "same name as renamed";
    case Why::alike_name:
      return "same name but for prefix, file and separators";
    case Why::known_name:
      return "known renaming";
    case Why::same_content:
      return "same content";
    case Why::like_neighbours:
      return "names of this kind belong together elsewhere";
    case Why::its_extremes:
      return "the smallest and the largest element of it";
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
    case Why::own_inputs:
      return "computed from its own inputs";
    case Why::by_itself:
      return "looked at by itself";
    case Why::in_place:
      return "an input, as its operator left it";
    case Why::nothing_fits:
      return "no counterpart";
    case Why::left_out:
      return "the mapping file leaves it out";
    case Why::other_shape:
      return "same name, another shape";
    case Why::other_dtype:
      return "same name, another element type";
    case Why::not_reached:
      return "behind the point where the method stops";
    case Why::not_written:
      return "an output before its operator ran: nothing was written to it yet";
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

std::string_view text(Answer answer) {
  switch (answer) {
    case Answer::pass:
      return "pass";
    case Answer::fail:
      return "fail";
    case Answer::not_compared:
      return "not compared";
    case Answer::error:
      return "error";
  }
  return "";
}

Coverage coverage_of(const Summary& summary) {
  const int64_t compared = summary.compared - summary.rows_by(Evidence::value) + summary.misshapen;
  return {std::max(summary.of_mine, summary.of_golden), compared - summary.by_own_input};
}

bool is_enough(const Summary& summary) {
  const Coverage coverage = coverage_of(summary);
  if (coverage.of == 0) return summary.compared > summary.by_own_input;  // arguments alone
  return coverage.compared > 0 &&
         static_cast<double>(coverage.compared) >= summary.least_compared * static_cast<double>(coverage.of);
}

Answer answer_of(const Summary& summary) {
  if (summary.errors > 0) return Answer::error;
  if (summary.differ + summary.contradicted + summary.incomplete + summary.misshapen + summary.without_data +
          summary.values_failed >
      0)
    return Answer::fail;
  if (summary.stopped_early && summary.failed > 0) return Answer::fail;  // what else there is, nobody looked
  if (!is_enough(summary)) return Answer::not_compared;
  return summary.failed > 0 ? Answer::fail : Answer::pass;
}

namespace {

bool is_finite_number(const Scalar& scalar) {
  const auto number = number_of(scalar);
  return number && std::isfinite(*number);
}

// Of a 0-d tensor msprobe may write the value in the place of its checksum.
bool is_checksum_of(const SideFacts& side) {
  const std::string_view text = side.stated()->checksum;
  return is_checksum(text) || (side.meta && side.meta->shape.dims.empty() && is_finite_number(Scalar(text)));
}

// A checksum is one of bits: what they mean is said by type and shape.
bool have_comparable_checksums(const SideFacts& mine, const SideFacts& golden) {
  const Stated &m = *mine.stated(), &g = *golden.stated();
  if (!is_checksum_of(mine) || !is_checksum_of(golden)) return false;
  if (is_checksum(m.checksum) && is_checksum(g.checksum) && !are_of_one_kind(m.checksum, g.checksum))
    return false;
  if (mine.meta && golden.meta) return *mine.meta == *golden.meta;
  return m.dtype == g.dtype && m.shape == g.shape;
}

bool states_nonfinite(const Stated& stated) {
  return std::ranges::any_of(kStatistics, [&](const StatisticName& each) {
    const auto number = number_of(stated.*each.of);
    return number && !std::isfinite(*number);
  });
}

bool is_all_nonfinite(const SideFacts& side) {
  const Nonfinite* const counts = side.stated()->nonfinite;
  return counts != nullptr && side.meta && counts->nans >= 0 && counts->infs >= 0 &&
         counts->nans + counts->infs == side.meta->shape.count() * components(side.meta->dtype);
}

// Of two arguments. Numbers that are none say as little here as in a tensor.
Evidence evidence_of_values(const Stated& mine, const Stated& golden) {
  if (mine.given == Given::nothing && golden.given == Given::nothing) return Evidence::nothing;
  const auto m = number_of(mine.max), g = number_of(golden.max);
  const bool are_nonfinite = m && g && !std::isfinite(*m) && !std::isfinite(*g);
  const bool are_equal = are_nonfinite && (*m == *g || (std::isnan(*m) && std::isnan(*g)));
  if (are_nonfinite && mine.given == Given::beside && !are_equal) return Evidence::value;
  const bool hold_nonfinite = mine.nonfinite != nullptr && golden.nonfinite != nullptr;  // a list
  if (hold_nonfinite && mine.given == Given::beside && mine.max == golden.max) return Evidence::nothing;
  return are_nonfinite ? Evidence::nothing : Evidence::value;
}

}  // namespace

void Comparison::add_note(std::string_view text) {
  if (!note.empty()) note += "; ";
  note += text;
}

bool is_argument(const SideFacts& side) {
  return side.stated() != nullptr && side.stated()->given != Given::tensor;
}

bool is_beside(const Comparison& row) {
  const auto is_value = [](const SideFacts& side) {
    return side.stated() != nullptr && side.stated()->given == Given::beside;
  };
  return is_value(row.mine) || is_value(row.golden);
}

void note_stated_evidence(bool is_range, Comparison& row) {
  if (row.mine.meta && row.golden.meta && row.golden.meta->shape.count() == 0) {
    row.evidence = Evidence::empty;
    return;
  }
  if (is_all_nonfinite(row.mine) && is_all_nonfinite(row.golden)) return;  // whatever its bits are
  const bool by_checksum = have_comparable_checksums(row.mine, row.golden);
  if (is_argument(row.mine) && is_argument(row.golden)) {
    row.evidence = evidence_of_values(*row.mine.stated(), *row.golden.stated());
  } else if (by_checksum && row.mine.stated()->checksum == row.golden.stated()->checksum) {
    // The XOR of NaN everywhere is that of zeros.
    const bool by_xor = is_xor(row.mine.stated()->checksum);
    if (by_xor && (states_nonfinite(*row.mine.stated()) || states_nonfinite(*row.golden.stated()))) return;
    row.evidence = by_xor ? Evidence::parity : Evidence::checksum;
  } else if (is_range) {
    // NaN where both have it says nothing of the elements.
    row.statistics = shared_statistics(*row.mine.stated(), *row.golden.stated()) & kBothExtremes;
    row.evidence = row.statistics != 0 ? Evidence::extremes : Evidence::nothing;
  } else {
    row.statistics = shared_statistics(*row.mine.stated(), *row.golden.stated());
    if (row.statistics != 0)
      row.evidence = Evidence::statistics;
    else if (by_checksum)
      row.evidence = Evidence::checksum;  // that they differ
  }
}

Direction direction_of(const Comparison& row) {
  if (row.pair.why == Why::in_place) return Direction::output;
  const Item* const item = row.mine.item != nullptr ? row.mine.item : row.golden.item;
  return item != nullptr ? item->port.direction : Direction::none;
}

int find_column(const Head& head, std::string_view name) {
  for (size_t i = 0; i < head.metric_columns.size(); ++i)
    if (head.metric_columns[i] == name) return static_cast<int>(i);
  return -1;
}

}  // namespace assay
