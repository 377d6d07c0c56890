#pragma once

#include <cstdint>
#include <string>

namespace assay {

// "3 files"; "2 files and 1 line of tables" where that is one of `count`.
std::string files_and_lines(int64_t count, int64_t lines);

}  // namespace assay
