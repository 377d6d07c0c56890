// Frames of compiled graphs and of FX as short texts, for the tests of the matchers of TorchAir dumps.
#pragma once

#include "assay/match/match_test_tools.h"
#include "assay/model/fx_arguments.h"
#include "assay/model/origins.h"

#include <fmt/format.h>

namespace assay {

struct TestTensor {
  int index = 0;
  DType dtype = DType::f16;
  std::vector<int64_t> dims = {2, 4};
  bool has_meta = true;
  std::string before = {};  // as model/fx_arguments.h
};

struct TestNode {
  std::string name, type = {};
  std::vector<TestTensor> inputs = {}, outputs = {};
  std::string file = {};  // "x_min_max.npz": the extremes are all that is left
};

// Items are named "Add.input.0" or "add-aten.add.INPUT.0".
inline Frame make_graph_frame(const std::string& framework, const std::vector<TestNode>& nodes,
                              std::shared_ptr<const Graph> graph = nullptr, int token = 0) {
  Frame frame;
  frame.framework = framework;
  frame.graph = std::move(graph);
  frame.at.token = token;
  const bool is_ge = framework == "ge";
  for (const TestNode& from : nodes) {
    Node& node = frame.nodes.emplace_back();
    node.name = frame.strings.keep(from.name);
    node.type = frame.strings.keep(from.type);
    node.order = std::ssize(frame.nodes) - 1;
    const std::string file = is_ge ? fmt::format("T.{}.1.1.1735732803000000", from.name) : from.name;
    frame.files.push_back({from.file.empty() ? file : from.file, 1});
    if (!from.file.empty()) frame.files.back().letters_for_extremes = std::string_view("_min_max.npz").size();
    for (const Direction direction : {Direction::input, Direction::output}) {
      const bool is_input = direction == Direction::input;
      for (const TestTensor& tensor : is_input ? from.inputs : from.outputs) {
        Item& item = node.items.emplace_back();
        const std::string_view word =
            is_ge ? (is_input ? "input" : "output") : (is_input ? "INPUT" : "OUTPUT");
        item.name = frame.strings.keep(fmt::format("{}.{}.{}", from.name, word, tensor.index));
        item.port = {direction, tensor.index};
        if (!tensor.before.empty())
          item.facts =
              &frame.facts.emplace_back(std::vector<Fact>{{std::string(kArgumentsBefore), tensor.before}});
        item.data = TensorRef{static_cast<int32_t>(frame.files.size()) - 1, 0};
        if (tensor.has_meta)
          item.meta = &frame.metas.emplace_back(TensorMeta{tensor.dtype, Shape{tensor.dims}});
      }
    }
  }
  for (size_t i = 0; frame.graph != nullptr && i < frame.nodes.size(); ++i)
    frame.set_ops(i, origins_of(*frame.graph, frame.nodes[i].name));
  return frame;
}

struct TestGeOp {
  std::string name, type = {};
  std::vector<std::pair<std::string, int>> inputs = {};   // producers and their outputs
  std::vector<std::pair<std::string, int>> results = {};  // of FX, by output; "" where it is not said
  Texts fused_from = {};
};

inline std::shared_ptr<Graph> make_graph(const std::vector<TestGeOp>& ops) {
  auto graph = std::make_shared<Graph>();
  for (const TestGeOp& from : ops) {
    GraphOp op{graph->strings.keep(from.name), graph->strings.keep(from.type), kind_of_ge(from.type)};
    for (const auto& [name, output] : from.inputs) op.inputs.push_back({graph->strings.keep(name), output});
    for (const auto& [name, index] : from.results)
      op.outputs.push_back({.fx_name = graph->strings.keep(name), .fx_index = index});
    for (const std::string& part : from.fused_from) op.fused_from.push_back(graph->strings.keep(part));
    graph->add(std::move(op));
  }
  graph->connect_by_producers();
  return graph;
}

struct TestFrame {
  int rank, graph, token;
  Texts names;
  std::string part = {}, model = {};
};

inline Dump dump_of(const std::vector<TestFrame>& frames) {
  Dump dump;
  for (const TestFrame& from : frames) {
    FrameInfo& frame = dump.frames.emplace_back();
    frame.at.rank = from.rank;
    frame.at.graph = from.graph;
    frame.at.token = from.token;
    frame.at.part = from.part;
    frame.model = from.model;
    frame.op_names = from.names;
    frame.paths = {from.names.empty() ? "nothing" : from.names[0]};  // to tell it apart
  }
  return dump;
}

// "at: first of mine|first of golden"
inline Texts section_texts(const Result<std::vector<Section>>& sections) {
  if (!sections) return {sections.error().message};
  Texts out;
  for (const Section& section : *sections) {
    if (!section.left_out.empty()) {
      out.push_back("left out: " + section.left_out);
      continue;
    }
    std::string text = section.at.text() + ": ";
    for (const FrameInfo& frame : section.mine) text += frame.paths[0].native() + " ";
    text += "|";
    for (const FrameInfo& frame : section.golden) text += " " + frame.paths[0].native();
    out.push_back(text);
  }
  return out;
}

inline std::string_view short_reason(Why why) {
  switch (why) {
    case Why::same_name:
      return "same name";
    case Why::same_origin:
      return "same origin";
    case Why::fused_from:
      return "fused from";
    case Why::producer:
      return "producer";
    case Why::own_input:
      return "own input";
    default:
      return "?";
  }
}

// "mine|golden reason" per pair, in report order; "-" for an empty side. "range of golden" where a plan
// says so.
inline Texts explained_pairs(const Matched& matched) {
  Texts out;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) {
      std::string line(pair.mine ? matched.item(Side::mine, *pair.mine).name : "-");
      line += "|";
      line += pair.golden ? matched.item(pair.golden_side(), *pair.golden).name : "-";
      if (pair.mine && pair.golden) line += fmt::format(" {}", short_reason(pair.why));
      for (const Side side : {Side::mine, Side::golden})
        if (pair.plan(side) != nullptr && pair.plan(side)->has(PlanOp::extremes))
          line += side == Side::mine ? ", range of mine" : ", range of golden";
      out.push_back(line);
    }
  return out;
}

}  // namespace assay
