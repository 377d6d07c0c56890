#include "assay/compat/msprobe/metric/errors.h"

#include "assay/compat/msprobe/metric/metrics.h"
#include "assay/metric/metric_test_tools.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <random>

namespace assay {
namespace {

using testing::gather_all, testing::kInf, testing::kNan, testing::narrowed, testing::tensor, testing::widened;

const std::vector<std::string> kGenerations = {"msprobe_g1", "msprobe_g2", "msprobe_g3"};

std::vector<Value> measured(const Operand& mine, const Operand& golden,
                            const std::vector<std::string>& names) {
  const auto plan = plan_metrics(names, msprobe_metrics());
  return plan->finish(gather_all(mine, golden, plan->gathering()));
}

double number(const Value& value) {
  return std::holds_alternative<double>(value) ? std::get<double>(value) : -1;
}
bool is_absent(const Value& value) { return std::holds_alternative<std::monostate>(value); }

void expect_same(double got, double wanted) {
  if (std::isnan(wanted))
    EXPECT_TRUE(std::isnan(got)) << got;
  else
    EXPECT_EQ(got, wanted);
}

struct Errors {
  double max;
  int64_t under_1e3, under_5e3;
};

void expect_errors(std::span<const Value> columns, const Errors& wanted, size_t count) {
  expect_same(number(columns[0]), wanted.max);
  EXPECT_EQ(number(columns[1]), static_cast<double>(wanted.under_1e3) / static_cast<double>(count));
  EXPECT_EQ(number(columns[2]), static_cast<double>(wanted.under_5e3) / static_cast<double>(count));
}

struct Vector {
  const char* what;
  DType mine, golden;
  std::vector<double> a, b;
  std::array<Errors, 3> wanted;  // G1, G2, G3
};

// Answers of numpy 1.24: the relative error, its maximum, the counts under 0.001 and 0.005, with the steps of
// each generation one after another.
const Vector kVectors[] = {
    {"f16",
     DType::f16,
     DType::f16,
     {-0x1.9acp-1, -0x1.528p0, -0x1.fb8p-3, 0x1.af8p-2, 0x1.244p0},
     {-0x1.9a8p-1, -0x1.53p0, -0x1.fccp-3, 0x1.ae8p-2, 0x1.22cp0},
     {{{0x1.52p-8, 1, 4}, {0x1.52p-8, 1, 4}, {0x1.521adap-8, 1, 4}}}},
    {"f16, subnormal differences",
     DType::f16,
     DType::f16,
     {0x1.b8p-17, -0x1.f84p-14, -0x1.05cp-14, 0x1.104p-13, 0x1.23p-16},
     {0x1.cap-16, -0x1.02cp-13, -0x1.92p-14, 0x1.4f8p-13, 0x1.54p-16},
     {{{0x1.0ap-1, 0, 0}, {0x1.0ap-1, 0, 0}, {0x1.0a0fa6p-1, 0, 0}}}},
    {"f16, overflow of the difference and of the quotient",
     DType::f16,
     DType::f16,
     {60000, 1, 5},
     {-60000, 0x1p-20, 5},
     {{{kInf, 1, 1}, {kInf, 1, 1}, {0x1.ffffep19, 1, 1}}}},
    {"f16 with zeros in golden",
     DType::f16,
     DType::f16,
     {-0x1.6e4p-1, 0x1.1ap-1, -0x1.024p-4, -0x1.2dp-1, 0x1.a34p-2, 0x1p-2, -65504, 0x1p-24},
     {-0x1.6d4p-1, 0x1.1b4p-1, -0x1.028p-4, -0x1.2dcp-1, 0x1.a38p-2, 0, -0.0, 0},
     {{{kInf, 3, 6}, {kInf, 2, 5}, {0x1.ffcp38, 2, 5}}}},
    {"f16 with zeros on both sides",
     DType::f16,
     DType::f16,
     {-0x1.49cp0, 0x1.52p-6, -0x1.35p-5, -0x1.37cp-2, -0x1.0b8p0, 0, -0.0, 1},
     {-0x1.4ap0, 0x1.53p-6, -0x1.364p-5, -0x1.37cp-2, -0x1.0c4p0, 0, 0, 0},
     {{{1024, 4, 7}, {kNan, 2, 5}, {0x1p23, 4, 7}}}},
    {"f16 with NaN and Inf",
     DType::f16,
     DType::f16,
     {0x1.2a8p0, 0x1.6fp-1, -0x1.ff8p0, 0x1.15p-2, kNan, kInf, -kInf},
     {0x1.2b8p0, 0x1.6fp-1, -0x1.ff8p0, 0x1.16cp-2, kNan, -kInf, -kInf},
     {{{0x1.9b8p-8, 5, 6}, {kNan, 2, 3}, {0x1.9b6fdp-8, 5, 6}}}},
    {"f32",
     DType::f32,
     DType::f32,
     {-0x1.dc7926p-3, -0x1.05ab2ep-2, 0x1.eb4d68p-1, -0x1.2fc3dp0, 0x1.7a8588p-1},
     {-0x1.de0cap-3, -0x1.05edd2p-2, 0x1.ec8b56p-1, -0x1.2e734cp0, 0x1.79e0ap-1},
     {{{0x1.1cd56p-8, 1, 5}, {0x1.1cd56p-8, 1, 5}, {0x1.1cd56p-8, 1, 5}}}},
    {"f32 with zeros",
     DType::f32,
     DType::f32,
     {0x1.373246p1, 0x1.49fe1ep-1, 0x1.b01f2p-1, 0x1.aeac66p-1, -0x1.3690bap-1, 0, -0.0, 0x1.79ca1p-67,
      0x1p-52, -0x1.ad7f2ap-24, 0x1.93e594p99},
     {0x1.374302p1, 0x1.48a944p-1, 0x1.b0a2e4p-1, 0x1.ae6dfcp-1, -0x1.3695cap-1, 0, 0, -0.0, 0, 0, 0},
     {{{0x1.93e594p122, 7, 9}, {kInf, 6, 8}, {0x1.93e594p122, 7, 9}}}},
    {"f32 with NaN and Inf",
     DType::f32,
     DType::f32,
     {0x1.3803e8p-1, -0x1.74b26ap-2, -0x1.38e02ep-3, 0x1.ee76a6p-3, kNan, kInf, -kInf},
     {0x1.37eb3ap-1, -0x1.75aaa4p-2, -0x1.380982p-3, 0x1.f065acp-3, kNan, -kInf, -kInf},
     {{{0x1.fe9546p-9, 4, 7}, {0x1.fe9546p-9, 4, 7}, {0x1.fe9546p-9, 4, 7}}}},
    {"f32, exactly the float nearest to 0.005",
     DType::f32,
     DType::f32,
     {0x1.e15fdap0, 0x1.29dccep0},
     {0x1.defac2p0, 0x1.28617p0},
     {{{0x1.47ae14p-8, 0, 0}, {0x1.47ae14p-8, 0, 0}, {0x1.47ae14p-8, 0, 0}}}},
    {"f64",
     DType::f64,
     DType::f64,
     {-0x1.01f22b1394f43p-2, -0x1.0ff5bb77e189ep-3, 0x1.92d51a27a7315p-3, 0x1.0c27ade23ccd8p0,
      0x1.c0341b148760ep-3},
     {-0x1.019de70d9c5e4p-2, -0x1.0fed4466a0436p-3, 0x1.91feabb3ea744p-3, 0x1.0c13fc08c0deap0,
      0x1.c246dda70993ep-3},
     {{{0x1.2dc203850984ap-8, 2, 5}, {0x1.2dc203850984ap-8, 2, 5}, {0x1.2dc203850984ap-8, 2, 5}}}},
    {"f64 with zeros",
     DType::f64,
     DType::f64,
     {-0x1.db033b8b6682p-1, -0x1.818c5deaf7f3dp-5, -0x1.a03fe4498201fp0, 0x1.67e0acb887f38p-2,
      -0x1.0a3f94b2a30a3p-1, 0, -0.0, 0x1.79ca10c924223p-67, 0x1.56e1fc2f8f359p-997, 3},
     {-0x1.d877f54bf1acep-1, -0x1.81b515c238e3fp-5, -0x1.a0e78c55e9ea5p0, 0x1.687ea2147187fp-2,
      -0x1.09340a6cb8207p-1, 0, 0, -0.0, 0, 0},
     {{{0x1.8p53, 5, 8}, {0x1.8p53, 5, 8}, {0x1.8p53, 5, 8}}}},
    {"f16 against f32",
     DType::f16,
     DType::f32,
     {-0x1.908p0, 0x1.e48p-2, 0x1.fa8p-4, 0x1.7f8p0, 0x1.54cp-2, 0, 1, -0x1.334p-2, 0x1p-24, -65504},
     {-0x1.913ff2p0, 0x1.e35086p-2, 0x1.fa9a38p-4, 0x1.828976p0, 0x1.556daap-2, 0, 0, 0, 0, 0},
     {{{0x1.ffcp38, 2, 5}, {0x1.ffcp67, 1, 4}, {0x1.ffcp38, 2, 5}}}},
    {"f32 against f16",
     DType::f32,
     DType::f16,
     {-0x1.bdfddp-2, -0x1.2a7c46p-4, 0x1.5a1c8ap-2, 0x1.6c0a92p-1, 0x1.7268dep-1, 0, 1, -0x1.333334p-2,
      0x1.b7cdfep-34, 0x1.2ced32p126},
     {-0x1.bdp-2, -0x1.298p-4, 0x1.5a4p-2, 0x1.6c8p-1, 0x1.72cp-1, 0, 0, 0, 0, 0},
     {{{kInf, 4, 7}, {kInf, 2, 5}, {kInf, 4, 7}}}},
    {"f16 against f64",
     DType::f16,
     DType::f64,
     {-0x1.6ecp-1, 0x1.c3p-2, -0x1.9fcp0, -0x1.79p1, -0x1.c24p-1, 0, 1, -0x1.334p-2},
     {-0x1.6e4d1d22dfed1p-1, 0x1.c2586ae2cc2dp-2, -0x1.9f86922434144p0, -0x1.7a0de0d9eb9c9p1,
      -0x1.c243b4222eeefp-1, 0, 0, 0},
     {{{0x1.ffffffffffffep51, 2, 5}, {0x1.ffffffffffffep51, 2, 5}, {0x1p52, 3, 6}}}},
    {"f32 against f64",
     DType::f32,
     DType::f64,
     {-0x1.ad3ffap-1, -0x1.3a1a92p-3, -0x1.62d3dp-4, -0x1.272d44p-1, -0x1.1ed89p0, 0, 1, -0x1.333334p-2},
     {-0x1.add586c6bca7p-1, -0x1.38df85633b79dp-3, -0x1.61ecdd6c50755p-4, -0x1.2806e1040862dp-1,
      -0x1.1f7da645e556dp0, 0, 0, 0},
     {{{0x1.ffffffffffffep51, 1, 6}, {0x1.ffffffffffffep51, 1, 6}, {0x1p52, 1, 6}}}},
    {"f64 against f32",
     DType::f64,
     DType::f32,
     {-0x1.82fef6bd7b0e9p-4, -0x1.4aa7b2182697fp-2, 0x1.25802468fc988p-2, -0x1.c8b122b071227p-1,
      -0x1.32df624074b69p-2, 0, 1, 0x1.12e0be826d695p-30},
     {-0x1.8368eep-4, -0x1.4a83e6p-2, 0x1.252a1cp-2, -0x1.c7c292p-1, -0x1.335bfcp-2, 0, 0, 0},
     {{{0x1p23, 2, 6}, {0x1p52, 2, 6}, {0x1p52, 2, 6}}}},
    {"i8",
     DType::i8,
     DType::i8,
     {1, 0, 5, -128, 7},
     {3, 0, 5, 127, 0},
     {{{0x1.cp54, 2, 2}, {0x1.cp54, 2, 2}, {0x1.cp54, 2, 2}}}},
    {"u8 against u8",
     DType::u8,
     DType::u8,
     {1, 255, 5},
     {3, 0, 5},
     {{{0x1.fep59, 1, 1}, {0x1.fep59, 1, 1}, {0x1.fep59, 1, 1}}}},
    {"i32",
     DType::i32,
     DType::i32,
     {0x1.e8482p19, 0, 5, -3},
     {0x1.e848p19, 0, 7, 0},
     {{{0x1.8p53, 2, 2}, {0x1.8p53, 2, 2}, {0x1.8p53, 2, 2}}}},
    {"bool",
     DType::boolean,
     DType::boolean,
     {1, 0, 1, 0},
     {1, 0, 0, 1},
     {{{0x1p52, 2, 2}, {0x1p52, 2, 2}, {0x1p52, 2, 2}}}},
    {"f16 against i32",
     DType::f16,
     DType::i32,
     {1, 0, 0x1p-1},
     {3, 0, 0},
     {{{0x1p51, 1, 1}, {0x1.ffffffffffffcp50, 0, 0}, {0x1p51, 1, 1}}}},
};

TEST(Msprobe, AgreesWithNumpyBitForBit) {
  for (const Vector& v : kVectors) {
    SCOPED_TRACE(v.what);
    const auto columns = measured(*narrowed(v.mine, v.a), *narrowed(v.golden, v.b), kGenerations);
    for (size_t generation = 0; generation < 3; ++generation) {
      SCOPED_TRACE(kGenerations[generation]);
      expect_errors(std::span(columns).subspan(3 * generation, 3), v.wanted[generation], v.a.size());
    }
  }
}

// What the tools themselves printed, with twelve digits after the point.
TEST(Msprobe, AgreesWithTheTools) {
  const auto half = measured(
      *narrowed(DType::f16, {-0x1.abcp-3, 0x1.2c4p-1, 0x1.ad8p-1, 0x1.dccp-1, 0x1.248p-2}),
      *narrowed(DType::f16, {-0x1.974p-3, 0x1.318p-1, 0x1.b2cp-1, 0x1.e1cp-1, 0x1.2ecp-2}), kGenerations);
  EXPECT_NEAR(number(half[0]), 0.050323486328, 5e-13);
  EXPECT_NEAR(number(half[3]), 0.050323486328, 5e-13);
  EXPECT_NEAR(number(half[6]), 0.050337631255, 5e-13);
  const auto zero =
      measured(*narrowed(DType::f32, {0.9311021, 1}), *narrowed(DType::f32, {0, 1}), kGenerations);
  EXPECT_EQ(number(zero[0]), 7810650.5);
  EXPECT_EQ(number(zero[3]), 4193311057248256);
  EXPECT_EQ(number(zero[6]), 7810650.5);
}

TEST(Msprobe, WidensBfloat16AndFloat8ToSingle) {
  for (const DType dtype : {DType::bf16, DType::f8e4m3fn}) {
    const auto columns =
        measured(*narrowed(dtype, {1.5, 0, 1}), *narrowed(dtype, {1.25, 0, 0}), {"msprobe_g2"});
    expect_errors(columns, {0x1p52, 1, 1}, 3);
  }
}

TEST(Msprobe, RoundsLongIntegersToDouble) {
  const std::vector<int64_t> mine = {(int64_t{1} << 53) + 1, 0}, golden = {int64_t{1} << 53, 3};
  const auto columns = measured(*tensor(DType::i64, mine), *tensor(DType::i64, golden), {"msprobe_g2"});
  expect_errors(columns, {1, 1, 1}, 2);
}

// Of a kernel dump nothing is dropped.
TEST(Msprobe, ErrorsOfOneElementOfAKernelAreThoseOfMany) {
  const auto single = [](DType dtype, double mine, double golden) {
    return number(measured(*narrowed(dtype, {mine}), *narrowed(dtype, {golden}), {"max_rel_kernel"})[0]);
  };
  EXPECT_EQ(single(DType::i32, 3, 7), 4.0 / 7.0);
  EXPECT_EQ(single(DType::f64, 3, 7), 4.0 / 7.0);
  EXPECT_EQ(single(DType::f64, 1, 0), 0x1p52);
  EXPECT_EQ(single(DType::f32, 3, 7), static_cast<double>(4.0f / 7.0f));
}

// msprobe 1.1 on dumps of MindSpore 2.7: 8.7559059e-08 against 0 was 394330944 there.
TEST(Msprobe, GenerationOneComputesKernelsInDoubles) {
  const auto single = [](DType dtype, double mine, double golden) {
    return number(measured(*narrowed(dtype, {mine}), *narrowed(dtype, {golden}), {"max_rel_kernel_g1"})[0]);
  };
  EXPECT_EQ(single(DType::f32, 3, 7), 4.0 / 7.0);
  EXPECT_EQ(single(DType::f16, 3, 7), 4.0 / 7.0);
  EXPECT_EQ(single(DType::f32, 0x1p-20, 0), 0x1p32);
  EXPECT_EQ(single(DType::i32, 0, 0), 0);
}

// G3 has no dimensions of size 1, and numpy computes with a single number in f32 where that can hold it.
TEST(Msprobe, SingleNumbersOfG3) {
  const auto single = [](DType dtype, double mine, double golden) {
    return number(measured(*narrowed(dtype, {mine}), *narrowed(dtype, {golden}), {"max_rel_g3"})[0]);
  };
  EXPECT_EQ(single(DType::f64, 3, 7), static_cast<double>(4.0f / 7.0f));
  EXPECT_EQ(single(DType::i32, 3, 7), static_cast<double>(4.0f / 7.0f));
  EXPECT_EQ(single(DType::f64, 1, 0), 0x1p23);
  EXPECT_EQ(single(DType::f64, 0x3p130, 0x7p130), 4.0 / 7.0);
  EXPECT_EQ(single(DType::f32, kInf, 7), kInf);
  EXPECT_TRUE(std::isnan(single(DType::f32, kInf, kInf)));
  EXPECT_TRUE(std::isnan(single(DType::f64, kNan, 1)));
  EXPECT_TRUE(std::isnan(single(DType::f64, 1, kInf)));
}

TEST(Msprobe, HasNoValueWhereNanOrInfStandAlone) {
  for (const auto& [mine, golden] : {std::pair{kNan, 1.0}, std::pair{1.0, kInf}, std::pair{kNan, kInf}}) {
    const auto columns =
        measured(*narrowed(DType::f16, {1, mine}), *narrowed(DType::f16, {1, golden}),
                 {"msprobe_g1", "msprobe_g2", "msprobe_g3", "msprobe_cosine", "nonfinite_kinds"});
    for (size_t i = 0; i < 10; ++i) EXPECT_TRUE(is_absent(columns[i])) << i;
    EXPECT_EQ(std::get<int64_t>(columns[10]), 1);
  }
  const auto empty = measured(*narrowed(DType::f32, {}), *narrowed(DType::f32, {}), kGenerations);
  for (const Value& value : empty) EXPECT_TRUE(is_absent(value));
}

TEST(Msprobe, TheSignOfInfinityIsNoOtherKind) {
  const auto columns = measured(*narrowed(DType::f64, {kInf, -kInf, kNan, 1, kNan}),
                                *narrowed(DType::f64, {-kInf, -kInf, kNan, 1, kInf}),
                                {"nonfinite_mismatch", "nonfinite_kind_mismatch"});
  EXPECT_EQ(std::get<int64_t>(columns[4]), 2);
  EXPECT_EQ(std::get<int64_t>(columns[5]), 1);
}

TEST(Msprobe, CosineOfZeros) {
  const auto cosine = [](const std::vector<double>& mine, const std::vector<double>& golden) {
    return number(
        measured(*narrowed(DType::f64, mine), *narrowed(DType::f64, golden), {"msprobe_cosine"})[0]);
  };
  EXPECT_EQ(cosine({0, 0}, {0, 0}), 1);
  EXPECT_EQ(cosine({0x1p-52, 0}, {0, 0}), 1);
  EXPECT_EQ(cosine({kNan, kInf}, {kNan, -kInf}), 1);
  EXPECT_EQ(cosine({1e-200, 0}, {-1e-200, 0}), 1);
  EXPECT_TRUE(std::isnan(cosine({0, 0}, {1, 0})));
  EXPECT_TRUE(std::isnan(cosine({1, 1}, {0x1p-53, 0})));
  EXPECT_TRUE(std::isnan(cosine({1e200, 1}, {1e-20, 0})));
  EXPECT_EQ(cosine({3, 4}, {4, 3}), 0.96);
  EXPECT_EQ(cosine({1, 0}, {-2, 0}), -1);
}

// ----- one element at a time, in the words of the definition

double rounded(DType type, double value) {
  std::byte raw[8];
  from_f64(type, &value, 1, raw);
  to_f64(type, raw, 1, &value);
  return value;
}

// numpy has no arithmetic of f16: it rounds the answer of f32.
double in(DType type, float single, double wide) {
  if (type == DType::f64) return wide;
  return type == DType::f32 ? static_cast<double>(single) : rounded(type, static_cast<double>(single));
}
double sum(DType type, double a, double b) {
  return in(type, static_cast<float>(a) + static_cast<float>(b), a + b);
}
double quotient(DType type, double a, double b) {
  return in(type, static_cast<float>(a) / static_cast<float>(b), a / b);
}

Errors slow_errors(Generation generation, DType mine, DType golden, const std::vector<double>& a,
                   const std::vector<double>& b) {
  const auto held = [](DType dtype) {
    if (dtype == DType::f16 || dtype == DType::f32 || dtype == DType::f64) return dtype;
    return is_real(dtype) ? DType::f32 : DType::f64;
  };
  const auto promoted = [](DType x, DType y) {
    for (const DType dtype : {DType::f64, DType::f32})
      if (x == dtype || y == dtype) return dtype;
    return DType::f16;
  };
  DType x_type = held(mine), y_type = held(golden);
  if (generation == Generation::g3) x_type = y_type = promoted(promoted(x_type, y_type), DType::f32);
  const DType type = promoted(x_type, y_type);
  double epsilon = 0x1p-52;
  if (generation != Generation::g2 && y_type != DType::f64)
    epsilon = y_type == DType::f32 ? 0x1p-23 : 0x1p-10;
  Errors out{0, 0, 0};
  for (size_t i = 0; i < a.size(); ++i) {
    const bool finite = std::isfinite(a[i]);
    double x = finite ? a[i] : 0, y = finite ? b[i] : 0;
    if (y == 0) {
      x = sum(x_type, x, rounded(x_type, epsilon));
      y = sum(y_type, y, rounded(y_type, epsilon));
    }
    const double r = std::abs(quotient(type, sum(type, x, -y), y));
    out.max = std::isnan(r) || std::isnan(out.max) ? kNan : std::max(out.max, r);
    out.under_1e3 += r < rounded(type, 0.001);
    out.under_5e3 += r < rounded(type, 0.005);
  }
  return out;
}

// Many values near the thresholds, of every size, with zeros and with NaN and Inf in the same places.
void fill(std::mt19937& engine, DType mine, DType golden, size_t n, bool specials, std::vector<double>& a,
          std::vector<double>& b) {
  std::normal_distribution<double> normal;
  a.resize(n), b.resize(n);
  for (size_t i = 0; i < n; ++i) {
    b[i] = rounded(golden, normal(engine) * std::exp2(static_cast<double>(engine() % 38) - 24));
    a[i] = rounded(mine, b[i] * (1 + normal(engine) * 3e-3));
    const auto kind = engine() % 64;
    if (!specials) continue;
    if (kind == 0) b[i] = 0;
    if (kind == 1) a[i] = b[i] = 0;
    if (kind == 2) a[i] = b[i] = rounded(mine, kNan);
    if (kind == 3) a[i] = rounded(mine, kInf), b[i] = rounded(golden, -kInf);
  }
}

TEST(Msprobe, AgreesWithTheDefinitionAtEveryLength) {
  std::mt19937 engine(17);
  const std::pair<DType, DType> kTypes[] = {
      {DType::f16, DType::f16},   {DType::f32, DType::f32}, {DType::f64, DType::f64},
      {DType::f16, DType::f32},   {DType::f32, DType::f16}, {DType::f16, DType::f64},
      {DType::f64, DType::f16},   {DType::f32, DType::f64}, {DType::f64, DType::f32},
      {DType::bf16, DType::bf16}, {DType::bf16, DType::f16}};
  for (const auto& [mine, golden] : kTypes)
    for (const size_t n : {2, 7, 16, 33, 2047, 2048, 2049, 6000})
      for (const bool specials : {false, true}) {
        SCOPED_TRACE(fmt::format("{} against {}, {} elements", name(mine), name(golden), n));
        std::vector<double> a, b;
        fill(engine, mine, golden, n, specials, a, b);
        const auto columns = measured(*narrowed(mine, a), *narrowed(golden, b), kGenerations);
        for (size_t g = 0; g < 3; ++g) {
          SCOPED_TRACE(kGenerations[g]);
          const Errors wanted = slow_errors(static_cast<Generation>(g), mine, golden, a, b);
          expect_errors(std::span(columns).subspan(3 * g, 3), wanted, n);
        }
      }
}

TEST(Msprobe, IntegersAgreeWithTheDefinition) {
  std::mt19937 engine(18);
  for (const DType dtype : {DType::i8, DType::u8, DType::i16, DType::i32, DType::boolean}) {
    SCOPED_TRACE(name(dtype));
    std::vector<double> a(3000), b(3000);
    for (size_t i = 0; i < a.size(); ++i) {
      b[i] = rounded(dtype, static_cast<double>(engine() % 100));
      a[i] = rounded(dtype, b[i] + static_cast<double>(engine() % 3));
    }
    const auto columns = measured(*narrowed(dtype, a), *narrowed(dtype, b), kGenerations);
    for (size_t g = 0; g < 3; ++g)
      expect_errors(std::span(columns).subspan(3 * g, 3),
                    slow_errors(static_cast<Generation>(g), dtype, dtype, a, b), a.size());
  }
}

// Every f16 pattern as mine against a few golden values: all roundings of the difference and the quotient.
TEST(Msprobe, EveryHalf) {
  for (const double golden : {1.0, -0x1.554p0, 0x1.9p-9, 0x1.08p-18, 0x1p-24, 60000.0, 0.0}) {
    SCOPED_TRACE(golden);
    std::vector<double> a;
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double value = static_cast<double>(f16_to_f32(static_cast<uint16_t>(bits)));
      if (std::isfinite(value) && (golden != 0 || value != 0)) a.push_back(value);
    }
    const std::vector<double> b(a.size(), golden);
    const auto columns = measured(*narrowed(DType::f16, a), *narrowed(DType::f16, b), kGenerations);
    for (size_t g = 0; g < 3; ++g)
      expect_errors(std::span(columns).subspan(3 * g, 3),
                    slow_errors(static_cast<Generation>(g), DType::f16, DType::f16, a, b), a.size());
  }
}

TEST(Msprobe, BandsMergeToTheSameAnswer) {
  const auto n = static_cast<size_t>(kBandElements) + 5000;
  std::vector<float> mine(n), golden(n);
  for (size_t i = 0; i < n; ++i) {
    golden[i] = static_cast<float>(i % 1000) + 1;
    mine[i] = golden[i] * (1 + 1e-5f * static_cast<float>(i % 700));
  }
  golden[n - 3] = 0;
  const auto columns = measured(*tensor(DType::f32, mine), *tensor(DType::f32, golden), {"msprobe_g2"});
  std::vector<double> a(mine.begin(), mine.end()), b(golden.begin(), golden.end());
  expect_errors(columns, slow_errors(Generation::g2, DType::f32, DType::f32, a, b), n);
  golden[5] = mine[5] = 0;
  const auto half = measured(*narrowed(DType::f16, {mine.begin(), mine.end()}),
                             *narrowed(DType::f16, {golden.begin(), golden.end()}), {"max_rel_g2"});
  EXPECT_TRUE(std::isnan(number(half[0]))) << "0 against 0 in the first band";
}

}  // namespace
}  // namespace assay
