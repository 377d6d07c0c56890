#include "assay/graph/ge_graph_file.h"

#include "assay/base/text.h"
#include "assay/support/text_format.h"

#include <climits>

namespace assay {
namespace {

// What an operator takes in the graph and its index beside the bytes of its names.
constexpr int64_t kBytesPerOp = 512;
constexpr int64_t kBytesPerName = 64;

std::optional<int> parse_index(std::string_view text) {
  const auto number = parse_int(text);
  if (!number || *number < -1 || *number > INT_MAX) return std::nullopt;
  return static_cast<int>(*number);
}

// "producer:1"; names may have colons of their own.
GraphInput parse_input(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {text};
  const auto index = parse_index(text.substr(colon + 1));
  return index ? GraphInput{text.substr(0, colon), *index} : GraphInput{text};
}

// "{node}-{target}.OUTPUT.1"
void set_fx_name(std::string_view text, GraphOutput& output) {
  constexpr std::string_view kOutput = ".OUTPUT.";
  output.fx_name = text;
  const size_t place = text.rfind(kOutput);
  if (place == std::string_view::npos) return;
  if (const auto index = parse_index(text.substr(place + kOutput.size()))) {
    output.fx_index = *index;
    output.fx_name = text.substr(0, place);
  }
}

class GraphReader {
 public:
  GraphReader(const std::shared_ptr<const File>& file, int64_t memory)
      : file_(*file), memory_(memory), reader_(file, memory) {}

  Result<Graph> read();

 private:
  enum class Place : uint8_t { file, graph, op, output_desc, attr, value, list };
  // Where we are inside the message. Operators hold graphs in their attributes, so the depth is the file's.
  struct Level {
    Place place;
    bool is_of_output;  // an attribute of the last output of the operator, not of the operator
    int32_t op;         // -1: none
  };
  struct Attribute {
    std::string key;
    std::vector<std::string> texts;
    std::string number;
    int64_t held = 0;  // bytes charged for the texts

    void clear() {
      key.clear();
      texts.clear();
      number.clear();
      held = 0;
    }
  };

  Result<void> read_field(TextEvent event);
  Result<void> enter();
  Result<void> enter_as(Place place);
  Result<void> skip();
  Result<void> read_value(TextEvent event);
  Result<void> read_name(std::string& out);
  Result<void> keep_name(std::string_view& out);
  Result<void> charge(int64_t bytes);
  Result<void> refuse_foreign() const;
  void leave();
  void finish_attribute(const Level& level);
  bool wants_attribute() const;
  tl::unexpected<Error> trouble() const;

  const File& file_;
  const int64_t memory_;
  int64_t held_ = 0;
  TextFormatReader reader_;
  Graph graph_;
  std::vector<Level> levels_{{Place::file, false, -1}};
  Attribute attribute_;    // of the innermost attr block
  bool is_model_ = false;  // graphs inside a ModelDef
};

Result<Graph> GraphReader::read() {
  for (;;) {
    const TextEvent event = reader_.next();
    if (event == TextEvent::end) break;
    if (event == TextEvent::failed) return trouble();
    if (event == TextEvent::close) {
      leave();
    } else {
      ASSAY_TRY_DO(read_field(event));
    }
  }
  if (graph_.ops.empty())
    return fail(
        ErrorKind::bad_format,
        "{}: no operators: expected the text of a GE graph (op {{ ... }}), as torchair writes it with type "
        "\"txt\"",
        file_.name());
  graph_.connect_by_producers();
  return std::move(graph_);
}

Result<void> GraphReader::read_field(TextEvent event) {
  if (event == TextEvent::open) return enter();
  const Level level = levels_.back();
  const std::string_view key = reader_.key();
  if (level.place == Place::value || level.place == Place::list) return read_value(event);
  if (key == "ir_version" && level.place == Place::file) return refuse_foreign();
  if (event == TextEvent::word && level.place == Place::output_desc && key == "dtype")
    graph_.ops[static_cast<size_t>(level.op)].outputs.back().dtype = find_ge_dtype(reader_.word());
  if (event != TextEvent::text) return {};
  switch (level.place) {
    case Place::file:
    case Place::graph:
      // Of a model, the name is that of its first graph; in a graph, that of the outermost.
      if (key == "name" && level.op < 0 && graph_.ops.empty()) return read_name(graph_.name);
      break;
    case Place::op: {
      GraphOp& op = graph_.ops[static_cast<size_t>(level.op)];
      if (key == "name") return keep_name(op.name);
      if (key == "type") return keep_name(op.type);
      if (key == "input") {
        std::string_view text;
        ASSAY_TRY_DO(keep_name(text));
        op.inputs.push_back(parse_input(text));
      }
      break;
    }
    case Place::attr:
      if (key == "key" && !reader_.read_text(attribute_.key)) return trouble();
      break;
    default:
      break;
  }
  return {};
}

Result<void> GraphReader::enter() {
  const std::string_view key = reader_.key();
  const Place place = levels_.back().place;
  if (key == "node" && (place == Place::file || place == Place::graph)) return refuse_foreign();
  switch (place) {
    case Place::file:
      if (key == "graph") {
        is_model_ = true;
        return enter_as(Place::graph);
      }
      [[fallthrough]];
    case Place::graph:
      if (key == "op") return enter_as(Place::op);
      if (key == "attr") return enter_as(Place::attr);
      break;
    case Place::op:
      if (key == "output_desc") return enter_as(Place::output_desc);
      if (key == "attr") return enter_as(Place::attr);
      break;
    case Place::output_desc:
      if (key == "attr") return enter_as(Place::attr);
      break;
    case Place::attr:
      if (key == "value") return enter_as(Place::value);
      break;
    case Place::value:
      if (key == "list") return enter_as(Place::list);
      [[fallthrough]];
    case Place::list:
      if (key == "g") return enter_as(Place::graph);
      break;
  }
  return skip();
}

Result<void> GraphReader::enter_as(Place place) {
  Level level{place, levels_.back().is_of_output, levels_.back().op};
  switch (place) {
    case Place::op:
      ASSAY_TRY_DO(charge(kBytesPerOp));
      level = {place, false, static_cast<int32_t>(graph_.ops.size())};
      if (level.op == INT32_MAX) return fail(ErrorKind::limit, "{}: too many operators", file_.name());
      graph_.ops.emplace_back();
      break;
    case Place::output_desc:
      ASSAY_TRY_DO(charge(sizeof(GraphOutput) + sizeof(GraphValue)));
      graph_.ops[static_cast<size_t>(level.op)].outputs.emplace_back();
      level.is_of_output = true;
      break;
    case Place::attr:
      attribute_.clear();
      break;
    default:
      break;
  }
  levels_.push_back(level);
  return {};
}

Result<void> GraphReader::skip() {
  if (!reader_.skip_block()) return trouble();
  return {};
}

void GraphReader::leave() {
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.place == Place::op) {
    GraphOp& op = graph_.ops[static_cast<size_t>(level.op)];
    op.kind = kind_of_ge(op.type);
  }
  if (level.place != Place::attr) return;
  if (attribute_.key.empty() || !wants_attribute())
    held_ -= attribute_.held;
  else
    finish_attribute(level);
  attribute_.clear();  // a graph inside the value of an attribute leaves nothing of its own to that attribute
}

// ----- attributes

constexpr std::string_view kFxName = "_fx_tensor_name", kOriginalNames = "_datadump_original_op_names",
                           kOriginName = "_datadump_origin_name",
                           kOriginIndex = "_datadump_origin_output_index";

// A key that is still to come may be any.
bool GraphReader::wants_attribute() const {
  const std::string_view key = attribute_.key;
  return key.empty() || key == kFxName || key == kOriginalNames || key == kOriginName || key == kOriginIndex;
}

Result<void> GraphReader::read_value(TextEvent event) {
  if (!wants_attribute()) return {};
  if (event == TextEvent::text && reader_.key() == "s") {
    std::string text;
    ASSAY_TRY_DO(read_name(text));
    attribute_.held += kBytesPerName + std::ssize(text);
    attribute_.texts.push_back(std::move(text));
  } else if (event == TextEvent::word && reader_.key() == "i") {
    attribute_.number = reader_.word();
  }
  return {};
}

void GraphReader::finish_attribute(const Level& level) {
  if (level.op < 0) return;
  GraphOp& op = graph_.ops[static_cast<size_t>(level.op)];
  if (!level.is_of_output) {
    if (attribute_.key != kOriginalNames) return;
    op.fused_from.clear();
    for (const std::string& text : attribute_.texts)  // an operator that the compiler added came from ""
      if (!text.empty()) op.fused_from.push_back(graph_.strings.keep(text));
    return;
  }
  GraphOutput& output = op.outputs.back();
  if (attribute_.key == kOriginIndex) output.origin_index = parse_index(attribute_.number).value_or(0);
  if (attribute_.texts.empty()) return;
  const std::string_view text = graph_.strings.keep(attribute_.texts.front());
  if (attribute_.key == kFxName) set_fx_name(text, output);
  if (attribute_.key == kOriginName) output.origin_name = text;
}

// ----- limits and errors

Result<void> GraphReader::read_name(std::string& out) {
  if (!reader_.read_text(out)) return trouble();
  return charge(kBytesPerName + std::ssize(out));
}

Result<void> GraphReader::keep_name(std::string_view& out) {
  std::string text;
  ASSAY_TRY_DO(read_name(text));
  out = graph_.strings.keep(text);
  return {};
}

Result<void> GraphReader::charge(int64_t bytes) {
  held_ += bytes;
  if (held_ <= memory_) return {};
  return fail(ErrorKind::limit, "{}:{}: the graph takes more memory than the {} allowed (--memory)",
              file_.name(), reader_.line(), format_size(memory_));
}

Result<void> GraphReader::refuse_foreign() const {
  const bool is_onnx = is_model_ || reader_.key() == "ir_version";
  return fail(ErrorKind::bad_format, "{}: this is {}; expected a GE graph (op {{ ... }}): {}", file_.name(),
              is_onnx ? "an ONNX model"
                      : "a TensorFlow graph (node { ... }), as torchair writes it with type \"pbtxt\"",
              is_onnx ? "give the ge_proto_*.txt or dynamo_original_graph_*.txt beside it"
                      : "write it with type \"txt\"");
}

tl::unexpected<Error> GraphReader::trouble() const {
  Error error = reader_.error();
  if (error.kind != ErrorKind::bad_format || !graph_.ops.empty()) return tl::unexpected(error);
  const std::string_view key = reader_.key();
  if (key == "import" || key == "from" || key == "def" || key == "class")
    return fail(ErrorKind::bad_format,
                "{}: this is Python code, as torchair writes it with type \"py\"; expected a GE graph (op {{ "
                "... }}): "
                "write it with type \"txt\"",
                file_.name());
  error.message += "; this should be a GE graph in text form (op { ... })";
  return tl::unexpected(error);
}

}  // namespace

Result<Graph> read_ge_graph(const fs::path& path, int64_t memory) {
  ASSAY_TRY(const auto file, File::open(path));
  return GraphReader(file, memory).read();
}

}  // namespace assay
