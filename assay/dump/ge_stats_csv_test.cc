#include "assay/dump/ge_stats_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kTitles =
    "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
    "Negative Inf Count,Positive Inf Count\n";

class GeStatsCsv : public ::testing::Test {
 protected:
  GeStatsCsv() {
    std::string pattern = (fs::temp_directory_path() / "assay_ge_stats_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    path_ = folder_ / "Add.Add_1.44.6.1706596912161941.csv";
  }
  ~GeStatsCsv() override { fs::remove_all(folder_); }

  Result<std::vector<GeStatedTensor>> read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    warnings_.clear();
    return read_ge_stats_csv(path_, warnings_);
  }
  static Value fact(const GeStatedTensor& tensor, std::string_view key) {
    for (const Fact& fact : tensor.draft.facts)
      if (fact.key == key) return fact.value;
    return {};
  }
  static std::vector<std::string> names(const std::vector<GeStatedTensor>& tensors) {
    std::vector<std::string> out;
    for (const GeStatedTensor& tensor : tensors) out.push_back(tensor.draft.name);
    return out;
  }

  fs::path folder_, path_;
  Remarks warnings_;
};

TEST_F(GeStatsCsv, ReadsEveryColumn) {
  const auto tensors = read(kTitles +
                            "Input,0,640000,DT_FLOAT,NHWC,4x50x50x16,1.99999,1,1.50004,160000,0,0,0\n"
                            "Output,1,8,DT_INT64,ND,1,9223372036854775807,-1,0.5,1,3,4,5\n");
  ASSERT_TRUE(tensors) << tensors.error().message;
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(names(*tensors), ElementsAre("input.0", "output.1"));
  const GeStatedTensor& in = tensors->front();
  EXPECT_EQ(in.port.direction, Direction::input);
  EXPECT_EQ(in.draft.meta, (TensorMeta{DType::f32, {{4, 50, 50, 16}}}));
  ASSERT_TRUE(in.draft.stats);
  EXPECT_EQ(in.draft.stats->max, Value(1.99999));
  EXPECT_EQ(in.draft.stats->min, Value(int64_t{1}));
  EXPECT_EQ(in.draft.stats->mean, Value(1.50004));
  EXPECT_EQ(in.draft.stats->norm, Value());
  EXPECT_EQ(fact(in, "storage_format"), Value("NHWC"));
  EXPECT_EQ(fact(in, "data_size"), Value(int64_t{640000}));
  EXPECT_EQ(fact(in, "count"), Value(int64_t{160000}));
  const GeStatedTensor& out = tensors->back();
  EXPECT_EQ(out.port.direction, Direction::output);
  EXPECT_EQ(out.port.index, 1);
  EXPECT_EQ(out.draft.stats->max, Value(INT64_MAX));
  EXPECT_EQ(fact(out, "nan_count"), Value(int64_t{3}));
  EXPECT_EQ(fact(out, "negative_inf_count"), Value(int64_t{4}));
  EXPECT_EQ(fact(out, "positive_inf_count"), Value(int64_t{5}));
  EXPECT_EQ(out.draft.stats->nonfinite, (Nonfinite{.nans = 3, .infs = 9, .minus_infs = 4}));
}

TEST_F(GeStatsCsv, KnowsTheTypesOfGe) {
  for (const auto& [text, dtype] : {std::pair("DT_BF16", DType::bf16),
                                    {"DT_FLOAT16", DType::f16},
                                    {"DT_DOUBLE", DType::f64},
                                    {"DT_BOOL", DType::boolean},
                                    {"DT_UINT8", DType::u8},
                                    {"DT_COMPLEX64", DType::c64},
                                    {"DT_FLOAT8_E5M2", DType::f8e5m2},
                                    {"DT_FLOAT8_E4M3FN", DType::f8e4m3fn},
                                    {"DT_HIFLOAT8", DType::hif8},
                                    {"DT_INT4", DType::i4}}) {
    const auto tensors = read(kTitles + "Input,0,4," + text + ",ND,2,1,1,1,2,0,0,0\n");
    ASSERT_TRUE(tensors);
    ASSERT_TRUE(tensors->front().draft.meta) << text;
    EXPECT_EQ(tensors->front().draft.meta->dtype, dtype) << text;
  }
}

TEST_F(GeStatsCsv, AScalarHasNoDimensions) {
  const auto tensors = read(kTitles +
                            "Input,0,4,DT_FLOAT,ND,,1,1,1,1,0,0,0\n"
                            "Input,1,8,DT_FLOAT,ND,,1,1,1,2,0,0,0\n");
  ASSERT_TRUE(tensors);
  ASSERT_THAT(*tensors, SizeIs(2));
  EXPECT_EQ((*tensors)[0].draft.meta, (TensorMeta{DType::f32, Shape{}}));
  EXPECT_FALSE((*tensors)[1].draft.meta);
}

TEST_F(GeStatsCsv, WhatIsNotSaidStaysAbsent) {
  const auto tensors = read(kTitles +
                            "Input,0,8,DT_STRING,UNKNOW,-,NA,NA,NA,1,NA,NA,NA\n"
                            "Input,1,8,DT_FLOAT,ND,2,,,,,,,\n"
                            "Output,0,8,-,-,2,nan,-inf,-nan,2,2,0,0\n");
  ASSERT_TRUE(tensors);
  EXPECT_THAT(warnings_, IsEmpty());
  ASSERT_THAT(*tensors, SizeIs(3));
  EXPECT_FALSE((*tensors)[0].draft.meta);
  EXPECT_FALSE((*tensors)[0].draft.stats);
  EXPECT_EQ(fact((*tensors)[0], "dtype"), Value("DT_STRING"));
  EXPECT_EQ(fact((*tensors)[0], "nan_count"), Value());
  EXPECT_FALSE((*tensors)[1].draft.stats);
  ASSERT_TRUE((*tensors)[2].draft.stats);
  EXPECT_TRUE(std::isnan(std::get<double>((*tensors)[2].draft.stats->max)));
  EXPECT_EQ((*tensors)[2].draft.stats->min, Value(-INFINITY));
}

TEST_F(GeStatsCsv, CountsMayBePrintedAsReals) {
  const auto tensors = read(kTitles + "Input,0,8.0,DT_FLOAT,ND,2,1,1,1,2.0,17.0,3.00,2\n");
  ASSERT_TRUE(tensors);
  const GeStatedTensor& tensor = tensors->front();
  EXPECT_EQ(tensor.draft.trouble, "");
  EXPECT_EQ(tensor.draft.stats->nonfinite, (Nonfinite{.nans = 17, .infs = 5, .minus_infs = 3}));
  EXPECT_EQ(fact(tensor, "nan_count"), Value(int64_t{17}));
  EXPECT_EQ(fact(tensor, "count"), Value(int64_t{2}));
}

// A count of NaN that was not understood used to be one that was not said, and the row passed.
TEST_F(GeStatsCsv, ACellThatIsNoNumberIsTroubleOfItsRow) {
  for (const std::string_view count :
       {"abc", "0x5", "-1", "+5", "1e3", "17.5", "17.", ".0", "99999999999999999999", "nan"}) {
    const auto tensors = read(kTitles + fmt::format("Input,0,8,DT_FLOAT,ND,2,1,1,1,2,{},0,0\n", count));
    ASSERT_TRUE(tensors);
    EXPECT_THAT(tensors->front().draft.trouble, HasSubstr(fmt::format("csv:2: nan count is '{}'", count)));
  }
  for (const std::string_view value : {"abc", "1e999", "2.3f", "0x5", "1 2"}) {
    const auto tensors = read(kTitles + fmt::format("Input,0,8,DT_FLOAT,ND,2,1,1,1,2,0,0,0\n"
                                                    "Input,1,8,DT_FLOAT,ND,2,{},1,1,2,0,0,0\n",
                                                    value));
    ASSERT_TRUE(tensors);
    EXPECT_EQ(tensors->front().draft.trouble, "");
    EXPECT_THAT(tensors->back().draft.trouble, HasSubstr(fmt::format("csv:3: max value is '{}'", value)));
  }
}

TEST_F(GeStatsCsv, ACountThatIsNotThatOfTheShapeIsTrouble) {
  const auto tensors = read(kTitles + "Input,0,8,DT_FLOAT,ND,2x3,1,1,1,7,0,0,0\n");
  ASSERT_TRUE(tensors);
  EXPECT_THAT(tensors->front().draft.trouble,
              HasSubstr("csv:2: count is 7, but a tensor of shape [2, 3] has 6 elements"));
}

// Fewer statistics may be asked for; the count then comes first, and is forgotten in some rows.
TEST_F(GeStatsCsv, FindsColumnsByTheirTitles) {
  const auto tensors = read(
      "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,Min Value,l2norm,Something New\n"
      "Input,0,12,DT_FLOAT,ND,3,3,7,-7,9.5,x\n"
      "Output,0,12,DT_FLOAT,ND,3,8,-8,11.5,x\n");
  ASSERT_TRUE(tensors) << tensors.error().message;
  EXPECT_THAT(warnings_, IsEmpty());
  ASSERT_THAT(*tensors, SizeIs(2));
  EXPECT_EQ(fact((*tensors)[0], "count"), Value(int64_t{3}));
  EXPECT_EQ((*tensors)[0].draft.stats->max, Value(int64_t{7}));
  EXPECT_EQ((*tensors)[0].draft.stats->norm, Value(9.5));
  EXPECT_EQ((*tensors)[0].draft.stats->mean, Value());
  EXPECT_EQ(fact((*tensors)[1], "count"), Value());
  EXPECT_EQ((*tensors)[1].draft.stats->max, Value(int64_t{8}));
  EXPECT_EQ((*tensors)[1].draft.stats->min, Value(int64_t{-8}));
  EXPECT_EQ((*tensors)[1].draft.stats->norm, Value(11.5));
}

TEST_F(GeStatsCsv, TitlesMayComeAgainAndTheLastRowOfATensorCounts) {
  const auto tensors = read(kTitles + "Input,0,4,DT_INT32,ND,1,1,1,1,1,0,0,0\n" + kTitles +
                            "Input,1,4,DT_INT32,ND,1,2,2,2,1,0,0,0\nInput,0,4,DT_INT32,ND,1,3,3,3,1,0,0,0\n");
  ASSERT_TRUE(tensors);
  EXPECT_THAT(names(*tensors), ElementsAre("input.0", "input.1"));
  EXPECT_EQ(tensors->front().draft.stats->max, Value(int64_t{3}));
}

TEST_F(GeStatsCsv, LeavesOutStrangeRowsWithAWarning) {
  const auto tensors = read(kTitles +
                            "Workspace,0,4,DT_INT32,ND,1,1,1,1,1,0,0,0\n"
                            "Input,-1,4,DT_INT32,ND,1,1,1,1,1,0,0,0\n"
                            "Input,0,4,DT_INT32,ND,1,1,1,1,1,0,0\n"
                            "Input,0,4,DT_INT32,ND,9223372036854775807x9,1,1,1,1,0,0,0\n"
                            "Input,1,4,DT_INT32,ND,2x-3,1,1,1,1,0,0,0\n");
  ASSERT_TRUE(tensors);
  EXPECT_THAT(names(*tensors), ElementsAre("input.0", "input.1"));
  EXPECT_FALSE(tensors->front().draft.meta);
  EXPECT_FALSE(tensors->back().draft.meta);
  EXPECT_THAT(warnings_, ElementsAre(AllOf(HasSubstr("161941.csv:2: 3 rows"), HasSubstr("left out"))));
}

TEST_F(GeStatsCsv, RefusesOtherTables) {
  EXPECT_THAT(read("").error().message, HasSubstr("is empty"));
  EXPECT_THAT(read("a,b\n1,2\n").error().message, HasSubstr("'Input/Output' and 'Index'"));
  EXPECT_FALSE(is_ge_stats_csv(path_));
  EXPECT_FALSE(is_ge_stats_csv(folder_));
  EXPECT_FALSE(is_ge_stats_csv(folder_ / "none.csv"));
  EXPECT_FALSE(read_ge_stats_csv(folder_ / "none.csv", warnings_));
  ASSERT_TRUE(read(kTitles));
  EXPECT_TRUE(is_ge_stats_csv(path_));
}

}  // namespace
}  // namespace assay
