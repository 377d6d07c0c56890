#include "assay/run/compare/detail.h"

#include "assay/support/parallel.h"
#include "assay/tensor/dense.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>

namespace assay {
namespace {

OperandPtr tensor_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(component(dtype))));
  from_f64(dtype, values.data(), std::ssize(values), bytes.data());
  return dense_in_memory(std::move(bytes), {dtype, shape});
}

Detail look(const Operand& mine, const Operand& golden, const DetailOptions& options = {}) {
  Progress silent("", 0, false);
  PairScratch scratch;
  auto detail = look_closely(mine, golden, options, scratch, silent);
  EXPECT_TRUE(detail.has_value()) << (detail ? "" : detail.error().message);
  return detail ? std::move(*detail) : Detail{};
}

std::vector<double> normal(int64_t count, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> draw;
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) value = draw(engine);
  return values;
}

using Change = std::function<double(const std::vector<int64_t>& at, double golden)>;

// golden: normal numbers; mine: what the change makes of them, with noise of so much of each.
struct Pair {
  OperandPtr mine, golden;
  std::string sentence() const { return look(*mine, *golden).sentence(); }
};

Pair changed(DType dtype, const Shape& shape, const Change& change, double noise = 0, unsigned seed = 1) {
  const std::vector<double> golden = normal(shape.count(), seed), errors = normal(shape.count(), seed + 1000);
  std::vector<double> mine = golden;
  std::vector<int64_t> at(shape.dims.size());
  for (size_t n = 0; n < mine.size(); ++n) {
    auto rest = static_cast<int64_t>(n);
    for (size_t i = at.size(); i-- > 0; rest /= shape.dims[i]) at[i] = rest % shape.dims[i];
    mine[n] = change(at, golden[n]) * (1 + noise * errors[n]);
  }
  return {tensor_of(dtype, shape, mine), tensor_of(dtype, shape, golden)};
}

// mine holds golden's elements at other places.
Pair moved(const Shape& shape, const std::function<int64_t(int64_t)>& from, double noise = 0) {
  const std::vector<double> golden = normal(shape.count()), errors = normal(shape.count(), 77);
  std::vector<double> mine(golden.size());
  for (size_t n = 0; n < mine.size(); ++n)
    mine[n] = golden[static_cast<size_t>(from(static_cast<int64_t>(n)))] * (1 + noise * errors[n]);
  return {tensor_of(DType::f32, shape, mine), tensor_of(DType::f32, shape, golden)};
}

TEST(LookClosely, CountsAndSumsAreThoseOfALoop) {
  const Shape shape{{3, 130, 70}};
  const Pair pair = changed(DType::f32, shape, [](const auto& at, double x) {
    return at[1] == 7 ? x + 1 : at[2] == 3 ? x * 1.5 : x;
  });
  const Detail detail = look(*pair.mine, *pair.golden);
  std::vector<float> a(static_cast<size_t>(shape.count())), b(a.size());
  const auto mine_bytes = read_whole(*pair.mine, 1 << 20), golden_bytes = read_whole(*pair.golden, 1 << 20);
  std::memcpy(a.data(), mine_bytes->data(), a.size() * 4);
  std::memcpy(b.data(), golden_bytes->data(), b.size() * 4);

  ASSERT_EQ(detail.profiles.size(), 3U);
  for (size_t dim = 0; dim < 3; ++dim) {
    const DetailProfile& profile = detail.profiles[dim];
    EXPECT_EQ(profile.axis.dimension, static_cast<int>(dim));
    ASSERT_EQ(std::ssize(profile.max_abs), shape.dims[dim]);
    for (int64_t entry = 0; entry < shape.dims[dim]; ++entry) {
      double max = 0, abs = 0, squares = 0, golden = 0;
      int64_t count = 0;
      for (int64_t n = 0; n < shape.count(); ++n) {
        const int64_t at[] = {n / (130 * 70), n / 70 % 130, n % 70};
        if (at[dim] != entry) continue;
        const auto i = static_cast<size_t>(n);
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        max = std::max(max, std::abs(d));
        abs += std::abs(d);
        squares += d * d;
        golden += static_cast<double>(b[i]) * static_cast<double>(b[i]);
        ++count;
      }
      const auto k = static_cast<size_t>(entry);
      EXPECT_EQ(profile.max_abs[k], max);
      EXPECT_NEAR(profile.mean_abs[k], abs / static_cast<double>(count), 1e-12);
      EXPECT_NEAR(profile.rel_l2[k], std::sqrt(squares / golden), 1e-12);
    }
  }
  // 130 rows three at a time, 70 columns two at a time.
  EXPECT_EQ(detail.map.rows.step, 3);
  EXPECT_EQ(detail.map.columns.step, 2);
  ASSERT_EQ(std::ssize(detail.map.max_abs), 44 * 35);
  for (int64_t row = 0; row < 44; ++row)
    for (int64_t column = 0; column < 35; ++column) {
      double max = 0, abs = 0;
      int64_t count = 0;
      for (int64_t n = 0; n < shape.count(); ++n) {
        if (n / 70 % 130 / 3 != row || n % 70 / 2 != column) continue;
        const auto i = static_cast<size_t>(n);
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        max = std::max(max, std::abs(d));
        abs += std::abs(d);
        ++count;
      }
      const auto k = static_cast<size_t>(row * 35 + column);
      EXPECT_EQ(detail.map.max_abs[k], max);
      EXPECT_NEAR(detail.map.mean_abs[k], abs / static_cast<double>(count), 1e-12);
    }
  // Bins: a value counts where the edges say.
  std::vector<int64_t> bins(64);
  for (const double value : a)
    for (size_t i = 0; i < 64; ++i)
      if (value >= detail.edges[i] && (value < detail.edges[i + 1] || i == 63)) {
        ++bins[i];
        break;
      }
  int64_t other = 0;
  for (size_t i = 0; i < 64; ++i) other += std::abs(bins[i] - detail.mine_values[i]);
  EXPECT_LE(other, 4);  // a value at an edge, which rounding may take to either side
  EXPECT_EQ(std::accumulate(detail.scatter.begin(), detail.scatter.end(), int64_t{0}), shape.count());
  EXPECT_EQ(std::accumulate(detail.differences.begin(), detail.differences.end(), int64_t{0}) +
                detail.zero_differences,
            shape.count());
  EXPECT_EQ(detail.zero_differences, detail.equal);
  for (size_t i = 0; i < detail.differences.size(); ++i) {
    int64_t count = 0;
    for (size_t n = 0; n < a.size(); ++n) {
      const float size = std::abs(a[n] - b[n]);
      count += size > 0 && size >= static_cast<float>(detail.difference_edges[i]) &&
               size < static_cast<float>(detail.difference_edges[i + 1]);
    }
    EXPECT_EQ(count, detail.differences[i]) << i;
  }
}

TEST(LookClosely, IsTheSameOnAnyNumberOfThreads) {
  const Shape shape{{5, 1301, 1290}};  // three bands, the last one cut
  const Pair pair = changed(
      DType::bf16, shape, [](const auto&, double x) { return x; }, 0.02);
  std::optional<Detail> first;
  for (const size_t threads : {1, 2, 5}) {
    const ThreadLimit limit(threads);
    const Detail detail = look(*pair.mine, *pair.golden);
    if (!first) first = detail;
    EXPECT_EQ(detail.scatter, first->scatter);
    EXPECT_EQ(detail.differences, first->differences);
    EXPECT_EQ(detail.map.mean_abs, first->map.mean_abs);
    ASSERT_EQ(detail.profiles.size(), 3U);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(detail.profiles[i].rel_l2, first->profiles[i].rel_l2);
    EXPECT_EQ(detail.sentence(), first->sentence());
  }
}

TEST(LookClosely, EveryShapeHasItsProfiles) {
  // Wide rows, long thin tensors, many dimensions: each entry is that of a loop.
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
           {}, {1}, {7}, {3, 1, 5}, {2, 70000}, {20000, 3}, {9000, 2, 3}, {4, 3, 2, 5, 6}}) {
    const Shape shape{dims};
    const Pair pair = changed(
        DType::f64, shape, [](const auto&, double x) { return x + 0.001; }, 0.01);
    const Detail detail = look(*pair.mine, *pair.golden);
    const auto a = read_whole(*pair.mine, 1 << 24), b = read_whole(*pair.golden, 1 << 24);
    const auto at = [](const auto& bytes, int64_t n) {
      double value = 0;
      std::memcpy(&value, bytes->data() + n * 8, 8);
      return value;
    };
    size_t next = 0;
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      if (dims[dim] < 2) continue;
      ASSERT_LT(next, detail.profiles.size());
      const DetailProfile& profile = detail.profiles[next++];
      ASSERT_LE(profile.axis.entries(), 512);
      std::vector<double> max(static_cast<size_t>(profile.axis.entries()));
      int64_t stride = 1;
      for (size_t i = dim + 1; i < dims.size(); ++i) stride *= dims[i];
      for (int64_t n = 0; n < shape.count(); ++n) {
        double& most = max[static_cast<size_t>(n / stride % dims[dim] / profile.axis.step)];
        most = std::max(most, std::abs(at(a, n) - at(b, n)));
      }
      EXPECT_EQ(profile.max_abs, max) << shape.text() << " dim " << dim;
    }
    EXPECT_EQ(next, detail.profiles.size());
  }
}

TEST(LookClosely, TheMapMayBeOfOtherDimensions) {
  const Shape shape{{4, 6, 100, 5}};
  const Pair pair = changed(DType::f32, shape,
                            [](const auto& at, double x) { return at[0] == 2 && at[1] == 5 ? x + 1 : x; });
  for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{{0, 1}, {1, 3}, {3, 0}, {1, 2}}) {
    const Detail detail = look(*pair.mine, *pair.golden, {rows, columns});
    EXPECT_EQ(detail.map.rows.dimension, rows);
    EXPECT_EQ(detail.map.columns.dimension, columns);
    const int64_t at[] = {2, 5, -1, -1};
    for (int64_t row = 0; row < detail.map.rows.entries(); ++row)
      for (int64_t column = 0; column < detail.map.columns.entries(); ++column) {
        const bool is_hit = (at[rows] < 0 || at[rows] == row) && (at[columns] < 0 || at[columns] == column);
        EXPECT_EQ(detail.map.max_abs[static_cast<size_t>(row * detail.map.columns.entries() + column)] > 0.5,
                  is_hit)
            << rows << columns << row << column;
      }
  }
}

TEST(LookClosely, SaysNothingOfHonestNoise) {
  unsigned seed = 0;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::f8e4m3fn})
    for (const double noise : {1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0})
      for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
               {64}, {7, 9}, {33, 64}, {2, 4, 16, 32}, {1, 128, 96}, {1000}, {4, 4}, {256, 2}}) {
        const Pair pair = changed(
            dtype, Shape{dims}, [](const auto&, double x) { return x; }, noise, ++seed);
        const Detail detail = look(*pair.mine, *pair.golden);
        if (detail.equal == detail.count || detail.count - detail.equal <= 8) continue;  // it says how many
        EXPECT_EQ(detail.sentence(), "") << name(dtype) << ' ' << noise << ' ' << Shape{dims}.text();
      }
}

// ----- diagnoses: where they must appear, and near misses where they must not

const Shape kMatrix{{48, 64}};

TEST(Diagnose, AFactorAndItsNearMisses) {
  EXPECT_EQ(changed(DType::f32, kMatrix, [](const auto&, double x) { return 2 * x; }).sentence(),
            "mine = 2 x golden");
  EXPECT_EQ(changed(
                DType::bf16, kMatrix, [](const auto&, double x) { return 0.125 * x; }, 0.002)
                .sentence(),
            "mine = 0.125 x golden");
  EXPECT_EQ(changed(
                DType::f32, kMatrix, [](const auto&, double x) { return 1.9998 * x; }, 1e-5)
                .sentence(),
            "mine = 1.9998 x golden");
  EXPECT_EQ(changed(
                DType::f32, kMatrix, [](const auto&, double x) { return -x; }, 1e-5)
                .sentence(),
            "mine = -golden");
  // A few percent of noise drown a factor as close to 1 as that.
  EXPECT_EQ(changed(
                DType::f32, kMatrix, [](const auto&, double x) { return 1.01 * x; }, 0.05)
                .sentence(),
            "");
  // One huge element is doubled: a factor of 2 explains nearly all of the error, and none of the others.
  const auto outlier = [](const auto& at, double x) {
    return at[0] == 3 && at[1] == 5 ? 2e5 : 1.2 * x + 0.3;
  };
  Pair pair = changed(DType::f32, kMatrix, outlier);
  std::vector<double> golden = normal(kMatrix.count());
  golden[3 * 64 + 5] = 1e5;
  pair.golden = tensor_of(DType::f32, kMatrix, golden);
  EXPECT_EQ(pair.sentence().find("mine = 2 x golden"), std::string::npos) << pair.sentence();
  // Half of the rows are doubled.
  EXPECT_EQ(changed(DType::f32, kMatrix, [](const auto& at, double x) { return at[0] < 24 ? 2 * x : x; })
                .sentence(),
            "only the first 24 rows (of 48)");
  // Too few elements fit anything.
  EXPECT_EQ(changed(DType::f32, Shape{{4}}, [](const auto&, double x) { return 2 * x; }).sentence(), "");
}

TEST(Diagnose, AConstantAndItsNearMisses) {
  EXPECT_EQ(changed(DType::f32, kMatrix, [](const auto&, double x) { return x + 0.5; }).sentence(),
            "off by a constant: mine = golden + 0.5");
  EXPECT_EQ(changed(
                DType::f32, kMatrix, [](const auto&, double x) { return x - 3; }, 1e-4)
                .sentence(),
            "off by a constant: mine = golden - 3");
  EXPECT_EQ(changed(DType::f32, kMatrix, [](const auto&, double x) { return 2 * x + 0.5; }).sentence(),
            "mine = 2 x golden + 0.5");
  // Of two values that golden has one is a bit larger in mine, one a bit smaller.
  const auto of_two = [](const auto& at, double) { return at[1] % 2 == 0 ? 0.25 : 0.75; };
  const auto apart = [](const auto& at, double) { return at[1] % 2 == 0 ? 0.26 : 0.74; };
  EXPECT_EQ(
      Pair({changed(DType::f32, kMatrix, apart).mine, changed(DType::f32, kMatrix, of_two).mine}).sentence(),
      "");
  // A bias for each column.
  EXPECT_EQ(changed(DType::f32, kMatrix,
                    [](const auto& at, double x) { return x + 0.1 * static_cast<double>(at[1] % 7); })
                .sentence(),
            "");
  EXPECT_EQ(changed(DType::i32, kMatrix,
                    [](const auto& at, double) { return static_cast<double>(at[0] * 64 + at[1]); })
                .sentence()
                .find("off by"),
            std::string::npos);
}

TEST(Diagnose, SignsAndTheirNearMisses) {
  EXPECT_EQ(changed(DType::f32, kMatrix, [](const auto&, double x) { return std::abs(x); }).sentence(),
            "mine = |golden|: signs are lost");
  EXPECT_EQ(changed(DType::f32, kMatrix,
                    [](const auto& at, double x) { return (at[0] * 7 + at[1] * 13) % 3 == 0 ? -x : x; })
                .sentence(),
            "the sign of some elements is flipped, their sizes agree");
  EXPECT_EQ(changed(DType::f32, kMatrix,
                    [](const auto& at, double x) { return (at[0] * 7 + at[1] * 13) % 3 == 0 ? -1.5 * x : x; })
                .sentence(),
            "");
}

TEST(Diagnose, RegionsAndTheirNearMisses) {
  const auto in = [](DType dtype, const Shape& shape,
                     const std::function<bool(const std::vector<int64_t>&)>& is_in, double noise = 0) {
    return changed(
               dtype, shape,
               [&](const auto& at, double x) {
                 return is_in(at) ? 0.3 * x + std::sin(static_cast<double>(13 * at.back())) : x;
               },
               noise)
        .sentence();
  };
  EXPECT_EQ(in(DType::f32, kMatrix, [](const auto& at) { return at[1] >= 48; }),
            "only the last 16 columns (of 64)");
  EXPECT_EQ(in(
                DType::bf16, kMatrix, [](const auto& at) { return at[1] >= 48; }, 0.004),
            "only the last 16 columns (of 64)");
  EXPECT_EQ(in(DType::f32, kMatrix, [](const auto& at) { return at[1] == 5; }), "only column 5 (of 64)");
  EXPECT_EQ(in(DType::f32, kMatrix, [](const auto& at) { return at[0] >= 5; }),
            "only the last 43 rows (of 48)");
  EXPECT_EQ(in(DType::f32, kMatrix, [](const auto& at) { return at[0] >= 5 && at[0] < 9; }),
            "only rows 5 to 8 (of 48)");
  EXPECT_EQ(in(DType::f32, kMatrix, [](const auto& at) { return at[0] == 5 || at[0] == 40; }),
            "only rows 5, 40 (of 48)");
  EXPECT_EQ(in(DType::f32, Shape{{2, 8, 16, 32}}, [](const auto& at) { return at[1] == 3; }),
            "only index 3 of dim 1 (of 8)");
  EXPECT_EQ(in(DType::f32, Shape{{2, 8, 16, 32}}, [](const auto& at) { return at[1] == 3 && at[3] >= 16; }),
            "only index 3 of dim 1 (of 8); only the last 16 columns (of 32)");
  // Few entries without error are those that are named; one alone may agree by chance.
  const Shape tokens{{256, 16}};
  EXPECT_EQ(in(DType::f32, tokens, [](const auto& at) { return at[0] >= 5; }),
            "all but the first 5 rows (of 256)");
  EXPECT_EQ(in(DType::f32, tokens, [](const auto& at) { return at[0] != 0; }), "");
  // More than the type explains, and no more than TF32 may leave: the rest is not right either.
  EXPECT_EQ(in(
                DType::f32, kMatrix, [](const auto& at) { return at[1] >= 48; }, 0.001),
            "mostly the last 16 columns (of 64)");
  // Every other column: no line can be drawn.
  EXPECT_EQ(in(DType::f32, kMatrix, [](const auto& at) { return at[1] % 2 == 1; }), "");
  // Errors that follow the size of golden: a massive channel is no fault of its own.
  const auto massive = [](const auto& at, double x) { return at[1] == 9 ? 1000 * x : x; };
  const Pair of_both = changed(DType::bf16, kMatrix, massive, 0.01);
  std::vector<double> golden = normal(kMatrix.count());
  for (size_t n = 9; n < golden.size(); n += 64) golden[n] *= 1000;
  EXPECT_EQ(Pair({of_both.mine, tensor_of(DType::bf16, kMatrix, golden)}).sentence(), "");
  // A channel that is nearly zero in golden has large errors of its own, as small as all others.
  std::vector<double> small = normal(kMatrix.count()), noisy = small;
  const std::vector<double> noise = normal(kMatrix.count(), 5);
  for (size_t n = 0; n < small.size(); ++n) {
    if (n % 64 == 9) small[n] *= 1e-6;
    noisy[n] = small[n] + 0.05 * noise[n];
  }
  EXPECT_EQ(Pair({tensor_of(DType::bf16, kMatrix, noisy), tensor_of(DType::bf16, kMatrix, small)}).sentence(),
            "");
  // The rest is wrong as well.
  EXPECT_EQ(in(
                DType::f32, kMatrix, [](const auto& at) { return at[1] >= 48; }, 0.02),
            "");
}

TEST(Diagnose, FewElements) {
  EXPECT_EQ(changed(DType::f32, kMatrix,
                    [](const auto& at, double x) { return at[0] == 3 && at[1] == 5 ? x + 1 : x; })
                .sentence(),
            "only element [3, 5] differs (of 3072)");
  EXPECT_EQ(changed(DType::f32, Shape{{1000}},
                    [](const auto& at, double x) { return at[0] % 400 == 1 ? x + 1 : x; })
                .sentence(),
            "only 3 of 1000 elements differ; only indices 1, 401, 801 of dim 0 (of 1000)");
  // Three elements of a small tensor have to share rows and columns: first of all they are three.
  EXPECT_EQ(changed(DType::f32, Shape{{6, 7}},
                    [](const auto& at, double x) {
                      return at[0] + 7 * at[1] == 15 || (at[0] == 4 && at[1] % 4 == 2) ? x + 1 : x;
                    })
                .sentence()
                .substr(0, 29),
            "only 3 of 42 elements differ;");
}

TEST(Diagnose, ZerosAndTheirNearMisses) {
  EXPECT_EQ(changed(DType::f32, kMatrix, [](const auto&, double) { return 0; }).sentence(),
            "mine is all zeros");
  EXPECT_EQ(changed(DType::f32, kMatrix, [](const auto&, double) { return 0.5; }).sentence(),
            "mine is 0.5 throughout");
  EXPECT_EQ(
      changed(DType::f32, kMatrix, [](const auto& at, double x) { return at[1] >= 60 ? 0 : x; }).sentence(),
      "only the last 4 columns (of 64); zeros in mine where golden has none: 192 elements (6.2 %)");
  EXPECT_EQ(
      changed(DType::f32, kMatrix, [](const auto& at, double x) { return (at[0] + at[1]) % 5 == 0 ? 0 : x; })
          .sentence(),
      "zeros in mine where golden has none: 614 elements (20 %)");
  // Zeros that are not what makes the difference.
  EXPECT_EQ(changed(
                DType::f32, kMatrix,
                [](const auto& at, double x) { return (at[0] + at[1]) % 50 == 0 ? 0 : x; }, 0.3)
                .sentence(),
            "");
}

TEST(Diagnose, SaturationAndItsNearMisses) {
  const auto limited = [](double limit, double scale) {
    std::vector<double> golden = normal(kMatrix.count()), mine;
    for (double& x : golden) x *= scale;
    for (const double x : golden) mine.push_back(std::clamp(x, -limit, limit));
    return Pair{tensor_of(DType::f32, kMatrix, mine), tensor_of(DType::f32, kMatrix, golden)};
  };
  EXPECT_EQ(limited(65504, 40000).sentence().substr(0, 39), "saturated at 65504, the largest f16: 31");
  EXPECT_EQ(limited(448, 300).sentence().substr(0, 38), "saturated at 448, the largest f8e4m3fn");
  EXPECT_EQ(limited(2, 1).sentence().substr(0, 15), "saturated at 2:");
  EXPECT_EQ(limited(3.4, 1).sentence().find("saturated"), std::string::npos) << limited(3.4, 1).sentence();
}

TEST(Diagnose, RoundingAndItsNearMisses) {
  const std::vector<double> values = normal(kMatrix.count());
  const auto to = [&](DType dtype) {
    std::vector<std::byte> bytes(values.size() * 8);
    std::vector<double> back(values.size());
    from_f64(dtype, values.data(), std::ssize(values), bytes.data());
    to_f64(dtype, bytes.data(), std::ssize(values), back.data());
    return back;
  };
  const OperandPtr golden = tensor_of(DType::f32, kMatrix, values);
  for (const DType dtype : {DType::bf16, DType::f16, DType::f8e4m3fn}) {
    EXPECT_EQ(Pair({tensor_of(DType::f32, kMatrix, to(dtype)), golden}).sentence(),
              fmt::format("mine is golden rounded to {}", name(dtype)));
    EXPECT_EQ(Pair({golden, tensor_of(DType::f32, kMatrix, to(dtype))}).sentence(),
              fmt::format("golden is mine rounded to {}", name(dtype)));
    // A type of its own: that it is coarse is no news.
    EXPECT_EQ(Pair({tensor_of(dtype, kMatrix, values), golden}).sentence(), "") << name(dtype);
  }
  std::vector<double> cut = values;
  for (double& x : cut)
    x = std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & 0xFFFF0000U);
  EXPECT_EQ(Pair({tensor_of(DType::f32, kMatrix, cut), golden}).sentence(),
            "mine is golden cut off (rounded towards zero) to bf16");
  // Rounded, after noise of its own.
  std::vector<double> noisy = values;
  const std::vector<double> noise = normal(kMatrix.count(), 9);
  for (size_t i = 0; i < noisy.size(); ++i)
    noisy[i] = bf16_to_f32(f64_to_bf16(values[i] * (1 + 0.004 * noise[i])));
  EXPECT_EQ(Pair({tensor_of(DType::f32, kMatrix, noisy), golden}).sentence(), "mine looks rounded to bf16");
  // Noise as large as that of bf16, and no rounding.
  EXPECT_EQ(changed(
                DType::f32, kMatrix, [](const auto&, double x) { return x; }, 0.002)
                .sentence(),
            "");
}

TEST(Diagnose, NanOnOneSide) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
      changed(DType::f32, kMatrix, [&](const auto& at, double x) { return at[0] == 3 ? nan : x; }).sentence(),
      "NaN in mine only: 64 elements (2.1 %); only row 3 (of 48)");
  EXPECT_EQ(changed(DType::f32, kMatrix, [&](const auto& at, double x) { return at[1] >= 62 ? -inf : x; })
                .sentence(),
            "infinities in mine only: 96 elements (3.1 %); only the last 2 columns (of 64)");
  const Pair other = changed(DType::f32, kMatrix,
                             [&](const auto& at, double x) { return (at[0] + at[1]) % 10 == 0 ? nan : x; });
  EXPECT_EQ(other.sentence(), "NaN in mine only: 306 elements (10 %)");
  EXPECT_EQ(Pair({other.golden, other.mine}).sentence(), "NaN in golden only: 306 elements (10 %)");
  // The same on both sides.
  EXPECT_EQ(Pair({other.mine, other.mine}).sentence(), "nothing differs");
}

TEST(Diagnose, Rearrangements) {
  const Shape cube{{3, 40, 64}};
  const auto on = [](int64_t n, int64_t to) { return std::clamp<int64_t>(n + to, 0, 3 * 40 * 64 - 1); };
  for (const double noise : {0.0, 1e-6}) {
    EXPECT_EQ(moved(
                  cube, [&](int64_t n) { return on(n, -64); }, noise)
                  .sentence(),
              "shifted by 1 along dim 1: mine[i] = golden[i - 1]");
    EXPECT_EQ(moved(
                  cube, [&](int64_t n) { return on(n, 1); }, noise)
                  .sentence(),
              "shifted by 1 along dim 2: mine[i] = golden[i + 1]");
    EXPECT_EQ(moved(
                  cube, [&](int64_t n) { return n / 64 * 64 + (n + 23) % 64; }, noise)
                  .sentence(),
              "rolled by 23 along dim 2: mine[i] = golden[i + 23]");
    EXPECT_EQ(moved(
                  cube, [&](int64_t n) { return on(n, 9 * 64); }, noise)
                  .sentence(),
              "shifted by 9 along dim 1: mine[i] = golden[i + 9]");
    EXPECT_EQ(moved(
                  cube, [&](int64_t n) { return n / 64 * 64 + (n + 32) % 64; }, noise)
                  .sentence(),
              "the two halves of dim 2 are swapped");
    EXPECT_EQ(moved(
                  cube, [&](int64_t n) { return n / 64 * 64 + n % 64 / 2 + n % 2 * 32; }, noise)
                  .sentence(),
              "the two halves of dim 2 are interleaved in mine");
    EXPECT_EQ(moved(
                  cube, [&](int64_t n) { return n / 64 * 64 + n % 32 * 2 + n % 64 / 32; }, noise)
                  .sentence(),
              "the two halves of dim 2 are interleaved in golden");
    EXPECT_EQ(moved(
                  cube, [&](int64_t n) { return n / 64 * 64 + 63 - n % 64; }, noise)
                  .sentence(),
              "dim 2 runs backwards in mine");
    EXPECT_EQ(
        moved(
            cube, [&](int64_t n) { return n / 2560 * 2560 + n % 2560 % 40 * 64 + n % 2560 / 40; }, noise)
            .sentence(),
        "transposed: the last two dimensions stand the other way round in mine");
    EXPECT_EQ(moved(
                  Shape{{64, 64}}, [&](int64_t n) { return n % 64 * 64 + n / 64; }, noise)
                  .sentence(),
              "transposed: the last two dimensions stand the other way round in mine");
    EXPECT_EQ(moved(
                  Shape{{2, 8, 16, 32}},
                  [&](int64_t n) {
                    const int64_t row = n % 4096 / 32;
                    return n / 4096 * 4096 + (row % 8 * 16 + row / 8) * 32 + n % 32;
                  },
                  noise)
                  .sentence(),
              "dims 1 and 2 are exchanged in mine");
    EXPECT_EQ(moved(
                  Shape{{4, 6, 64}},
                  [&](int64_t n) {
                    constexpr int64_t kOrder[] = {0, 3, 1, 2, 5, 4};
                    return n / 384 * 384 + kOrder[n % 384 / 64] * 64 + n % 64;
                  },
                  noise)
                  .sentence(),
              "the entries of dim 1 stand in another order: mine has golden's 0, 3, 1, 2, 5, 4");
  }
  EXPECT_EQ(moved(Shape{{500}}, [&](int64_t n) { return std::max<int64_t>(n - 17, 0); }).sentence(),
            "shifted by 17 along dim 0: mine[i] = golden[i - 17]");
}

TEST(Diagnose, WhatWasComputedInACoarserTypeThanItIsStoredIn) {
  const Shape cube{{3, 40, 64}};
  const double noise = 0.002;
  EXPECT_EQ(moved(
                cube, [](int64_t n) { return n / 64 * 64 + (n + 1) % 64; }, noise)
                .sentence(),
            "rolled by 1 along dim 2: mine[i] = golden[i + 1]");
  EXPECT_EQ(changed(
                DType::f32, kMatrix, [](const auto&, double x) { return -x; }, noise)
                .sentence(),
            "mine = -golden");
  EXPECT_EQ(changed(
                DType::f32, kMatrix, [](const auto&, double x) { return -0.99 * x; }, noise)
                .sentence()
                .substr(0, 9),
            "mine = -0");
  // A smooth course, 195.6 entries on: by how many whole ones nobody can tell.
  std::vector<double> golden(4096), mine(4096);
  for (size_t i = 0; i < golden.size(); ++i) {
    golden[i] = std::sin(static_cast<double>(i) * 2 * M_PI / 4096);
    mine[i] = std::sin(static_cast<double>(i) * 2 * M_PI / 4096 + 0.3);
  }
  EXPECT_EQ(Pair({tensor_of(DType::f32, Shape{{4096}}, mine), tensor_of(DType::f32, Shape{{4096}}, golden)})
                .sentence(),
            "");
  // Of many entries those in their places say nothing.
  EXPECT_EQ(moved(Shape{{20, 64}},
                  [](int64_t n) {
                    const int64_t row = n / 64;
                    return (row == 17 ? 18 : row == 18 ? 17 : row) * 64 + n % 64;
                  })
                .sentence(),
            "the entries of dim 0 stand in another order: mine has from 17 on golden's 18, 17, 19");
}

TEST(Diagnose, NoRearrangementWhereElementsChanged) {
  const Shape cube{{3, 40, 64}};
  // Every place at random.
  std::vector<int64_t> order(static_cast<size_t>(cube.count()));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(3));
  EXPECT_EQ(moved(cube, [&](int64_t n) { return order[static_cast<size_t>(n)]; }).sentence(), "");
  // Shifted in half of the rows alone.
  EXPECT_EQ(
      moved(cube, [&](int64_t n) { return n / 64 % 2 == 0 ? n : std::max<int64_t>(n - 1, 0); }).sentence(),
      "");
  // Shifted, and then something else.
  EXPECT_EQ(moved(
                cube, [&](int64_t n) { return std::max<int64_t>(n - 1, 0); }, 0.5)
                .sentence(),
            "");
  // Another tensor altogether.
  EXPECT_EQ(Pair({tensor_of(DType::f32, cube, normal(cube.count(), 8)),
                  tensor_of(DType::f32, cube, normal(cube.count(), 9))})
                .sentence(),
            "");
}

}  // namespace
}  // namespace assay
