#pragma once

#include <string>

namespace assay {

std::string system_message(int error);  // of an errno: "No space left on device"

}  // namespace assay
