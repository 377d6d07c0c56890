// The pairs of a Python dict as a pickle gives them.
#pragma once

#include "assay/format/pickle.h"

#include <optional>

namespace assay {

// Of two pairs with equal keys Python keeps the place of the first and the value of the last. Nothing where
// no key is given twice. Keys that are made of others (tuples, objects) count as different.
std::optional<std::vector<PickleRef>> last_of_each_key(const PickleGraph& graph,
                                                       std::span<const PickleRef> pairs);

// How a key stands in the name of a tensor; `index` is its place in the dict.
std::string key_text(const PickleGraph& graph, PickleRef key, size_t index);

// The same of anything that is made of others: "(0,q)", "torch.device(cuda,1)". Nothing for what holds
// tensors or goes on for too long.
std::optional<std::string> composite_text(const PickleGraph& graph, PickleRef ref);

// A key that may itself hold tensors.
bool is_composite(const PickleValue& value);

bool is_pickled_sequence(const PickleValue& value);  // list, tuple, set

// Keys and values of an OrderedDict or its like: what was handed over as an argument (Python 2 does), then
// what was added. `used`: how many arguments that took.
std::vector<PickleRef> refs_of_mapping(const PickleGraph& graph, const PickleValue& call, size_t& used);

}  // namespace assay
