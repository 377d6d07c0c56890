// Where inputs come from, as far as a graph says it.
#pragma once

#include "assay/model/outcome.h"

#include <algorithm>

namespace assay {

// The source of an input of this number; null where the graph does not say. Sources are in the order of
// numbers.
inline const InputSource* find_source(std::span<const InputSource> sources, int32_t port) {
  const auto found = std::ranges::lower_bound(sources, port, {}, &InputSource::port);
  return found == sources.end() || found->port != port ? nullptr : &*found;
}

// Of a result: by the number of its node in the pairing, and its own.
inline int64_t result_key(int32_t node, int32_t output) {
  return int64_t{node} << 32 | static_cast<uint32_t>(output);
}

inline int32_t port_of(const Comparison& row) {
  return (row.mine.item != nullptr ? row.mine.item : row.golden.item)->port.index;
}

}  // namespace assay
