// The built-in table of APIs, made from schema/ms_to_pt_api.csv by cmake/embed.cmake.
#pragma once

#include <span>
#include <string_view>

namespace assay {

struct ApiTwins {
  std::string_view mindspore, pytorch;
};
std::span<const ApiTwins> api_table();  // sorted by the name in MindSpore

}  // namespace assay
