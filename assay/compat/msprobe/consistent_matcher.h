// Modules of a training run against those of an inference engine, as msprobe 26 pairs them
// (--consistent_check): what one side computes at once, the other does in parts.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

enum class TrainingBackend : uint8_t {
  fsdp,      // training has q, k and v, or gate and up, one by one: they are joined
  megatron,  // inference may have several of what training has at once
};

// The name of what a side lacks, in a row of the other.
inline constexpr std::string_view kNoModule = "N/A";

// separator: between the names of what is joined, in a cell of the table.
std::shared_ptr<const Matcher> consistent_matcher(TrainingBackend backend, std::string_view separator);

}  // namespace assay
