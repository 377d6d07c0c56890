// What a .pt pickle holds that cannot be looked into: bytes that may be anything, names that are not
// imported, and values that no part of its objects refers to.
#pragma once

#include "assay/format/pickle.h"

#include <optional>

namespace assay {

// Up to so many bytes are a digest or an id, a value as any number is. More may be a file within the file.
inline constexpr int64_t kMostPlainBytes = 32;
inline constexpr size_t kLongestName = 200;  // of a class or function in a message

// How many bytes a value is, where it is nothing else: bytes, a bytearray, what protocol 2 writes for these.
std::optional<int64_t> raw_bytes(const PickleGraph& graph, const PickleValue& value);

// All names that the pickle wants to import and may not have, also where nothing of what they make is kept;
// printable, each once, at most so many.
std::vector<std::string> refused_names(const PickleGraph& graph, size_t most);
// The name at the top of the pickle, if the whole file is one object that is refused.
std::optional<std::string> refused_root(const PickleGraph& graph);

// Values that the finished object does not have: dropped from the stack, only remembered.
int64_t count_detached(const PickleGraph& graph);

}  // namespace assay
