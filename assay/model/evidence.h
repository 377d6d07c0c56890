// What shows that two tensors agree. Only elements show it in full, or checksums of the same type and shape;
// all else is weaker, and every report says so. NaN and infinities show nothing: docs/rules.md, "What a pass
// means".
#pragma once

#include "assay/model/dump.h"

#include <array>

namespace assay {

enum class Evidence : uint8_t {
  nothing,          // not compared, or no finite number on either side
  elements,         // all of them
  some_elements,    // those of the last position (logits) or of the positions at hand (angles)
  one_rank,         // the first of several, of which something had to be made before
  finite_elements,  // those that are finite on both sides; others are in neither, or the user allows it
  checksum,         // of equal types and shapes
  parity,           // the XOR of all words, which does not see their order
  statistics,
  extremes,  // the smallest and the largest element are all that one side keeps
  value,     // of an argument that is no tensor
  empty,     // neither side has an element
};
inline constexpr size_t kEvidenceCount = 11;
std::string_view text(Evidence evidence);  // "elements", "statistics"; empty for nothing

// The four statistics, as bits of a set.
using StatisticSet = uint8_t;
struct StatisticName {
  std::string_view name;
  Scalar Stated::*of;
  Scalar Nonfinite::*of_finite;
};
inline constexpr std::array<StatisticName, 4> kStatistics = {{
    {"max", &Stated::max, &Nonfinite::max},
    {"min", &Stated::min, &Nonfinite::min},
    {"mean", &Stated::mean, &Nonfinite::mean},
    {"norm", &Stated::norm, &Nonfinite::norm},
}};
inline constexpr StatisticSet kAllStatistics = 0b1111;
inline constexpr StatisticSet kBothExtremes = 0b0011;
inline constexpr size_t kMaxAt = 0, kMinAt = 1, kMeanAt = 2, kNormAt = 3;
std::string names_of(StatisticSet set);  // "max, min, mean, norm"

// A statistic without what is not finite: as it is stated, or else that of the finite elements alone. Absent
// where nothing finite is known.
Scalar finite_statistic(const Stated& stated, const StatisticName& which);

// Whether the text is one of bits: CRC-32, MD5, SHA-1 or SHA-256 in hexadecimal digits, or the XOR of 64-bit
// words behind 0x. Dumps may have anything in the place of a checksum.
bool is_checksum(std::string_view text);
bool is_xor(std::string_view checksum);
// Whether two checksums are of one kind: those of other kinds say nothing of each other.
bool are_of_one_kind(std::string_view a, std::string_view b);

// Those that both sides have a finite value of.
StatisticSet shared_statistics(const Stated& mine, const Stated& golden);

}  // namespace assay
