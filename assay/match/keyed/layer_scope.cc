#include "assay/match/keyed/layer_scope.h"

#include "assay/base/text.h"
#include "assay/model/graph.h"

#include <algorithm>
#include <array>
#include <limits>

namespace assay {
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string_view comma_field(std::string_view line, int index) {
  for (; index > 0; --index) {
    const size_t comma = line.find(',');
    if (comma == std::string_view::npos) return {};
    line.remove_prefix(comma + 1);
  }
  return line.substr(0, line.find(','));
}

// A dotted name without its last `count` words; empty if none is left.
std::string_view without_last(std::string_view name, int count) {
  for (; count > 0; --count) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return {};
    name = name.substr(0, dot);
  }
  return name;
}

// The name of the module that a node ran in; empty: not known.
std::string_view parent_of(const Frame& frame, size_t node) {
  const std::span<const int32_t> ops = frame.ops_of(node);
  const int32_t parent = ops.empty() ? Graph::kNone : frame.graph->at(ops.front()).parent;
  return parent < 0 ? std::string_view() : frame.graph->at(parent).name;
}

// The last run of digits; nothing where there is none, or one that is no layer number.
std::optional<int64_t> last_number(std::string_view token) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t last = token.find_last_of(kDigits);
  if (last == std::string_view::npos) return std::nullopt;
  const size_t before = token.find_last_not_of(kDigits, last);
  return parse_int(token.substr(before + 1, last - before));
}

}  // namespace

uint32_t TokenTrie::find(uint32_t node, uint32_t token) const {
  const auto found = children_.find(edge(node, token));
  return found == children_.end() ? kNone : found->second;
}

uint32_t TokenTrie::add(uint32_t node, uint32_t token) {
  const auto [found, is_new] = children_.try_emplace(edge(node, token), size_);
  if (is_new) ++size_;
  return found->second;
}

std::string_view framework_function(std::span<const std::string_view> stack, std::string_view framework) {
  // Between the wrapper of the dump tool and the method of the user's module.
  size_t begin = 0, end = stack.size();
  for (size_t i = 0; i < stack.size(); ++i) {
    if (contains(stack[i], "Template")) {
      begin = i + 1;
    } else if (begin > 0 && (framework == "mindspore"
                                 ? contains(stack[i], "construct")
                                 : contains(stack[i], "in forward,") || contains(stack[i], "in backward,"))) {
      end = i;
      break;
    }
  }
  constexpr std::array<std::string_view, 4> kFrameworks = {"site-packages/torch", "package/torch",
                                                           "site-packages/mindspore", "package/mindspore"};
  std::string_view line;
  for (size_t i = begin; i < end; ++i) {
    const std::string_view file = comma_field(stack[i], 0);
    if (std::none_of(kFrameworks.begin(), kFrameworks.end(),
                     [&](std::string_view part) { return contains(file, part); }))
      break;
    line = stack[i];
  }
  const std::string_view file = comma_field(line, 0), function = comma_field(line, 2);
  if (contains(file, "msprobe") || contains(file, "MindSpeed") || contains(function, "construct") ||
      contains(function, "__call__"))
    return {};
  const std::string_view words = trim(function);  // "in NAME"
  const size_t space = words.find_first_of(" \t");
  if (space == std::string_view::npos) return {};
  const std::string_view name = trim(words.substr(space));
  return name.substr(0, name.find_first_of(" \t"));
}

LayerScopes::LayerScopes(const std::vector<Frame>& frames, Interner& tokens) : tokens_(tokens) {
  for (const Frame& frame : frames)
    for (size_t i = 0; i < frame.nodes.size(); ++i)
      read_entry(frame.nodes[i], parent_of(frame, i), frame.framework);
  share_forward_scopes();
  renumber_layers();
}

std::span<const uint32_t> LayerScopes::scope(const LayerEntry& entry) const {
  const Range& range = scopes_[entry.scope];
  return std::span(words_).subspan(range.begin, range.end - range.begin);
}

void LayerScopes::append(std::string_view dotted) {
  for (const std::string_view word : split(dotted, '.')) words_.push_back(tokens_.number(word));
}

void LayerScopes::read_entry(const Node& node, std::string_view parent, std::string_view framework) {
  LayerEntry& entry = entries_.emplace_back();
  entry.node = &node;
  if (!parent.empty()) has_parents_ = true;
  const std::vector<std::string_view> words = split(node.name, '.');
  const size_t count = words.size();
  if (count < 4) return;
  entry.has_scope = true;
  const bool is_layer = words[0] == "Cell" || words[0] == "Module";
  const size_t begin = words_.size();
  const bool is_gradient = words[count - 1] == "parameters_grad";
  if (is_gradient || words[count - 2] == "parameters_grad") {
    // "Module.fc.Linear.parameters_grad", newer dumps with ".0": the scope is that of the module.
    entry.is_module = true;
    entry.type = tokens_.number(words[count - (is_gradient ? 2 : 3)]);
    entry.state = tokens_.number("parameters_grad");
    append(without_last(node.name, is_gradient ? 2 : 3));
  } else if (is_layer) {
    entry.is_module = true;
    entry.type = tokens_.number(words[count - 3]);
    entry.state = tokens_.number(words[count - 2]);
    append(without_last(node.name, 3));
  } else {
    entry.type = tokens_.number(words[count - 3]);
    entry.state = tokens_.number(words[count - 1]);
    append(parent.empty() ? "TopLayer" : without_last(parent, 3));
    const bool is_wrapped = words[0] != "Primitive" && words[0] != "Jit";  // by a function worth naming
    const std::string_view function =
        is_wrapped ? framework_function(node.stack, framework) : std::string_view();
    if (!function.empty()) append(function);
    words_.push_back(entry.type);
  }
  has_modules_ = has_modules_ || entry.is_module;
  entry.scope = scopes_.size();
  scopes_.push_back({begin, words_.size()});
}

// Backward entries have neither stack nor parent of their own.
void LayerScopes::share_forward_scopes() {
  std::unordered_map<std::string_view, size_t> by_name;
  by_name.reserve(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].has_scope) by_name[entries_[i].node->name] = i;
  std::string forward;
  for (LayerEntry& entry : entries_) {
    constexpr std::string_view kBackward = "backward";
    const std::string_view name = entry.node->name;
    const std::string_view tail = name.substr(without_last(name, 2).size());
    const size_t at = tail.find(kBackward);
    if (!entry.has_scope || at == std::string_view::npos) continue;
    forward.assign(name).replace(name.size() - tail.size() + at, kBackward.size(), "forward");
    const auto found = by_name.find(forward);
    if (found == by_name.end()) continue;
    scopes_[entry.scope] = {0, 0};
    entry.scope = entries_[found->second].scope;
  }
}

// Where a model is split into pipeline stages, one framework numbers the layers of a stage from 0 and another
// goes on counting: the lowest number becomes 0.
void LayerScopes::renumber_layers() {
  const uint32_t transformer = tokens_.number("ParallelTransformer"), layers = tokens_.number("layers");
  TokenTrie prefixes;
  std::unordered_map<uint32_t, int64_t> lowest;  // by node of the trie
  for (const LayerEntry& entry : entries_) {
    if (!entry.has_scope || entry.type != transformer) continue;
    uint32_t at = 0;
    for (const uint32_t word : scope(entry)) at = prefixes.add(at, word);
    lowest.try_emplace(prefixes.add(at, layers), std::numeric_limits<int64_t>::max());
  }
  if (lowest.empty()) return;
  // Calls visit(minimum, position of the word) for every numbered word behind a prefix.
  const auto walk = [&](const Range& range, const auto& visit) {
    uint32_t at = 0;
    for (size_t i = range.begin; i < range.end && at != TokenTrie::kNone; ++i) {
      const uint32_t word = words_[i];
      if (const auto found = lowest.find(at); found != lowest.end())
        if (const auto number = last_number(tokens_.text(word))) visit(found->second, i, *number);
      at = prefixes.find(at, word);
    }
  };
  for (const Range& range : scopes_)
    walk(range, [](int64_t& minimum, size_t, int64_t number) { minimum = std::min(minimum, number); });
  for (const Range& range : scopes_)
    walk(range, [&](int64_t minimum, size_t i, int64_t number) {
      words_[i] = tokens_.number(std::to_string(number - minimum));
    });
}

}  // namespace assay
