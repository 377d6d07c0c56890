// Gathers one pair of tensors from blocks that come in order. Band by band: gather several bands apart, then
// merge them in order; the answer is the same for every way of sharing out the bands.
#pragma once

#include "assay/metric/gathered.h"
#include "assay/metric/tile_kernels.h"
#include "assay/tensor/operand.h"

#include <memory>

namespace assay {

// What it needs for one tile; reused from pair to pair by who keeps it.
struct PairBuffers;
std::shared_ptr<PairBuffers> make_pair_buffers();

class PairGatherer {
 public:
  // first: index of the first component that will come. scale: see PairSums::scale.
  PairGatherer(DType mine, DType golden, const GatherPlan& plan, int64_t first, int scale = 0,
               std::shared_ptr<PairBuffers> buffers = make_pair_buffers());
  PairGatherer(const PairGatherer&) = delete;
  PairGatherer& operator=(const PairGatherer&) = delete;

  // Blocks of the same count, as long as a multiple of kBlockElements but for the last of a tensor.
  void add(const Block& mine, const Block& golden);
  Gathered take() { return std::move(out_); }

 private:
  enum class Work : uint8_t { f32, f64, integers };

  void add_tile(const std::byte* mine, const std::byte* golden, int64_t n);
  void add_f32(const std::byte* mine, const std::byte* golden, int64_t n);
  void add_f64(const std::byte* mine, const std::byte* golden, int64_t n);
  void add_core(const tile::Core& core, int64_t finite);
  void count_sizes(LogHistogram& into, int64_t n, bool all_finite);
  template <class T>
  void add_absolutes(const T* a, const T* b, int64_t n);
  void add_relative(const tile::Relative& r);
  void add_ulp(const tile::Ulp& ulp);
  void add_softmax(const tile::Softmax& sums, double mine_peak, double golden_peak);
  template <class T>
  bool find_worst(const T* a, const T* b, const double* d, int64_t n, double max_abs);
  template <class T>
  void keep_near(const T* a, const T* b, int64_t n);
  template <class T>
  void count_not_close(const T* a, const T* b, const double* d, int64_t n);
  template <class T>
  int64_t set_aside_nonfinite(const T* a, const T* b, int64_t n, T* clean_a, T* clean_b);
  template <class T>
  void extremes_of_finite(const T* a, const T* b, int64_t n, tile::Core& core);
  template <class T>
  void softmax_of_finite(const T* a, const T* b, int64_t n, const tile::Core& core, bool all_finite);
  void ulp_of_reals(const std::byte* mine, const std::byte* golden, int64_t n, const float* a,
                    const float* b);
  void ulp_of_doubles(const double* a, const double* b, int64_t n);
  void ulp_by_rank(const double* a, const double* b, int64_t n);
  void ulp_of_integers(const double* d, int64_t n);
  void take_patterns(const tile::Patterns16& patterns, tile::Core& core);
  template <class Bits>
  void count_ulps(const Bits* a, const Bits* b, int64_t n);
  template <class Bits>
  void ulp_of_patterns(const Bits* a, const Bits* b, int64_t n);

  const DType mine_, golden_, ulp_dtype_;  // component types
  const GatherMask needs_;
  const Closeness closeness_;
  const Work work_;
  const int scale_;
  int64_t next_;                  // index of the next component
  bool golden_has_zero_ = false;  // the last tile had: try the careful pass first
  const std::shared_ptr<PairBuffers> buffers_;
  Gathered out_;
};

}  // namespace assay
