#include "assay/graph/atb_topology.h"

#include "assay/base/text.h"
#include "assay/graph/atb_params.h"
#include "assay/support/json_tape.h"

#include <limits>
#include <unordered_set>

namespace assay {
namespace {

constexpr int64_t kMostWarnings = 20;

class TopologyBuilder {
 public:
  TopologyBuilder(const File& file, int64_t memory) : file_(file), memory_(memory), left_(memory) {
    out_.ops.emplace_back();
  }

  Result<void> add(std::string_view key, const JsonTape& tape);  // a member of the outermost object
  Result<AtbTopology> finish();

 private:
  Result<void> add_nodes(const JsonTape& tape, size_t array);
  Result<size_t> add_op(const JsonTape& tape, size_t object, int32_t parent);
  Result<void> add_member(AtbOp& op, std::string_view key, const JsonTape& tape, size_t value);
  Result<void> set_tensors(std::vector<std::string>& out, std::string_view key, const JsonTape& tape,
                           size_t value);
  Result<void> set_text(std::string& out, std::string_view key, const JsonTape& tape, size_t value);
  Result<void> use_memory(size_t bytes);
  void warn_of_names();
  template <class... Args>
  void warn(fmt::format_string<Args...> text, Args&&... args);

  const File& file_;
  const int64_t memory_;
  int64_t left_;
  bool has_model_name_ = false, has_op_name_ = false;
  int64_t warnings_ = 0;
  AtbTopology out_;
};

template <class... Args>
void TopologyBuilder::warn(fmt::format_string<Args...> text, Args&&... args) {
  if (++warnings_ <= kMostWarnings)
    out_.warnings.push_back(file_.name() + ": " + fmt::format(text, std::forward<Args>(args)...));
}

// Names are short in what ATB writes, but a file could repeat a long one in every key.
Result<void> TopologyBuilder::use_memory(size_t bytes) {
  left_ -= static_cast<int64_t>(bytes);
  if (left_ >= 0) return {};
  return fail(ErrorKind::limit, "{}: its operations take more than {}; expected the topology of one model",
              file_.name(), format_size(memory_));
}

Result<void> TopologyBuilder::set_text(std::string& out, std::string_view key, const JsonTape& tape,
                                       size_t value) {
  if (!tape.is_text(value)) {
    warn("'{}' is not a text and is left out", printable(key));
    return {};
  }
  out = tape.text(value);
  return use_memory(out.size());
}

Result<void> TopologyBuilder::set_tensors(std::vector<std::string>& out, std::string_view key,
                                          const JsonTape& tape, size_t value) {
  out.clear();
  if (tape.kind(value) == JsonKind::null) return {};
  if (tape.kind(value) != JsonKind::array) {
    warn("'{}' is not a list of names and is left out", printable(key));
    return {};
  }
  for (size_t at = tape.first(value); !tape.is_end(at); at = tape.next(at)) {
    // A name that is none keeps its place: operands are told apart by their positions.
    if (tape.is_text(at))
      out.emplace_back(tape.text(at));
    else {
      out.emplace_back();
      warn("'{}' holds something that is not a name", printable(key));
    }
    ASSAY_TRY_DO(use_memory(sizeof(std::string) + out.back().size()));
  }
  return {};
}

// What a model, a layer and an operation may all have.
Result<void> TopologyBuilder::add_member(AtbOp& op, std::string_view key, const JsonTape& tape,
                                         size_t value) {
  if (key == "opName") return set_text(op.name, key, tape, value);
  if (key == "opType") return set_text(op.type, key, tape, value);
  if (key == "inTensors") return set_tensors(op.in_tensors, key, tape, value);
  if (key == "outTensors") return set_tensors(op.out_tensors, key, tape, value);
  if (key != "param") return {};
  int64_t repeated = 0;
  const auto params = read_atb_params(tape, value, left_, repeated);
  if (!params) return use_memory(static_cast<size_t>(left_) + 1);
  if (repeated > 0) warn("'param' of an operation has {} keys more than once; the last one counts", repeated);
  op.params = std::move(params->list);
  return use_memory(static_cast<size_t>(params->bytes));
}

// Gives the place of the list of nodes below, or 0.
Result<size_t> TopologyBuilder::add_op(const JsonTape& tape, size_t object, int32_t parent) {
  ASSAY_TRY_DO(use_memory(sizeof(AtbOp) + sizeof(int32_t)));
  if (out_.ops.size() >= static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    return fail(ErrorKind::limit, "{}: has more than {} operations", file_.name(), out_.ops.size());
  const auto index = static_cast<int32_t>(out_.ops.size());
  AtbOp& op = out_.ops.emplace_back();
  op.parent = parent;
  out_.ops[static_cast<size_t>(parent)].children.push_back(index);
  size_t nodes = 0;
  for (size_t at = tape.first(object); !tape.is_end(at); at = tape.next(at + 1)) {
    if (tape.text(at) == "nodes")
      nodes = at + 1;
    else
      ASSAY_TRY_DO(add_member(op, tape.text(at), tape, at + 1));
  }
  return nodes;
}

Result<void> TopologyBuilder::add_nodes(const JsonTape& tape, size_t array) {
  struct Open {
    size_t at;
    int32_t parent;
  };
  std::vector<Open> open;
  const auto enter = [&](size_t nodes, int32_t parent) {
    if (tape.kind(nodes) == JsonKind::array)
      open.push_back({tape.first(nodes), parent});
    else if (tape.kind(nodes) != JsonKind::null)
      warn("'nodes' is not a list and is left out");
  };
  enter(array, 0);
  while (!open.empty()) {
    const auto [at, parent] = open.back();
    if (tape.is_end(at)) {
      open.pop_back();
      continue;
    }
    open.back().at = tape.next(at);
    if (tape.kind(at) != JsonKind::object) {
      warn("'nodes' holds something that is not an operation");
      continue;
    }
    ASSAY_TRY(const size_t nodes, add_op(tape, at, parent));
    if (nodes != 0) enter(nodes, static_cast<int32_t>(out_.ops.size() - 1));
  }
  return {};
}

Result<void> TopologyBuilder::add(std::string_view key, const JsonTape& tape) {
  if (tape.too_deep())
    return fail(ErrorKind::limit,
                "{}: '{}' is nested more than {} levels deep; expected the topology of an ATB layer or model",
                file_.name(), printable(key.substr(0, 200)), kJsonDepth);
  if (key == "nodes") {
    out_.ops.resize(1);  // of a key that is repeated, the last one counts
    out_.ops.front().children.clear();
    return add_nodes(tape, 0);
  }
  if (key == "modelName") {
    has_model_name_ = tape.is_text(0);
    return set_text(out_.name, key, tape, 0);
  }
  if (key == "opName") has_op_name_ = tape.is_text(0);
  if (key == "internalTensors") return set_tensors(out_.internals, key, tape, 0);
  if (key == "weightTensors") return set_tensors(out_.weights, key, tape, 0);
  if (key == "kCacheTensors" || key == "vCacheTensors") {
    std::vector<std::string> caches;
    ASSAY_TRY_DO(set_tensors(caches, key, tape, 0));
    out_.caches.insert(out_.caches.end(), caches.begin(), caches.end());
    return {};
  }
  return add_member(out_.ops.front(), key, tape, 0);
}

void TopologyBuilder::warn_of_names() {
  std::unordered_set<std::string_view> seen;
  for (size_t i = 1; i < out_.ops.size(); ++i) {
    const AtbOp& op = out_.ops[i];
    if (op.name.empty())
      warn("operation {} of {} has no opName", i, out_.ops.size() - 1);
    else if (!seen.insert(op.name).second)
      warn("two operations are called '{}'", printable(op.name));
  }
}

int64_t trailing_number(std::string_view name) {
  const size_t underscore = name.rfind('_');
  if (underscore == std::string_view::npos) return 0;
  const auto number = parse_int(name.substr(underscore + 1));
  return number && *number > 0 ? *number : 0;
}

Result<AtbTopology> TopologyBuilder::finish() {
  AtbOp& root = out_.ops.front();
  if (!has_model_name_ && !has_op_name_ && root.children.empty())
    return fail(ErrorKind::bad_format,
                "{}: is no topology of ATB: it has neither modelName nor opName; expected a file of the "
                "folders model/ or layer/ of a dump",
                file_.name());
  out_.is_model = has_model_name_ || !(has_op_name_ || !root.type.empty());
  if (!has_model_name_) out_.name = root.name;
  if (!has_model_name_ && !has_op_name_) {
    out_.name = file_.path().stem().string();
    warn("has neither modelName nor opName; called '{}' after the file", printable(out_.name));
  }
  root.name = out_.name;
  out_.inputs = root.in_tensors;
  out_.outputs = root.out_tensors;
  const size_t first_layer =
      out_.is_model && !root.children.empty() ? static_cast<size_t>(root.children.front()) : 0;
  if (first_layer > 0 || !out_.is_model) out_.start_order = trailing_number(out_.ops[first_layer].name);
  warn_of_names();
  if (warnings_ > kMostWarnings)
    out_.warnings.push_back(
        fmt::format("{}: {} more such remarks are left out", file_.name(), warnings_ - kMostWarnings));
  return std::move(out_);
}

}  // namespace

const OpParam* AtbOp::find_param(std::string_view key) const {
  for (const OpParam& param : params)
    if (param.key == key) return &param;
  return nullptr;
}

std::optional<bool> AtbOp::has_bias() const { return find_flag("hasBias"); }

std::optional<double> AtbOp::find_number(std::string_view key) const {
  const OpParam* const param = find_param(key);
  if (param == nullptr || param->values.size() != 1) return std::nullopt;
  if (const double* const value = std::get_if<double>(&param->values.front())) return *value;
  if (const int64_t* const value = std::get_if<int64_t>(&param->values.front()))
    return static_cast<double>(*value);
  return std::nullopt;
}

std::optional<bool> AtbOp::find_flag(std::string_view key) const {
  const OpParam* const param = find_param(key);
  if (param == nullptr || param->values.empty()) return std::nullopt;
  if (const bool* const value = std::get_if<bool>(&param->values.front())) return *value;
  if (const int64_t* const value = std::get_if<int64_t>(&param->values.front())) return *value != 0;
  return std::nullopt;
}

std::optional<int64_t> AtbOp::elewise_type() const {
  const OpParam* const param = find_param("elewiseType");
  if (param == nullptr || param->values.empty()) return std::nullopt;
  const int64_t* const value = std::get_if<int64_t>(&param->values.front());
  return value == nullptr ? std::nullopt : std::optional(*value);
}

Result<AtbTopology> read_atb_topology(const fs::path& path, int64_t memory) {
  ASSAY_TRY(const std::shared_ptr<const File> file, File::open(path));
  // The tokens of the file and what is made of them are held at the same time.
  TopologyBuilder builder(*file, memory / 2);
  const UseMember add = [&](const JsonMember& member) -> Result<bool> {
    return builder.add(member.key, member.value).map([] { return true; });
  };
  ASSAY_TRY_DO(read_json_members(*file, {}, memory / 2, add));
  return builder.finish();
}

}  // namespace assay
