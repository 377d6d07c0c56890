#include "assay/tensor/gather.h"

#include "assay/tensor/dense.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace assay {
namespace {

template <class T>
OperandPtr counting_in_memory(DType dtype, int64_t count, std::vector<int64_t> dims = {}) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i);
  const auto bytes = std::as_bytes(std::span(values));
  return dense_in_memory({bytes.begin(), bytes.end()},
                         {dtype, Shape{dims.empty() ? std::vector{count} : dims}});
}

// Has to be asked for its elements, as one in a file has.
class Asked final : public Operand {
 public:
  explicit Asked(OperandPtr source) : Operand(source->meta), source_(std::move(source)) {}
  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    return source_->block(first, count, scratch);
  }

 private:
  const OperandPtr source_;
};

template <class T>
OperandPtr counting(DType dtype, int64_t count, std::vector<int64_t> dims = {}) {
  return std::make_shared<Asked>(counting_in_memory<T>(dtype, count, std::move(dims)));
}

// The whole tensor, asked for in blocks of `step` elements.
template <class T>
std::vector<T> values_of(const Operand& operand, int64_t step = kBlockElements) {
  std::vector<T> values(static_cast<size_t>(operand.meta.shape.count()));
  Scratch scratch;
  for (int64_t at = 0; at < std::ssize(values); at += step) {
    const int64_t count = std::min(step, std::ssize(values) - at);
    const auto block = operand.block(at, count, scratch);
    EXPECT_TRUE(block) << block.error().message;
    if (!block) return {};
    EXPECT_EQ(block->count, count);
    std::memcpy(values.data() + at, block->data, static_cast<size_t>(count) * sizeof(T));
  }
  return values;
}

template <class T>
std::vector<T> read_all(const Operand& operand) {
  const auto bytes = read_whole(operand, int64_t{1} << 30);
  EXPECT_TRUE(bytes);
  std::vector<T> values(bytes->size() / sizeof(T));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

int64_t offset_of(const Axis& axis, int64_t i) {
  int64_t number = axis.start + i, offset = 0;
  for (size_t d = axis.digits.size(); d-- > 0;) {
    const int64_t digit = d == 0 ? number : number % axis.digits[d].radix;
    number /= axis.digits[d].radix;
    offset += digit * axis.digits[d].stride;
  }
  return offset;
}

// Places in the source, one element at a time.
std::vector<int64_t> places(int64_t base, const std::vector<Axis>& axes) {
  std::vector<int64_t> result{base};
  for (const Axis& axis : axes) {
    std::vector<int64_t> longer;
    for (const int64_t place : result)
      for (int64_t i = 0; i < axis.extent; ++i) longer.push_back(place + offset_of(axis, i));
    result = std::move(longer);
  }
  return result;
}

TEST(Strided, TransposesSmallMatrix) {
  const auto view = strided(counting<float>(DType::f32, 6), Shape{{3, 2}}, {1, 3}, 0);
  ASSERT_TRUE(view);
  EXPECT_EQ(values_of<float>(**view), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Strided, ReadsEveryElementSize) {
  const auto check = [](auto zero, DType dtype) {
    using T = decltype(zero);
    const auto view = strided(counting<T>(dtype, 35 * 37), Shape{{37, 35}}, {1, 37}, 0);
    ASSERT_TRUE(view);
    const auto values = values_of<T>(**view);
    for (int64_t r = 0; r < 37; ++r)
      for (int64_t c = 0; c < 35; ++c)
        ASSERT_EQ(values[static_cast<size_t>(r * 35 + c)], static_cast<T>(r + c * 37)) << name(dtype);
  };
  check(uint8_t{}, DType::u8);
  check(uint16_t{}, DType::u16);
  check(float{}, DType::f32);
  check(double{}, DType::f64);
}

TEST(Strided, ReadsComplexOf16Bytes) {
  std::vector<double> values(24);
  std::iota(values.begin(), values.end(), 0.0);
  const auto bytes = std::as_bytes(std::span(values));
  const auto view = strided(dense_in_memory({bytes.begin(), bytes.end()}, {DType::c128, Shape{{12}}}),
                            Shape{{4, 3}}, {1, 4}, 0);
  ASSERT_TRUE(view);
  const auto whole = read_whole(**view, 1000);
  ASSERT_TRUE(whole);
  std::vector<double> found(24);
  std::memcpy(found.data(), whole->data(), whole->size());
  EXPECT_EQ(found[2], 8);  // element (0, 1) is element 4 of the source
  EXPECT_EQ(found[7], 3);  // imaginary part of (1, 0), element 1 of the source
}

TEST(Strided, RepeatsAlongZeroStrides) {
  const auto view = strided(counting<int32_t>(DType::i32, 3), Shape{{2, 3, 2}}, {0, 1, 0}, 0);
  ASSERT_TRUE(view);
  EXPECT_EQ(values_of<int32_t>(**view, 5), (std::vector{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
}

TEST(Strided, WalksBackwards) {
  const auto view = strided(counting<int32_t>(DType::i32, 6), Shape{{2, 3}}, {-3, -1}, 5);
  ASSERT_TRUE(view);
  EXPECT_EQ(values_of<int32_t>(**view), (std::vector{5, 4, 3, 2, 1, 0}));
}

TEST(Strided, ScalarAndEmpty) {
  const auto scalar = strided(counting<int32_t>(DType::i32, 6), Shape{}, {}, 4);
  ASSERT_TRUE(scalar);
  EXPECT_EQ(values_of<int32_t>(**scalar), (std::vector{4}));
  const auto empty = strided(counting<int32_t>(DType::i32, 0), Shape{{3, 0, 2}}, {7, 1, 1}, 99);
  ASSERT_TRUE(empty);
  EXPECT_EQ((*empty)->meta.shape, (Shape{{3, 0, 2}}));
  Scratch scratch;
  const auto block = (*empty)->block(0, 0, scratch);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->count, 0);
}

TEST(Strided, PassesContiguousViewsThrough) {
  const auto source = counting<int32_t>(DType::i32, 100);
  const auto view = strided(source, Shape{{2, 1, 30}}, {30, 77, 1}, 10);
  ASSERT_TRUE(view);
  Scratch mine, below;
  const auto block = (*view)->block(7, 20, mine);
  const auto original = source->block(17, 20, below);
  ASSERT_TRUE(block && original);
  EXPECT_EQ(block->data, original->data);
}

TEST(Strided, RefusesPlacesOutsideTheSource) {
  const auto source = counting<int32_t>(DType::i32, 10);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(strided(source, Shape{{11}}, {1}, 0));
  EXPECT_FALSE(strided(source, Shape{{10}}, {1}, 1));
  EXPECT_FALSE(strided(source, Shape{{2}}, {1}, -1));
  EXPECT_FALSE(strided(source, Shape{{3}}, {-1}, 1));
  EXPECT_FALSE(strided(source, Shape{{3, 2}}, {huge, 1}, 0));
  EXPECT_FALSE(strided(source, Shape{{2, 2}}, {huge, huge}, 0));
  EXPECT_FALSE(strided(source, Shape{{huge, huge}}, {0, 0}, 0));
  EXPECT_FALSE(strided(source, Shape{{-1}}, {1}, 0));
  EXPECT_FALSE(strided(source, Shape{{2, 2}}, {1}, 0));
  EXPECT_FALSE(strided(source, Shape{{1}}, {1}, huge));
  EXPECT_FALSE(strided(counting<int32_t>(DType::i32, 0), Shape{{1}}, {1}, 0));
}

TEST(Gather, AgreesWithElementByElementOnRandomAxes) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Axis> axes(static_cast<size_t>(pick(0, 4)));
    for (Axis& axis : axes) {
      axis.extent = pick(1, 9);
      axis.start = pick(0, 3) == 0 ? pick(0, 5) : 0;
      axis.digits.resize(static_cast<size_t>(pick(1, 3)));
      for (Digit& digit : axis.digits) digit = {pick(1, 5), pick(0, 40)};
    }
    const int64_t base = pick(0, 9);
    const auto wanted = places(base, axes);
    const int64_t size = *std::max_element(wanted.begin(), wanted.end()) + 1;
    const auto result = gathered(counting<int32_t>(DType::i32, size), base, axes);
    const std::vector<int32_t> expected(wanted.begin(), wanted.end());
    ASSERT_EQ(values_of<int32_t>(*result), expected) << round;
    ASSERT_EQ(values_of<int32_t>(*result, pick(1, 50)), expected) << round;
    ASSERT_EQ(read_all<int32_t>(*result), expected) << round;
  }
}

// Large enough for several bands, spans that must be cut, and batches of spans.
TEST(Gather, LargePermutationsInAnyBlockSize) {
  struct Case {
    std::vector<int64_t> dims, strides;
  };
  const std::vector<Case> cases = {
      {{1500, 1700}, {1, 1500}},         {{2, 1300000}, {1, 2}},
      {{1300000, 2}, {1, 1300000}},      {{7, 130, 41, 63}, {1, 7 * 41, 7, 7 * 41 * 130}},
      {{300, 5, 1700}, {8500, 1700, 1}}, {{129, 3, 129, 2, 5}, {1, 129 * 10, 129 * 30, 129, 258}},
  };
  for (const Case& c : cases) {
    const Shape shape{c.dims};
    const auto view = strided(counting<int32_t>(DType::i32, shape.count()), shape, c.strides, 0);
    ASSERT_TRUE(view);
    for (const int64_t step : {kBlockElements, int64_t{50001}}) {
      const auto values = values_of<int32_t>(**view, step);
      std::vector<int64_t> at(c.dims.size(), 0);
      int64_t place = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(values[i], place) << shape.text() << " element " << i;
        for (size_t d = at.size(); d-- > 0;) {
          place += c.strides[d];
          if (++at[d] < c.dims[d]) break;
          place -= c.strides[d] * c.dims[d];
          at[d] = 0;
        }
      }
    }
  }
}

TEST(Gather, TakesWhatIsInMemoryFromThere) {
  struct Case {
    std::vector<int64_t> dims, strides;
    int64_t base;
  };
  const std::vector<Case> cases = {{{3, 2}, {1, 3}, 0},
                                   {{160, 20}, {80, 1}, 40},
                                   {{2, 3}, {-3, -1}, 5},
                                   {{2, 3, 2}, {0, 1, 0}, 7},
                                   {{}, {}, 4},
                                   {{7, 130, 41}, {41, 287, 1}, 11},
                                   {{31, 5, 3, 8}, {-8, 744, 248, 1}, 240}};
  for (const Case& c : cases) {
    const Shape shape{c.dims};
    const OperandPtr source = counting_in_memory<int32_t>(DType::i32, 40000);
    const auto view = strided(source, shape, c.strides, c.base),
               asked = strided(std::make_shared<Asked>(source), shape, c.strides, c.base);
    ASSERT_TRUE(view && asked) << shape.text();
    for (const int64_t step : {kBlockElements, int64_t{7}})
      EXPECT_EQ(values_of<int32_t>(**view, step), values_of<int32_t>(**asked, step)) << shape.text();
  }
}

TEST(Gather, ServesJumps) {
  const auto view = strided(counting<int32_t>(DType::i32, 3000 * 400), Shape{{3000, 400}}, {1, 3000}, 0);
  ASSERT_TRUE(view);
  Scratch scratch;
  for (const int64_t first : {0, 1199000, 400, 600000, 65530, 131070}) {
    const auto block = (*view)->block(first, 10, scratch);
    ASSERT_TRUE(block);
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t r = (first + i) / 400, c = (first + i) % 400;
      ASSERT_EQ(load_le<int32_t>(block->bytes().subspan(static_cast<size_t>(i) * 4)), r + c * 3000);
    }
  }
}

TEST(Concatenated, JoinsAlongEveryDimension) {
  const std::vector<OperandPtr> parts = {counting<int32_t>(DType::i32, 12, {2, 2, 3}),
                                         counting<int32_t>(DType::i32, 12, {2, 2, 3})};
  const auto first = concatenated(parts, 0);
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)->meta.shape, (Shape{{4, 2, 3}}));
  EXPECT_EQ(values_of<int32_t>(**first, 7),
            (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const auto middle = concatenated(parts, 1);
  ASSERT_TRUE(middle);
  EXPECT_EQ(values_of<int32_t>(**middle, 5),
            (std::vector{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 6, 7, 8, 9, 10, 11}));
  const auto last = concatenated(parts, 2);
  ASSERT_TRUE(last);
  EXPECT_EQ(values_of<int32_t>(**last),
            (std::vector{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 6, 7, 8, 9, 10, 11, 9, 10, 11}));
}

TEST(Concatenated, UnequalAndEmptyPartsInAnyBlockSize) {
  const std::vector<OperandPtr> parts = {
      counting<int32_t>(DType::i32, 21, {7, 3}), counting<int32_t>(DType::i32, 0, {7, 0}),
      counting<int32_t>(DType::i32, 7, {7, 1}), counting<int32_t>(DType::i32, 35, {7, 5})};
  const auto joined = concatenated(parts, 1);
  ASSERT_TRUE(joined);
  std::vector<int32_t> expected;
  for (int32_t r = 0; r < 7; ++r)
    for (const int32_t width : {3, 0, 1, 5})
      for (int32_t c = 0; c < width; ++c) expected.push_back(r * width + c);
  for (int64_t step = 1; step < 70; ++step) ASSERT_EQ(values_of<int32_t>(**joined, step), expected) << step;
  EXPECT_EQ(read_all<int32_t>(**joined), expected);
}

TEST(Concatenated, GatheringPartsShareOneScratch) {
  std::vector<OperandPtr> parts;
  for (int i = 0; i < 3; ++i) {
    auto part = strided(counting<int32_t>(DType::i32, 6), Shape{{3, 2}}, {1, 3}, 0);
    ASSERT_TRUE(part);
    parts.push_back(*part);
  }
  const auto joined = concatenated(parts, 0);
  ASSERT_TRUE(joined);
  const std::vector<int32_t> expected{0, 3, 1, 4, 2, 5, 0, 3, 1, 4, 2, 5, 0, 3, 1, 4, 2, 5};
  for (int64_t step = 1; step < 19; ++step) ASSERT_EQ(values_of<int32_t>(**joined, step), expected) << step;
}

TEST(Concatenated, RefusesWhatDoesNotFit) {
  const auto a = counting<int32_t>(DType::i32, 6, {2, 3});
  EXPECT_FALSE(concatenated({}, 0));
  EXPECT_FALSE(concatenated({a, a}, 2));
  EXPECT_FALSE(concatenated({a, a}, -1));
  EXPECT_FALSE(concatenated({a, counting<int32_t>(DType::i32, 8, {2, 4})}, 0));
  EXPECT_TRUE(concatenated({a, counting<int32_t>(DType::i32, 8, {2, 4})}, 1));
  EXPECT_FALSE(concatenated({a, counting<int32_t>(DType::i32, 6)}, 0));
  EXPECT_FALSE(concatenated({a, counting<float>(DType::f32, 6, {2, 3})}, 0));
}

TEST(Reshaped, KeepsElements) {
  const auto view = reshaped(counting<int32_t>(DType::i32, 6), Shape{{2, 3}});
  EXPECT_EQ(view->meta.shape, (Shape{{2, 3}}));
  EXPECT_EQ(values_of<int32_t>(*view, 4), (std::vector{0, 1, 2, 3, 4, 5}));
}

TEST(Sliced, TakesIndicesAlongADimension) {
  const OperandPtr source = counting<float>(DType::f32, 6, {2, 3});  // 0 1 2 / 3 4 5
  using Values = std::vector<float>;
  EXPECT_EQ(values_of<float>(**sliced(source, 1, 1, 2)), (Values{1, 2, 4, 5}));
  EXPECT_EQ(values_of<float>(**sliced(source, 0, 1, 1)), (Values{3, 4, 5}));
  EXPECT_EQ(sliced(source, 1, 0, 3).value(), source);
  EXPECT_EQ(sliced(source, 1, 3, 0).value()->meta.shape, (Shape{{2, 0}}));
}

TEST(Sliced, NumbersTheDimensionsOfTheTransposed) {
  const OperandPtr source = counting<float>(DType::f32, 6, {2, 3});
  const auto rows = sliced(source, 0, 1, 2, true);  // of 0 3 / 1 4 / 2 5
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)->meta.shape, (Shape{{2, 2}}));
  EXPECT_EQ(values_of<float>(**rows), (std::vector<float>{1, 4, 2, 5}));
  const auto whole = sliced(source, 1, 0, 2, true);
  ASSERT_TRUE(whole);
  EXPECT_EQ((*whole)->meta.shape, (Shape{{3, 2}}));
  EXPECT_EQ(values_of<float>(**whole), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

// Places times strides would not fit into any number.
TEST(Sliced, AnEmptyTensorOfHugeExtents) {
  constexpr int64_t kHuge = int64_t{1} << 31;
  const OperandPtr source = dense_in_memory({}, {DType::f32, Shape{{kHuge, kHuge, 0}}});
  const auto part = sliced(source, 1, kHuge - 1, 1);
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_EQ((*part)->meta.shape, (Shape{{kHuge, 1, 0}}));
  const OperandPtr reversed = dense_in_memory({}, {DType::f32, Shape{{0, kHuge, kHuge}}});
  const auto transposed = sliced(reversed, 1, kHuge - 1, 1, true);
  ASSERT_TRUE(transposed) << transposed.error().message;
  EXPECT_EQ((*transposed)->meta.shape, (Shape{{kHuge, 1, 0}}));
}

TEST(Sliced, RefusesWhatIsNotThere) {
  const OperandPtr source = counting<float>(DType::f32, 6, {2, 3});
  for (const auto& [first, count] :
       {std::pair<int64_t, int64_t>{1, 3}, {-1, 1}, {0, -1}, {4, 0}, {INT64_MAX, 1}, {1, INT64_MAX}})
    EXPECT_FALSE(sliced(source, 1, first, count)) << first << " " << count;
  EXPECT_EQ(sliced(source, 2, 0, 1).error().message, "shape [2, 3] has no dimension 2");
  EXPECT_EQ(sliced(source, 1, 2, 2).error().message,
            "shape [2, 3] has no 2 indices from 2 on along dimension 1");
}

}  // namespace
}  // namespace assay
