#include "assay/model/dump.h"

#include "assay/base/text.h"
#include "assay/model/graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

void Frame::set_ops(size_t node, std::vector<int32_t> ops) {
  for (const int32_t op : ops) {
    const auto place = static_cast<size_t>(op);
    if (node_of_op.size() <= place) node_of_op.resize(place + 1, -1);
    if (node_of_op[place] < 0) node_of_op[place] = static_cast<int32_t>(node);
  }
  if (ops_of_node.size() <= node) ops_of_node.resize(node + 1);
  ops_of_node[node] = std::move(ops);
}

std::span<const int32_t> Frame::ops_of(size_t node) const {
  // In a trace the number of a node is that of its operator.
  if (graph != nullptr && graph->shape == GraphShape::trace) return std::span(node_of_op).subspan(node, 1);
  return node < ops_of_node.size() ? ops_of_node[node] : std::span<const int32_t>();
}

int32_t Frame::node_of(int32_t op) const {
  const auto place = static_cast<size_t>(op);
  return place < node_of_op.size() ? node_of_op[place] : -1;
}

const Graph& Frame::tree() const {
  static const Graph kNone;
  return graph != nullptr && graph->shape == GraphShape::tree ? *graph : kNone;
}

const Graph* Frame::compiled() const {
  return graph != nullptr && graph->shape == GraphShape::flat ? graph.get() : nullptr;
}

bool operator==(const Scalar& a, const Scalar& b) {
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case Scalar::Kind::absent:
      return true;
    case Scalar::Kind::boolean:
      return a.held_.boolean == b.held_.boolean;
    case Scalar::Kind::integer:
      return a.held_.integer == b.held_.integer;
    case Scalar::Kind::real:
      return a.held_.real == b.held_.real;
    case Scalar::Kind::text:
      return *a.text() == *b.text();
    case Scalar::Kind::big:
      return *a.digits() == *b.digits();
  }
  return false;
}

Value to_value(const Scalar& scalar) {
  if (const auto truth = scalar.boolean()) return *truth;
  if (const auto whole = scalar.integer()) return *whole;
  if (const auto real = scalar.real()) return *real;
  if (const auto text = scalar.text()) return std::string(*text);
  if (const auto digits = scalar.digits()) return std::string(*digits);
  return {};
}

std::optional<double> number_of(const Scalar& scalar) {
  if (const auto real = scalar.real()) return *real;
  if (const auto whole = scalar.integer()) return static_cast<double>(*whole);
  if (const auto text = scalar.text()) return parse_double(trim(*text));
  if (const auto digits = scalar.digits()) return parse_double(*digits);
  return std::nullopt;
}

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

std::string_view At::level() const { return std::string_view(part).substr(part.rfind(' ') + 1); }

}  // namespace assay
