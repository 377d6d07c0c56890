// The tensors that found no partner by name, with what their names and their data tell.
#pragma once

#include "assay/match/alike/contents.h"
#include "assay/match/alike/known_name.h"
#include "assay/match/alike/name_form.h"
#include "assay/match/pairing_builder.h"

#include <deque>

namespace assay {

// A tensor of one side: in one file, or on several ranks.
struct Holder {
  NameForm form;
  std::optional<KnownName> role;        // where its name is one that is known
  std::vector<size_t> positions;        // of the builder, by rank
  std::vector<int64_t> ranks;           // of each position; -1: the name tells none
  std::vector<int64_t> other_ranks;     // that hold theirs in a holder of their own
  Shape shape;                          // of what one of them holds
  std::vector<const Sketch*> sketches;  // empty where only names were asked
  bool is_copied = false;               // every rank holds all of it; else they hold shares
  bool is_joined = false;
  bool is_known_whole = false;  // the sketches are of all elements
  ContentSums sums;             // of all shares, or of one copy

  size_t sources() const { return positions.size(); }
  bool is_one() const { return sources() == 1 || is_copied; }  // any rank will do
  size_t shares() const { return is_copied ? 1 : sources(); }
};

struct Holders {
  std::vector<Holder> of[2];
  std::vector<std::optional<Sketch>> sketches[2];  // what the holders point at, of some elements
  std::deque<Sketch> whole_sketches;               // … or of all

  std::vector<Holder>& on(Side side) { return of[static_cast<size_t>(side)]; }
};

// Whether a tensor waits for a partner that its data may tell.
bool is_waiting(const PairingBuilder& builder, Side side, size_t position);

// True also where it cannot be told.
bool are_of_one_size(const PairingBuilder& builder, size_t mine, size_t golden, const Contents& contents);

// The path that a side was given as, where it tells which rank all of it is of: no name does, nor the path of
// the other side, against which it would be one rank and another that the user chose. Else empty.
std::string_view path_of_one_rank(const PairingBuilder& builder, Side side);

// The forms of all names of a side, by position in the builder.
const std::vector<NameForm>& forms_of(const PairingBuilder& builder, Side side);
// What is not joined yet, by position in the builder, with the forms of its names.
using UnjoinedForms = std::vector<std::pair<size_t, const NameForm*>>;
UnjoinedForms unjoined_forms(const PairingBuilder& builder, Side side);

// All that wait, with sketches of some elements.
Result<Holders> collect_holders(const PairingBuilder& builder, const Contents& contents);
// … of all elements: reads them. One that cannot be read stays as it is.
Result<void> sketch_whole(const PairingBuilder& builder, const Contents& contents, Side side,
                          std::span<Holder* const> wanted, Holders& holders);
// Those whose names are known, or that ranks of both sides have, without sketches.
Holders collect_named_holders(const PairingBuilder& builder, const Contents& contents);

}  // namespace assay
