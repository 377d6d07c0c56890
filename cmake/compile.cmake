# Flags that every target shares.
add_library(assay_options INTERFACE)
# -ffp-contract=off: the compiler must not fuse a multiply and an add behind our back; results are the same on every CPU.
target_compile_options(assay_options INTERFACE
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-align -Wunused
  -Woverloaded-virtual -Wdouble-promotion -Wimplicit-fallthrough
  -Wno-restrict  # g++ 12 sees overlaps in "text" + std::string that are not there (GCC bug 105329)
  # … and ghosts in the standard library once it comes from a precompiled header; the sanitizers look for real ones.
  -Wno-maybe-uninitialized -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
if(ASSAY_WERROR)
  target_compile_options(assay_options INTERFACE -Werror)
endif()
if(ASSAY_SANITIZE)
  target_compile_options(assay_options INTERFACE -fsanitize=${ASSAY_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(assay_options INTERFACE -fsanitize=${ASSAY_SANITIZE})
endif()

# Folders without hot arithmetic that never look at the bytes of a file: -O2 compiles a fifth faster than -O3.
# UBSan's checks of every pointer take half of the time of a sanitizer build; of these, AddressSanitizer sees null ones by
# itself, and a misaligned one comes from bytes.
add_library(assay_plain_options INTERFACE)
target_link_libraries(assay_plain_options INTERFACE assay_options)
target_compile_options(assay_plain_options INTERFACE $<$<CONFIG:Release>:-O2>)
if(ASSAY_SANITIZE MATCHES undefined)
  target_compile_options(assay_plain_options INTERFACE -fno-sanitize=null,alignment)
endif()

# Code of which libassay.so is made too: position independent, and nothing of it to be seen but what is declared so. As part of the
# program it runs no slower (bench/results_library.md), so that it is compiled once for both.
function(assay_loadable_code target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# What nearly every source includes, parsed once: a quarter of the time of a source. A precompiled header belongs to the flags
# it was made with, so there is one for each set of them.
function(assay_prelude name options)
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/prelude.cc)
  target_link_libraries(${name} PRIVATE ${options} fmt::fmt)
  target_precompile_headers(${name} PRIVATE <algorithm> <array> <cmath> <deque> <filesystem> <functional> <limits> <map>
                            <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <unordered_map>
                            <unordered_set> <variant> <vector> <fmt/format.h> <tl/expected.hpp>)
endfunction()
# For a program of one source; the header is only good for sources that are compiled like those of the folders.
function(assay_use_prelude target)
  target_compile_options(${target} PRIVATE -fPIC)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_precompile_headers(${target} REUSE_FROM assay_hot_prelude)
endfunction()
