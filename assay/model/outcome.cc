#include "assay/model/outcome.h"

#include <fmt/format.h>

namespace assay {

std::string At::text() const {
  std::string out;
  const auto add = [&](std::string_view word, int number) {
    if (number >= 0) out += fmt::format("{}{} {}", out.empty() ? "" : " ", word, number);
  };
  add("rank", rank);
  add("step", step);
  add("graph", graph);
  add("token", token);
  if (!part.empty()) out += (out.empty() ? "" : " ") + part;
  return out;
}

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
    case Why::nothing_fits:
      return "no counterpart";
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

int find_column(const Head& head, std::string_view name) {
  for (size_t i = 0; i < head.metric_columns.size(); ++i)
    if (head.metric_columns[i] == name) return static_cast<int>(i);
  return -1;
}

}  // namespace assay
