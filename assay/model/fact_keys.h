// Facts that more than one step of the pipeline knows by name.
#pragma once

#include <string_view>

namespace assay {

// The fact "type" of an argument that says where a call runs.
inline constexpr std::string_view kDeviceType = "torch.device";

// How many elements are 0: only statistics that took the place of a file count them.
inline constexpr std::string_view kZerosKey = "zero";

}  // namespace assay
