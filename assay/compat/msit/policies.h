// Which operators msit llm compare holds against each other, level by level, with its tables and its quirks:
// the same pair may come twice. Facts only; the order of directories, which it takes as it comes, is the
// natural one here.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

enum class MsitLevel : uint8_t { layer, module, api };

// What of an operator is meant: all outputs, all inputs, or one file.
struct MsitLocation {
  enum class What : uint8_t { outputs, inputs, file } what = What::outputs;
  std::string file = {};
  auto operator<=>(const MsitLocation&) const = default;
};

struct MsitMatch {
  int32_t mine, golden;  // ops
  MsitLocation of_mine, of_golden;
  auto operator<=>(const MsitMatch&) const = default;
};

// In the order of its report.
std::vector<MsitMatch> msit_matches(const Frame& mine, const Frame& golden, MsitLevel level,
                                    const OpMapping* added);

}  // namespace assay
