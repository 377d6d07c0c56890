// Pairs items of the same name (running_number.h: where files are numbered otherwise, but for the numbers);
// then of the same name but for the suffix of the file; then parameters that
// torch hooks dumped with those of a checkpoint; then the only item of each side; then, unless names must be
// exact, names but for prefixes, and names that are known to mean the same; then, where content is asked for,
// what alike/meet.h finds.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

extern const Matcher name_matcher, exact_matcher, content_matcher;

// "a/x.npy" → "a/x", "x.npz:y" → "x:y", "weight" → "weight".
std::string stem_of(std::string_view item_name);
// Where the name that a tensor has in its file begins; 0: the name tells of no file of several.
size_t begin_in_file(std::string_view item_name);
// Of the suffix of a file of tensors, with its dot; 0: the name has none.
size_t suffix_length(std::string_view text);

}  // namespace assay
