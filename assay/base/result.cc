#include "assay/base/result.h"

#include "assay/base/console.h"

#include <cstdlib>

namespace assay {

void check_failed(const char* condition, const char* file, int line) {
  console::print(console::Stream::err, "assay: internal error at {}:{}: {} does not hold\n", file, line,
                 condition);
  std::abort();
}

}  // namespace assay
