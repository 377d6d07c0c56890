// OpenBLAS, which multiplies matrices. It is loaded when a golden operator first runs: that takes longer than
// most runs do, and starts threads, also in programs that only call us to read a file. (load_blas() of
// golden.h.)
#pragma once

#include <cblas.h>

namespace assay {

// oneTBB is the only threading: while one of these lives, OpenBLAS starts no threads of its own. It has one
// setting for the whole process. The program sets it for good; a program that calls us may use OpenBLAS too,
// and gets its setting back behind the last of the products that are under way.
class Blas {
 public:
  Blas();
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  decltype(&cblas_sgemm) sgemm;
  decltype(&cblas_dgemm) dgemm;
};

}  // namespace assay
