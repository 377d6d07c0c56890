// What the Python runs that works for Algorithms.
#pragma once

namespace assay {

extern const char* const kAlgorithmsScript;

}  // namespace assay
