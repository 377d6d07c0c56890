# The table of APIs as C++, so that the program needs no file beside it. Editing the table configures anew.
set(api_csv ${PROJECT_SOURCE_DIR}/schema/ms_to_pt_api.csv)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${api_csv})
file(STRINGS ${api_csv} api_rows)
list(POP_FRONT api_rows header)
if(NOT header STREQUAL "mindspore_api,pytorch_api")
  message(FATAL_ERROR "${api_csv}: the first line is '${header}'; expected 'mindspore_api,pytorch_api'")
endif()
list(SORT api_rows)
list(LENGTH api_rows api_count)
set(api_lines "")
foreach(row IN LISTS api_rows)
  if(NOT row MATCHES "^([A-Za-z0-9_.]+),([A-Za-z0-9_.]+)$")
    message(FATAL_ERROR "${api_csv}: '${row}'; expected two names with a comma between them")
  endif()
  string(APPEND api_lines "    {\"${CMAKE_MATCH_1}\", \"${CMAKE_MATCH_2}\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/api_table.cc CONTENT [[
#include "assay/match/keyed/api_table.h"

namespace assay {
namespace {
constexpr ApiTwins kTable[@api_count@] = {
@api_lines@};
}  // namespace

std::span<const ApiTwins> api_table() { return kTable; }

}  // namespace assay
]] @ONLY)
target_sources(assay_match PRIVATE ${PROJECT_BINARY_DIR}/api_table.cc)
