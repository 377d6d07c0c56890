// Dumps of operators in a tree as short texts, for the tests of the matchers of inference dumps.
#pragma once

#include "assay/match/match_test_tools.h"
#include "assay/model/graph.h"

namespace assay {

struct TestOp {
  std::string path;   // "0_Layer/1_LinearOperation" or "root.model.norm"; parents come first
  Texts files = {};   // "before/intensor0.bin", "output.pth"
  Texts inputs = {};  // names of its tensors in the graph
  Texts outputs = {};
  std::optional<bool> has_bias = {};
  std::optional<int> elewise_type = {};
  std::string type = {};  // empty: the last part of the path without its number
  DType dtype = DType::f16;
  std::vector<int64_t> dims = {2, 4};
  bool has_rows_out = true;
  size_t ranks = 1;
  std::vector<int64_t> output_dims = {};  // of an output "after/outtensor0.bin" besides `files`; empty: none
  std::string weight = {};                // the one of `inputs` that its model lists among its weights
};

inline Port port_of_file(std::string_view file) {
  Port port;
  const bool is_input =
      file.find("intensor") != std::string_view::npos || file.find("input") != std::string_view::npos;
  port.direction = is_input ? Direction::input : Direction::output;
  port.phase = file.starts_with("before/")  ? Phase::before
               : file.starts_with("after/") ? Phase::after
                                            : Phase::not_said;
  if (file == "weight" || file == "bias")
    return {Direction::parameter, file == "weight" ? kWeightPort : kBiasPort};
  const size_t dot = file.rfind('.'), digit = file.find_last_not_of("0123456789", dot - 1) + 1;
  port.index = digit < dot ? std::stoi(std::string(file.substr(digit, dot - digit))) : 0;
  return port;
}

// `framework`: "atb" (paths with '/') or "pytorch" (with '.').
inline Frame make_op_frame(const std::string& framework, const std::vector<TestOp>& ops) {
  Frame frame;
  frame.framework = framework;
  const char separator = framework == "atb" ? '/' : '.';
  auto graph = std::make_shared<Graph>();
  if (framework == "atb") graph->add({.name = "root", .type = "Model"});
  for (const TestOp& op : ops) {
    GraphOp added;
    added.name = added.path = graph->strings.keep(op.path);
    const size_t cut = op.path.rfind(separator);
    const std::string above = cut == std::string::npos ? "" : op.path.substr(0, cut);
    for (size_t i = 0; i < graph->ops.size(); ++i)
      if (graph->ops[i].path == above) added.parent = static_cast<int32_t>(i);
    const std::string last = op.path.substr(cut + 1);
    added.type = graph->strings.keep(!op.type.empty() ? op.type : last.substr(last.find('_') + 1));
    for (const std::string& name : op.inputs)
      added.inputs.push_back({.name = graph->strings.keep(name), .is_weight = name == op.weight});
    for (const std::string& name : op.outputs) added.outputs.push_back({.name = graph->strings.keep(name)});
    added.has_bias = op.has_bias;
    added.elewise_type = op.elewise_type;
    added.has_rows_out = op.has_rows_out;
    added.kind = framework == "atb" ? kind_of_atb(added.type, op.elewise_type) : kind_of_module(added.type);
    if (!op.files.empty()) {
      frame.set_ops(frame.nodes.size(), {static_cast<int32_t>(graph->ops.size())});
      Node& node = frame.nodes.emplace_back();
      node.name = frame.strings.keep(added.path);
      node.type = frame.strings.keep(added.type);
      node.order = std::ssize(frame.nodes) - 1;
      Texts files = op.files;
      if (!op.output_dims.empty()) files.push_back("after/outtensor0.bin");
      for (const std::string& file : files) {
        Item& item = node.items.emplace_back();
        item.name = frame.strings.keep(op.path + "/" + file);
        item.port = port_of_file(file);
        if (op.ranks > 1) item.shard_list = &frame.shards.emplace_back(op.ranks);
        item.data = TensorRef{};
        item.meta = &frame.metas.emplace_back(TensorMeta{
            op.dtype,
            Shape{item.port.direction == Direction::output && !op.output_dims.empty() ? op.output_dims
                                                                                      : op.dims}});
      }
    }
    graph->add(std::move(added));
  }
  graph->connect_by_names();
  frame.graph = std::move(graph);
  return frame;
}

}  // namespace assay
