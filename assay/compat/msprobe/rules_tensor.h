// What msprobe says of a tensor whose errors it has measured; the same in all its comparisons.
#pragma once

#include "assay/compat/msprobe/row.h"

namespace assay {

// "Yes" or "No", from the two as they are printed. NaN is no reason for "No".
std::string_view accuracy(double cosine, double max_abs);

// What the metrics themselves have to say, in the order of their columns. Precondition: row.mine.meta.
std::string remarks(const Comparison& row, const MsprobeColumns& columns, Generation generation,
                    bool is_scalar);

// Of a tensor that was measured element by element. Precondition: row.mine.meta.
Verdict judge_measured(const Comparison& row, const MsprobeColumns& columns, Generation generation);

// Its elements are gone, and nothing else that is known of it is what the rules of a tensor dump ask for.
inline constexpr std::string_view kOnlyStatistics = "Only statistics were kept of it, can not compare.";

// Neither dump has a checksum of this tensor. The original holds the CRC-32 of nothing against itself.
bool without_checksums(const Comparison& row);

}  // namespace assay
