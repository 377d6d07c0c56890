#include "assay/format/npy.h"

#include "assay/format/npy_test_tools.h"
#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using namespace testing_tools;
using namespace std::string_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<TensorSet> open_data(std::string_view name) { return open_with(npy_format, data_file("npy") / name); }

// A file of version 1.0 with this dictionary and this many bytes of data.
std::string npy_with(std::string_view dict, size_t data_bytes = 0) {
  std::string file = "\x93NUMPY\x01\x00"s;
  file.push_back(static_cast<char>(dict.size() & 0xFF));
  file.push_back(static_cast<char>(dict.size() >> 8));
  return file.append(dict).append(data_bytes, '\0');
}

std::string error_of(std::string_view bytes) {
  const TempFile file(bytes, "made.npy");
  const auto set = open_with(npy_format, file.path());
  if (set && set->tensors[0].data) return "opened";
  const std::string message = set ? set->tensors[0].data.error().message : set.error().message;
  EXPECT_THAT(message, HasSubstr("made.npy"));
  return message;
}

TEST(Npy, ReadsEveryNumericType) {
  const std::pair<std::string_view, DType> kinds[] = {
      {"f8", DType::f64}, {"f4", DType::f32}, {"f2", DType::f16}, {"i8", DType::i64},
      {"i4", DType::i32}, {"i2", DType::i16}, {"i1", DType::i8},  {"u8", DType::u64},
      {"u4", DType::u32}, {"u2", DType::u16}, {"u1", DType::u8}};
  for (const auto& [name, dtype] : kinds) {
    const auto set = open_data(fmt::format("{}.npy", name));
    ASSERT_TRUE(set) << set.error().message;
    ASSERT_EQ(set->tensors.size(), 1U);
    EXPECT_EQ(set->tensors[0].name, "");
    EXPECT_EQ(set->tensors[0].meta, (TensorMeta{dtype, Shape{{2, 3}}})) << name;
    EXPECT_THAT(numbers_of(set, ""), ElementsAre(0, 1, 2, 3, 4, 100)) << name;
    EXPECT_TRUE(set->warnings.empty());
  }
  EXPECT_THAT(numbers_of(open_data("b1.npy"), ""), ElementsAre(0, 1, 1, 1, 1, 1));
  EXPECT_THAT(numbers_of(open_data("c16.npy"), ""), ElementsAre(0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 100, 0));
  EXPECT_THAT(numbers_of(open_data("complex_parts.npy"), ""), ElementsAre(1, 2, -3, 0.5));
}

TEST(Npy, ReadsBigEndian) {
  EXPECT_THAT(numbers_of(open_data("big_f4.npy"), ""), ElementsAre(0, 1, 2, 3, 4, 100));
  EXPECT_THAT(numbers_of(open_data("big_c16.npy"), ""), ElementsAre(1, 2, -3, 0.5));
}

TEST(Npy, ReadsFortranOrderAsRowMajor) {
  std::vector<double> ramp(24);
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<double>(i);
  const auto set = open_data("fortran.npy");
  EXPECT_EQ(numbers_of(set, ""), ramp);
  EXPECT_EQ(set->tensors[0].meta->shape.dims, (std::vector<int64_t>{2, 3, 4}));
  EXPECT_THAT(numbers_of(open_data("fortran_big_i2.npy"), ""), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Npy, ReadsVersions2And3) {
  EXPECT_THAT(numbers_of(open_data("version2.npy"), ""), ElementsAre(0, 1, 2, 3, 4, 100));
  EXPECT_THAT(numbers_of(open_data("version3.npy"), ""), ElementsAre(0, 1, 2, 3, 4, 100));
}

TEST(Npy, ReadsScalarEmptyAndManyDimensions) {
  EXPECT_THAT(numbers_of(open_data("scalar.npy"), ""), ElementsAre(7.5));
  EXPECT_TRUE(open_data("scalar.npy")->tensors[0].meta->shape.dims.empty());
  EXPECT_THAT(numbers_of(open_data("empty.npy"), ""), ElementsAre());
  EXPECT_EQ(open_data("five_dims.npy")->tensors[0].meta->shape.dims, (std::vector<int64_t>{2, 1, 2, 2, 2}));
}

TEST(Npy, RefusesOtherTypesWithTheReason) {
  const std::pair<std::string_view, std::string_view> refused[] = {
      {"structured.npy", "structured"}, {"text.npy", "text"},
      {"object.npy", "Python objects"}, {"date.npy", "dates"},
      {"void2.npy", "--dtype bf16"},    {"longdouble.npy", "long double"}};
  for (const auto& [name, reason] : refused) {
    const auto set = open_data(name);
    ASSERT_FALSE(set) << name;
    EXPECT_EQ(set.error().kind, ErrorKind::unsupported);
    EXPECT_THAT(set.error().message, HasSubstr(std::string(reason)));
    EXPECT_THAT(set.error().message, HasSubstr(std::string(name)));
  }
}

TEST(Npy, TakesTheTypeOfRawBytesFromTheUser) {
  FormatOptions options;
  options.raw_dtype = DType::bf16;
  const auto set = open_with(npy_format, data_file("npy/void2.npy"), options);
  EXPECT_EQ(numbers_of(set, ""), std::vector<double>(6));
  EXPECT_EQ(set->tensors[0].meta, (TensorMeta{DType::bf16, Shape{{2, 3}}}));
  options.raw_dtype = DType::f8e4m3fn;  // one byte, the file has two
  EXPECT_FALSE(open_with(npy_format, data_file("npy/void2.npy"), options));
}

TEST(Npy, AcceptsTheHeaderOfPython2) {
  const TempFile file(npy_with("{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 1L), }\n", 4));
  EXPECT_THAT(numbers_of(open_with(npy_format, file.path()), ""), ElementsAre(0, 0));
}

TEST(Npy, RefusesHeadersThatLie) {
  EXPECT_THAT(
      error_of(npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976,), }\n", 8)),
      HasSubstr("needs"));
  EXPECT_THAT(
      error_of(npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 8)),
      HasSubstr("2^63"));
  EXPECT_THAT(error_of(npy_with(
                  "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 4294967296, 4294967296), }", 8)),
              HasSubstr("2^63"));
  EXPECT_THAT(
      error_of(npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }")),
      HasSubstr("dimension"));
  EXPECT_THAT(error_of(npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }")),
              HasSubstr("dimension"));
  EXPECT_THAT(error_of(npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 8)),
              HasSubstr("has 8 bytes of data"));
  EXPECT_THAT(error_of("\x93NUMPY\x01\x00\xff\xff{'descr'"s), HasSubstr("runs past the end"));
  EXPECT_THAT(error_of("\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'"s), HasSubstr("runs past the end"));
  EXPECT_THAT(error_of("\x93NUMPY\x04\x00\x01\x00 "s), HasSubstr("version 4.0"));
  EXPECT_THAT(error_of(npy_with("")), HasSubstr("'{'"));
  EXPECT_THAT(error_of(npy_with("{'descr': '<f4', 'fortran_order': False}")), HasSubstr("lacks"));
  EXPECT_THAT(error_of(npy_with("{'descr': '<f4', 'descr': '<f8'}")), HasSubstr("twice"));
  EXPECT_THAT(error_of(npy_with("{'descr': '<f4")), HasSubstr("quote"));
  EXPECT_THAT(error_of(npy_with("{'descr': '<q9', 'fortran_order': False, 'shape': ()}")),
              HasSubstr("unknown"));
  EXPECT_THAT(error_of(npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': ()} + evil()", 4)),
              HasSubstr("end of the header"));
  EXPECT_THAT(error_of(npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                                std::string(60000, '(') + ")}")),
              HasSubstr("dimension"));
}

std::string error_with(std::string_view descr, std::string_view shape,
                       std::string_view fortran_order = "False") {
  const std::string text =
      fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}\n", descr, fortran_order, shape);
  return error_of(npy_with(text, 24));
}

TEST(Npy, ShapesAreTuplesOfPlainNumbers) {
  for (const auto* shape : {"(2, 3)", "(6,)", "( 2 , 3 , )", "(0, 3)", "(2L, 3L)"})
    EXPECT_EQ(error_with("'<f4'", shape), "opened") << shape;
  EXPECT_THAT(error_with("'<f4'", "(6)"), HasSubstr("(6,)"));
  // NumPy takes some of the last ones; it writes none of them.
  for (const auto* shape :
       {"6", "[2, 3]", "(,)", "(2,,3)", "(02, 3)", "(00, 3)", "(-2, -3)", "(1_0,)", "(2.0, 3)", "(True, 6)",
        "(nan, 3)", "(None,)", "((2), (3))", "((2, 3))", "(1+1, 3)", "('2', 3)", "(+2, 3)", "(0x2, 3)"})
    EXPECT_THAT(error_with("'<f4'", shape), HasSubstr("where")) << shape;
}

TEST(Npy, DimensionsAreAtMost64) {
  const auto of_dims = [&](int ones) {
    std::string shape = "(";
    for (int i = 0; i < ones; ++i) shape += "1, ";
    return error_with("'<f4'", shape + "6)");
  };
  EXPECT_EQ(of_dims(63), "opened");
  EXPECT_THAT(of_dims(64), HasSubstr("more than 64 dimensions"));
}

TEST(Npy, KnowsTheSpellingsOfElementTypes) {
  for (const auto* descr : {"'<f4'", "'f4'", "'=f4'", "'|f4'", "'>f4'", "\"<f4\"", "'<i4'"})
    EXPECT_EQ(error_with(descr, "(6,)"), "opened") << descr;
  for (const auto* descr : {"'|u1'", "'<u1'", "'>u1'", "'|b1'", "'|?'", "'?'"})
    EXPECT_EQ(error_with(descr, "(24,)"), "opened") << descr;
  for (const auto* descr : {"'<f0'", "'<f04'", "'<f3'", "'<<f4'", "'=<f4'", "'<c4'", "'<i16'", "'<'", "''",
                            "' <f4'", "'<f4 '", "'<f4,<f4'", "'float32'"})
    EXPECT_THAT(error_with(descr, "(6,)"), HasSubstr("is unknown")) << descr;
  for (const auto* descr : {"'<f12'", "'<f16'", "'<c24'", "'<c32'"})
    EXPECT_THAT(error_with(descr, "(1,)"), HasSubstr("long double")) << descr;
  EXPECT_THAT(error_with("b'<f4'", "(6,)"), HasSubstr("a quoted text"));
  EXPECT_THAT(error_with("'\\x3cf4'", "(6,)"), HasSubstr("without escapes"));
  EXPECT_THAT(error_with("('<f4', (3,))", "(2,)"), HasSubstr("sub-arrays"));
}

TEST(Npy, FieldsAreExactlyThree) {
  for (const auto* order : {"1", "0", "true", "None", "Truex"})
    EXPECT_NE(error_with("'<f4'", "(2, 3)", order), "opened") << order;
  for (const auto* text :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'fortran_order': False, 'shape': (2, 3)}"})
    EXPECT_THAT(error_of(npy_with(text, 24)), HasSubstr("unknown or there twice")) << text;
}

TEST(Npy, WarnsOfTrailingBytes) {
  const TempFile file(slurp(data_file("npy/f4.npy")) + "tail");
  const auto set = open_with(npy_format, file.path());
  ASSERT_TRUE(set);
  ASSERT_EQ(set->warnings.size(), 1U);
  EXPECT_THAT(set->warnings[0], HasSubstr("4 bytes follow"));
  EXPECT_EQ(set->extent, 152);
}

TEST(Npy, SurvivesTruncationAndDamage) {
  for (const auto* name : {"npy/version2.npy", "npy/fortran_big_i2.npy"}) {
    const std::string bytes = slurp(data_file(name));
    expect_survives_truncation(npy_format, bytes);
    expect_survives_damage(npy_format, bytes);
  }
}

TEST(Npy, WritesTheBytesOfNumPy) {
  for (const auto* name : {"f8.npy", "f2.npy", "i8.npy", "i1.npy", "u1.npy", "b1.npy", "c8.npy", "c16.npy",
                           "scalar.npy", "empty.npy", "five_dims.npy"}) {
    const auto set = open_data(name);
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(written(npy_format, set->tensors), slurp(data_file("npy") / name)) << name;
  }
}

TEST(Npy, RefusesToWriteWhatNumPyLacks) {
  const TempFile place("");
  auto out = FileWriter::create(place.path(), IfExists::replace);
  ASSERT_TRUE(out);
  const std::vector<StoredTensor> tensors{
      {"", dense_in_memory(std::vector<std::byte>(2), {DType::bf16, {}}), {}, {}, {}}};
  const auto done = npy_format.write(*out, tensors);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("bf16"));
}

}  // namespace
}  // namespace assay
