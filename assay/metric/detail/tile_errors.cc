#include "assay/metric/detail/tile_errors.h"

#include "assay/tensor/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/metric/detail/tile_errors.cc"
#include <hwy/foreach_target.h>  // must come before highway.h

#include "assay/metric/tile_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::tile::HWY_NAMESPACE {

// A lane's share, for the elements behind the last full group.
struct ErrorTail {
  double abs[kLanes] = {}, squares[kLanes] = {}, golden[kLanes] = {}, zeros[kLanes] = {},
         zero_squares[kLanes] = {}, stuck[kLanes] = {}, stuck_squares[kLanes] = {};
};

HWY_INLINE void RaiseTo(double* at, V64 value) {
  hn::StoreU(hn::Max(hn::LoadU(D64(), at), value), D64(), at);
}
HWY_INLINE void AddTo(double* at, V64 value) { hn::StoreU(hn::Add(hn::LoadU(D64(), at), value), D64(), at); }

template <bool kArrays, bool kStuck, bool kGiven, class T>
HWY_INLINE void ErrorsPass(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, const double* given, int64_t n,
                           double limit, const ErrorArrays& into, RunErrors& out) {
  const D64 d64;
  const V64 zero = hn::Zero(d64), one = hn::Set(d64, 1), most = hn::Set(d64, limit);
  Lanes max(0), abs(0), squares(0), golden(0), zeros(0), zero_squares(0), stuck(0), stuck_squares(0);
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup)
    for (int t = 0; t < kTurns; ++t) {
      const int v = t % kVecs;
      const int64_t at = i + t * kN;
      const V64 x = Widen(a + at), y = Widen(b + at);
      const V64 d = kGiven ? hn::LoadU(d64, given + at) : hn::Sub(x, y);
      const V64 size = hn::Abs(d), square = hn::Mul(d, d), of_golden = hn::Mul(y, y);
      if (kArrays) {
        RaiseTo(into.max + at, size);
        AddTo(into.abs + at, size);
        AddTo(into.squares + at, square);
        AddTo(into.golden + at, of_golden);
      }
      max.v[v] = hn::Max(max.v[v], size);
      abs.v[v] = hn::Add(abs.v[v], size);
      squares.v[v] = hn::Add(squares.v[v], square);
      golden.v[v] = hn::Add(golden.v[v], of_golden);
      const auto is_zero = hn::And(hn::Eq(x, zero), hn::Gt(hn::Abs(y), zero));
      zeros.v[v] = hn::Add(zeros.v[v], hn::IfThenElseZero(is_zero, one));
      zero_squares.v[v] = hn::Add(zero_squares.v[v], hn::IfThenElseZero(is_zero, square));
      if (kStuck) {
        const auto is_stuck = hn::And(hn::Ge(hn::Abs(x), most), hn::Gt(hn::Abs(y), most));
        stuck.v[v] = hn::Add(stuck.v[v], hn::IfThenElseZero(is_stuck, one));
        stuck_squares.v[v] = hn::Add(stuck_squares.v[v], hn::IfThenElseZero(is_stuck, square));
      }
    }
  ErrorTail tail;
  double largest = Largest(max, 0);
  for (; i < n; ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    const double d = kGiven ? given[i] : x - y;
    const double size = std::abs(d);
    const int64_t lane = i % kLanes;
    if (kArrays) {
      into.max[i] = std::max(into.max[i], size);
      into.abs[i] += size;
      into.squares[i] += d * d;
      into.golden[i] += y * y;
    }
    largest = std::max(largest, size);
    tail.abs[lane] += size;
    tail.squares[lane] += d * d;
    tail.golden[lane] += y * y;
    if (x == 0 && y != 0) {
      tail.zeros[lane] += 1;
      tail.zero_squares[lane] += d * d;
    }
    if (kStuck && std::abs(x) >= limit && std::abs(y) > limit) {
      tail.stuck[lane] += 1;
      tail.stuck_squares[lane] += d * d;
    }
  }
  out.max = largest;
  out.abs = Total(abs, tail.abs);
  out.squares = Total(squares, tail.squares);
  out.golden = Total(golden, tail.golden);
  out.zeros = Total(zeros, tail.zeros);
  out.zero_squares = Total(zero_squares, tail.zero_squares);
  if (!kStuck) return;
  out.stuck = Total(stuck, tail.stuck);
  out.stuck_squares = Total(stuck_squares, tail.stuck_squares);
}

template <bool kGiven, class T>
HWY_INLINE void ErrorsOf(const T* a, const T* b, const double* d, int64_t n, double limit,
                         const ErrorArrays& into, RunErrors& out) {
  const bool may_be_stuck = std::isfinite(limit);
  if (into.max == nullptr)
    may_be_stuck ? ErrorsPass<false, true, kGiven>(a, b, d, n, limit, into, out)
                 : ErrorsPass<false, false, kGiven>(a, b, d, n, limit, into, out);
  else
    may_be_stuck ? ErrorsPass<true, true, kGiven>(a, b, d, n, limit, into, out)
                 : ErrorsPass<true, false, kGiven>(a, b, d, n, limit, into, out);
}

void ErrorsF32(const float* a, const float* b, int64_t n, double limit, const ErrorArrays& into,
               RunErrors& out) {
  ErrorsOf<false>(a, b, nullptr, n, limit, into, out);
}
void ErrorsF64(const double* a, const double* b, const double* d, int64_t n, double limit,
               const ErrorArrays& into, RunErrors& out) {
  d != nullptr ? ErrorsOf<true>(a, b, d, n, limit, into, out)
               : ErrorsOf<false>(a, b, nullptr, n, limit, into, out);
}

using DInt = hn::RebindToSigned<DF>;
using VInt = hn::Vec<DInt>;

constexpr int32_t kOne = 0x3F800000;  // the pattern of 1.0f

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
HWY_INLINE void CellsPass(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t n,
                          const ValueScale& scale, int32_t* HWY_RESTRICT cells, int32_t* HWY_RESTRICT sizes) {
  const DF d;
  const DInt di;
  const VF low = hn::Set(d, static_cast<float>(scale.low)),
           per_unit = hn::Set(d, static_cast<float>(scale.per_unit)),
           per_pattern = hn::Set(d, static_cast<float>(scale.per_pattern));
  const auto one = [&](const float* x, const float* y, int32_t* cell, int32_t* size) HWY_ATTR {
    const VF mine = hn::LoadU(d, x), golden = hn::LoadU(d, y);
    const VInt rows = BinsOf<kLogarithmic>(golden, low, per_unit, per_pattern);
    const VInt columns = BinsOf<kLogarithmic>(mine, low, per_unit, per_pattern);
    hn::StoreU(hn::Add(hn::ShiftLeft<6>(rows), columns), di, cell);
    hn::StoreU(hn::ShiftRight<kSizeShift>(hn::BitCast(di, hn::Abs(hn::Sub(mine, golden)))), di, size);
  };
  int64_t i = 0;
  for (; i + kNF <= n; i += kNF) one(a + i, b + i, cells + i, sizes + i);
  if (i == n) return;
  float rest_a[kNF] = {}, rest_b[kNF] = {};
  int32_t rest_cells[kNF], rest_sizes[kNF];
  std::copy(a + i, a + n, rest_a);
  std::copy(b + i, b + n, rest_b);
  one(rest_a, rest_b, rest_cells, rest_sizes);
  std::copy(rest_cells, rest_cells + (n - i), cells + i);
  std::copy(rest_sizes, rest_sizes + (n - i), sizes + i);
}

void CellsF32(const float* a, const float* b, int64_t n, const ValueScale& scale, int32_t* cells,
              int32_t* sizes) {
  scale.is_logarithmic ? CellsPass<true>(a, b, n, scale, cells, sizes)
                       : CellsPass<false>(a, b, n, scale, cells, sizes);
}

}  // namespace assay::tile::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::tile {

static_assert(kValueBins == 1 << 6);

HWY_EXPORT(ErrorsF32);
HWY_EXPORT(ErrorsF64);
HWY_EXPORT(CellsF32);

RunErrors run_errors(const float* a, const float* b, int64_t n, double limit, const ErrorArrays& into) {
  RunErrors out;
  HWY_DYNAMIC_DISPATCH(ErrorsF32)(a, b, n, limit, into, out);
  return out;
}
RunErrors run_errors(const double* a, const double* b, const double* d, int64_t n, double limit,
                     const ErrorArrays& into) {
  RunErrors out;
  HWY_DYNAMIC_DISPATCH(ErrorsF64)(a, b, d, n, limit, into, out);
  return out;
}

void value_cells(const float* a, const float* b, int64_t n, const ValueScale& scale, int32_t* cells,
                 int32_t* sizes) {
  HWY_DYNAMIC_DISPATCH(CellsF32)(a, b, n, scale, cells, sizes);
}

void value_cells(const double* a, const double* b, const double* d, int64_t n, const ValueScale& scale,
                 int32_t* cells, int32_t* sizes) {
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
    cells[i] = bin_of(b[i]) * kValueBins + bin_of(a[i]);
    const auto size = static_cast<float>(std::abs(d != nullptr ? d[i] : a[i] - b[i]));
    sizes[i] = std::bit_cast<int32_t>(size) >> kSizeShift;
  }
}

}  // namespace assay::tile
#endif
