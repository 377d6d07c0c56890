#include "assay/format/ge_dump.h"

#include "assay/format/ge_header.h"
#include "assay/format/npy_test_tools.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>
#include <random>

namespace assay {
namespace {

using namespace testing_tools;
using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<TensorSet> open_data(std::string_view name) {
  return open_with(ge_dump_format, data_file("ge") / name);
}

Result<TensorSet> open_bytes(const std::string& bytes, const FormatOptions& options = {}) {
  const TempFile file(bytes, "made");
  return open_with(ge_dump_format, file.path(), options);
}

bool sniffed(std::string_view bytes) {
  return ge_dump_format.sniff(as_bytes(bytes.substr(0, kSniffBytes)), static_cast<int64_t>(bytes.size()));
}

std::vector<double> ramp(size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 0.0);
  return values;
}

// ----- an encoder of our own for what the files in tests/data do not hold

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}
std::string number(int id, uint64_t value) { return varint(static_cast<uint64_t>(id) << 3) + varint(value); }
std::string bytes_field(int id, const std::string& value) {
  return varint(static_cast<uint64_t>(id) << 3 | 2) + varint(value.size()) + value;
}
std::string shape(const std::vector<uint64_t>& dims) {
  std::string packed;
  for (const uint64_t d : dims) packed += varint(d);
  return bytes_field(1, packed);
}
template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
std::string with_length(const std::string& message) { return raw<uint64_t>(message.size()) + message; }

std::string output(uint64_t type, uint64_t format, const std::vector<uint64_t>& dims, uint64_t size,
                   const std::string& more = "") {
  return bytes_field(
      3, number(1, type) + number(2, format) + bytes_field(3, shape(dims)) + number(6, size) + more);
}

// One output in the layout with a payload.
Result<TensorSet> open_output(uint64_t type, const std::vector<uint64_t>& dims, const std::string& data) {
  return open_bytes(with_length(bytes_field(1, "2.0") + output(type, 2, dims, data.size())) + data);
}

std::string error_of(const Result<TensorSet>& set, size_t tensor = 0) {
  if (!set) return set.error().message;
  if (tensor >= set->tensors.size()) return "no tensor";
  return set->tensors[tensor].data ? "opened" : set->tensors[tensor].data.error().message;
}

// ----- files of the original tools

TEST(GeDump, ReadsTheDocumentedVector) {
  const auto set = open_data("add_103_bytes");
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->tensors.size(), 3u);
  EXPECT_THAT(numbers_of(set, "input.0"), ElementsAre(1, 2));
  EXPECT_THAT(numbers_of(set, "input.1"), ElementsAre(3, 4));
  EXPECT_THAT(numbers_of(set, "output.0"), ElementsAre(5, 6));
  EXPECT_EQ(set->tensors[0].meta, (TensorMeta{DType::f32, Shape{{2}}}));
  EXPECT_EQ(set->tensors[1].meta, (TensorMeta{DType::f16, Shape{{2}}}));
  EXPECT_EQ(set->tensors[2].meta, (TensorMeta{DType::i32, Shape{{1, 2}}}));
  EXPECT_EQ(set->extent, 103);
  EXPECT_THAT(set->warnings, IsEmpty());
  std::map<std::string, Value> facts;
  for (const Fact& fact : set->tensors[2].facts) facts[fact.key] = fact.value;
  EXPECT_EQ(facts["op_name"], Value("Add_2"s));
  EXPECT_EQ(facts["storage_format"], Value("ND"s));
  EXPECT_EQ(facts["storage_shape"], Value("[1, 2]"s));
  EXPECT_EQ(facts["dump_time"], Value(int64_t{1706596912161}));
}

TEST(GeDump, ReadsPlainTensors) {
  EXPECT_EQ(numbers_of(open_data("plain"), "output.0"), ramp(24));
  EXPECT_EQ(numbers_of(open_data("nd4"), "output.0"), ramp(24));
  const auto scalar = open_data("scalar");
  EXPECT_THAT(numbers_of(scalar, "output.0"), ElementsAre(3.5));
  EXPECT_EQ(scalar->tensors[0].meta->shape, Shape{});
  const auto empty = open_data("empty");
  EXPECT_THAT(numbers_of(empty, "output.0"), IsEmpty());
  EXPECT_EQ(empty->tensors[0].meta, (TensorMeta{DType::f32, Shape{{0, 3}}}));  // keeps its type
}

TEST(GeDump, SizeAndShapeNeedNotAgree) {
  EXPECT_EQ(numbers_of(open_data("padded_size"), "output.0"), ramp(3));
  EXPECT_EQ(numbers_of(open_data("noshape_field"), "output.0"), ramp(3));
  const auto undefined = open_data("undefined");
  EXPECT_THAT(numbers_of(undefined, "output.0"), ElementsAre(0, 0, 0, 0, 0, 0, -128, 63, 0, 0, 0, 64));
  EXPECT_EQ(undefined->tensors[0].meta, (TensorMeta{DType::i8, Shape{{12}}}));
  const auto trail = open_data("trail");
  EXPECT_EQ(numbers_of(trail, "output.0"), ramp(3));
  ASSERT_EQ(trail->warnings.size(), 1u);
  EXPECT_THAT(trail->warnings[0], HasSubstr("2 bytes follow"));
  EXPECT_THAT(error_of(open_data("short")), HasSubstr("8 bytes are too few for f32 [3]"));
}

TEST(GeDump, ReadsSmallTypes) {
  EXPECT_THAT(numbers_of(open_data("bf16"), "output.0"), ElementsAre(1, 2));
  EXPECT_THAT(numbers_of(open_data("fp8"), "output.0"), ElementsAre(1, 2));
  EXPECT_THAT(numbers_of(open_data("int4"), "output.0"), ElementsAre(5, -6, 1, 0));
  EXPECT_THAT(numbers_of(open_data("uint1"), "output.0"), ElementsAre(1, 0));
}

TEST(GeDump, ConvertsStorageFormats) {
  for (const std::string_view name : {"nc1hwc0", "fracz"}) {
    const auto set = open_data(name);
    EXPECT_EQ(numbers_of(set, "output.0"), ramp(240)) << name;
    EXPECT_EQ(set->tensors[0].meta->shape, (Shape{{2, 20, 3, 2}})) << name;
  }
  const auto nz = open_data("nz2d");
  EXPECT_EQ(numbers_of(nz, "output.0"), ramp(360));
  EXPECT_EQ(nz->tensors[0].meta->shape, (Shape{{20, 18}}));
  std::vector<double> hundreds(800);
  for (size_t i = 0; i < hundreds.size(); ++i) hundreds[i] = static_cast<double>(i % 100);
  EXPECT_EQ(numbers_of(open_data("nz_int8_c0_32"), "output.0"), hundreds);
}

TEST(GeDump, KeepsNhwcAsTheModelSeesIt) {
  std::vector<double> nhwc;
  for (int n = 0; n < 2; ++n)
    for (int h = 0; h < 3; ++h)
      for (int w = 0; w < 2; ++w)
        for (int c = 0; c < 20; ++c) nhwc.push_back(((n * 20 + c) * 3 + h) * 2 + w);
  EXPECT_EQ(numbers_of(open_data("nhwc4"), "output.0"), nhwc);
  EXPECT_EQ(numbers_of(open_data("nc1hwc0_origNHWC"), "output.0"), nhwc);
  const auto hwcn = open_data("hwcn4");
  EXPECT_EQ(hwcn->tensors[0].meta->shape, (Shape{{3, 2, 20, 2}}));
  EXPECT_EQ(numbers_of(hwcn, "output.0")[1], 120);  // filter 1, channel 0
}

TEST(GeDump, SkipsBuffersAndSpaces) {
  for (const std::string_view name : {"buf", "splitv"}) {
    const auto set = open_data(name);
    ASSERT_TRUE(set);
    EXPECT_THAT(set->warnings, IsEmpty());
    EXPECT_EQ(set->extent, static_cast<int64_t>(fs::file_size(data_file("ge") / name)));
    EXPECT_EQ(set->tensors[0].facts.back().key, "buffers_and_spaces");
    EXPECT_EQ(set->tensors[0].facts.back().value, Value(int64_t{2}));
  }
  EXPECT_EQ(numbers_of(open_data("buf"), "input.0"), ramp(2));
  EXPECT_EQ(numbers_of(open_data("buf"), "output.0"), ramp(3));
  EXPECT_EQ(open_data("splitv")->tensors.size(), 3u);
}

std::vector<std::string> beside(const Result<TensorSet>& set) {
  std::vector<std::string> all;
  if (set)
    for (const Beside& part : set->beside) all.push_back(part.what);
  return all;
}

TEST(GeDump, SaysWhatItsTensorsDoNotShow) {
  const std::string version = bytes_field(1, "2.0"), tensor = output(1, 2, {1}, 4), data = raw(1.0f);
  EXPECT_THAT(beside(open_bytes(with_length(version + tensor) + data)), IsEmpty());
  EXPECT_THAT(beside(open_data("add_103_bytes")), IsEmpty());
  EXPECT_THAT(beside(open_bytes(with_length(version + output(1, 2, {1}, 10)) + data + "padded")),
              ElementsAre("6 bytes around output.0"));
  EXPECT_THAT(beside(open_bytes(with_length(version + tensor + bytes_field(40, "new")) + data)),
              ElementsAre(HasSubstr("fields of its header")));
  EXPECT_THAT(
      beside(open_bytes(with_length(version + tensor + bytes_field(6, "a") + bytes_field(6, "b")) + data)),
      ElementsAre(HasSubstr("fields of its header")));
  EXPECT_THAT(beside(open_bytes(with_length(version + output(1, 2, {1}, 4, bytes_field(5, "abcd"))) + data)),
              ElementsAre("4 bytes for output.0 inside the message"));
  const auto with_log =
      open_bytes(with_length(version + tensor + bytes_field(5, number(3, 2)) + bytes_field(8, number(3, 3))) +
                 data + "12log");
  ASSERT_TRUE(with_log) << with_log.error().message;
  EXPECT_THAT(beside(with_log), IsEmpty());
  ASSERT_EQ(with_log->others.size(), 2U);
  EXPECT_EQ(with_log->others[0].name, "buffer.0");
  EXPECT_EQ(with_log->others[1].name, "space.0");
  EXPECT_EQ(with_log->others[1].meta, (TensorMeta{DType::u8, Shape{{3}}}));
  const auto attribute = open_bytes(
      with_length(version + tensor + bytes_field(7, bytes_field(1, "slice") + bytes_field(2, "{}"))) + data);
  ASSERT_TRUE(attribute);
  EXPECT_EQ(attribute->tensors[0].facts.back().key, "attribute slice");
}

TEST(GeDump, SaysWhatMessagesInsideItsTensorsHoldBeside) {
  const std::string version = bytes_field(1, "2.0"), data = raw(1.0f), unknown = bytes_field(9, "new");
  const auto with = [&](const std::string& more) {
    return open_bytes(with_length(version + output(1, 2, {1}, 4, more)) + data);
  };
  const auto not_known = ElementsAre(HasSubstr("fields of its header"));
  const auto one = shape({1});
  EXPECT_THAT(beside(with(bytes_field(7, one))), IsEmpty());
  EXPECT_THAT(beside(with(bytes_field(7, number(1, 1)))), IsEmpty());  // a dimension by itself, not packed
  EXPECT_THAT(beside(with(bytes_field(7, one + unknown))), not_known);
  EXPECT_THAT(beside(with(bytes_field(4, unknown))), not_known);
  EXPECT_THAT(beside(with(bytes_field(4, bytes_field(1, "") + bytes_field(1, "")))), not_known);
  EXPECT_THAT(beside(with(bytes_field(10, number(2, 1) + unknown))),
              ElementsAre(HasSubstr("ranges"), HasSubstr("fields of its header")));
  const std::string input =
      bytes_field(4, number(1, 1) + number(2, 2) + bytes_field(3, one + unknown) + number(5, 4));
  EXPECT_THAT(beside(open_bytes(with_length(version + input) + data)), not_known);
}

TEST(GeDump, TellsTheOriginalOperator) {
  const std::string version = bytes_field(1, "2.0"), data = raw(1.0f);
  const auto with = [&](const std::string& more) {
    return open_bytes(with_length(version + output(1, 2, {1}, 4, more)) + data);
  };
  const auto set = with(bytes_field(4, bytes_field(1, "conv1") + number(2, 3) + number(3, 1) + number(4, 2)) +
                        bytes_field(10, number(1, 4) + number(2, 8)));
  ASSERT_TRUE(set) << set.error().message;
  std::map<std::string, Value> facts;
  for (const Fact& fact : set->tensors[0].facts) facts[fact.key] = fact.value;
  EXPECT_EQ(facts["original_op"], Value("conv1"s));
  EXPECT_EQ(facts["original_output_index"], Value(int64_t{3}));
  EXPECT_EQ(facts["original_data_type"], Value(int64_t{1}));
  EXPECT_EQ(facts["original_format"], Value(int64_t{2}));
  EXPECT_EQ(facts["dim_range"], Value("4:8"s));
  EXPECT_THAT(beside(set),
              ElementsAre("the original operator of output.0", "ranges of the dimensions of output.0"));
  for (const Beside& part : set->beside) EXPECT_TRUE(part.in_facts);
  // Numbers without a name, as engines write them where there was no such operator.
  EXPECT_THAT(beside(with(bytes_field(4, number(2, 0xffffffff) + number(3, 1)))), IsEmpty());
}

TEST(GeDump, SaysWhatBitsLieBehindItsElements) {
  const auto bits_of = [](const Result<TensorSet>& set) {
    EXPECT_TRUE(set);
    return beside(set);
  };
  // Where the bits are is in the file: whether they are zeros is for those to ask who remove it.
  EXPECT_THAT(bits_of(open_output(28, {3}, "\x21\x03"s)), ElementsAre("4 bits behind output.0"));
  EXPECT_THAT(bits_of(open_output(28, {4}, "\x21\x43"s)), IsEmpty());
  const auto inside = [&](const std::string& data) {
    return bits_of(open_bytes(
        bytes_field(3, number(1, 29) + number(2, 2) + bytes_field(3, shape({3})) + bytes_field(5, data))));
  };
  EXPECT_THAT(inside("\xa0"s), IsEmpty());
  EXPECT_THAT(inside("\xa1"s), ElementsAre("5 bits behind output.0"));
}

TEST(GeDump, OperatorsOfARealGraphAddUp) {
  const auto matmul = open_data("matmul");
  const auto a = numbers_of(matmul, "input.0"), b = numbers_of(matmul, "input.1"),
             y = numbers_of(matmul, "output.0");
  ASSERT_EQ(y.size(), 72u);
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 18; ++j) {
      double sum = 0;
      for (size_t k = 0; k < 20; ++k) sum += a[i * 20 + k] * b[k * 18 + j];
      EXPECT_NEAR(y[i * 18 + j], sum, 0.02 + std::abs(sum) * 0.002);
    }
  const auto conv = open_data("conv2d");
  const auto x = numbers_of(conv, "input.0"), w = numbers_of(conv, "input.1"),
             z = numbers_of(conv, "output.0");
  ASSERT_EQ(z.size(), 320u);
  for (size_t n = 0; n < 2; ++n)
    for (size_t o = 0; o < 8; ++o)
      for (size_t p = 0; p < 20; ++p) {
        double sum = 0;
        for (size_t c = 0; c < 3; ++c) sum += x[(n * 3 + c) * 20 + p] * w[o * 3 + c];
        EXPECT_NEAR(z[(n * 8 + o) * 20 + p], sum, 1e-4);
      }
}

TEST(GeDump, RefusesWhatIsNoDump) {
  EXPECT_THAT(error_of(open_data("hdr")), HasSubstr("should be 999 bytes long, but only 3 follow"));
  EXPECT_THAT(error_of(open_data("bad")), HasSubstr("is not a GE dump"));
  EXPECT_THAT(error_of(open_bytes("")), HasSubstr("0 bytes are too few"));
  const auto tiny = open_data("tiny");
  ASSERT_TRUE(tiny);
  EXPECT_THAT(tiny->tensors, IsEmpty());
  EXPECT_THAT(tiny->warnings, ElementsAre(HasSubstr("holds no tensor")));
}

TEST(GeDump, RecognisesItsFilesOnly) {
  for (const std::string_view name :
       {"add_103_bytes", "plain", "scalar", "empty", "trail", "short", "undefined", "bf16", "fracz", "nz2d",
        "buf", "splitv", "matmul", "conv2d"})
    EXPECT_TRUE(sniffed(slurp(data_file("ge") / name))) << name;
  for (const std::string_view name : {"tiny", "hdr", "bad"})
    EXPECT_FALSE(sniffed(slurp(data_file("ge") / name))) << name;
  EXPECT_FALSE(sniffed(""));
  EXPECT_FALSE(sniffed("\n\nA text that begins with empty lines.\n"));
  EXPECT_FALSE(sniffed("\x10\x00\x00\x00\x00\x00\x00\x00{\"a\":{\"dtype\":1}}"s));
  EXPECT_FALSE(sniffed(std::string(1000, '\0')));
  EXPECT_FALSE(sniffed(std::string(1000, '\n')));
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string noise(64, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    if (round % 2 == 0) noise.replace(0, 8, raw<uint64_t>(random() % 56));
    ASSERT_FALSE(sniffed(noise)) << round;
  }
}

// ----- damage

TEST(GeDump, TruncatedAnywhere) {
  const std::string whole = slurp(data_file("ge") / "add_103_bytes");
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto set = open_bytes(whole.substr(0, length));
    if (length < 8 + 75) {
      EXPECT_FALSE(set) << length;
      continue;
    }
    // The header is whole: tensors before the cut are read, the others say why not.
    ASSERT_TRUE(set) << length;
    ASSERT_EQ(set->tensors.size(), 3u);
    EXPECT_EQ(set->tensors[0].data.has_value(), length >= 91) << length;
    EXPECT_EQ(set->tensors[1].data.has_value(), length >= 95) << length;
    EXPECT_FALSE(set->tensors[2].data) << length;
    EXPECT_THAT(error_of(set, 2), HasSubstr("output.0: the file ends at byte"));
    EXPECT_EQ(set->extent, 103);
  }
  expect_survives_truncation(ge_dump_format, whole);
}

TEST(GeDump, DamagedAnywhere) {
  expect_survives_damage(ge_dump_format, slurp(data_file("ge") / "add_103_bytes"));
}

TEST(GeDump, RefusesImpossibleNumbers) {
  const uint64_t most = ~uint64_t{0};
  EXPECT_THAT(error_of(open_bytes(with_length(output(1, 2, {1}, most)))), HasSubstr("impossible size"));
  EXPECT_THAT(error_of(open_bytes(with_length(output(1, 2, {1}, most >> 1)))), HasSubstr("impossible size"));
  EXPECT_THAT(error_of(open_bytes(with_length(output(1, 2, {1}, most >> 2)))),
              HasSubstr("the file ends at byte"));
  EXPECT_THAT(error_of(open_output(1, {most, most}, "1234")), HasSubstr("too few"));
  EXPECT_THAT(error_of(open_output(1, {1u << 31, 1u << 31, 8}, "1234")), HasSubstr("too few"));
  EXPECT_THAT(error_of(open_output(1, std::vector<uint64_t>(65, 1), "1234")), HasSubstr("65 dimensions"));
  EXPECT_THAT(error_of(open_bytes(with_length(bytes_field(8, number(3, most))))),
              HasSubstr("impossible size"));
  // no shape, one bit per element: the count must not overflow
  const auto bits = open_bytes(with_length(bytes_field(3, number(1, 29) + number(6, most >> 2))));
  EXPECT_THAT(error_of(bits), HasSubstr("the file ends at byte"));
  EXPECT_THAT(error_of(open_output(13, {1}, "1234")), HasSubstr("STRING"));
  EXPECT_THAT(error_of(open_output(99, {1}, "1234")), HasSubstr("data type 99"));
  EXPECT_THAT(error_of(open_output(most, {1}, "1234")), HasSubstr("data type -1"));
}

TEST(GeDump, LimitsWhatAMessageMayBecome) {
  std::string many;
  for (int i = 0; i < 100000; ++i) many += bytes_field(3, "");
  const auto set =
      open_bytes(with_length(many), {.raw_dtype = {}, .raw_shape = {}, .raw_offset = 0, .memory = 1 << 20});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().kind, ErrorKind::limit);
}

TEST(GeDump, FormatWithoutARuleIsAReason) {
  const std::string original = bytes_field(7, shape({2, 2}));
  const auto set = open_bytes(with_length(output(1, 48, {4}, 16, original)) + std::string(16, 'x'));
  EXPECT_THAT(error_of(set), HasSubstr("FRACTAL_Z_WINO"));
  EXPECT_EQ(set->tensors[0].meta->shape, (Shape{{4}}));
  const auto misfit = open_bytes(with_length(output(1, 29, {1, 1, 2, 2}, 16, bytes_field(7, shape({3, 2})))) +
                                 std::string(16, 'x'));
  EXPECT_THAT(error_of(misfit), HasSubstr("does not fit the original shape [3, 2]"));
}

TEST(GeDump, PlainDataWithAnImpossibleOriginalShapeIsTakenAsStored) {
  const std::string original = bytes_field(7, shape({~uint64_t{0}, 2}));  // -1: the graph did not know it
  const auto set = open_bytes(with_length(output(3, 2, {2, 2}, 4, original)) + "\1\2\3\4");
  EXPECT_THAT(numbers_of(set, "output.0"), ElementsAre(1, 2, 3, 4));
  ASSERT_EQ(set->warnings.size(), 1u);
  EXPECT_THAT(set->warnings[0], HasSubstr("taken as stored"));
}

// ----- element types

TEST(GeDump, KnowsEveryElementType) {
  const std::pair<uint64_t, DType> kinds[] = {
      {1, DType::f32},     {2, DType::f16},     {3, DType::i8},        {4, DType::u8},
      {5, DType::i16},     {6, DType::u16},     {7, DType::i32},       {8, DType::i64},
      {9, DType::u32},     {10, DType::u64},    {11, DType::boolean},  {12, DType::f64},
      {14, DType::i8},     {15, DType::u8},     {16, DType::c64},      {17, DType::c128},
      {18, DType::i8},     {19, DType::i16},    {20, DType::i32},      {21, DType::u8},
      {22, DType::u16},    {23, DType::i64},    {27, DType::bf16},     {28, DType::i4},
      {29, DType::u1},     {30, DType::i2},     {31, DType::u2},       {32, DType::c32},
      {33, DType::hif8},   {34, DType::f8e5m2}, {35, DType::f8e4m3fn}, {36, DType::f8e8m0},
      {37, DType::f6e3m2}, {38, DType::f6e2m3}, {39, DType::f4e2m1},   {40, DType::f4e1m2}};
  for (const auto& [code, dtype] : kinds) {
    const auto set = open_output(code, {1}, std::string(16, '\0'));
    ASSERT_TRUE(set);
    EXPECT_EQ(set->tensors[0].meta, (TensorMeta{dtype, Shape{{1}}})) << code;
    EXPECT_EQ(numbers_of(set, "output.0").size(), static_cast<size_t>(components(dtype))) << code;
  }
  for (const uint64_t code : {13, 24, 25, 26})
    EXPECT_THAT(error_of(open_output(code, {1}, "12345678")), HasSubstr("not numbers"));
}

TEST(GeDump, HiFloat8FollowsItsLayout) {
  EXPECT_THAT(numbers_of(open_output(33, {8}, "\x20\x28\x40\x50\x08\x10\x01\x6e"s), "output.0"),
              ElementsAre(4, 8, 16, 0.0625, 1, 2, 2.384185791015625e-07, 32768));
}

TEST(GeDump, PackedTypesCountBits) {
  EXPECT_THAT(numbers_of(open_output(29, {10}, "\xa5\x40"s), "output.0"),
              ElementsAre(1, 0, 1, 0, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(error_of(open_output(29, {17}, "\xa5\x40"s)), HasSubstr("too few"));
  EXPECT_THAT(error_of(open_output(28, {5}, "\xa5\x01"s)), HasSubstr("too few"));
  const auto no_shape = open_bytes(with_length(bytes_field(3, number(1, 28) + number(6, 2))) + "\xa5\x01");
  EXPECT_THAT(numbers_of(no_shape, "output.0"), ElementsAre(5, -6, 1, 0));
}

TEST(GeDump, PackedTilesAreUnpackedBeforeTheyAreTurned) {
  std::string tile(16 * 64 / 2, '\0');   // FRACTAL_NZ of INT4: 16 rows of 64
  tile[0] = '\x21', tile[1] = '\x03';    // row 0: 1 2 3
  tile[32] = '\x54', tile[33] = '\x0f';  // row 1: 4 5 -1
  const std::string original = bytes_field(7, shape({2, 3}));
  const auto set = open_bytes(with_length(output(28, 29, {1, 1, 16, 64}, tile.size(), original)) + tile);
  EXPECT_THAT(numbers_of(set, "output.0"), ElementsAre(1, 2, 3, 4, 5, -1));
}

// ----- the older layout: elements inside the message

std::string pure_message() {
  const std::string input =
      bytes_field(4, number(1, 7) + number(2, 2) + bytes_field(3, shape({2})) +
                         bytes_field(4, raw<int32_t>(3) + raw<int32_t>(4)) + number(5, 8));
  const std::string packed = bytes_field(3, number(1, 28) + number(2, 2) + bytes_field(3, shape({3})) +
                                                bytes_field(5, "\xa5\x01"s) + number(6, 2));
  return bytes_field(1, "1.0") + number(2, 1706596912161) + packed + input + bytes_field(6, "Old");
}

TEST(GeDumpInMessage, ReadsElementsFromTheMessage) {
  const std::string file = pure_message();
  EXPECT_TRUE(sniffed(file));
  const auto set = open_bytes(file);
  EXPECT_THAT(numbers_of(set, "input.0"), ElementsAre(3, 4));
  EXPECT_THAT(numbers_of(set, "output.0"), ElementsAre(5, -6, 1));
  EXPECT_EQ(set->extent, static_cast<int64_t>(file.size()));
  EXPECT_EQ(set->tensors[0].facts[0].value, Value("Old"s));
}

TEST(GeDumpInMessage, TruncatedOrDamagedAnywhere) {
  const std::string file = pure_message();
  expect_survives_truncation(ge_dump_format, file);
  expect_survives_damage(ge_dump_format, file);
}

TEST(GeDumpInMessage, FewerElementsThanTheShapeWants) {
  const std::string output_3 =
      bytes_field(3, number(1, 1) + bytes_field(3, shape({3})) + bytes_field(5, "12345678") + number(6, 12));
  EXPECT_THAT(error_of(open_bytes(bytes_field(1, "1.0") + output_3)),
              HasSubstr("8 bytes are too few for f32 [3]"));
}

TEST(GeDumpInMessage, HeldInMemoryUpToTheLimit) {
  const std::string big = bytes_field(3, number(1, 4) + bytes_field(5, std::string(5000, 'x')));
  const auto set = open_bytes(bytes_field(1, "1.0") + big,
                              {.raw_dtype = {}, .raw_shape = {}, .raw_offset = 0, .memory = 4096});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().kind, ErrorKind::limit);
}

// ----- Nano

std::string entry(uint32_t tag, const std::string& value) {
  return raw<uint32_t>(tag) + raw(static_cast<uint32_t>(value.size())) + value;
}

std::string nano_file() {
  const std::string input = raw<int32_t>(3) + raw<int32_t>(2) + raw<int32_t>(0) + raw<uint64_t>(0) +
                            raw<uint64_t>(0) + raw<uint64_t>(8);
  const std::string input_details =
      entry(0, raw<uint64_t>(1) + raw<uint64_t>(2)) + entry(1, raw<uint64_t>(2));
  const std::string output_0 = raw<int32_t>(1) + raw<int32_t>(2) + raw<int32_t>(0) + std::string(12, '\0') +
                               raw<uint64_t>(0) + raw<uint64_t>(0) + raw<uint64_t>(4);
  const std::string output_details = entry(0, raw<uint64_t>(2)) + entry(2, "relu");
  const std::string header =
      raw(kNanoMagic) + raw<uint32_t>(1) +
      entry(4, raw<uint32_t>(1) + input + raw(static_cast<uint32_t>(input_details.size())) + input_details) +
      entry(5,
            raw<uint32_t>(1) + output_0 + raw(static_cast<uint32_t>(output_details.size())) + output_details);
  return with_length(header) + raw<int32_t>(7) + raw<int32_t>(-8) + "\x00\x42\x00\x44"s;
}

TEST(GeDumpNano, ReadsInputsAndOutputs) {
  EXPECT_TRUE(sniffed(nano_file()));
  const auto set = open_bytes(nano_file());
  EXPECT_THAT(numbers_of(set, "input.0"), ElementsAre(7, -8));
  EXPECT_THAT(numbers_of(set, "output.0"), ElementsAre(3, 4));
  EXPECT_EQ(set->tensors[0].meta, (TensorMeta{DType::i32, Shape{{2}}}));  // the original shape
  EXPECT_EQ(set->tensors[1].meta, (TensorMeta{DType::f16, Shape{{2}}}));
  EXPECT_THAT(set->warnings, IsEmpty());
}

TEST(GeDumpNano, TruncatedOrDamagedAnywhere) {
  expect_survives_truncation(ge_dump_format, nano_file());
  expect_survives_damage(ge_dump_format, nano_file());
}

TEST(GeDumpNano, LyingCountsEnd) {
  const auto set = open_bytes(
      with_length(raw(kNanoMagic) + raw<uint32_t>(1) + entry(4, raw<uint32_t>(~0u) + std::string(40, '\0'))));
  EXPECT_THAT(error_of(set), HasSubstr("ends in the middle of an entry"));
}

}  // namespace
}  // namespace assay
