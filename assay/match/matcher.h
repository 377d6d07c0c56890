// A matcher says which items belong together and why; it opens no tensor file and measures nothing.
// One file per method in this folder; table.cc lists them and chooses by layout.
#pragma once

#include "assay/base/result.h"
#include "assay/match/keyed/mappings.h"
#include "assay/model/pairing.h"

#include <functional>
#include <memory>
#include <span>

namespace assay {

class Contents;
class PairingBuilder;
class NameRules;
struct Keys;

// Why two items with equal keys are no pair after all; nothing: they are one.
using Objection = std::function<std::optional<Why>(const Item& mine, const Item& golden)>;

// Which items with equal keys are joined: one to one, repeated keys in order of appearance; or every one with
// every one.
struct Join {
  bool every = false;
  std::function<Objection(const Indexed& frames)> objection = {};  // to pairs of `every`; null: none
};

// Joins items whose names differ in their call numbers.
using JoinFuzzily = std::function<void(const Indexed& frames, PairingBuilder& builder, const Keys& keys)>;

// Types of ATB operators (or "Type_outtensor1", with the tensor that is meant) with those of torch modules,
// in order.
struct OpMapping {
  std::vector<std::pair<std::string, std::vector<std::string>>> types;
};

struct Matcher;

struct MatchOptions {
  std::shared_ptr<const Matcher> given = {};  // by a caller who has one of its own
  std::string matcher;  // forced by --match; empty: chosen from the two layouts and the mappings
  std::shared_ptr<const Mappings> mappings = std::make_shared<const Mappings>();
  std::shared_ptr<const NameRules> renames = {};  // what the user wants names read as; null: nothing
  const Contents* contents = nullptr;  // of the tensors, where names do not tell; null: names alone
  bool fuzzy = false;                  // names may differ in their call numbers
  JoinFuzzily join_fuzzily = {};       // null: whole entries are aligned (keyed/fuzzy_align.cc)
  Join join = {};                      // where no data mapping is in force
  Join mapped_join = {};               // where one is
  bool renumber_backward = false;      // calls of backward entries count anew in order of appearance
  bool frames_in_order = false;  // the k-th rank of mine with the k-th of golden, whatever their numbers
  // … where the numbers of both sides, which rise, are put in another order first.
  std::function<void(std::vector<int>& mine, std::vector<int>& golden)> order_ranks = {};
  // Of inference dumps.
  bool any_tokens = false;  // both dumps are a token that was named: their numbers may differ
  std::shared_ptr<const OpMapping> op_mapping = {};  // types of operators of ATB, and of modules of torch
};

// What a matcher wants to know of a dump beside its items.
struct MatchNeeds {
  bool structure = false;  // which module a node belongs to
  bool contents = false;   // what tensors hold that find no partner by name
  bool params = false;     // what each operator was told
  bool values = false;     // what files hold beside their tensors
};

struct Matcher {
  std::string_view name;
  std::function<Result<std::vector<Section>>(const Dump& mine, const Dump& golden,
                                             const MatchOptions& options)>
      sections;
  std::function<Result<Pairing>(const Indexed& frames, const MatchOptions& options)> match;
  MatchNeeds needs = {};
  // Before it matches: adds items of its own to the frames, which stand for several in a report. Null: none.
  std::function<Result<void>(Indexed& frames)> regroup = {};
};

std::span<const Matcher* const> matchers();
Result<const Matcher*> choose_matcher(std::string_view mine_layout, std::string_view golden_layout,
                                      const MatchOptions& options);

}  // namespace assay
