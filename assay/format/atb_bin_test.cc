#include "assay/format/atb_bin.h"

#include "assay/format/format_test_tools.h"
#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using namespace std::literals;
using ::testing::ElementsAre;
using testing::file_content;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::open_as;
using testing::TestFolder;
using testing::values_in;
using testing::write_as;

const fs::path kData = fs::path(ASSAY_TEST_DATA) / "atb";

TensorSet open(const fs::path& path) { return open_as(atb_bin_format, path).value(); }

// The example of the format's description: f32 [2, 3].
std::string example() {
  std::string text =
      "$Version=1.0\n$Object.Count=1\n$Object.Length=24\nformat=2\ndtype=0\ndims=2,3\n$Object.data=0,24\n$"
      "End=1\n";
  for (const float value : {1.0f, -2.0f, 3.5f, 0.0f, 0.25f, 1000.0f})
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  return text;
}

TEST(AtbBin, ReadsTheFilesOfTheOriginalTools) {
  const auto half = open(kData / "single/my_fp16.bin");
  EXPECT_EQ(half.tensors[0].meta, (TensorMeta{DType::f16, Shape{{2, 2}}}));
  EXPECT_EQ(values_in(half.tensors[0]).size(), 4u);
  EXPECT_THAT(half.warnings, IsEmpty());
  EXPECT_EQ(half.extent, 104);
  EXPECT_EQ(open(kData / "single/my_bf16_nz.bin").tensors[0].meta->dtype, DType::bf16);
  EXPECT_EQ(std::get<std::string>(open(kData / "single/my_bf16_nz.bin").tensors[0].facts.at(0).value),
            "fractal_nz");
  EXPECT_EQ(open(kData / "single/bool.bin").tensors[0].meta->dtype, DType::boolean);
  EXPECT_EQ(open(kData / "single/double.bin").tensors[0].meta->dtype, DType::f64);
  EXPECT_EQ(open(kData / "single/uint8.bin").tensors[0].meta->dtype, DType::u8);
  const auto values = values_in(open(kData / "single/nan.bin").tensors[0]);
  EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }));
}

TEST(AtbBin, DescriptionHasNoData) {
  const auto set = open(kData / "single/desc_only.bin");
  EXPECT_EQ(set.tensors[0].meta, (TensorMeta{DType::f16, Shape{{2, 2}}}));
  EXPECT_THAT(set.tensors[0].data.error().message,
              HasSubstr("desc_only.bin: holds a description only, no data (Count=0)"));
}

TEST(AtbBin, StatisticsStandInTheHeader) {
  const auto set = open(kData / "single/stats.bin");
  ASSERT_TRUE(set.tensors[0].stats);
  EXPECT_EQ(std::get<double>(set.tensors[0].stats->max), 4.0);
  EXPECT_EQ(std::get<double>(set.tensors[0].stats->norm), 5.220153);
  EXPECT_THAT(set.tensors[0].data.error().message, HasSubstr("holds statistics only"));
  const auto infinite =
      open(kData / "gen2_stats/msit_dump_20260101_000000/tensors/0_27417/0/0_DemoLayer/before/intensor1.bin");
  EXPECT_EQ(std::get<double>(infinite.tensors[0].stats->mean), HUGE_VAL);
}

TEST(AtbBin, StatisticsThatAreNotNumbersStayText) {
  const TestFolder folder;
  const auto set = open(folder.put(
      "s.bin", "dims=2\ndtype=12\nmax=N/A\nmin=-nan\nmean=(1.0,2.0)\nl2norm=3\n$Object.Count=0\n$End=1\n"));
  EXPECT_EQ(std::get<std::string>(set.tensors[0].stats->max), "N/A");
  EXPECT_TRUE(std::isnan(std::get<double>(set.tensors[0].stats->min)));
  EXPECT_EQ(std::get<std::string>(set.tensors[0].stats->mean), "(1.0,2.0)");
}

TEST(AtbBin, StatisticsWithoutEndAreUsedWithAWarning) {
  const TestFolder folder;
  const auto set =
      open(folder.put("s.bin", "$Object.Count=0\ndtype=0\ndims=2\nmax=4.5\nmin=1.0\nmean=2.0\nl2norm=5.2"));
  EXPECT_EQ(std::get<double>(set.tensors[0].stats->max), 4.5);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(set.tensors[0].stats->norm));  // its line may be cut
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("without a $End line")));
}

TEST(AtbBin, SecondRecordIsIgnoredWithAWarning) {
  const auto set = open(kData / "single/appended_twice.bin");
  EXPECT_EQ(values_in(set.tensors[0]).size(), 4u);
  EXPECT_EQ(set.extent, 104);
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("was written twice")));
}

// Such a file was used by its first header, and nobody heard of the rest.
TEST(AtbBin, WhatFollowsAHeaderWithoutDataIsCounted) {
  const TestFolder folder;
  const std::string statistics =
      "$Version=1.0\n$Object.Count=0\ndtype=0\ndims=2\nmax=4.5\nmin=1.0\nmean=2.0\nl2norm=5.2\n$End=1\n";
  EXPECT_THAT(open(folder.put("s.bin", statistics)).warnings, IsEmpty());
  const auto twice = open(folder.put("s.bin", statistics + statistics));
  EXPECT_THAT(twice.warnings, ElementsAre(HasSubstr("s.bin: was written twice; the first record is used")));
  EXPECT_EQ(twice.warnings.at(0).count, 1);
  EXPECT_THAT(open(folder.put("s.bin", statistics + "12345678")).warnings,
              ElementsAre(HasSubstr("s.bin: 8 bytes follow the header and are ignored")));
  const std::string description = "$Version=1.0\n$Object.Count=0\ndtype=0\ndims=2\n$End=1\n";
  EXPECT_THAT(open(folder.put("d.bin", description + description)).warnings,
              ElementsAre(HasSubstr("was written twice")));
  EXPECT_THAT(
      open(folder.put("a.bin", "$Object.Count=0\ndtype=0\ndims=2\ndata=1_intensor0.bin\n$End=1\nmore"))
          .warnings,
      ElementsAre(HasSubstr("4 bytes follow the header")));
}

TEST(AtbBin, BrokenFilesAreNamedAndExplained) {
  const auto no_end = open_as(atb_bin_format, kData / "single/no_end.bin");
  ASSERT_FALSE(no_end);
  EXPECT_THAT(no_end.error().message,
              HasSubstr("no_end.bin: the header ends at byte 60 without a $End line"));
  const auto truncated = open(kData / "single/truncated.bin");
  EXPECT_THAT(truncated.tensors[0].data.error().message,
              HasSubstr("5 bytes follow the header, but dims [2, 2] of f16 need 8"));
}

TEST(AtbBin, TruncationAtEveryByteIsAnError) {
  const TestFolder folder;
  const std::string whole = example();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto set = open_as(atb_bin_format, folder.put("t.bin", whole.substr(0, size)));
    EXPECT_FALSE(set && set->tensors[0].data) << size;
  }
  EXPECT_TRUE(open(folder.put("t.bin", whole)).tensors[0].data);
}

TEST(AtbBin, HeaderLinesMayComeInAnyOrder) {
  const TestFolder folder;
  const auto set = open(folder.put("t.bin", "owner=me\ndims=2\ndtype=2\n$End=1\n\x01\xFF"));
  EXPECT_THAT(values_in(set.tensors[0]), ElementsAre(1, -1));
  EXPECT_TRUE(atb_bin_format.sniff(as_bytes("dims=2\ndtype=2\n$End=1\n\x01\xFF"), 24));
  EXPECT_TRUE(atb_bin_format.sniff(as_bytes("$Version=1.0\n"), 13));
  EXPECT_FALSE(atb_bin_format.sniff(as_bytes("hello\nworld"), 11));
  EXPECT_FALSE(atb_bin_format.sniff(as_bytes("\x80\x02}q"), 4));
  EXPECT_FALSE(atb_bin_format.sniff({}, 0));
}

TEST(AtbBin, MissingDimsIsOneElement) {
  const TestFolder folder;
  const auto set = open(folder.put("t.bin", "dtype=4\n$End=1\n\x05"));
  EXPECT_THAT(values_in(set.tensors[0]), ElementsAre(5));
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("no dims line")));
}

TEST(AtbBin, LiesInTheHeaderAreRefused) {
  const TestFolder folder;
  const auto error = [&](std::string_view text) {
    const auto set = open_as(atb_bin_format, folder.put("t.bin", text));
    return set ? set->tensors[0].data.error().message : set.error().message;
  };
  EXPECT_THAT(error("$Object.Length=3\ndtype=0\ndims=1\n$End=1\nabcd"),
              HasSubstr("$Object.Length=3, but dims [1] of f32 need 4"));
  EXPECT_THAT(error("dtype=0\ndims=4611686018427387904,4\n$End=1\n"), HasSubstr("too large"));
  EXPECT_THAT(error("dtype=0\ndims=2,-1\n$End=1\n"), HasSubstr("negative dimension"));
  EXPECT_THAT(error("dtype=0\ndims=2,x\n$End=1\n"), HasSubstr("dims=x in the header is not a number"));
  EXPECT_THAT(error("dtype=0\ndims\n$End=1\n"), HasSubstr("'dims' is not of the form name=value"));
  EXPECT_THAT(error("dtype=13\ndims=1\n$End=1\nabcd"), HasSubstr("holds string data"));
  EXPECT_THAT(error("dtype=5\ndims=1\n$End=1\nabcd"), HasSubstr("dtype=5 is not a type"));
  EXPECT_THAT(error("dtype=0\ndims=1\n$Object.data=9223372036854775807,4\n$End=1\nabcd"),
              HasSubstr("4 bytes follow"));
  EXPECT_THAT(error("dtype=0\ndims=1\n$Object.data=-4,4\n$End=1\nabcd"), HasSubstr("lies before the data"));
  EXPECT_THAT(error("a=" + std::string(70000, 'x')), HasSubstr("no $End line in the first 65536 bytes"));
}

TEST(AtbBin, LengthBeyondTheDimsIsAWarning) {
  const TestFolder folder;
  const auto set = open(folder.put("t.bin", "$Object.Length=4\ndtype=2\ndims=2\n$End=1\nabcd"));
  EXPECT_EQ(values_in(set.tensors[0]).size(), 2u);
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("$Object.Length=4, of which dims [2] of i8 use 2 bytes")));
}

TEST(AtbBin, SaysWhatItsTensorDoesNotShow) {
  const TestFolder folder;
  const auto beside = [&](std::string_view from, std::string_view to, std::string_view behind = "") {
    std::string text = example();
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    std::vector<std::string> all;
    for (const Beside& part : open(folder.put("x.bin", text + std::string(behind))).beside)
      all.push_back(part.what);
    return all;
  };
  EXPECT_THAT(beside("", ""), IsEmpty());
  EXPECT_THAT(beside("Length=24", "Length=32", "12345678"), ElementsAre("8 bytes behind its elements"));
  EXPECT_THAT(beside("data=0,24", "data=4,24", "1234"), ElementsAre("4 bytes before its elements"));
  EXPECT_THAT(beside("Count=1", "Count=2"), ElementsAre("2 objects"));
  EXPECT_THAT(beside("format=2", "format=2\nmax=3"), ElementsAre("statistics of its own"));
  const auto not_known = ElementsAre("lines of its header that are not known");
  EXPECT_THAT(beside("format=2", "format=2\nscale=3"), not_known);
  EXPECT_THAT(beside("Version=1.0", "Version=1.0 by hand"), not_known);
  EXPECT_THAT(beside("End=1", "End=by hand"), not_known);
  EXPECT_THAT(beside("format=2", "format=29\nformat=2"), not_known);
  EXPECT_THAT(beside("data=0,24", "data=0,by hand"), not_known);
  EXPECT_THAT(beside("data=0,24", "data=0,25"),
              ElementsAre("a $Object.data line of 25 bytes where there are 24"));
}

TEST(AtbBin, SmallTypesArePacked) {
  const TestFolder folder;
  EXPECT_THAT(values_in(open(folder.put("t.bin", "dtype=29\ndims=3\n$End=1\n\x2F\x07")).tensors[0]),
              ElementsAre(-1, 2, 7));
  EXPECT_THAT(values_in(open(folder.put("t.bin", "dtype=30\ndims=3\n$End=1\n\xA0")).tensors[0]),
              ElementsAre(1, 0, 1));
}

const fs::path kRound = kData / "gen3_all/atb_dump_data/data/0_27429/0/0_DemoLayer";

TEST(AtbBin, AliasesLeadToTheData) {
  const auto same = [](const fs::path& alias, const fs::path& target) {
    const auto a = open(alias), b = open(target);
    EXPECT_EQ(values_in(a.tensors[0]), values_in(b.tensors[0])) << alias;
    EXPECT_FALSE(file_content(alias).find("data=") == std::string::npos);
  };
  same(kRound / "0_LinearOperation/before/intensor1.bin", kRound / "before/intensor1.bin");
  same(kRound / "1_ElewiseOperation/before/intensor0.bin", kRound / "0_LinearOperation/after/outtensor0.bin");
  same(kRound / "after/outtensor0.bin", kRound / "1_ElewiseOperation/after/outtensor0.bin");
  const fs::path filtered = kData / "target_filtered/atb_dump_data/data/0_4323/0";
  same(filtered / "1_Prefill_layer/after/outtensor0.bin",
       filtered / "1_Prefill_layer/1_ElewiseOperation/after/outtensor0.bin");
}

TEST(AtbBin, AliasOutsideItsDumpIsAnError) {
  const auto set = open(kData / "single/alias.bin");
  EXPECT_EQ(set.tensors[0].meta, (TensorMeta{DType::f16, Shape{{2, 2}}}));
  EXPECT_THAT(set.tensors[0].data.error().message,
              HasSubstr("it refers to 1_0_outtensor0.bin, which is not below"));
}

std::string alias_to(std::string_view target) {
  return "$Object.Count=0\n$Object.Length=0\ndtype=2\ndims=2\ndata=" + std::string(target) + "\n$End=1\n";
}
constexpr std::string_view kTwoBytes = "dtype=2\ndims=2\n$End=1\n\x01\x02";

TEST(AtbBin, AliasesMayBeChained) {
  const TestFolder folder;
  folder.put("r/0/0_A/before/intensor0.bin", kTwoBytes);
  folder.put("r/0/0_A/0_B/before/intensor0.bin", alias_to("0_intensor0.bin"));
  const auto last = folder.put("r/0/0_A/0_B/0_Kernel/before/intensor0.bin",
                               alias_to("intensor0.bin"));  // the operator above
  EXPECT_THAT(values_in(open(last).tensors[0]), ElementsAre(1, 2));
}

TEST(AtbBin, AliasesInACircleEnd) {
  const TestFolder folder;
  const auto a = folder.put("r/0/0_A/before/intensor0.bin", alias_to("1_intensor0.bin"));
  folder.put("r/0/1_B/before/intensor0.bin", alias_to("0_intensor0.bin"));
  EXPECT_THAT(open(a).tensors[0].data.error().message, HasSubstr("lead in a circle"));
  const auto self = folder.put("r/0/2_C/before/intensor0.bin", alias_to("2_intensor0.bin"));
  EXPECT_THAT(open(self).tensors[0].data.error().message, HasSubstr("lead in a circle"));
}

TEST(AtbBin, AliasesStayInsideTheDump) {
  const TestFolder folder;
  folder.put("outtensor0.bin", kTwoBytes);
  for (const std::string_view bad :
       {"../outtensor0.bin", "/etc/passwd", "0_../../outtensor0.bin", "0_outtensor/../x.bin",
        "0_..outtensor0.bin", "0_secret.bin", "0_outtensor0.txt", "0_"}) {
    const auto file = folder.put("r/0/0_A/after/outtensor0.bin", alias_to(bad));
    EXPECT_THAT(open(file).tensors[0].data.error().message, HasSubstr("does not name a tensor file")) << bad;
  }
}

TEST(AtbBin, AmbiguousOrForeignTargetsAreRefused) {
  const TestFolder folder;
  folder.put("r/0/0_A/after/outtensor0.bin", kTwoBytes);
  folder.put("r/0/0_B/after/outtensor0.bin", kTwoBytes);
  const auto file = folder.put("r/0/1_C/before/intensor0.bin", alias_to("0_outtensor0.bin"));
  EXPECT_THAT(open(file).tensors[0].data.error().message, HasSubstr("which could be"));
  folder.put("r/1/0_A/after/outtensor0.bin", "dtype=4\ndims=2\n$End=1\n\x01\x02");
  const auto other = folder.put("r/1/1_C/before/intensor0.bin", alias_to("0_outtensor0.bin"));
  EXPECT_THAT(open(other).tensors[0].data.error().message, HasSubstr("is i8 [2], but its data in"));
}

TEST(AtbBin, WritesTheBytesOfTheOriginal) {
  const TestFolder folder;
  const auto set = open(folder.put("in.bin", example()));
  const auto path = write_as(atb_bin_format, folder.path() / "out.bin", set.tensors).value();
  EXPECT_EQ(file_content(path), example());
  const auto original = open(kData / "single/my_bf16_nz.bin");
  const auto copy = write_as(atb_bin_format, folder.path() / "nz.bin", original.tensors).value();
  EXPECT_EQ(file_content(copy), file_content(kData / "single/my_bf16_nz.bin"));
}

TEST(AtbBin, RefusesToWriteWhatItCannotHold) {
  const TestFolder folder;
  StoredTensor tensor{"", dense_in_memory(std::vector<std::byte>(2), {DType::u4, Shape{{2}}}), {}, {}, {}};
  const auto one = write_as(atb_bin_format, folder.path() / "o.bin", std::span(&tensor, 1));
  EXPECT_THAT(one.error().message, HasSubstr("ATB has no type for u4"));
  EXPECT_FALSE(write_as(atb_bin_format, folder.path() / "o.bin", std::vector{tensor, tensor}));
  EXPECT_FALSE(
      write_as(atb_bin_format, folder.path() / "o.bin", open(kData / "single/desc_only.bin").tensors));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace assay
