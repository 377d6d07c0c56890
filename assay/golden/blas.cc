#include "assay/golden/blas.h"

#include <cblas.h>
#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

namespace assay {
namespace {

constexpr const char* kLibrary = "libopenblas.so.0";

struct Blas {
  decltype(&cblas_sgemm) of_float = nullptr;
  decltype(&cblas_dgemm) of_double = nullptr;
  decltype(&openblas_get_num_threads) threads = nullptr;
  decltype(&openblas_set_num_threads) set_threads = nullptr;
  bool is_shared = false;  // the process had loaded it before us, and may use it while we do
  const char* problem = nullptr;
};

// A variable of the environment, for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~Variable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// For CPUs with AVX-512 and bf16, OpenBLAS 0.3.21 takes its kernels for Cooper Lake, which are three to four
// times slower than those for Skylake (bench/results_opcheck.md).
bool chooses_badly() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

// It listens to nothing but the environment, and only while it is loaded.
void* open_library() {
  constexpr const char* kCoreType = "OPENBLAS_CORETYPE";
  std::optional<Variable> kernels;
  if (chooses_badly() && std::getenv(kCoreType) == nullptr) kernels.emplace(kCoreType, "SkylakeX");
  // oneTBB is the only threading: OpenBLAS must not start threads of its own under it.
  const Variable threads("OPENBLAS_NUM_THREADS", "1");
  return ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
}

template <class Function>
bool find(void* library, const char* name, Function& to) {
  to = reinterpret_cast<Function>(::dlsym(library, name));
  return to != nullptr;
}

Blas open_blas() {
  Blas out;
  out.is_shared = ::dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD) != nullptr;
  void* const library = open_library();
  if (library == nullptr)
    out.problem = "cannot be loaded";
  else if (!find(library, "cblas_sgemm", out.of_float) || !find(library, "cblas_dgemm", out.of_double) ||
           !find(library, "openblas_get_num_threads", out.threads) ||
           !find(library, "openblas_set_num_threads", out.set_threads))
    out.problem = "lacks functions that are needed";
  return out;
}

const Blas& blas() {
  static const Blas loaded = open_blas();
  return loaded;
}

// OpenBLAS has one number of threads for the whole process. Where others use it too, it is set while we
// multiply, and set back behind the last product that is under way.
class OneThread {
 public:
  OneThread() {
    if (!blas().is_shared) return;
    const std::lock_guard lock(guard_);
    if (users_++ > 0) return;
    before_ = blas().threads();
    blas().set_threads(1);
  }
  ~OneThread() {
    if (!blas().is_shared) return;
    const std::lock_guard lock(guard_);
    if (--users_ == 0) blas().set_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  static inline std::mutex guard_;
  static inline int64_t users_ = 0;
  static inline int before_ = 1;
};

template <class T, class Function>
void call(Function function, const Gemm<T>& g) {
  const OneThread while_it_runs;
  function(CblasRowMajor, g.transpose_a ? CblasTrans : CblasNoTrans,
           g.transpose_b ? CblasTrans : CblasNoTrans, static_cast<blasint>(g.m), static_cast<blasint>(g.n),
           static_cast<blasint>(g.k), 1, g.a, static_cast<blasint>(g.a_stride), g.b,
           static_cast<blasint>(g.b_stride), 0, g.c, static_cast<blasint>(g.c_stride));
}

}  // namespace

Result<void> load_blas() {
  if (const char* const problem = blas().problem)
    return fail(ErrorKind::io,
                "products of matrices need OpenBLAS, and {} {} (install Debian's libopenblas0)", kLibrary,
                problem);
  return {};
}

void multiply(const Gemm<float>& gemm) { call(blas().of_float, gemm); }
void multiply(const Gemm<double>& gemm) { call(blas().of_double, gemm); }

}  // namespace assay
