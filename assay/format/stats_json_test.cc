#include "assay/format/stats_json.h"

#include "assay/format/format_test_tools.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

using ::testing::HasSubstr;

FileStatistics sample() {
  TensorStatistics tensor;
  tensor.name = "output.0";
  tensor.meta = {DType::f16, Shape{{2, 3}}};
  tensor.stats = {2.5, -1.0, 0.1, std::numeric_limits<double>::infinity(), "0a1b2c3d"};
  tensor.nans = 1;
  tensor.zeros = 2;
  tensor.finite = Stats{2.5, -1.0, 0.25, 3.0, ""};
  tensor.facts = {{"op_name", std::string("Add_2")}, {"dump_time", int64_t{17}}};
  return {"Add.Add_2.1.2.3", "ge_dump", 568, {tensor}};
}

// What some tensor has: NaN, 2.5, -1, -0.25, 0, 0.
FileStatistics possible_sample() {
  FileStatistics file = sample();
  file.tensors[0].stats = {NAN, NAN, NAN, NAN, "0a1b2c3d"};
  file.tensors[0].finite = Stats{2.5, -1.0, 0.25, std::sqrt(7.3125), ""};
  return file;
}

Result<TensorSet> read(const testing::TestFolder& folder, std::string_view text) {
  const fs::path path = folder.put("x.npy.stats.json", text);
  return open_tensors(path);
}

TEST(StatsJson, SaysExactlyThis) {
  EXPECT_EQ(stats_json_text(sample()),
            "{\"assay_stats\":1,\n"
            "\"source\":{\"name\":\"Add.Add_2.1.2.3\",\"format\":\"ge_dump\",\"bytes\":568},\n"
            "\"tensors\":[\n"
            "{\"name\":\"output.0\",\"dtype\":\"f16\",\"shape\":[2,3],\"max\":2.5,\"min\":-1.0,\"mean\":0.1,"
            "\"norm\":\"inf\",\"nan\":1,\"inf\":0,\"zero\":2,\"crc32\":\"0a1b2c3d\","
            "\"finite\":{\"max\":2.5,\"min\":-1.0,\"mean\":0.25,\"norm\":3.0},"
            "\"facts\":{\"op_name\":\"Add_2\",\"dump_time\":17}}\n"
            "]}\n");
}

TEST(StatsJson, ReadsBackWhatItWrote) {
  const testing::TestFolder folder;
  const auto set = read(folder, stats_json_text(possible_sample()));
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->tensors.size(), 1u);
  const StoredTensor& tensor = set->tensors[0];
  EXPECT_EQ(tensor.name, "output.0");
  EXPECT_EQ(tensor.meta, (TensorMeta{DType::f16, Shape{{2, 3}}}));
  ASSERT_TRUE(tensor.stats);
  for (const Value& number : {tensor.stats->max, tensor.stats->min, tensor.stats->mean, tensor.stats->norm})
    EXPECT_TRUE(std::isnan(std::get<double>(number)));
  EXPECT_EQ(tensor.stats->checksum, "0a1b2c3d");
  EXPECT_EQ(tensor.stats->nonfinite, (Nonfinite{.nans = 1,
                                                .infs = 0,
                                                .minus_infs = 0,
                                                .max = 2.5,
                                                .min = -1.0,
                                                .mean = 0.25,
                                                .norm = std::sqrt(7.3125)}));
  ASSERT_FALSE(tensor.data);
  EXPECT_EQ(tensor.data.error().kind, ErrorKind::not_found);
  ASSERT_FALSE(tensor.facts.empty());
  EXPECT_EQ(tensor.facts[0].key, "nan");
  EXPECT_EQ(tensor.facts[0].value, Value(int64_t{1}));
}

TEST(StatsJson, KeepsIntegersAndTruthValuesApartFromReals) {
  const testing::TestFolder folder;
  const auto set =
      read(folder, R"({"assay_stats":1,"tensors":[{"dtype":"i64","shape":[],"max":9007199254740993,"min":7},)"
                   R"({"dtype":"bool","shape":[1],"max":true,"min":false,"mean":0.5,"norm":"nan"}]})");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->tensors[0].stats->max, Value(int64_t{9007199254740993}));
  EXPECT_EQ(set->tensors[1].stats->max, Value(true));
  EXPECT_TRUE(std::isnan(std::get<double>(set->tensors[1].stats->norm)));
  EXPECT_EQ(set->tensors[0].stats->mean, Value());
  EXPECT_EQ(set->tensors[0].stats->nonfinite, Nonfinite{});  // not said
}

TEST(StatsJson, IntegersOf64BitsAreExact) {
  const testing::TestFolder folder;
  FileStatistics statistics = sample();
  TensorStatistics& tensor = statistics.tensors[0];
  tensor.meta = {DType::u64, Shape{{2}}};
  tensor.stats.max = "18446744073709551615";
  tensor.stats.min = int64_t{9007199254740993};
  tensor.stats.mean = (0x1p64 + 0x1p53) / 2;
  tensor.stats.norm = std::hypot(0x1p64, 0x1p53);
  tensor.nans = tensor.zeros = 0;
  tensor.finite.reset();
  const std::string text = stats_json_text(statistics);
  EXPECT_THAT(text, HasSubstr("\"max\":18446744073709551615,\"min\":9007199254740993,"));
  const auto set = read(folder, text);
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_TRUE(set->tensors[0].stats) << set->tensors[0].data.error().message;
  EXPECT_EQ(set->tensors[0].stats->max, Value("18446744073709551615"));
  EXPECT_EQ(set->tensors[0].stats->min, Value(int64_t{9007199254740993}));
  const std::string long_number(400, '9');
  const auto refused =
      read(folder, R"({"assay_stats":1,"tensors":[{"dtype":"u64","shape":[1],"max":)" + long_number + "}]}");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("\"max\" that is no number"));
}

TEST(StatsJson, CountsNegativeInfinitiesWhereThereAreInfinities) {
  const testing::TestFolder folder;
  FileStatistics statistics = possible_sample();
  statistics.tensors[0].meta.shape = Shape{{9}};
  statistics.tensors[0].infs = 3;
  statistics.tensors[0].minus_infs = 2;
  const std::string text = stats_json_text(statistics);
  EXPECT_THAT(text, HasSubstr("\"inf\":3,\"minus_inf\":2,\"zero\""));
  EXPECT_EQ(read(folder, text)->tensors[0].stats->nonfinite.minus_infs, 2);
  // Files that were written before do not say it.
  const auto counts = [&](std::string_view members) {
    return read(folder,
                fmt::format(R"({{"assay_stats":1,"tensors":[{{"dtype":"f32","shape":[4],{}}}]}})", members));
  };
  EXPECT_EQ(counts(R"("nan":0,"inf":3)")->tensors[0].stats->nonfinite.minus_infs, -1);
  EXPECT_EQ(counts(R"("nan":0,"inf":0)")->tensors[0].stats->nonfinite.minus_infs, 0);
  EXPECT_FALSE(counts(R"("nan":0,"inf":1,"minus_inf":2)"));
}

TEST(StatsJson, RefusesWhatItIsNot) {
  const testing::TestFolder folder;
  const auto message = [&](std::string_view text) {
    const auto set = read(folder, text);
    return set ? std::string("read") : set.error().message;
  };
  EXPECT_THAT(message(R"({"assay_stats":2,"tensors":[]})"), HasSubstr("a newer Assay may have written it"));
  EXPECT_THAT(message(R"({"assay_stats":1})"), HasSubstr("has no \"tensors\""));
  EXPECT_THAT(message(R"({"assay_stats":1,"tensors":{}})"), HasSubstr("not an array"));
  EXPECT_THAT(message(R"({"assay_stats":1,"tensors":[3]})"), HasSubstr("tensor 0 is not an object"));
  EXPECT_THAT(message(R"({"assay_stats":1,"tensors":[{"dtype":"f99","shape":[]}]})"), HasSubstr("\"dtype\""));
  EXPECT_THAT(message(R"({"assay_stats":1,"tensors":[{"dtype":"f32"}]})"), HasSubstr("\"shape\""));
  EXPECT_THAT(message(R"({"assay_stats":1,"tensors":[{"dtype":"f32","shape":[-1]}]})"),
              HasSubstr("no tensor can have"));
  EXPECT_THAT(message(R"({"assay_stats":1,"tensors":[{"dtype":"f32","shape":[4294967296,4294967296]}]})"),
              HasSubstr("no tensor can have"));
  EXPECT_THAT(message(R"({"assay_stats":1,"tensors":[{"dtype":"f32","shape":[1],"max":"big"}]})"),
              HasSubstr("\"max\" that is no number"));
  EXPECT_THAT(message(R"({"assay_stats":1,"tensors":[{"dtype":"f32")"), HasSubstr("cut off"));
  EXPECT_THAT(message(R"({"other":1})"), HasSubstr("not a tensor file we know"));
}

TEST(StatsJson, StatisticsThatNoTensorHasAreAnErrorOfThatTensor) {
  const testing::TestFolder folder;
  FileStatistics statistics = possible_sample();
  statistics.tensors.push_back(statistics.tensors[0]);
  statistics.tensors[0].zeros = 5;
  const auto set = read(folder, stats_json_text(statistics));
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_FALSE(set->tensors[0].data);
  EXPECT_EQ(set->tensors[0].data.error().kind, ErrorKind::bad_format);
  EXPECT_THAT(set->tensors[0].data.error().message,
              HasSubstr("tensor 0 has statistics that no tensor has: "));
  EXPECT_FALSE(set->tensors[0].stats);
  EXPECT_TRUE(set->tensors[1].stats);
}

// The last one counted, whatever the first had said.
TEST(StatsJson, RefusesAMemberThatIsThereTwice) {
  const testing::TestFolder folder;
  const auto error = [&](std::string_view text) {
    const auto set = read(folder, text);
    return set ? std::string() : set.error().message;
  };
  const std::string start =
      "{\"assay_stats\":1,\"tensors\":[{\"name\":\"\",\"dtype\":\"f32\",\"shape\":[1],\"max\":1";
  EXPECT_EQ(error(start + "}]}"), "");
  EXPECT_THAT(error(start + ",\"min\":0,\"max\":2}]}"), HasSubstr("stats.json: tensor 0 has \"max\" twice"));
  EXPECT_THAT(error(start + ",\"finite\":{\"min\":1,\"min\":2}}]}"), HasSubstr("tensor 0 has \"min\" twice"));
  EXPECT_THAT(error(start + "}],\"tensors\":[]}"), HasSubstr("stats.json: has \"tensors\" twice"));
  EXPECT_THAT(error("{\"assay_stats\":2," + start.substr(1) + "}]}"), HasSubstr("is not 1"));
}

TEST(StatsJson, OtherPartsAreStatedAndAreNoTensors) {
  FileStatistics statistics = sample();
  statistics.others = statistics.tensors;
  statistics.others[0].name = "space.0";
  const std::string text = stats_json_text(statistics);
  EXPECT_THAT(text, HasSubstr("\n],\n\"others\":[\n{\"name\":\"space.0\""));
  const testing::TestFolder folder;
  const auto set = read(folder, text);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->tensors.size(), 1U);
}

TEST(StatsJson, StandsInThePlaceOfItsSource) {
  const testing::TestFolder folder;
  folder.put("x.npy.stats.json", stats_json_text(possible_sample()));
  const auto set = open_tensors(folder.path() / "x.npy");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_TRUE(set->tensors[0].stats);
}

TEST(StatsJson, AFileOfAnotherToolDoesNotStandInThePlaceOfAnything) {
  const testing::TestFolder folder;
  folder.put("x.npy.stats.json", "{\"max\": 1}");
  const auto set = open_tensors(folder.path() / "x.npy");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().kind, ErrorKind::not_found);
  EXPECT_THAT(set.error().message, HasSubstr("x.npy: cannot be read"));
}

TEST(StatsJson, KnowsTheNameBefore) {
  EXPECT_EQ(name_before_compaction("a/x.npy.stats.json"), "a/x.npy");
  EXPECT_EQ(name_before_compaction("Add.Add_2.44.6.1706.stats.json"), "Add.Add_2.44.6.1706");
  EXPECT_FALSE(name_before_compaction("x.npy"));
  EXPECT_FALSE(name_before_compaction(".stats.json"));
  EXPECT_FALSE(name_before_compaction("a/.stats.json"));
  EXPECT_EQ(statistics_path("a/x.npy"), "a/x.npy.stats.json");
}

}  // namespace
}  // namespace assay
