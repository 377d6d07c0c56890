#include "probe/topology.h"

#include "assay/base/text.h"

#include <algorithm>

namespace assay::probe {
namespace {

constexpr int kDeepestNode = 1000;
constexpr size_t kLongestName = 4096;
constexpr std::string_view kPunctuation = "_\"'><=[])(,}{: /.~-";

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kPunctuation.find(c) != std::string_view::npos;
  });
}

std::optional<int64_t> number_in(const Json& node, std::string_view key) {
  const Json* const found = node.find(key);
  if (found == nullptr || found->kind != Json::Kind::number) return std::nullopt;
  const auto number = parse_int(found->text);
  return number && *number >= 0 && *number < (1 << 20) ? number : std::nullopt;
}

std::string text_in(const Json& node, std::string_view key) {
  const Json* const found = node.find(key);
  return found != nullptr && found->kind == Json::Kind::string ? found->text : "";
}

std::vector<std::string> strings_in(const Json& node, std::string_view key) {
  std::vector<std::string> out;
  if (const Json* const found = node.find(key); found != nullptr)
    for (const Json& item : found->items) out.push_back(item.text);
  return out;
}

std::vector<std::string> numbered_names(const std::string& begin, int64_t count) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(begin + std::to_string(i));
  return out;
}

void add_all(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// The names behind the ids; nothing where one of them is out of range.
std::optional<std::vector<std::string>> names_of(const Json& node, std::string_view key,
                                                 const std::vector<std::string>& all) {
  std::vector<std::string> out;
  const Json* const ids = node.find(key);
  if (ids == nullptr) return out;
  for (const Json& id : ids->items) {
    const auto index = parse_int(id.text);
    if (!index || *index < 0 || *index >= std::ssize(all)) return std::nullopt;
    out.push_back(all[static_cast<size_t>(*index)]);
  }
  return out;
}

// One operator with its tensors by name, and those below it.
Json named_node(const Json& node, const std::vector<std::string>& in, const std::vector<std::string>& out,
                int depth) {
  const std::string name = text_in(node, "opName");
  Json named{Json::Kind::object};
  named.set("opName", Json::string(name));
  named.set("opType", Json::string(text_in(node, "opType")));
  if (const Json* const param = node.find("param"); param != nullptr) named.set("param", *param);
  named.set("inTensors", Json::strings(in));
  named.set("outTensors", Json::strings(out));
  const auto internal = numbered_names(name + "_internal_", number_in(node, "internalTensorNum").value_or(0));
  if (!internal.empty()) named.set("internalTensors", Json::strings(internal));
  const Json* const nodes = node.find("nodes");
  if (nodes == nullptr || nodes->items.empty() || depth >= kDeepestNode) return named;
  std::vector<std::string> all = in;
  add_all(all, out);
  add_all(all, internal);
  Json below{Json::Kind::array};
  for (const Json& child : nodes->items) {
    const auto child_in = names_of(child, "inTensorIds", all),
               child_out = names_of(child, "outTensorIds", all);
    if (child_in && child_out) below.items.push_back(named_node(child, *child_in, *child_out, depth + 1));
  }
  named.set("nodes", std::move(below));
  return named;
}

// The same with other names for its tensors.
Json renamed(const Json& node, const std::map<std::string, std::string>& names, int depth = 0) {
  Json out = node;
  for (auto& [key, value] : out.members) {
    if (key == "inTensors" || key == "outTensors") {
      for (Json& item : value.items)
        if (const auto found = names.find(item.text); found != names.end()) item.text = found->second;
    } else if (key == "nodes" && depth < kDeepestNode) {
      for (Json& child : value.items) child = renamed(child, names, depth + 1);
    }
  }
  return out;
}

// The number that "DemoLayer_3" ends with.
std::optional<int64_t> last_number(std::string_view name) {
  const size_t line = name.rfind('_');
  return line == std::string_view::npos ? std::nullopt : parse_int(name.substr(line + 1));
}

// "0_1" is above "0_1_3", and not above "0_10".
bool is_below(std::string_view id, std::string_view above) {
  return id.starts_with(above) && id.size() > above.size() && id[above.size()] == '_';
}

struct Event {
  std::string id;
  bool is_input = true;
  std::vector<std::string> tensors;
};

// Walks a layer and tells when each operator is given its inputs and when it has made its outputs.
class Walk {
 public:
  // False: an operator's name lacks the number of the layer.
  bool visit(const Json& node, std::string_view layer) {
    const std::string name = text_in(node, "opName");
    const size_t at = name.find(layer);
    if (at == std::string::npos) return false;
    const std::string id = name.substr(at + 1);
    while (!stack_.empty() && !is_below(id, stack_.back().first)) leave();
    events_.push_back({id, true, strings_in(node, "inTensors")});
    stack_.emplace_back(id, strings_in(node, "outTensors"));
    if (const Json* const nodes = node.find("nodes"); nodes != nullptr)
      for (const Json& child : nodes->items)
        if (!visit(child, layer)) return false;
    return true;
  }
  const std::vector<Event>& finish() {
    while (!stack_.empty()) leave();
    return events_;
  }

 private:
  void leave() {
    events_.push_back({stack_.back().first, false, stack_.back().second});
    stack_.pop_back();
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> stack_;
  std::vector<Event> events_;
};

}  // namespace

std::optional<Json> named_layer(std::string_view name, std::string_view graph, std::string& trouble) {
  const auto node = parse_json(graph);
  if (!node || node->kind != Json::Kind::object) {
    trouble = "its graph is no JSON object";
    return std::nullopt;
  }
  const auto in = number_in(*node, "inTensorNum"), out = number_in(*node, "outTensorNum");
  if (text_in(*node, "opType").empty() || !in || !out || text_in(*node, "opName") != name ||
      !is_plain_name(name)) {
    trouble = "its graph lacks opName, opType, inTensorNum or outTensorNum, or has another name";
    return std::nullopt;
  }
  const std::string begin(name);
  Json named =
      named_node(*node, numbered_names(begin + "_input_", *in), numbered_names(begin + "_output_", *out), 0);
  if (named.find("param") == nullptr)
    named.members.insert(named.members.begin() + 2, {"param", Json::string("")});
  return named;
}

std::optional<Aliases> find_aliases(const Json& layer) {
  const std::string name = text_in(layer, "opName");
  const size_t line = name.rfind('_');
  Walk walk;
  if (line == std::string::npos || !walk.visit(layer, std::string_view(name).substr(line)))
    return std::nullopt;
  Aliases out;
  std::map<std::string, std::string> holders;  // name of a tensor -> key
  const Event* before = nullptr;
  for (const Event& event : walk.finish()) {
    for (size_t j = 0; j < event.tensors.size(); ++j) {
      const std::string& tensor = event.tensors[j];
      const std::string key =
          event.id + (event.is_input ? "_intensor" : "_outtensor") + std::to_string(j) + ".bin";
      // What was made in the place of an input is another tensor than before.
      const bool is_in_place =
          !event.is_input && before != nullptr && before->is_input &&
          std::find(before->tensors.begin(), before->tensors.end(), tensor) != before->tensors.end();
      const auto [holder, is_new] = holders.try_emplace(tensor, key);
      if (is_new || is_in_place) {
        holder->second = key;
        out.real.insert(key);
      } else {
        out.of[key] = holder->second;
      }
    }
    before = &event;
  }
  return out;
}

void Models::add(const Json& layer) {
  const auto number = last_number(text_in(layer, "opName"));
  if (!number || layers_.contains(*number)) return;
  layers_[*number] = {text_in(layer, "opType"), layer};
  has_new_layers_ = true;
}

bool Models::may_be_new(std::string_view name) const { return !names_.contains(name) || has_new_layers_; }

int Models::reported(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? 0 : found->second;
}

std::optional<Json> Models::name_nodes(std::string_view name, std::string_view graph, std::string& trouble) {
  const bool is_first = !names_.contains(name);
  has_new_layers_ = false;
  const auto model = parse_json(graph);
  if (!model || model->kind != Json::Kind::object || !is_plain_name(name)) {
    trouble = "its graph is no JSON object, or its name is not plain";
    return std::nullopt;
  }
  Json out = *model;
  int64_t next = 0;  // the number that the layer of the next node has at least
  for (const auto& [number, layer] : layers_)
    if (layer.is_taken) next = number + 1;
  bool has_found = false;
  for (auto& [key, nodes] : out.members) {
    if (key != "nodes") continue;
    for (Json& node : nodes.items) {
      const std::string type = text_in(node, "opName");
      // By its type, in the order in which they were set up: other operators, and other models, may have
      // numbers in between.
      auto found = std::find_if(layers_.begin(), layers_.end(), [&](const auto& each) {
        return each.first >= next && !each.second.is_taken && each.second.type == type;
      });
      if (found == layers_.end())
        found = std::find_if(layers_.begin(), layers_.end(), [&](const auto& each) {
          return !each.second.is_taken && each.second.type == type;
        });
      const int64_t number = found == layers_.end() ? next : found->first;
      next = number + 1;
      node.set("opName", Json::string(type + "_" + std::to_string(number)));
      node.set("opType", Json::string(type));
      if (found == layers_.end()) continue;
      has_found = true;
      found->second.is_taken = true;
      const Json layer = std::move(found->second.content);
      found->second.content = {};
      std::map<std::string, std::string> names;
      for (const char* side : {"inTensors", "outTensors"}) {
        const auto own = strings_in(layer, side), given = strings_in(node, side);
        for (size_t i = 0; i < own.size() && i < given.size(); ++i) names[own[i]] = given[i];
      }
      const Json content = renamed(layer, names);
      for (const char* part : {"internalTensors", "nodes"})
        if (const Json* const found_part = content.find(part); found_part != nullptr)
          node.set(part, *found_part);
    }
  }
  if (!is_first && !has_found) return std::nullopt;  // another round of a model that was told
  ++names_[std::string(name)];
  return out;
}

}  // namespace assay::probe
