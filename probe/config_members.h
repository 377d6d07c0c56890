// What the members of a configuration file may say.
#pragma once

#include "probe/json.h"

#include <string>
#include <vector>

namespace assay::probe {

// Members that nobody asks for, and those that say what none of them can mean: "exec_rang is no setting".
std::vector<std::string> odd_members(const Json& config, bool is_generation_three);

}  // namespace assay::probe
