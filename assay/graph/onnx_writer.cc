#include "assay/graph/onnx_writer.h"

#include "assay/base/text.h"
#include "assay/graph/onnx_graph.h"
#include "assay/graph/operation_tables.h"
#include "assay/graph/unique_names.h"
#include "assay/support/json_tape.h"
#include "schema/onnx.pb.h"

#include <algorithm>
#include <limits>

namespace assay {
namespace {

// Of ONNX 1.8, which every reader of today takes.
constexpr int64_t kIrVersion = 7;
constexpr int64_t kOnnxOpset = 13;
// Operators that ONNX does not define must not lie in its own domain.
constexpr const char* kDomain = "ascend.atb";
// A checker wants a shape of every input and output, and the format has no word for one that is not known.
constexpr const char* kUnknownShape = "unknown_shape";

// Without an opType the name tells: LinearOperation_1_0 is a LinearOperation.
std::string type_of(const GraphOp& op) {
  if (!op.type.empty()) return printable(op.type);
  std::string_view name = op.name;
  for (size_t cut = name.rfind('_');
       cut != std::string_view::npos && cut > 0 && parse_int(name.substr(cut + 1)); cut = name.rfind('_'))
    name = name.substr(0, cut);
  return name.empty() ? "Operation" : printable(name);
}

bool is_true(const Value& value) {
  if (const bool* const boolean = std::get_if<bool>(&value)) return *boolean;
  if (const int64_t* const integer = std::get_if<int64_t>(&value)) return *integer != 0;
  if (const double* const real = std::get_if<double>(&value)) return *real != 0;
  return false;
}

float to_float(const Value& value) {
  double real = std::numeric_limits<double>::quiet_NaN();  // null in a list keeps its place
  if (const bool* const boolean = std::get_if<bool>(&value)) real = *boolean ? 1 : 0;
  if (const int64_t* const integer = std::get_if<int64_t>(&value)) real = static_cast<double>(*integer);
  if (const double* const held = std::get_if<double>(&value)) real = *held;
  constexpr double kMost = static_cast<double>(std::numeric_limits<float>::max());
  if (real > kMost) return std::numeric_limits<float>::infinity();
  if (real < -kMost) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(real);
}

std::string to_text(const Value& value) {
  if (const std::string* const text = std::get_if<std::string>(&value)) return *text;
  if (const bool* const boolean = std::get_if<bool>(&value)) return *boolean ? "True" : "False";
  if (const int64_t* const integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  std::string out;
  if (const double* const real = std::get_if<double>(&value))
    append_python_float(out, *real);
  else
    out = "None";
  return out;
}

// As the tools of CANN write it: texts are STRINGS, all else FLOATS; 0, false and null are FLOATS without
// any.
void set_attribute(onnx::Attribute& out, const OpParam& param) {
  const bool has_text = std::any_of(param.values.begin(), param.values.end(), [](const Value& value) {
    return std::holds_alternative<std::string>(value);
  });
  out.set_type(has_text ? onnx::Attribute::STRINGS : onnx::Attribute::FLOATS);
  for (const Value& value : param.values) {
    if (has_text)
      out.add_strings(to_text(value));
    else if (param.is_list || is_true(value))
      out.add_floats(to_float(value));
  }
}

void set_type(onnx::ValueInfo& out, const TensorType* type) {
  onnx::TypeOfValue::Tensor& tensor = *out.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type == nullptr ? 0 : type->elem_type);
  onnx::Shape& shape = *tensor.mutable_shape();
  if (type == nullptr) {
    shape.add_dim()->set_dim_param(kUnknownShape);
    return;
  }
  for (const int64_t dim : type->dims) {
    if (dim >= 0)
      shape.add_dim()->set_dim_value(dim);
    else
      shape.add_dim();
  }
}

class OnnxBuilder {
 public:
  // `has_whole_model`: its only node is the model itself.
  OnnxBuilder(const Graph& graph, const OnnxTensors& tensors, const OperationTables& tables,
              bool has_whole_model)
      : graph_(graph),
        tensors_(tensors),
        tables_(tables),
        has_whole_model_(has_whole_model),
        types_(tensors.names.size(), nullptr) {}

  void build(onnx::Graph& out);

 private:
  void learn_types(const OnnxNode& node);
  void add_node(onnx::Graph& graph, const OnnxNode& node);
  void add_tensors(onnx::Graph& graph);

  const Graph& graph_;
  const OnnxTensors& tensors_;
  const OperationTables& tables_;
  const bool has_whole_model_;
  std::vector<const TensorType*> types_;  // of the tensors
  UniqueNames node_names_;
};

void OnnxBuilder::learn_types(const OnnxNode& node) {
  const auto known = tables_.ops.find(std::string(graph_.at(node.op).name));
  if (known == tables_.ops.end()) return;
  const auto learn = [&](const std::vector<int32_t>& ids, const std::vector<TensorType>& types) {
    for (size_t i = 0; i < std::min(ids.size(), types.size()); ++i)
      if (ids[i] >= 0 && types_[static_cast<size_t>(ids[i])] == nullptr)
        types_[static_cast<size_t>(ids[i])] = &types[i];
  };
  learn(node.ins, known->second.ins);
  learn(node.outs, known->second.outs);
}

void OnnxBuilder::add_node(onnx::Graph& graph, const OnnxNode& node) {
  const GraphOp& op = graph_.at(node.op);
  onnx::Node& out = *graph.add_node();
  out.set_op_type(has_whole_model_ && !op.name.empty() ? printable(op.name) : type_of(op));
  out.set_name(node_names_.claim(op.name.empty() ? out.op_type() : printable(op.name)));
  out.set_domain(kDomain);
  const auto name_of = [&](int32_t id) {
    return id < 0 ? std::string() : tensors_.names[static_cast<size_t>(id)];
  };
  for (const int32_t id : node.ins) out.add_input(name_of(id));
  for (const int32_t id : node.outs) out.add_output(name_of(id));
  // A node with neither is not allowed; an input without a name is one that was left out.
  if (node.ins.empty() && node.outs.empty()) out.add_input("");
  UniqueNames keys;
  for (const OpParam& param : op.params) {
    onnx::Attribute& attribute = *out.add_attribute();
    attribute.set_name(keys.claim(param.key.empty() ? "param" : printable(param.key)));
    set_attribute(attribute, param);
  }
}

void OnnxBuilder::add_tensors(onnx::Graph& graph) {
  std::vector<bool> is_shown(tensors_.names.size(), false);
  const auto fill = [&](onnx::ValueInfo& out, size_t id) {
    out.set_name(tensors_.names[id]);
    set_type(out, types_[id]);
    is_shown[id] = true;
  };
  for (const int32_t id : tensors_.inputs) fill(*graph.add_input(), static_cast<size_t>(id));
  for (const int32_t id : tensors_.outputs) fill(*graph.add_output(), static_cast<size_t>(id));
  for (size_t id = 0; id < types_.size(); ++id)
    if (types_[id] != nullptr && !is_shown[id]) fill(*graph.add_value_info(), id);
}

void OnnxBuilder::build(onnx::Graph& out) {
  out.set_name(graph_.name.empty() ? "graph" : printable(graph_.name));
  for (const OnnxNode& node : tensors_.nodes) {
    learn_types(node);
    add_node(out, node);
  }
  add_tensors(out);
}

void import_operators(onnx::Model& model, const char* domain, int64_t version) {
  onnx::OperatorSet& set = *model.add_opset_import();
  set.set_domain(domain);
  set.set_version(version);
}

}  // namespace

Result<OnnxSummary> write_onnx(const AtbTopology& topology, int level, const OnnxOptions& options,
                               FileWriter& out) {
  const Graph graph = graph_of_level(topology, level);
  const OnnxTensors tensors = tensors_of(graph, topology);
  const OperationTables tables = read_operation_tables(options.tables, topology, options.memory);
  onnx::Model model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("assay");
  import_operators(model, "", kOnnxOpset);
  import_operators(model, kDomain, 1);
  const bool has_whole_model = topology.is_model && (level == 0 || topology.ops[0].children.empty());
  OnnxBuilder(graph, tensors, tables, has_whole_model).build(*model.mutable_graph());
  std::string bytes;
  if (model.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !model.SerializeToString(&bytes))
    return fail(
        ErrorKind::limit,
        "{}: the graph of '{}' takes more than the 2 GiB an ONNX file may have; try a smaller --level",
        out.name(), printable(topology.name));
  ASSAY_TRY_DO(out.append(bytes));
  OnnxSummary summary{std::ssize(tensors.nodes), {}};
  for (const std::string& warning : tensors.warnings) summary.warnings.push_back(out.name() + ": " + warning);
  summary.warnings.insert(summary.warnings.end(), tables.warnings.begin(), tables.warnings.end());
  return summary;
}

}  // namespace assay
