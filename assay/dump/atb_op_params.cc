#include "assay/dump/atb_op_params.h"

#include "assay/base/text.h"
#include "assay/graph/atb_params.h"
#include "assay/model/graph.h"
#include "assay/support/parallel.h"

#include <algorithm>

namespace assay {
namespace {

constexpr int64_t kLargestText = int64_t{4} << 20;  // lists of lengths of a batch take some kilobytes

OpParams of_topology(const Frame& frame, size_t node) {
  OpParams params;
  if (frame.graph == nullptr) return params;
  for (const int32_t op : frame.ops_of(node)) {
    const auto list = frame.graph->at(op).params;
    params.list.assign(list.begin(), list.end());
  }
  return params;
}

OpParams read_file(const fs::path& path, int64_t memory) {
  OpParams params;
  const auto file = File::open(path);
  if (!file) {
    params.trouble = file.error().message;
    return params;
  }
  const int64_t size = (*file)->size();
  if (size > std::min(kLargestText, memory)) {
    params.trouble =
        fmt::format("{}: {} bytes are too many for the parameters of an operator", display(path), size);
    return params;
  }
  std::string text(static_cast<size_t>(size), '\0');
  if (const auto read = (*file)->read(0, std::as_writable_bytes(std::span(text))); !read) {
    params.trouble = read.error().message;
    return params;
  }
  return parse_op_params(std::move(text), display(path));
}

}  // namespace

OpParams parse_op_params(std::string text, std::string_view name) {
  OpParams params;
  const auto tape = parse_json_text(text, name);
  if (!tape) {
    params.trouble = tape.error().message;
    return params;
  }
  if (tape->too_deep() || tape->kind(0) != JsonKind::object) {
    params.trouble = fmt::format("{}: is no JSON object of parameters", name);
    return params;
  }
  int64_t repeated = 0;
  auto read = read_atb_params(*tape, 0, kLargestText * 16, repeated);
  if (!read) {
    params.trouble = fmt::format("{}: holds more parameters than an operator has", name);
    return params;
  }
  if (repeated > 0) {
    params.trouble = fmt::format("{}: says {} twice", name, repeated == 1 ? "a parameter" : "parameters");
    return params;
  }
  params.list = std::move(read->list);
  params.text = std::move(text);
  return params;
}

OpParams read_op_params(const fs::path& op, int64_t memory) { return read_file(op / kAtbOpParams, memory); }

OpParams op_params_of(const Frame& frame, size_t node, const fs::path& op, int64_t memory) {
  const fs::path path = op / kAtbOpParams;
  return is_there(path) ? read_file(path, memory) : of_topology(frame, node);
}

void read_op_params(Frame& frame, const fs::path& round, int64_t memory) {
  frame.params.resize(frame.nodes.size());
  parallel_for(frame.nodes.size(), [&](size_t node) {
    const auto ops = frame.ops_of(node);
    if (ops.empty()) return;
    frame.params[node] = op_params_of(frame, node, round / frame.graph->at(ops.front()).path, memory);
  });
}

}  // namespace assay
