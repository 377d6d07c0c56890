#include "assay/base/result.h"

#include <cstdio>
#include <cstdlib>

namespace assay {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "assay: internal error at %s:%d: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace assay
