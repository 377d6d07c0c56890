// Where in the model each entry of a dump belongs, as a path of layer names.
#pragma once

#include "assay/match/keyed/key_groups.h"

#include <unordered_map>

namespace assay {

// A tree of words; node 0 is the root.
class TokenTrie {
 public:
  static constexpr uint32_t kNone = static_cast<uint32_t>(-1);
  uint32_t find(uint32_t node, uint32_t token) const;
  uint32_t add(uint32_t node, uint32_t token);

 private:
  static uint64_t edge(uint32_t node, uint32_t token) { return uint64_t{node} << 32 | token; }
  std::unordered_map<uint64_t, uint32_t> children_;
  uint32_t size_ = 1;
};

struct LayerEntry {
  const Node* node = nullptr;
  bool has_scope = false;        // false: its name has fewer than four words, and says nothing of layers
  bool is_module = false;        // told by its own name; for the others by construct.json
  uint32_t type = 0, state = 0;  // tokens: "ParallelAttention", "forward"
  size_t scope = 0;              // index for LayerScopes::scope()
};

class LayerScopes {
 public:
  // `tokens` numbers the words of both sides.
  LayerScopes(const std::vector<Frame>& frames, Interner& tokens);

  const std::vector<LayerEntry>& entries() const { return entries_; }  // in execution order
  // The path of an entry. The first word is no layer: "Cell", "Module", "TopLayer".
  std::span<const uint32_t> scope(const LayerEntry& entry) const;
  bool has_parents() const { return has_parents_; }  // construct.json said something
  bool has_modules() const { return has_modules_; }

 private:
  struct Range {
    size_t begin, end;
  };
  void read_entry(const Node& node, std::string_view parent, std::string_view framework);
  void append(std::string_view dotted);
  void share_forward_scopes();
  void renumber_layers();

  Interner& tokens_;
  std::vector<LayerEntry> entries_;
  std::vector<uint32_t> words_;
  std::vector<Range> scopes_;
  bool has_parents_ = false, has_modules_ = false;
};

// The function of the framework that the innermost call of user code went through; empty: none.
std::string_view framework_function(std::span<const std::string_view> stack, std::string_view framework);

}  // namespace assay
