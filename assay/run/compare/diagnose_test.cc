// Diagnoses: where they must appear, and near misses where they must not.
#include "assay/run/compare/detail_test_tools.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace assay {
namespace {

using namespace detail_tools;

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
  TwoSides pair = changed(DType::f32, kMatrix, outlier);
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
  EXPECT_EQ(TwoSides({changed(DType::f32, kMatrix, apart).mine, changed(DType::f32, kMatrix, of_two).mine})
                .sentence(),
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
  const TwoSides of_both = changed(DType::bf16, kMatrix, massive, 0.01);
  std::vector<double> golden = normal(kMatrix.count());
  for (size_t n = 9; n < golden.size(); n += 64) golden[n] *= 1000;
  EXPECT_EQ(TwoSides({of_both.mine, tensor_of(DType::bf16, kMatrix, golden)}).sentence(), "");
  // A channel that is nearly zero in golden has large errors of its own, as small as all others.
  std::vector<double> small = normal(kMatrix.count()), noisy = small;
  const std::vector<double> noise = normal(kMatrix.count(), 5);
  for (size_t n = 0; n < small.size(); ++n) {
    if (n % 64 == 9) small[n] *= 1e-6;
    noisy[n] = small[n] + 0.05 * noise[n];
  }
  EXPECT_EQ(
      TwoSides({tensor_of(DType::bf16, kMatrix, noisy), tensor_of(DType::bf16, kMatrix, small)}).sentence(),
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
    return TwoSides{tensor_of(DType::f32, kMatrix, mine), tensor_of(DType::f32, kMatrix, golden)};
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
    EXPECT_EQ(TwoSides({tensor_of(DType::f32, kMatrix, to(dtype)), golden}).sentence(),
              fmt::format("mine is golden rounded to {}", name(dtype)));
    EXPECT_EQ(TwoSides({golden, tensor_of(DType::f32, kMatrix, to(dtype))}).sentence(),
              fmt::format("golden is mine rounded to {}", name(dtype)));
    // A type of its own: that it is coarse is no news.
    EXPECT_EQ(TwoSides({tensor_of(dtype, kMatrix, values), golden}).sentence(), "") << name(dtype);
  }
  std::vector<double> cut = values;
  for (double& x : cut)
    x = std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & 0xFFFF0000U);
  EXPECT_EQ(TwoSides({tensor_of(DType::f32, kMatrix, cut), golden}).sentence(),
            "mine is golden cut off (rounded towards zero) to bf16");
  // Rounded, after noise of its own.
  std::vector<double> noisy = values;
  const std::vector<double> noise = normal(kMatrix.count(), 9);
  for (size_t i = 0; i < noisy.size(); ++i)
    noisy[i] = bf16_to_f32(f64_to_bf16(values[i] * (1 + 0.004 * noise[i])));
  EXPECT_EQ(TwoSides({tensor_of(DType::f32, kMatrix, noisy), golden}).sentence(),
            "mine looks rounded to bf16");
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
  const TwoSides other = changed(
      DType::f32, kMatrix, [&](const auto& at, double x) { return (at[0] + at[1]) % 10 == 0 ? nan : x; });
  EXPECT_EQ(other.sentence(), "NaN in mine only: 306 elements (10 %)");
  EXPECT_EQ(TwoSides({other.golden, other.mine}).sentence(), "NaN in golden only: 306 elements (10 %)");
  // The same on both sides.
  EXPECT_EQ(TwoSides({other.mine, other.mine}).sentence(), "nothing differs");
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
  EXPECT_EQ(
      TwoSides({tensor_of(DType::f32, Shape{{4096}}, mine), tensor_of(DType::f32, Shape{{4096}}, golden)})
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
  EXPECT_EQ(TwoSides({tensor_of(DType::f32, cube, normal(cube.count(), 8)),
                      tensor_of(DType::f32, cube, normal(cube.count(), 9))})
                .sentence(),
            "");
}

}  // namespace
}  // namespace assay
