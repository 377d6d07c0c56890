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
        is_side_by_side_(is_f32_ && !start.has_nonfinite && walk.group() == 1 &&
                         walk.longest_run() >= kShortest && walk.longest_run() % tile::kPieceOf == 0),
        entries_(walk.outer()),
        out_(walk) {
    const auto is_over = [](int64_t from, int64_t start_of_run) { return from >= start_of_run + kSampleRun; };
    next_run_ = static_cast<size_t>(
        std::ranges::find_if(starts_, [&](int64_t each) { return !is_over(first, each); }) - starts_.begin());
    block_ = at_.block();
  }

  void add(const Block& mine, const Block& golden) {
    const int64_t total = mine.count * components(mine.dtype);
    take_sample(mine.data, golden.data, total);
    next_ += total;
    for (int64_t done = 0; done < total;) {
      const std::byte* const a = mine.data + done * size_of(mine_);
      const std::byte* const b = golden.data + done * size_of(golden_);
      if (const int64_t taken = add_runs(a, b, done, total - done); taken > 0) {
        done += taken;
        continue;
      }
      // As far as sums go at a time, or to where runs can be taken side by side.
      int64_t n = std::min(kTile - done % kTile, total - done);
      if (is_side_by_side_) n = std::min(n, at_.left());
      is_f32_ ? add_f32(a, b, n) : add_f64(a, b, n);
      done += n;
    }
  }

  DetailSums take() {
    flush();
    const auto add_up = [](const std::vector<uint32_t>& counts, std::vector<int64_t>& to) {
      for (size_t i = 0; i < counts.size(); ++i) to[i / tile::kCountTurns] += counts[i];
    };
    add_up(cell_counts_, out_.cells);
    add_up(size_counts_, out_.sizes);
    return std::move(out_);
  }

 private:
  static const float* as_floats(DType dtype, const std::byte* from, int64_t n, float* buffer) {
    if (dtype == DType::f32 && is_aligned(from, alignof(float))) return reinterpret_cast<const float*>(from);
    to_f32(dtype, from, n, buffer);
    return buffer;
  }

  void add_f32(const std::byte* mine, const std::byte* golden, int64_t n) {
    const float* const a = as_floats(mine_, mine, n, t_.a);
    const float* const b = as_floats(golden_, golden, n, t_.b);
    ahead_ = {mine + n * size_of(mine_), golden + n * size_of(golden_), size_of(mine_), size_of(golden_)};
    if (set_aside(a, b, n, t_.clean_a, t_.clean_b))
      add_tile(t_.clean_a, t_.clean_b, nullptr, n, true);
    else
      add_tile(a, b, nullptr, n, false);
  }

  // Whole runs from here on, as many as can be taken side by side; `at`: of the first, in the block. How many
  // components were taken.
  int64_t add_runs(const std::byte* mine, const std::byte* golden, int64_t at, int64_t left) {
    if (!is_side_by_side_ || at_.place() != 0) return 0;
    const int64_t length = walk_.longest_run();
    int64_t runs = 0;
    for (; runs < tile::kMostRuns && (runs + 1) * length <= left; ++runs) {
      if (at_.left() != length || at_.block() != block_) break;
      Run& run = runs_[runs];
      run.entries.clear();
      for (size_t i = 0; i < out_.outer.size(); ++i) run.entries.push_back(at_.entry(i));
      at_.pass(length);
    }
    for (int64_t first = 0; first < runs;) {
      const int64_t together = runs - first == 3 ? 2 : runs - first;
      add_together(mine + first * length * size_of(mine_), golden + first * length * size_of(golden_),
                   at + first * length, runs_ + first, together);
      first += together;
    }
    if (at_.block() != block_) flush();
    return runs * length;
  }

  struct Run {
    std::vector<int64_t> entries;  // of the outer dimensions
    std::vector<tile::RunErrors> parts;
  };

  // A piece of each, then the next one: what they add to stays in the first-level cache. Sums begin anew
  // where those of a tile do.
  void add_together(const std::byte* mine, const std::byte* golden, int64_t at, Run* runs, int64_t count) {
    const int64_t length = walk_.longest_run(), most = kPieces / count;
    const float* a[tile::kMostRuns];
    const float* b[tile::kMostRuns];
    tile::ErrorLanes lanes[tile::kMostRuns];
    for (int64_t first = 0; first < length; first += most) {
      const int64_t width = std::min(most, length - first);
      bool has_rare = false;
      for (int64_t run = 0; run < count; ++run) {
        const int64_t here = run * length + first;
        const int64_t next = first + width < length ? here + width : (run + count) * length;
        a[run] = as_floats(mine_, mine + here * size_of(mine_), width, t_.a + run * most);
        b[run] = as_floats(golden_, golden + here * size_of(golden_), width, t_.b + run * most);
        ahead_ = {mine + next * size_of(mine_), golden + next * size_of(golden_), size_of(mine_),
                  size_of(golden_)};
        has_rare |= cells_of(a[run], b[run], nullptr, width);
        count_all(width);
      }
      for (int64_t done = 0; done < width;) {
        const auto until_next_tile = [&](int64_t run) {
          return kTile - (at + run * length + first + done) % kTile;
        };
        int64_t n = width - done;
        for (int64_t run = 0; run < count; ++run) n = std::min(n, until_next_tile(run));
        const auto place = static_cast<size_t>(first + done);
        tile::add_pieces(
            count, a, b, n, start_.limit, has_rare,
            {&current_.max[place], &current_.abs[place], &current_.squares[place], &current_.golden[place]},
            lanes);
        for (int64_t run = 0; run < count; ++run) {
          a[run] += n;
          b[run] += n;
          if (until_next_tile(run) != n && first + done + n != length) continue;
          runs[run].parts.push_back(tile::total_of(lanes[run]));
          lanes[run] = {};
        }
        done += n;
      }
    }
    for (int64_t run = 0; run < count; ++run) {
      for (const tile::RunErrors& errors : runs[run].parts) add_to_outer(runs[run].entries, errors);
      runs[run].parts.clear();
    }
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

  void take_sample(const std::byte* mine, const std::byte* golden, int64_t n) {
    for (size_t run = next_run_; run < starts_.size() && starts_[run] < next_ + n; ++run) {
      const int64_t first = std::max(starts_[run], next_);
      const int64_t last = std::min({starts_[run] + kSampleRun, next_ + n});
      double a[kSampleRun], b[kSampleRun];
      to_f64(mine_, mine + (first - next_) * size_of(mine_), last - first, a);
      to_f64(golden_, golden + (first - next_) * size_of(golden_), last - first, b);
      for (int64_t i = first; i < last; ++i) out_.sample.push_back({i, a[i - first], b[i - first]});
      if (starts_[run] + kSampleRun <= next_ + n && run == next_run_) ++next_run_;
    }
  }

  static tile::RunErrors errors_of(const float* a, const float* b, const double*, int64_t n, double limit,
                                   bool has_rare, const tile::ErrorArrays& into) {
    return tile::run_errors(a, b, n, limit, has_rare, into);
  }
  static tile::RunErrors errors_of(const double* a, const double* b, const double* d, int64_t n, double limit,
                                   bool, const tile::ErrorArrays& into) {
    return tile::run_errors(a, b, d, n, limit, into);
  }
  bool cells_of(const float* a, const float* b, const double*, int64_t n) {
    return tile::value_cells(a, b, n, start_.values, start_.limit, ahead_, cells_);
  }
  bool cells_of(const double* a, const double* b, const double* d, int64_t n) {
    tile::value_cells(a, b, d, n, start_.values, cells_);
    return true;
  }

  template <class T>
  void add_tile(const T* a, const T* b, const double* d, int64_t n, bool has_nonfinite) {
    const bool has_rare = cells_of(a, b, d, n);
    has_nonfinite ? count_finite(n) : count_all(n);
    for (int64_t done = 0; done < n;) {
      const int64_t part = std::min(n - done, at_.left());
      for (size_t i = 0; i < entries_.size(); ++i) entries_[i] = at_.entry(i);
      add_run(a + done, b + done, d != nullptr ? d + done : nullptr, part, has_rare);
      if (has_nonfinite) skip(done, part);
      at_.pass(part);
      done += part;
      if (at_.block() != block_) flush();
    }
  }

  void count_all(int64_t n) {
    uint32_t *const cells = cell_counts_.data(), *const sizes = size_counts_.data();
    int64_t i = 0;
    for (; i + tile::kCountTurns <= n; i += tile::kCountTurns)
      for (int64_t turn = 0; turn < tile::kCountTurns; ++turn) {
        const uint32_t found = cells_[i + turn];
        ++cells[static_cast<uint16_t>(found) + turn];
        ++sizes[(found >> tile::kUpperHalf) + turn];
      }
    for (; i < n; ++i) count_one(cells_[i]);
  }

  void count_finite(int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      if (t_.finite[i]) count_one(cells_[i]);
  }

  void count_one(uint32_t found) {
    ++cell_counts_[static_cast<uint16_t>(found)];
    ++size_counts_[found >> tile::kUpperHalf];
  }

  template <class T>
  void add_run(const T* a, const T* b, const double* d, int64_t n, bool has_rare) {
    tile::RunErrors errors;
    if (walk_.group() == 1) {
      const auto at = static_cast<size_t>(at_.place());
      errors = errors_of(a, b, d, n, start_.limit, has_rare,
                         {&current_.max[at], &current_.abs[at], &current_.squares[at], &current_.golden[at]});
      add_to_outer(entries_, errors);
      return;
    }
    for (int64_t done = 0; done < n;) {
      const int64_t place = at_.place() + done;
      const int64_t part = std::min(n - done, walk_.group() - place % walk_.group());
      errors =
          errors_of(a + done, b + done, d != nullptr ? d + done : nullptr, part, start_.limit, has_rare, {});
      current_.add(place / walk_.group(), errors);
      add_to_outer(entries_, errors);
      done += part;
    }
  }

  void add_to_outer(const std::vector<int64_t>& entries, const tile::RunErrors& errors) {
    for (size_t i = 0; i < out_.outer.size(); ++i) out_.outer[i].add(entries[i], errors);
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
  const bool is_side_by_side_;
  std::vector<int64_t> entries_;  // of the outer dimensions
  Run runs_[tile::kMostRuns];
  DetailSums out_;
  tile::Ahead ahead_;
  alignas(64) uint32_t cells_[kTile];
  bool apart_[kTile] = {};
  static constexpr int64_t kShortest = 256;  // a run that is taken side by side with others
  static constexpr int64_t kPieces = kTile;  // components of all that are taken side by side
  // A band has fewer than 2^32 components.
  std::vector<uint32_t> cell_counts_ =
      std::vector<uint32_t>(tile::kValueBins * tile::kValueBins * tile::kCountTurns);
  std::vector<uint32_t> size_counts_ = std::vector<uint32_t>(tile::kSizeBins * tile::kCountTurns);
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
