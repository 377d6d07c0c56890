// stack.json: where each entry was called from. construct.json: which module each entry belongs to.
#include "assay/base/text.h"
#include "assay/dump/msprobe_parts.h"
#include "assay/model/trace.h"

#include <unordered_set>

namespace assay {
namespace {

using ByName = std::unordered_map<std::string_view, Node*>;

ByName by_name(Frame& frame) {
  ByName nodes;
  nodes.reserve(frame.nodes.size());
  for (Node& node : frame.nodes) nodes.emplace(node.name, &node);
  return nodes;
}

// One stack, as a list of lines; not a list: no lines.
std::span<const std::string_view> keep_lines(Frame& frame, const JsonTape& tape, size_t place) {
  std::vector<std::string_view> lines;
  if (tape.kind(place) == JsonKind::array)
    for (size_t at = tape.first(place); !tape.is_end(at); at = tape.next(at))
      if (tape.is_text(at)) lines.push_back(frame.strings.keep(tape.text(at)));
  if (lines.empty()) return {};
  return frame.stacks.emplace_back(std::move(lines));
}

// New layout, {"0": [["op", …], ["line", …]], …}: ops that were called from the same place share a stack.
void share_stack(Frame& frame, const ByName& nodes, const JsonTape& tape) {
  const size_t names = tape.first(0);
  if (tape.is_end(names) || tape.kind(names) != JsonKind::array) return;
  const size_t lines = tape.next(names);
  if (tape.is_end(lines)) return;
  const auto stack = keep_lines(frame, tape, lines);
  for (size_t at = tape.first(names); !tape.is_end(at); at = tape.next(at))
    if (tape.is_text(at))
      if (const auto node = nodes.find(tape.text(at)); node != nodes.end()) node->second->stack = stack;
}

template <class Use>
void read_members(Frame& frame, const fs::path& path, int64_t memory, Use&& use) {
  const auto file = File::open(path);
  const auto read = file ? read_json_members(**file, {}, memory,
                                             [&](const JsonMember& member) -> Result<bool> {
                                               use(member.key, member.value);
                                               return true;
                                             })
                         : Result<void>(tl::unexpected<Error>(file.error()));
  if (!read) frame.warnings.push_back(read.error().message);
}

}  // namespace

void add_stacks(Frame& frame, const fs::path& stack_json, int64_t memory) {
  const ByName nodes = by_name(frame);
  read_members(frame, stack_json, memory, [&](std::string_view key, const JsonTape& tape) {
    if (const auto node = nodes.find(key); node != nodes.end())
      node->second->stack = keep_lines(frame, tape, 0);
    else if (parse_int(key) && tape.kind(0) == JsonKind::array)
      share_stack(frame, nodes, tape);
  });
}

namespace {

// use(node, the module it ran in)
template <class Use>
void read_construct(Frame& frame, const fs::path& construct_json, int64_t memory, Use&& use) {
  read_members(frame, construct_json, memory, [&](std::string_view key, const JsonTape& tape) {
    // Megatron: [parent, micro step].
    const size_t parent = tape.kind(0) == JsonKind::array && !tape.is_end(1) ? 1 : 0;
    if (tape.is_text(parent) && !tape.text(parent).empty()) use(key, tape.text(parent));
  });
}

}  // namespace

// Forward and backward are calls of their own, each below the module that construct.json names.
void add_structure(Frame& frame, const fs::path& construct_json, int64_t memory) {
  TraceBuilder trace(frame, [](const Node& node) { return kind_of_entry(node.name); });
  read_construct(frame, construct_json, memory,
                 [&](std::string_view node, std::string_view parent) { trace.set_parent(node, parent); });
  trace.finish();
}

void note_modules(Frame& frame, const fs::path& construct_json, int64_t memory) {
  const ByName nodes = by_name(frame);
  std::unordered_set<std::string_view> known;  // most modules hold many
  read_construct(frame, construct_json, memory, [&](std::string_view name, std::string_view parent) {
    const auto node = nodes.find(name);
    if (node == nodes.end()) return;
    auto kept = known.find(parent);
    if (kept == known.end()) kept = known.insert(frame.strings.keep(parent)).first;
    node->second->within = *kept;
  });
}

}  // namespace assay
