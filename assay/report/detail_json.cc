#include "assay/report/detail_json.h"

#include "assay/report/cells.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

void append_digits(std::string& out, double value, int digits) {
  if (std::isfinite(value))
    fmt::format_to(std::back_inserter(out), "{:.{}g}", value, digits);
  else
    append_json(out, Value(value));
}

// More digits than a picture shows.
void append_drawn(std::string& out, double value) { append_digits(out, value, 4); }
void append_fitted(std::string& out, double value) { append_digits(out, value, 6); }

void append_exact(std::string& out, double value) { append_json(out, Value(value)); }
void append_whole(std::string& out, int64_t value) { append_number(out, value); }

template <class List, class Append>
void append_list(std::string& out, std::string_view key, const List& list, Append append) {
  fmt::format_to(std::back_inserter(out), "\"{}\": [", key);
  bool is_first = true;
  for (const auto& each : list) {
    if (!is_first) out += ", ";
    is_first = false;
    append(out, each);
  }
  out += ']';
}

void append_axis(std::string& out, const DetailAxis& axis) {
  fmt::format_to(std::back_inserter(out), "\"dim\": {}, \"size\": {}, \"step\": {}", axis.dimension,
                 axis.size, axis.step);
}

void append_errors(std::string& out, const DetailErrors& errors) {
  append_list(out, "max_abs", errors.max_abs, append_drawn);
  out += ", ";
  append_list(out, "mean_abs", errors.mean_abs, append_drawn);
  if (errors.nonfinite.empty()) return;
  out += ", ";
  append_list(out, "nonfinite", errors.nonfinite, append_whole);
}

void append_values(std::string& out, const Detail& detail) {
  fmt::format_to(std::back_inserter(out), "\"axis\": {{\"scale\": \"{}\", ",
                 detail.is_logarithmic ? "log" : "linear");
  append_list(out, "edges", detail.edges, append_fitted);
  out += "}, \"histogram\": {";
  append_list(out, "mine", detail.mine_values, append_whole);
  out += ", ";
  append_list(out, "golden", detail.golden_values, append_whole);
  fmt::format_to(std::back_inserter(out), "}}, \"scatter\": {{\"bins\": {}, ", detail.scatter_bins);
  std::vector<int64_t> at, counts;
  for (size_t i = 0; i < detail.scatter.size(); ++i) {
    if (detail.scatter[i] == 0) continue;
    at.push_back(static_cast<int64_t>(i));
    counts.push_back(detail.scatter[i]);
  }
  append_list(out, "at", at, append_whole);
  out += ", ";
  append_list(out, "counts", counts, append_whole);
  fmt::format_to(std::back_inserter(out), "}}, \"difference\": {{\"zero\": {}, ", detail.zero_differences);
  append_list(out, "edges", detail.difference_edges, append_fitted);
  out += ", ";
  append_list(out, "counts", detail.differences, append_whole);
  out += '}';
}

void append_worst(std::string& out, const Detail& detail) {
  out += "\"worst\": ";
  if (detail.worst.empty() && detail.equal == detail.count) {
    out += "null";
    return;
  }
  const DetailWindow& window = detail.window;
  out += '{';
  append_list(out, "at", detail.worst, append_whole);
  out += ", \"mine\": ";
  append_exact(out, detail.worst_mine);
  out += ", \"golden\": ";
  append_exact(out, detail.worst_golden);
  fmt::format_to(
      std::back_inserter(out),
      ", \"window\": {{\"row_dim\": {}, \"column_dim\": {}, \"first_row\": {}, \"first_column\": {}, "
      "\"rows\": {}, \"columns\": {}, ",
      window.row_dimension, window.column_dimension, window.first_row, window.first_column, window.rows,
      window.columns);
  append_list(out, "mine", window.mine, append_exact);
  out += ", ";
  append_list(out, "golden", window.golden, append_exact);
  out += "}}";
}

void append_fit(std::string& out, std::string_view key, const Detail::Fit& fit) {
  fmt::format_to(std::back_inserter(out), "\"{}\": {{\"scale\": ", key);
  append_fitted(out, fit.scale);
  out += ", \"offset\": ";
  append_fitted(out, fit.offset);
  out += ", \"rel_l2\": ";
  append_fitted(out, fit.rel_l2);
  out += '}';
}

}  // namespace

void append_detail(std::string& out, const Detail& detail) {
  out += '{';
  append_list(out, "shape", detail.shape.dims, append_whole);
  fmt::format_to(std::back_inserter(out),
                 ", \"mine_dtype\": \"{}\", \"golden_dtype\": \"{}\", \"count\": {}, \"finite\": {}, "
                 "\"equal\": {}, \"nonfinite_apart\": {}, \"diagnosis\": ",
                 name(detail.mine), name(detail.golden), detail.count, detail.finite, detail.equal,
                 detail.nonfinite_apart);
  append_json_text(out, detail.sentence());
  out += ", ";
  append_list(out, "diagnoses", detail.diagnoses, [](std::string& to, const Diagnosis& each) {
    fmt::format_to(std::back_inserter(to), "{{\"kind\": \"{}\", \"text\": ", text(each.kind));
    append_json_text(to, each.text);
    to += '}';
  });
  if (detail.count > 0) {
    out += ", ";
    append_values(out, detail);
    out += ", \"map\": {\"rows\": {";
    append_axis(out, detail.map.rows);
    out += "}, \"columns\": {";
    append_axis(out, detail.map.columns);
    out += "}, ";
    append_errors(out, detail.map);
    out += "}, ";
    append_list(out, "profiles", detail.profiles, [](std::string& to, const DetailProfile& profile) {
      to += '{';
      append_axis(to, profile.axis);
      to += ", ";
      append_errors(to, profile);
      to += ", ";
      append_list(to, "rel_l2", profile.rel_l2, append_drawn);
      to += '}';
    });
    out += ", ";
    append_worst(out, detail);
    out += ", \"fit\": {";
    append_fit(out, "none", detail.as_it_is);
    out += ", ";
    append_fit(out, "scale", detail.by_scale);
    out += ", ";
    append_fit(out, "offset", detail.by_offset);
    out += ", ";
    append_fit(out, "both", detail.by_both);
    out += '}';
  }
  out += '}';
}

}  // namespace assay
