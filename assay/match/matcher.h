// A matcher says which items belong together and why; it opens no tensor file and measures nothing.
// One file per method in this folder; table.cc lists them and chooses by layout.
#pragma once

#include "assay/base/result.h"
#include "assay/match/keyed/mappings.h"
#include "assay/model/pairing.h"

#include <map>
#include <memory>
#include <span>

namespace assay {

// Which items with equal keys are joined.
enum class Join : uint8_t {
  in_order,    // one to one, repeated keys in order of appearance: ours
  same_shape,  // all with the same shape text whose element types are compatible: msprobe 1.1 to 8.x
  same_dtype,  // all whose element types are compatible: msprobe 26
  all,         // every one with every one
};

// What msprobe calls compatible element types.
enum class DTypeRule : uint8_t { g1, g2 };

// Types of ATB operators (or "Type_outtensor1", with the tensor that is meant) with those of torch modules,
// in order.
struct OpMapping {
  std::vector<std::pair<std::string, std::vector<std::string>>> types;
};

struct Matcher;

struct MatchOptions {
  const Matcher* given = nullptr;  // by a caller who has one of its own
  std::string matcher;             // forced by --match; empty: chosen from the two layouts and the mappings
  std::shared_ptr<const Mappings> mappings = std::make_shared<const Mappings>();
  bool fuzzy = false;                 // names may differ in their call numbers
  bool fuzzy_in_turn = false;         // … and are paired as msprobe does, by two queues, row by row
  bool fuzzy_wants_shape = false;     // … where the shapes must be equal too
  Join join = Join::in_order;         // where no data mapping is in force
  Join mapped_join = Join::in_order;  // where one is
  DTypeRule dtype_rule = DTypeRule::g2;
  bool leftovers_last = false;     // what only golden has stands behind everything else
  bool renumber_backward = false;  // calls of backward entries count anew in order of appearance
  bool frames_in_order = false;    // the k-th rank of mine with the k-th of golden, whatever their numbers
  bool ranks_as_texts = false;     // … where rank10 comes before rank2
  // Of inference dumps.
  bool any_tokens = false;               // both dumps are a token that was named: their numbers may differ
  std::vector<std::string> levels = {};  // msit's: layer, module, api; every section once for each
  std::shared_ptr<const OpMapping> op_mapping = {};  // types of operators of ATB, and of modules of torch
  std::shared_ptr<int64_t> numbering = {};           // the number of the next pair, where pairs are numbered
  // … by rank, in tables of compiled graphs.
  std::shared_ptr<std::map<int, int64_t>> numbers_by_rank = {};
  bool flattens = false;       // tensors of as many elements are compared, whatever their shapes
  bool repeats_batch = false;  // as ait did: the smaller of two batches is repeated
};

// What a matcher wants to know of a dump beside its items.
struct MatchNeeds {
  bool structure = false;  // which module a node belongs to
};

struct Matcher {
  std::string_view name;
  Result<std::vector<Section>> (*sections)(const Dump& mine, const Dump& golden, const MatchOptions& options);
  Result<Pairing> (*match)(const Indexed& frames, const MatchOptions& options);
  MatchNeeds needs = {};
};

std::span<const Matcher* const> matchers();
Result<const Matcher*> choose_matcher(std::string_view mine_layout, std::string_view golden_layout,
                                      const MatchOptions& options);

}  // namespace assay
