# Flags that every target shares.
add_library(assay_options INTERFACE)
# -ffp-contract=off: the compiler must not fuse a multiply and an add behind our back; results are the same on every CPU.
target_compile_options(assay_options INTERFACE
  -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-align -Wunused
  -Woverloaded-virtual -Wdouble-promotion -Wimplicit-fallthrough
  -Wno-restrict)  # g++ 12 sees overlaps in "text" + std::string that are not there (GCC bug 105329)
if(ASSAY_WERROR)
  target_compile_options(assay_options INTERFACE -Werror)
endif()
if(ASSAY_SANITIZE)
  # -Wno-maybe-uninitialized: g++ 12 sees ghosts in instrumented standard library code.
  target_compile_options(assay_options INTERFACE -fsanitize=${ASSAY_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  target_link_options(assay_options INTERFACE -fsanitize=${ASSAY_SANITIZE})
endif()
