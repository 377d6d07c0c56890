#include "assay/golden/blas.h"

#include "assay/base/caller.h"
#include "assay/golden/golden.h"

#include <dlfcn.h>

#include <mutex>

namespace assay {
namespace {

struct Loaded {
  std::string trouble;
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;
  decltype(&openblas_get_num_threads) threads = nullptr;
  decltype(&openblas_set_num_threads) set_threads = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(::dlsym(library, name));
  return to != nullptr;
}

Loaded load() {
  Loaded out;
  void* const library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    out.trouble = why == nullptr ? "libopenblas.so.0: cannot be loaded" : why;
  } else if (!find(library, "cblas_sgemm", out.sgemm) || !find(library, "cblas_dgemm", out.dgemm) ||
             !find(library, "openblas_get_num_threads", out.threads) ||
             !find(library, "openblas_set_num_threads", out.set_threads)) {
    out.trouble = "libopenblas.so.0: is not OpenBLAS, some of its functions are missing";
  }
  return out;
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

// Who multiplies at the moment, and what OpenBLAS was set to before.
struct Users {
  std::mutex guard;
  int64_t count = 0;
  int threads_before = 1;
};
Users& users() {
  static Users instance;
  return instance;
}

}  // namespace

Result<void> load_blas() {
  if (loaded().trouble.empty()) return {};
  return fail(ErrorKind::unsupported,
              "operators are not computed without OpenBLAS ({}); install it: apt install libopenblas0",
              loaded().trouble);
}

Blas::Blas() : sgemm(loaded().sgemm), dgemm(loaded().dgemm) {
  ASSAY_CHECK(loaded().trouble.empty());
  const std::lock_guard lock(users().guard);
  if (users().count++ == 0) {
    users().threads_before = loaded().threads();
    loaded().set_threads(1);
  }
  if (current_caller() == nullptr) ++users().count;  // for good
}

Blas::~Blas() {
  const std::lock_guard lock(users().guard);
  if (--users().count == 0) loaded().set_threads(users().threads_before);
}

}  // namespace assay
