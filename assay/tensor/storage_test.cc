#include "assay/tensor/storage.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

namespace assay {
namespace {

using testing::HasSubstr;
using Dims = std::vector<int64_t>;
using Place = std::function<int64_t(const Dims&)>;  // where an element of the plain tensor is written

int64_t up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Element (a, b, …) of a row-major tensor of these dimensions.
int64_t at(const Dims& dims, const Dims& index) {
  int64_t place = 0;
  for (size_t i = 0; i < dims.size(); ++i) place = place * dims[i] + index[i];
  return place;
}

template <class T>
void expect_read_back(DType dtype, StorageFormat format, const Dims& stored, const Dims& original,
                      const Place& place, int groups) {
  std::vector<T> storage(static_cast<size_t>(Shape{stored}.count()), T(0xee));
  const int64_t count = Shape{original}.count();
  Dims index(original.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    storage.at(static_cast<size_t>(place(index))) = static_cast<T>(i * 7 + 1);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < original[d]) break;
      index[d] = 0;
    }
  }
  const auto bytes = std::as_bytes(std::span(storage));
  const auto operand = dense_in_memory({bytes.begin(), bytes.end()}, {dtype, Shape{stored}});
  const auto plain = to_plain(operand, format, Shape{original}, groups);
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ((*plain)->meta, (TensorMeta{dtype, Shape{original}}));
  const auto whole = read_whole(**plain, 1 << 24);
  ASSERT_TRUE(whole);
  ASSERT_EQ(std::ssize(*whole), count * static_cast<int64_t>(sizeof(T)));
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(load_le<T>(Bytes(*whole).subspan(static_cast<size_t>(i) * sizeof(T))),
              static_cast<T>(i * 7 + 1))
        << name(format) << " " << Shape{stored}.text() << " as " << Shape{original}.text() << " element "
        << i;
}

void expect_format(StorageFormat format, const Dims& stored, const Dims& original, const Place& place,
                   int groups = 1) {
  expect_read_back<uint8_t>(DType::i8, format, stored, original, place, groups);
  expect_read_back<uint16_t>(DType::f16, format, stored, original, place, groups);
  expect_read_back<uint32_t>(DType::f32, format, stored, original, place, groups);
}

Result<OperandPtr> convert(StorageFormat format, const Dims& stored, const Dims& original, int groups = 1) {
  const int64_t count = Shape{stored}.count();
  return to_plain(
      dense_in_memory(std::vector<std::byte>(static_cast<size_t>(count)), {DType::i8, Shape{stored}}), format,
      Shape{original}, groups);
}

TEST(Storage, FractalNzOfEveryRank) {
  const std::vector<Dims> originals = {
      {},     {5},     {16},        {40},         {20, 18},         {16, 16},
      {1, 1}, {33, 7}, {3, 20, 18}, {2, 3, 5, 9}, {2, 1, 3, 17, 4}, {2, 2, 1, 2, 3, 17}};
  for (const int64_t c0 : {8, 16, 32})
    for (const Dims& original : originals) {
      Dims full = original;
      while (full.size() < 2) full.insert(full.begin(), 1);
      const Dims batch(full.begin(), full.end() - 2);
      const int64_t n = full[full.size() - 2], c = full.back();
      const int64_t c1 = up(c, c0), n1 = up(n, 16);
      Dims stored = batch;
      stored.insert(stored.end(), {c1, n1, 16, c0});
      expect_format(StorageFormat::fractal_nz, stored, original, [&](const Dims& index) {
        Dims whole = index;
        while (whole.size() < 2) whole.insert(whole.begin(), 0);
        const int64_t i = whole[whole.size() - 2], j = whole.back();
        const int64_t b = at(batch, Dims(whole.begin(), whole.end() - 2));
        return (((b * c1 + j / c0) * n1 + i / 16) * 16 + i % 16) * c0 + j % c0;
      });
    }
}

TEST(Storage, FractalNzWithRowsInOneDimension) {
  for (const auto& [n, c] : std::vector<std::pair<int64_t, int64_t>>{{20, 18}, {16, 16}, {1, 40}, {33, 5}}) {
    const int64_t c1 = up(c, 16), rows = up(n, 16) * 16;
    for (const StorageFormat format : {StorageFormat::fractal_nz, StorageFormat::fractal_nz_c0_16})
      expect_format(format, {1, c1, rows, 16}, {n, c}, [&](const Dims& i) {
        return at({c1, rows, 16}, {i[1] / 16, i[0], i[1] % 16});
      });
  }
}

TEST(Storage, FractalNzWithNamedBlock) {
  expect_format(StorageFormat::fractal_nz_c0_32, {2, 2, 16, 32}, {20, 40}, [](const Dims& i) {
    return at({2, 2, 16, 32}, {i[1] / 32, i[0] / 16, i[0] % 16, i[1] % 32});
  });
}

TEST(Storage, FractalZz) {
  expect_format(StorageFormat::fractal_zz, {2, 3, 16, 16}, {20, 40}, [](const Dims& i) {
    return at({2, 3, 16, 16}, {i[0] / 16, i[1] / 16, i[0] % 16, i[1] % 16});
  });
  expect_format(StorageFormat::fractal_zz, {3, 2, 1, 16, 16}, {3, 20, 9}, [](const Dims& i) {
    return at({3, 2, 1, 16, 16}, {i[0], i[1] / 16, 0, i[1] % 16, i[2]});
  });
}

const std::vector<Dims> kFeatures = {
    {2, 20, 3, 2}, {1, 16, 1, 1}, {3, 1, 4, 5}, {2, 33, 2, 7}, {1, 3, 224, 2}};  // NCHW

TEST(Storage, Nc1hwc0AsNchwAndNhwc) {
  for (const Dims& o : kFeatures)
    for (const int64_t c0 : {16, 32}) {
      const Dims stored = {o[0], up(o[1], c0), o[2], o[3], c0};
      const auto place = [&](int64_t n, int64_t c, int64_t h, int64_t w) {
        return at(stored, {n, c / c0, h, w, c % c0});
      };
      expect_format(StorageFormat::nc1hwc0, stored, o,
                    [&](const Dims& i) { return place(i[0], i[1], i[2], i[3]); });
      const Dims nhwc = {o[0], o[2], o[3], o[1]};
      if (nhwc == o) continue;
      expect_format(StorageFormat::nc1hwc0, stored, nhwc,
                    [&](const Dims& i) { return place(i[0], i[3], i[1], i[2]); });
    }
}

TEST(Storage, Nc1hwc0WithFourChannels) {
  const Dims stored = {2, 1, 5, 6, 4};
  expect_format(StorageFormat::nc1hwc0_c04, stored, {2, 3, 5, 6}, [&](const Dims& i) {
    return at(stored, {i[0], 0, i[2], i[3], i[1]});
  });
}

TEST(Storage, Nc1hwc0OfFewerDimensions) {
  expect_format(StorageFormat::nc1hwc0, {1, 2, 1, 1, 16}, {20}, [](const Dims& i) { return i[0]; });
  expect_format(StorageFormat::nc1hwc0, {3, 2, 1, 1, 16}, {3, 20},
                [](const Dims& i) { return i[0] * 32 + i[1]; });
  expect_format(StorageFormat::nc1hwc0, {1, 1, 1, 1, 16}, {}, [](const Dims&) { return 0; });
  expect_format(StorageFormat::nc1hwc0, {1, 2, 3, 5, 16}, {20, 3, 5}, [](const Dims& i) {
    return at({2, 3, 5, 16}, {i[0] / 16, i[1], i[2], i[0] % 16});
  });
}

TEST(Storage, Nc1hwc0ThatCouldBeBothIsNchw) {
  const Dims stored = {1, 2, 20, 20, 16};
  expect_format(StorageFormat::nc1hwc0, stored, {1, 20, 20, 20}, [&](const Dims& i) {
    return at(stored, {0, i[1] / 16, i[2], i[3], i[1] % 16});
  });
}

TEST(Storage, Ndc1hwc0) {
  const Dims stored = {2, 3, 2, 4, 5, 16};
  const auto place = [&](int64_t n, int64_t c, int64_t d, int64_t h, int64_t w) {
    return at(stored, {n, d, c / 16, h, w, c % 16});
  };
  expect_format(StorageFormat::ndc1hwc0, stored, {2, 20, 3, 4, 5},
                [&](const Dims& i) { return place(i[0], i[1], i[2], i[3], i[4]); });
  expect_format(StorageFormat::ndc1hwc0, stored, {2, 3, 4, 5, 20},
                [&](const Dims& i) { return place(i[0], i[4], i[1], i[2], i[3]); });
}

TEST(Storage, FractalZAsNchwAndHwcn) {
  for (const Dims& o : kFeatures)
    for (const int64_t c0 : {16, 32}) {
      const int64_t h = o[2], w = o[3];
      const Dims stored = {up(o[1], c0) * h * w, up(o[0], 16), 16, c0};
      const auto place = [&](int64_t n, int64_t c, int64_t y, int64_t x) {
        return at(stored, {(c / c0 * h + y) * w + x, n / 16, n % 16, c % c0});
      };
      expect_format(StorageFormat::fractal_z, stored, o,
                    [&](const Dims& i) { return place(i[0], i[1], i[2], i[3]); });
    }
  // 40 filters of 3 channels, 5 × 7: as NCHW the channels would be 7 and the filters 5.
  const Dims stored = {35, 3, 16, 16};
  expect_format(StorageFormat::fractal_z, stored, {5, 7, 3, 40}, [&](const Dims& i) {
    return at(stored, {i[0] * 7 + i[1], i[3] / 16, i[3] % 16, i[2]});
  });
}

TEST(Storage, FractalZ3d) {
  const int64_t n = 20, c = 18, d = 2, h = 3, w = 5, c1 = 2;
  const Dims stored = {d * c1 * h * w, 2, 16, 16};
  const auto place = [&](int64_t in, int64_t ic, int64_t id, int64_t ih, int64_t iw) {
    return at(stored, {((id * c1 + ic / 16) * h + ih) * w + iw, in / 16, in % 16, ic % 16});
  };
  expect_format(StorageFormat::fractal_z_3d, stored, {n, c, d, h, w},
                [&](const Dims& i) { return place(i[0], i[1], i[2], i[3], i[4]); });
  const Dims wide = {2 * 3 * 5, 3, 16, 16};  // DHWCN: 40 filters of 7 channels
  expect_format(StorageFormat::fractal_z_3d, wide, {2, 3, 5, 7, 40}, [&](const Dims& i) {
    return at(wide, {(i[0] * 3 + i[1]) * 5 + i[2], i[4] / 16, i[4] % 16, i[3]});
  });
}

TEST(Storage, GroupedFractalZ) {
  struct Case {
    int64_t groups, n, c, h, w;  // n and c per group
  };
  for (const Case& k : std::vector<Case>{{2, 3, 5, 2, 3},
                                         {32, 1, 1, 3, 3},
                                         {40, 1, 1, 1, 2},
                                         {4, 8, 8, 1, 1},
                                         {6, 8, 4, 2, 1},
                                         {3, 16, 16, 2, 2},
                                         {5, 20, 7, 1, 3},
                                         {17, 2, 1, 1, 1}}) {
    const int64_t together =
        std::min(std::lcm(std::lcm(k.c, int64_t{16}) / k.c, std::lcm(k.n, int64_t{16}) / k.n), k.groups);
    const int64_t c1 = up(together * k.c, 16), n1 = up(together * k.n, 16), piles = up(k.groups, together);
    const Dims stored = {piles * c1 * k.h * k.w, n1, 16, 16};
    const auto place = [&](int64_t n, int64_t c, int64_t y, int64_t x) {
      const int64_t g = n / k.n, e = g % together, dc = e * k.c + c, dn = e * k.n + n % k.n;
      const int64_t row = g / together * c1 * k.h * k.w + dc / 16 * k.h * k.w + y * k.w + x;
      return at(stored, {row, dn / 16, dn % 16, dc % 16});
    };
    const int groups = static_cast<int>(k.groups);
    expect_format(
        StorageFormat::fractal_z, stored, {k.groups * k.n, k.c, k.h, k.w},
        [&](const Dims& i) { return place(i[0], i[1], i[2], i[3]); }, groups);
  }
  // HWCN: 2 groups of 3 filters, 5 channels, 2 × 3
  const Dims stored = {6, 1, 16, 16};
  expect_format(
      StorageFormat::fractal_z, stored, {2, 3, 5, 6},
      [&](const Dims& i) {
        return at(stored, {i[0] * 3 + i[1], 0, i[3], i[3] / 3 * 5 + i[2]});
      },
      2);
}

TEST(Storage, PlainFormatsStayAsTheyAre) {
  for (const StorageFormat format : {StorageFormat::nchw, StorageFormat::nhwc, StorageFormat::nd,
                                     StorageFormat::hwcn, StorageFormat::chwn, StorageFormat::undefined})
    expect_format(format, {2, 3, 2, 20}, {2, 3, 2, 20}, [](const Dims& i) { return at({2, 3, 2, 20}, i); });
  for (const StorageFormat format :
       {StorageFormat::ncdhw, StorageFormat::ndhwc, StorageFormat::dhwcn, StorageFormat::dhwnc})
    expect_format(format, {2, 3, 2, 4, 5}, {2, 3, 2, 4, 5}, [](const Dims& i) {
      return at({2, 3, 2, 4, 5}, i);
    });
  expect_format(StorageFormat::nc, {2, 3}, {2, 3}, [](const Dims& i) { return at({2, 3}, i); });
  expect_format(StorageFormat::ncl, {2, 3, 4}, {2, 3, 4}, [](const Dims& i) { return at({2, 3, 4}, i); });
  expect_format(StorageFormat::nd, {}, {}, [](const Dims&) { return 0; });
  expect_format(StorageFormat::nhwc, {6}, {6}, [](const Dims& i) { return i[0]; });
}

TEST(Storage, PlainFormatsTurnWhereTheOriginalIsAnotherOrder) {
  expect_format(StorageFormat::nhwc, {2, 3, 5, 7}, {2, 7, 3, 5}, [](const Dims& i) {
    return at({2, 3, 5, 7}, {i[0], i[2], i[3], i[1]});
  });
  expect_format(StorageFormat::hwcn, {3, 5, 7, 2}, {2, 7, 3, 5}, [](const Dims& i) {
    return at({3, 5, 7, 2}, {i[2], i[3], i[1], i[0]});
  });
  expect_format(StorageFormat::nchw, {2, 7, 3, 5}, {2, 3, 5, 7}, [](const Dims& i) {
    return at({2, 7, 3, 5}, {i[0], i[3], i[1], i[2]});
  });
  expect_format(StorageFormat::ndhwc, {2, 3, 4, 5, 7}, {2, 7, 3, 4, 5}, [](const Dims& i) {
    return at({2, 3, 4, 5, 7}, {i[0], i[2], i[3], i[4], i[1]});
  });
}

TEST(Storage, PlainFormatsOfEqualCountTakeTheOriginalShape) {
  expect_format(StorageFormat::nd, {6, 4}, {2, 3, 4}, [](const Dims& i) { return at({2, 3, 4}, i); });
  expect_format(StorageFormat::nchw, {6, 4, 1, 1}, {6, 4}, [](const Dims& i) { return at({6, 4}, i); });
}

TEST(Storage, RefusesShapesThatDoNotFit) {
  const int64_t huge = int64_t{1} << 62;
  struct Case {
    StorageFormat format;
    Dims stored, original;
    int groups = 1;
  };
  for (const Case& c :
       std::vector<Case>{{StorageFormat::nd, {6}, {7}},
                         {StorageFormat::nd, {6}, {huge, huge}},
                         {StorageFormat::nd, {6}, {-1, -6}},
                         {StorageFormat::nchw, {2, 3, 2, 2}, {2, 3, 2, 3}},
                         {StorageFormat::fractal_nz, {2, 2, 16, 16}, {33, 18}},
                         {StorageFormat::fractal_nz, {2, 2, 16, 16}, {20, 33}},
                         {StorageFormat::fractal_nz, {2, 2, 16, 16}, {2, 18}},  // one row of tiles too many
                         {StorageFormat::fractal_nz, {2, 2, 16, 16}, {2, 20, 18}},
                         {StorageFormat::fractal_nz, {2, 2}, {20, 18}},
                         {StorageFormat::fractal_nz, {0, 0, 16, 16}, {20, 18}},
                         {StorageFormat::fractal_nz, {2, 2, 16, 16}, {huge, huge}},
                         {StorageFormat::fractal_zz, {2, 2, 16, 16}, {33, 18}},
                         {StorageFormat::nc1hwc0, {2, 2, 3, 2, 16}, {2, 33, 3, 2}},
                         {StorageFormat::nc1hwc0, {2, 2, 3, 2, 16}, {2, 20, 3, 3}},
                         {StorageFormat::nc1hwc0, {2, 2, 3, 2, 16}, {1, 2, 20, 3, 2}},
                         {StorageFormat::nc1hwc0, {2, 3, 2, 16}, {2, 20, 3, 2}},
                         {StorageFormat::ndc1hwc0, {2, 3, 2, 4, 5, 16}, {2, 20, 3, 4, 6}},
                         {StorageFormat::fractal_z, {12, 1, 16, 16}, {2, 40, 3, 2}},
                         {StorageFormat::fractal_z, {12, 1, 16, 16}, {17, 20, 3, 2}},
                         {StorageFormat::fractal_z, {12, 1, 16, 16}, {2, 20, 5, 1}},
                         {StorageFormat::fractal_z, {12, 1, 16, 16}, {6, 20, 3, 2}, 4},
                         {StorageFormat::fractal_z, {12, 1, 16, 16}, {6, 20, 3, 2}, 3},
                         {StorageFormat::fractal_z_3d, {12, 1, 16, 16}, {2, 20, 5, 3, 2}}}) {
    const auto result = convert(c.format, c.stored, c.original, c.groups);
    ASSERT_FALSE(result) << name(c.format) << " " << Shape{c.original}.text();
    EXPECT_EQ(result.error().kind, ErrorKind::mismatch);
    EXPECT_THAT(result.error().message, HasSubstr(Shape{c.stored}.text()));
  }
}

TEST(Storage, NamesFormatsWithoutARule) {
  const auto known = convert(static_cast<StorageFormat>(48), {4}, {2, 2});
  ASSERT_FALSE(known);
  EXPECT_EQ(known.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(known.error().message, HasSubstr("FRACTAL_Z_WINO"));
  const auto unknown = convert(static_cast<StorageFormat>(77), {4}, {2, 2});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("format 77"));
  const auto groups = convert(StorageFormat::fractal_z, {4, 1, 1, 1}, {2, 2, 1, 1}, 1 << 30);
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().kind, ErrorKind::limit);
  EXPECT_EQ(name(StorageFormat::fractal_nz), "FRACTAL_NZ");
  EXPECT_EQ(name(StorageFormat::ncl), "NCL");
  EXPECT_EQ(name(StorageFormat::fractal_nz_c0_8), "FRACTAL_NZ_C0_8");
  EXPECT_EQ(name(StorageFormat::dhwnc), "DHWNC");
}

TEST(Storage, EqualShapesComeBackAsTheyAre) {
  const auto odd = convert(static_cast<StorageFormat>(9), {2, 3, 4}, {2, 3, 4});
  ASSERT_TRUE(odd);
  const auto five = convert(StorageFormat::nc1hwc0, {2, 2, 3, 2, 16}, {2, 2, 3, 2, 16});
  ASSERT_TRUE(five);
  EXPECT_EQ((*five)->meta.shape, (Shape{{2, 2, 3, 2, 16}}));
}

TEST(Storage, EmptyTensors) {
  for (const StorageFormat format :
       {StorageFormat::fractal_nz, StorageFormat::nc1hwc0, StorageFormat::fractal_z}) {
    const auto empty = convert(format, {0, 2, 16, 16}, {0, 3, 2, 2});
    ASSERT_TRUE(empty);
    EXPECT_EQ((*empty)->meta.shape, (Shape{{0, 3, 2, 2}}));
    const auto bytes = read_whole(**empty, 10);
    ASSERT_TRUE(bytes);
    EXPECT_TRUE(bytes->empty());
  }
}

}  // namespace
}  // namespace assay
