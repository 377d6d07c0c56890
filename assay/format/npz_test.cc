#include "assay/format/npz.h"

#include "assay/format/npy_test_tools.h"
#include "assay/support/inflated_entry.h"
#include "assay/support/zip_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using namespace testing_tools;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<TensorSet> open_data(std::string_view name) { return open_with(npz_format, data_file("npz") / name); }

void expect_the_five(const Result<TensorSet>& set) {
  EXPECT_THAT(numbers_of(set, "weight"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(numbers_of(set, "layer.0/bias"), ElementsAre(1, -1));
  EXPECT_THAT(numbers_of(set, "fortran"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(numbers_of(set, "scalar"), ElementsAre(42));
  EXPECT_THAT(numbers_of(set, "empty"), ElementsAre());
}

// Place of the data of an entry in the bytes of a zip, found by its local header.
size_t data_of(const std::string& zip, const std::string& name) {
  const size_t header = zip.find(name) - 30;
  EXPECT_EQ(zip.substr(header, 4), "PK\3\4");
  return header + 30 + name.size() + load_le<uint16_t>(as_bytes(zip).subspan(header + 28));
}

TEST(Npz, ReadsStoredEntries) {
  const auto set = open_data("stored.npz");
  expect_the_five(set);
  EXPECT_EQ(set->tensors.size(), 5U);
  EXPECT_TRUE(set->warnings.empty());
  EXPECT_EQ(find_tensor(*set, "fortran")->meta, (TensorMeta{DType::f64, Shape{{2, 3}}}));
}

TEST(Npz, ReadsDeflatedEntries) {
  const auto set = open_data("deflated.npz");
  expect_the_five(set);
  const auto ramp = numbers_of(set, "ramp");
  ASSERT_EQ(ramp.size(), 200000U);
  for (size_t i = 0; i < ramp.size(); ++i) ASSERT_EQ(ramp[i], static_cast<double>(i / 7));
}

TEST(Npz, DeflatedEntriesCanBeReadBackwardsAndInPieces) {
  const auto set = open_data("deflated.npz");
  ASSERT_TRUE(set);
  const Operand& ramp = **find_tensor(*set, "ramp")->data;
  Scratch scratch;
  for (const int64_t first : {150000, 7, 7, 100000, 199999, 0}) {
    const auto block = ramp.block(first, 1, scratch);
    ASSERT_TRUE(block) << block.error().message;
    EXPECT_EQ(load_le<int32_t>(block->bytes()), first / 7);
  }
}

TEST(Npz, NamesUnnamedArraysAsNumPyDoes) {
  const auto set = open_data("unnamed.npz");
  EXPECT_THAT(numbers_of(set, "arr_0"), ElementsAre(1, 1));
  EXPECT_THAT(numbers_of(set, "arr_1"), ElementsAre(0));
}

TEST(Npz, AnEmptyArchiveHasNoTensors) {
  const auto set = open_data("nothing.npz");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_TRUE(set->tensors.empty());
}

TEST(Npz, OneBrokenEntryHarmsNoOther) {
  std::string zip = slurp(data_file("npz/stored.npz"));
  zip[data_of(zip, "weight.npy")] = 'X';  // no longer \x93NUMPY
  const TempFile file(zip, "broken.npz");
  const auto set = open_with(npz_format, file.path());
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_FALSE(find_tensor(*set, "weight")->data);
  EXPECT_THAT(find_tensor(*set, "weight")->data.error().message, HasSubstr("weight.npy"));
  EXPECT_THAT(numbers_of(set, "scalar"), ElementsAre(42));
}

TEST(Npz, ABrokenDeflateStreamIsAnErrorOfItsTensor) {
  std::string zip = slurp(data_file("npz/deflated.npz"));
  const size_t middle = data_of(zip, "ramp.npy") + 20000;
  for (size_t i = 0; i < 64; ++i) zip[middle + i] = '\xFF';
  const TempFile file(zip, "broken.npz");
  const auto set = open_with(npz_format, file.path());
  ASSERT_TRUE(set);
  const auto ramp = numbers(**find_tensor(*set, "ramp")->data);
  ASSERT_FALSE(ramp);
  EXPECT_THAT(ramp.error().message, HasSubstr("ramp.npy"));
  expect_the_five(set);
}

TEST(Npz, AWrongChecksumIsAnErrorOfItsTensor) {
  std::string zip = slurp(data_file("npz/deflated.npz"));
  const size_t in_directory = zip.find("PK\1\2");  // the first entry is ramp
  ASSERT_EQ(zip.substr(in_directory + 46, 8), "ramp.npy");
  zip[in_directory + 16] = static_cast<char>(zip[in_directory + 16] ^ 1);
  const TempFile file(zip, "broken.npz");
  const auto set = open_with(npz_format, file.path());
  ASSERT_TRUE(set);
  const auto ramp = numbers(**find_tensor(*set, "ramp")->data);
  ASSERT_FALSE(ramp);
  EXPECT_THAT(ramp.error().message, HasSubstr("CRC-32"));
  expect_the_five(set);
}

TEST(Npz, AnEntryThatInflatesToMoreThanItClaimsIsRefused) {
  std::string zip = slurp(data_file("npz/deflated.npz"));
  const size_t in_directory = zip.find("PK\1\2");
  const auto size = load_le<uint32_t>(as_bytes(zip).subspan(in_directory + 24));
  ASSERT_EQ(size, 800128U);
  for (const uint32_t lie : {size - 4, size + 4}) {
    std::memcpy(zip.data() + in_directory + 24, &lie, 4);
    const TempFile file(zip, "bomb.npz");
    const auto set = open_with(npz_format, file.path());
    ASSERT_TRUE(set);
    const StoredTensor& ramp = *find_tensor(*set, "ramp");
    if (lie < size) {
      ASSERT_FALSE(ramp.data);
      EXPECT_THAT(ramp.data.error().message, HasSubstr("bytes of data"));
    } else {
      ASSERT_FALSE(ramp.data);
      EXPECT_THAT(ramp.data.error().message, HasSubstr("4 bytes behind its array"));
    }
  }
}

// 0, 1, 2… as they lie in the file.
std::string npy_of_ramp(int64_t rows, int64_t columns, bool fortran_order) {
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': {}, 'shape': ({}, {}), }}\n",
                                 fortran_order ? "True" : "False", rows, columns);
  std::string bytes = "\x93NUMPY";
  bytes += {'\1', '\0', static_cast<char>(text.size()), '\0'};
  bytes += text;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const auto value = static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

TEST(Npz, DeflatedColumnMajorArraysAreInflatedOnce) {
  // More than a band of the gather, so that columns are read several times.
  constexpr int64_t kRows = 2300, kColumns = 2300;
  const std::string npy = npy_of_ramp(kRows, kColumns, true);
  const TempFile file(deflated_zip({{"x.npy", npy}}), "fortran.npz");
  FormatOptions options;
  options.inflated = std::make_shared<InflatedRoom>();
  const auto set = open_with(npz_format, file.path(), options);
  const auto values = numbers_of(set, "x");
  ASSERT_EQ(values.size(), static_cast<size_t>(kRows * kColumns));
  for (const int64_t i : {int64_t{0}, int64_t{1}, kColumns, kRows * kColumns - 2})
    EXPECT_EQ(values[static_cast<size_t>(i)], static_cast<double>(i / kColumns + i % kColumns * kRows));
  EXPECT_EQ(options.inflated->inflated(), std::ssize(npy));
}

TEST(Npz, DeflatedRowMajorArraysStreamAndAreNotKept) {
  const std::string npy = npy_of_ramp(1000, 1000, false);
  const TempFile file(deflated_zip({{"x.npy", npy}}), "plain.npz");
  FormatOptions options;
  options.inflated = std::make_shared<InflatedRoom>();
  const auto set = open_with(npz_format, file.path(), options);
  ASSERT_EQ(numbers_of(set, "x").size(), 1'000'000U);
  EXPECT_EQ(options.inflated->inflated(), std::ssize(npy));
  EXPECT_EQ(options.inflated->in_memory(), 0);
  // A reader that turns back has it kept, and inflates it once more at most.
  const Operand& x = **find_tensor(*set, "x")->data;
  Scratch scratch;
  for (int64_t first = 990'000; first >= 0; first -= 10'000) {
    const auto block = x.block(first, 1, scratch);
    ASSERT_TRUE(block) << block.error().message;
    EXPECT_EQ(load_le<float>(block->bytes()), static_cast<float>(first));
  }
  EXPECT_LE(options.inflated->inflated(), 3 * std::ssize(npy));
}

TEST(Npz, BytesBehindAnArrayOrItsStreamAreRefused) {
  const std::string npy = npy_of_ramp(2, 3, false);
  const auto error_of = [&](const ToDeflate& entry) {
    const TempFile file(deflated_zip({entry}), "behind.npz");
    const auto set = open_with(npz_format, file.path());
    EXPECT_TRUE(set) << set.error().message;
    const auto& data = set->tensors.at(0).data;
    const auto values = data ? numbers(**data) : tl::unexpected<Error>(data.error());
    return values ? "read" : values.error().message;
  };
  EXPECT_EQ(error_of({"x.npy", npy}), "read");
  EXPECT_THAT(error_of({"x.npy", npy + "more"}), HasSubstr("entry \"x.npy\" has 4 bytes behind its array"));
  EXPECT_THAT(error_of({"x.npy", npy, "more"}), HasSubstr("4 bytes behind the end of its deflate stream"));
  const std::string turned = npy_of_ramp(2, 3, true);
  EXPECT_THAT(error_of({"x.npy", turned, "more"}), HasSubstr("4 bytes behind the end of its deflate stream"));
}

TEST(Npz, SurvivesTruncationAndDamage) {
  const std::string bytes = slurp(data_file("npz/unnamed.npz"));
  expect_survives_truncation(npz_format, bytes);
  expect_survives_damage(npz_format, bytes);
}

TEST(Npz, ReadsWhatItWrites) {
  const auto set = open_data("deflated.npz");
  ASSERT_TRUE(set);
  const std::string bytes = written(npz_format, set->tensors);
  EXPECT_EQ(bytes, written(npz_format, set->tensors));
  const TempFile file(bytes, "again.npz");
  const auto again = open_with(npz_format, file.path());
  expect_the_five(again);
  EXPECT_EQ(numbers_of(again, "ramp"), numbers_of(set, "ramp"));
  EXPECT_TRUE(npz_format.sniff(as_bytes(bytes).first(512), std::ssize(bytes)));
}

}  // namespace
}  // namespace assay
