#include "assay/metric/detail/gatherer.h"

#include "assay/metric/pair_buffers.h"
#include "assay/metric/wide_integers.h"

#include <algorithm>
#include <cmath>

namespace assay::detail {
namespace {

class DetailGatherer {
 public:
  DetailGatherer(DType mine, DType golden, const Walk& walk, const DetailStart& start, int64_t first,
                 int64_t total, PairBuffers& buffers)
      : mine_(component(mine)),
        golden_(component(golden)),
        is_f32_(fits_f32(mine_) && fits_f32(golden_)),
        walk_(walk),
        start_(start),
        t_(buffers),
        at_(walk, first),
        next_(first),
        starts_(sample_starts(total)),
        current_(walk.groups()),
        out_(walk) {
    const auto is_over = [](int64_t from, int64_t start_of_run) { return from >= start_of_run + kSampleRun; };
    next_run_ = static_cast<size_t>(
        std::ranges::find_if(starts_, [&](int64_t each) { return !is_over(first, each); }) - starts_.begin());
    block_ = at_.block();
    for (auto& counts : cell_counts_) counts.resize(tile::kValueBins * tile::kValueBins);
    for (auto& counts : size_counts_) counts.resize(tile::kSizeBins);
  }

  void add(const Block& mine, const Block& golden) {
    const int64_t total = mine.count * components(mine.dtype);
    for (int64_t done = 0; done < total; done += kTile) {
      const int64_t n = std::min(kTile, total - done);
      const std::byte* const a = mine.data + done * size_of(mine_);
      const std::byte* const b = golden.data + done * size_of(golden_);
      is_f32_ ? add_f32(a, b, n) : add_f64(a, b, n);
      next_ += n;
    }
  }

  DetailSums take() {
    flush();
    for (int64_t k = 0; k < kTables; ++k) {
      for (size_t i = 0; i < out_.cells.size(); ++i) out_.cells[i] += cell_counts_[k][i];
      for (size_t i = 0; i < out_.sizes.size(); ++i) out_.sizes[i] += size_counts_[k][i];
    }
    return std::move(out_);
  }

 private:
  void add_f32(const std::byte* mine, const std::byte* golden, int64_t n) {
    const auto as_floats = [n](DType dtype, const std::byte* from, float* buffer) -> const float* {
      if (dtype == DType::f32 && is_aligned(from, alignof(float)))
        return reinterpret_cast<const float*>(from);
      to_f32(dtype, from, n, buffer);
      return buffer;
    };
    const float* const a = as_floats(mine_, mine, t_.a);
    const float* const b = as_floats(golden_, golden, t_.b);
    take_sample(a, b, n);
    if (set_aside(a, b, n, t_.clean_a, t_.clean_b))
      add_tile(t_.clean_a, t_.clean_b, nullptr, n, true);
    else
      add_tile(a, b, nullptr, n, false);
  }

  void add_f64(const std::byte* mine, const std::byte* golden, int64_t n) {
    to_f64(mine_, mine, n, t_.wide_a);
    to_f64(golden_, golden, n, t_.wide_b);
    const double* d = nullptr;
    if (need_wide_differences(mine_, golden_)) {
      for (int64_t i = 0; i < n; ++i)
        t_.d[i] = static_cast<double>(wide_integer(mine_, mine, t_.wide_a, i) -
                                      wide_integer(golden_, golden, t_.wide_b, i));
      d = t_.d;
    }
    take_sample(t_.wide_a, t_.wide_b, n);
    if (const int scale = start_.sums.scale; scale != 0) {
      // In two steps, as the common pass does.
      const double half = std::ldexp(1.0, scale / 2), rest = std::ldexp(1.0, scale - scale / 2);
      for (int64_t i = 0; i < n; ++i) {
        t_.wide_a[i] = t_.wide_a[i] * half * rest;
        t_.wide_b[i] = t_.wide_b[i] * half * rest;
      }
    }
    if (set_aside(t_.wide_a, t_.wide_b, n, t_.clean_wide_a, t_.clean_wide_b))
      add_tile(t_.clean_wide_a, t_.clean_wide_b, d, n, true);
    else
      add_tile(t_.wide_a, t_.wide_b, d, n, false);
  }

  // Pairs that are not finite become 0 against 0. False: there are none.
  template <class T>
  bool set_aside(const T* a, const T* b, int64_t n, T* clean_a, T* clean_b) {
    if (!start_.has_nonfinite) return false;
    int64_t finite = 0;
    for (int64_t i = 0; i < n; ++i) {
      t_.finite[i] = std::isfinite(a[i]) && std::isfinite(b[i]);
      clean_a[i] = t_.finite[i] ? a[i] : 0;
      clean_b[i] = t_.finite[i] ? b[i] : 0;
      finite += t_.finite[i] ? 1 : 0;
      if (t_.finite[i]) continue;
      const bool is_apart = !(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])));
      apart_[i] = is_apart;
      if (!is_apart) continue;
      out_.mine_nans += std::isnan(a[i]) ? 1 : 0;
      out_.golden_nans += std::isnan(b[i]) ? 1 : 0;
      out_.mine_infs += std::isinf(a[i]) ? 1 : 0;
      out_.golden_infs += std::isinf(b[i]) ? 1 : 0;
    }
    return finite < n;
  }

  template <class T>
  void take_sample(const T* a, const T* b, int64_t n) {
    for (size_t run = next_run_; run < starts_.size() && starts_[run] < next_ + n; ++run) {
      const int64_t first = std::max(starts_[run], next_);
      const int64_t last = std::min({starts_[run] + kSampleRun, next_ + n});
      for (int64_t i = first; i < last; ++i)
        out_.sample.push_back({i, static_cast<double>(a[i - next_]), static_cast<double>(b[i - next_])});
      if (starts_[run] + kSampleRun <= next_ + n && run == next_run_) ++next_run_;
    }
  }

  static tile::RunErrors errors_of(const float* a, const float* b, const double*, int64_t n, double limit,
                                   const tile::ErrorArrays& into) {
    return tile::run_errors(a, b, n, limit, into);
  }
  static tile::RunErrors errors_of(const double* a, const double* b, const double* d, int64_t n, double limit,
                                   const tile::ErrorArrays& into) {
    return tile::run_errors(a, b, d, n, limit, into);
  }
  void cells_of(const float* a, const float* b, const double*, int64_t n) {
    tile::value_cells(a, b, n, start_.values, cells_, sizes_);
  }
  void cells_of(const double* a, const double* b, const double* d, int64_t n) {
    tile::value_cells(a, b, d, n, start_.values, cells_, sizes_);
  }

  template <class T>
  void add_tile(const T* a, const T* b, const double* d, int64_t n, bool has_nonfinite) {
    cells_of(a, b, d, n);
    count(n, has_nonfinite);
    for (int64_t done = 0; done < n;) {
      const int64_t part = std::min(n - done, at_.left());
      add_run(a + done, b + done, d != nullptr ? d + done : nullptr, part);
      if (has_nonfinite) skip(done, part);
      at_.pass(part);
      done += part;
      if (at_.block() != block_) flush();
    }
  }

  void count(int64_t n, bool has_nonfinite) {
    // Neighbours often fall into the same bin: tables take turns, so that they do not wait for each other.
    int64_t i = 0;
    if (has_nonfinite) {
      for (; i < n; ++i)
        if (t_.finite[i]) count_one(0, i);
    }
    for (; i + kTables <= n; i += kTables)
      for (int64_t k = 0; k < kTables; ++k) count_one(k, i + k);
    for (; i < n; ++i) count_one(0, i);
  }

  void count_one(int64_t table, int64_t i) {
    ++cell_counts_[table][static_cast<size_t>(cells_[i])];
    ++size_counts_[table][static_cast<size_t>(sizes_[i])];
  }

  template <class T>
  void add_run(const T* a, const T* b, const double* d, int64_t n) {
    tile::RunErrors errors;
    if (walk_.group() == 1) {
      const auto at = static_cast<size_t>(at_.place());
      errors = errors_of(a, b, d, n, start_.limit,
                         {&current_.max[at], &current_.abs[at], &current_.squares[at], &current_.golden[at]});
      add_to_outer(errors);
      return;
    }
    for (int64_t done = 0; done < n;) {
      const int64_t place = at_.place() + done;
      const int64_t part = std::min(n - done, walk_.group() - place % walk_.group());
      errors = errors_of(a + done, b + done, d != nullptr ? d + done : nullptr, part, start_.limit, {});
      current_.add(place / walk_.group(), errors);
      add_to_outer(errors);
      done += part;
    }
  }

  void add_to_outer(const tile::RunErrors& errors) {
    for (size_t i = 0; i < out_.outer.size(); ++i) out_.outer[i].add(at_.entry(i), errors);
    out_.zeros += errors.zeros;
    out_.zero_squares += errors.zero_squares;
    out_.stuck += errors.stuck;
    out_.stuck_squares += errors.stuck_squares;
  }

  void skip(int64_t first, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      if (t_.finite[first + i]) continue;
      const bool is_apart = apart_[first + i];
      current_.skip((at_.place() + i) / walk_.group(), 1, is_apart ? 1 : 0);
      for (size_t k = 0; k < out_.outer.size(); ++k) out_.outer[k].skip(at_.entry(k), 1, is_apart ? 1 : 0);
    }
  }

  // What was gathered of one block of outer indices goes where it belongs.
  void flush() {
    ErrorTable& map = out_.map;
    for (const MapPart& part : walk_.map_parts()) {
      const auto block = static_cast<size_t>(block_ + part.block);
      double max = map.max[block], abs = 0;
      for (auto i = static_cast<size_t>(part.first); i < static_cast<size_t>(part.last); ++i) {
        max = std::max(max, current_.max[i]);
        abs += current_.abs[i];
      }
      map.max[block] = max;
      map.abs[block] += abs;
      if (current_.skipped.empty()) continue;
      for (auto i = static_cast<size_t>(part.first); i < static_cast<size_t>(part.last); ++i)
        if (current_.skipped[i] > 0)
          map.skip(static_cast<int64_t>(block), current_.skipped[i], current_.apart[i]);
    }
    out_.places.merge(current_);
    current_.clear();
    block_ = at_.block();
  }

  const DType mine_, golden_;  // component types
  const bool is_f32_;
  const Walk& walk_;
  const DetailStart& start_;
  PairBuffers& t_;
  Walk::At at_;
  int64_t next_;  // component
  const std::vector<int64_t> starts_;
  size_t next_run_ = 0;
  int32_t block_ = 0;
  ErrorTable current_;  // of the block at hand
  DetailSums out_;
  alignas(64) int32_t cells_[kTile], sizes_[kTile];
  bool apart_[kTile] = {};
  static constexpr int64_t kTables = 4;
  std::vector<uint32_t> cell_counts_[kTables],
      size_counts_[kTables];  // a band has fewer than 2^32 components
};

}  // namespace

Result<DetailSums> gather_detail(const Operand& mine, const Operand& golden, const Walk& walk,
                                 const DetailStart& start, int64_t first, int64_t count,
                                 PairScratch& scratch) {
  if (scratch.buffers == nullptr) scratch.buffers = make_pair_buffers();
  const int64_t of_each = components(mine.meta.dtype);
  DetailGatherer gatherer(mine.meta.dtype, golden.meta.dtype, walk, start, first * of_each,
                          mine.meta.shape.count() * of_each, *scratch.buffers);
  ASSAY_TRY_DO(add_blocks(mine, golden, first, count, scratch, gatherer));
  return gatherer.take();
}

}  // namespace assay::detail
