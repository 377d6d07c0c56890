// Matching by keys: every item of golden is known by its name, every item of mine by the name that it is
// expected to have in golden. The matchers differ in how they turn the one into the other.
#pragma once

#include "assay/match/matcher.h"
#include "assay/match/pairing_builder.h"

namespace assay {

// What the dump says of an item; empty where it says nothing.
inline std::string_view stated_shape(const Item& item) {
  return item.stated ? item.stated->shape : std::string_view();
}
inline std::string_view stated_dtype(const Item& item) {
  return item.stated ? item.stated->dtype : std::string_view();
}

// By position in PairingBuilder::items(Side::mine).
struct Keys {
  explicit Keys(const PairingBuilder& builder);                 // the names themselves
  void set(size_t position, std::string_view key, Why why);     // copies the key
  void leave_out(size_t position, Why reason = Why::left_out);  // it never matches

  std::vector<std::string_view> key;  // empty: left out
  std::vector<Why> why;               // of the pair; of standing alone where the key is empty
  StringPool pool;
};

// mapped: a data or layer mapping is in force. Then options.mapped_join says what is joined, names are never
// matched fuzzily, and one to one several items of mine may share one of golden.
Result<Pairing> match_keys(const Indexed& frames, PairingBuilder& builder, Keys& keys,
                           const MatchOptions& options, bool mapped);

// True where the user gave names of golden by a data mapping, or asks for them by layers; holds for the join
// even where an API or cell mapping makes the keys.
bool has_data_mapping(const Mappings& mappings);

}  // namespace assay
