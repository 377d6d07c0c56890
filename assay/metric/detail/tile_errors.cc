#include "assay/metric/detail/tile_errors.h"

#include "assay/tensor/simd_targets.h"

#include <hwy/cache_control.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/detail/tile_errors.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {

HWY_INLINE void AddTo(double* at, V64 value) { hn::StoreU(hn::Add(hn::LoadU(D64(), at), value), D64(), at); }

// One of the sums of a run, or its largest.
HWY_INLINE void Take(const double* from, V64* to) {
  for (int v = 0; v < kVecs; ++v) to[v] = hn::LoadU(D64(), from + v * kN);
}
HWY_INLINE void Give(const V64* from, double* to) {
  for (int v = 0; v < kVecs; ++v) hn::StoreU(from[v], D64(), to + v * kN);
}

// What few tensors have, or few of their parts: it stays in memory.
template <bool kStuck>
HWY_INLINE void AddRare(V64 x, V64 y, V64 square, V64 most, int64_t lane, ErrorLanes& to) {
  const D64 d64;
  const V64 zero = hn::Zero(d64), one = hn::Set(d64, 1);
  const auto is_zero = hn::And(hn::Eq(x, zero), hn::Gt(hn::Abs(y), zero));
  AddTo(to.zeros + lane, hn::IfThenElseZero(is_zero, one));
  AddTo(to.zero_squares + lane, hn::IfThenElseZero(is_zero, square));
  if (!kStuck) return;
  const auto is_stuck = hn::And(hn::Ge(hn::Abs(x), most), hn::Gt(hn::Abs(y), most));
  AddTo(to.stuck + lane, hn::IfThenElseZero(is_stuck, one));
  AddTo(to.stuck_squares + lane, hn::IfThenElseZero(is_stuck, square));
}

// n is a multiple of kGroup.
template <int kRuns, bool kArrays, bool kRare, bool kStuck, bool kGiven, class T>
HWY_INLINE void PiecesPass(const T* const* a, const T* const* b, const double* HWY_RESTRICT given, int64_t n,
                           double limit, const ErrorArrays& into, ErrorLanes* HWY_RESTRICT of_runs) {
  const D64 d64;
  const V64 most = hn::Set(d64, limit);
  V64 run_max[kRuns][kVecs], run_abs[kRuns][kVecs], run_squares[kRuns][kVecs], run_golden[kRuns][kVecs];
  for (int run = 0; run < kRuns; ++run) {
    Take(of_runs[run].max, run_max[run]);
    Take(of_runs[run].abs, run_abs[run]);
    Take(of_runs[run].squares, run_squares[run]);
    Take(of_runs[run].golden, run_golden[run]);
  }
  for (int64_t i = 0; i < n; i += kGroup)
    for (int t = 0; t < kTurns; ++t) {
      const int v = t % kVecs;
      const int64_t at = i + t * kN;
      V64 max, abs, squares, golden;
      if (kArrays) {
        max = hn::LoadU(d64, into.max + at);
        abs = hn::LoadU(d64, into.abs + at);
        squares = hn::LoadU(d64, into.squares + at);
        golden = hn::LoadU(d64, into.golden + at);
      }
      for (int run = 0; run < kRuns; ++run) {
        const V64 x = Widen(a[run] + at), y = Widen(b[run] + at);
        const V64 d = kGiven ? hn::LoadU(d64, given + at) : hn::Sub(x, y);
        const V64 size = hn::Abs(d), square = hn::Mul(d, d), of_golden = hn::Mul(y, y);
        if (kArrays) {
          max = hn::Max(max, size);
          abs = hn::Add(abs, size);
          squares = hn::Add(squares, square);
          golden = hn::Add(golden, of_golden);
        }
        run_max[run][v] = hn::Max(run_max[run][v], size);
        run_abs[run][v] = hn::Add(run_abs[run][v], size);
        run_squares[run][v] = hn::Add(run_squares[run][v], square);
        run_golden[run][v] = hn::Add(run_golden[run][v], of_golden);
        if (kRare) AddRare<kStuck>(x, y, square, most, v * kN, of_runs[run]);
      }
      if (kArrays) {
        hn::StoreU(max, d64, into.max + at);
        hn::StoreU(abs, d64, into.abs + at);
        hn::StoreU(squares, d64, into.squares + at);
        hn::StoreU(golden, d64, into.golden + at);
      }
    }
  for (int run = 0; run < kRuns; ++run) {
    Give(run_max[run], of_runs[run].max);
    Give(run_abs[run], of_runs[run].abs);
    Give(run_squares[run], of_runs[run].squares);
    Give(run_golden[run], of_runs[run].golden);
  }
}

template <int kRuns, bool kArrays, bool kGiven, class T>
HWY_INLINE void Pieces(const T* const* a, const T* const* b, const double* given, int64_t n, double limit,
                       bool has_rare, const ErrorArrays& into, ErrorLanes* of_runs) {
  if (!has_rare)
    PiecesPass<kRuns, kArrays, false, false, kGiven>(a, b, given, n, limit, into, of_runs);
  else if (std::isfinite(limit))
    PiecesPass<kRuns, kArrays, true, true, kGiven>(a, b, given, n, limit, into, of_runs);
  else
    PiecesPass<kRuns, kArrays, true, false, kGiven>(a, b, given, n, limit, into, of_runs);
}

void PiecesF32(int64_t runs, const float* const* a, const float* const* b, int64_t n, double limit,
               bool has_rare, const ErrorArrays& into, ErrorLanes* of_runs) {
  if (runs == 4) return Pieces<4, true, false>(a, b, nullptr, n, limit, has_rare, into, of_runs);
  if (runs == 2) return Pieces<2, true, false>(a, b, nullptr, n, limit, has_rare, into, of_runs);
  Pieces<1, true, false>(a, b, nullptr, n, limit, has_rare, into, of_runs);
}

// The elements behind the last full group are added up by themselves.
template <bool kGiven, class T>
HWY_INLINE void RunPass(const T* a, const T* b, const double* given, int64_t n, double limit, bool has_rare,
                        const ErrorArrays& into, ErrorLanes& lanes) {
  int64_t i = n / kGroup * kGroup;
  if (into.max == nullptr)
    Pieces<1, false, kGiven>(&a, &b, given, i, limit, has_rare, into, &lanes);
  else
    Pieces<1, true, kGiven>(&a, &b, given, i, limit, has_rare, into, &lanes);
  if (i == n) return;
  ErrorLanes tail;
  for (; i < n; ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    const double d = kGiven ? given[i] : x - y;
    const double size = std::abs(d);
    const int64_t lane = i % kLanes;
    if (into.max != nullptr) {
      into.max[i] = std::max(into.max[i], size);
      into.abs[i] += size;
      into.squares[i] += d * d;
      into.golden[i] += y * y;
    }
    tail.max[lane] = std::max(tail.max[lane], size);
    tail.abs[lane] += size;
    tail.squares[lane] += d * d;
    tail.golden[lane] += y * y;
    if (x == 0 && y != 0) {
      tail.zeros[lane] += 1;
      tail.zero_squares[lane] += d * d;
    }
    if (std::abs(x) >= limit && std::abs(y) > limit) {
      tail.stuck[lane] += 1;
      tail.stuck_squares[lane] += d * d;
    }
  }
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    lanes.max[lane] = std::max(lanes.max[lane], tail.max[lane]);
    lanes.abs[lane] += tail.abs[lane];
    lanes.squares[lane] += tail.squares[lane];
    lanes.golden[lane] += tail.golden[lane];
    lanes.zeros[lane] += tail.zeros[lane];
    lanes.zero_squares[lane] += tail.zero_squares[lane];
    lanes.stuck[lane] += tail.stuck[lane];
    lanes.stuck_squares[lane] += tail.stuck_squares[lane];
  }
}

void RunF32(const float* a, const float* b, int64_t n, double limit, bool has_rare, const ErrorArrays& into,
            ErrorLanes& lanes) {
  RunPass<false>(a, b, nullptr, n, limit, has_rare, into, lanes);
}
void RunF64(const double* a, const double* b, const double* d, int64_t n, double limit,
            const ErrorArrays& into, ErrorLanes& lanes) {
  d != nullptr ? RunPass<true>(a, b, d, n, limit, true, into, lanes)
               : RunPass<false>(a, b, nullptr, n, limit, true, into, lanes);
}

using DInt = hn::RebindToSigned<DF>;
using VInt = hn::Vec<DInt>;

constexpr int32_t kOne = 0x3F800000;  // the pattern of 1.0f
constexpr int kTurnsShift = 3;        // a factor of kCountTurns
static_assert(kValueBins == 1 << 6 && kCountTurns == 1 << kTurnsShift);

template <bool kLogarithmic>
HWY_INLINE VInt BinsOf(VF x, VF low, VF per_unit, VF per_pattern) {
  const DF d;
  const DInt di;
  VF place;
  if (kLogarithmic) {
    const VF away = hn::Add(hn::Mul(hn::Abs(x), per_unit), hn::Set(d, 1.0f));
    const VInt steps = hn::Sub(hn::BitCast(di, away), hn::Set(di, kOne));
    const VF out = hn::Mul(hn::ConvertTo(d, steps), per_pattern);
    place = hn::Add(hn::CopySign(out, x), hn::Set(d, static_cast<float>(kValueBins / 2)));
  } else {
    place = hn::Mul(hn::Sub(x, low), per_unit);
  }
  // What rounding, or the end of the range, takes beyond the bins stays in the last one.
  place = hn::Min(hn::Max(place, hn::Zero(d)), hn::Set(d, static_cast<float>(kValueBins - 1)));
  return hn::ConvertTo(di, place);
}

template <bool kLogarithmic>
HWY_INLINE bool CellsPass(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t n,
                          const ValueScale& scale, double limit, const Ahead& ahead,
                          uint32_t* HWY_RESTRICT cells) {
  const DF d;
  const DInt di;
  const hn::RebindToUnsigned<DF> du;
  const VF low = hn::Set(d, static_cast<float>(scale.low)),
           per_unit = hn::Set(d, static_cast<float>(scale.per_unit)),
           per_pattern = hn::Set(d, static_cast<float>(scale.per_pattern));
  // Whatever reaches the limit as a float at least may reach it.
  const VF most = hn::Set(d, std::nextafter(static_cast<float>(limit), 0.0F)), zero = hn::Zero(d);
  VF rare = zero;  // not 0 where something is
  const auto one = [&](const float* x, const float* y, uint32_t* cell) HWY_ATTR {
    const VF mine = hn::LoadU(d, x), golden = hn::LoadU(d, y);
    const VInt rows = BinsOf<kLogarithmic>(golden, low, per_unit, per_pattern);
    const VInt columns = BinsOf<kLogarithmic>(mine, low, per_unit, per_pattern);
    const VF size = hn::Abs(hn::Sub(mine, golden));
    const VInt sizes =
        hn::ShiftLeft<kUpperHalf + kTurnsShift>(hn::ShiftRight<kSizeShift>(hn::BitCast(di, size)));
    const VInt cell_of_both =
        hn::Add(hn::ShiftLeft<6 + kTurnsShift>(rows), hn::ShiftLeft<kTurnsShift>(columns));
    hn::StoreU(hn::BitCast(du, hn::Or(sizes, cell_of_both)), du, cell);
    const VF far = hn::Abs(golden);
    rare = hn::Or(rare, hn::IfThenElseZero(hn::Eq(mine, zero), far));
    rare = hn::Or(rare, hn::IfThenElseZero(hn::Ge(hn::Min(hn::Abs(mine), far), most), far));
  };
  int64_t i = 0;
  for (; i + kNF <= n; i += kNF) {
    hwy::Prefetch(ahead.a + i * ahead.step_a);
    hwy::Prefetch(ahead.b + i * ahead.step_b);
    one(a + i, b + i, cells + i);
  }
  if (i < n) {
    float rest_a[kNF] = {}, rest_b[kNF] = {};
    uint32_t rest_cells[kNF];
    std::copy(a + i, a + n, rest_a);
    std::copy(b + i, b + n, rest_b);
    one(rest_a, rest_b, rest_cells);
    std::copy(rest_cells, rest_cells + (n - i), cells + i);
  }
  return !hn::AllTrue(d, hn::Eq(rare, zero));
}

void CellsF32(const float* a, const float* b, int64_t n, const ValueScale& scale, double limit,
              const Ahead& ahead, uint32_t* cells, bool& has_rare) {
  has_rare = scale.is_logarithmic ? CellsPass<true>(a, b, n, scale, limit, ahead, cells)
                                  : CellsPass<false>(a, b, n, scale, limit, ahead, cells);
}

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

static_assert(kPieceOf % 16 == 0);

HWY_EXPORT(PiecesF32);
HWY_EXPORT(RunF32);
HWY_EXPORT(RunF64);
HWY_EXPORT(CellsF32);

void add_pieces(int64_t runs, const float* const* a, const float* const* b, int64_t n, double limit,
                bool has_rare, const ErrorArrays& into, ErrorLanes* of_runs) {
  HWY_DYNAMIC_DISPATCH(PiecesF32)(runs, a, b, n, limit, has_rare, into, of_runs);
}

// The fixed tree of tile_lanes-inl.h.
RunErrors total_of(const ErrorLanes& lanes) {
  const auto total = [](const double(&of)[8]) {
    return ((of[0] + of[4]) + (of[2] + of[6])) + ((of[1] + of[5]) + (of[3] + of[7]));
  };
  return {.max = *std::ranges::max_element(lanes.max),
          .abs = total(lanes.abs),
          .squares = total(lanes.squares),
          .golden = total(lanes.golden),
          .zeros = total(lanes.zeros),
          .zero_squares = total(lanes.zero_squares),
          .stuck = total(lanes.stuck),
          .stuck_squares = total(lanes.stuck_squares)};
}

RunErrors run_errors(const float* a, const float* b, int64_t n, double limit, bool has_rare,
                     const ErrorArrays& into) {
  ErrorLanes lanes;
  HWY_DYNAMIC_DISPATCH(RunF32)(a, b, n, limit, has_rare, into, lanes);
  return total_of(lanes);
}
RunErrors run_errors(const double* a, const double* b, const double* d, int64_t n, double limit,
                     const ErrorArrays& into) {
  ErrorLanes lanes;
  HWY_DYNAMIC_DISPATCH(RunF64)(a, b, d, n, limit, into, lanes);
  return total_of(lanes);
}

bool value_cells(const float* a, const float* b, int64_t n, const ValueScale& scale, double limit,
                 const Ahead& ahead, uint32_t* cells) {
  bool has_rare = false;
  HWY_DYNAMIC_DISPATCH(CellsF32)(a, b, n, scale, limit, ahead, cells, has_rare);
  return has_rare;
}

void value_cells(const double* a, const double* b, const double* d, int64_t n, const ValueScale& scale,
                 uint32_t* cells) {
  const auto bin_of = [&](double x) {
    double place = (x - scale.low) * scale.per_unit;
    if (scale.is_logarithmic) {
      const auto away = static_cast<float>(1 + std::abs(x) * scale.per_unit);
      const double steps = std::bit_cast<int32_t>(away) - 0x3F800000;
      place = kValueBins / 2 + std::copysign(steps * scale.per_pattern, x);
    }
    return static_cast<int32_t>(std::clamp<double>(place, 0, kValueBins - 1));
  };
  for (int64_t i = 0; i < n; ++i) {
    const auto size = static_cast<float>(std::abs(d != nullptr ? d[i] : a[i] - b[i]));
    cells[i] = kCountTurns * (static_cast<uint32_t>(bin_of(b[i]) * kValueBins + bin_of(a[i])) |
                              std::bit_cast<uint32_t>(size) >> kSizeShift << kUpperHalf);
  }
}

}  // namespace assay::tile
#endif
