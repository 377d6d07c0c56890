#include "assay/run/compare/gather_parallel.h"

#include "assay/support/parallel.h"
#include "assay/tensor/dense.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

namespace assay {
namespace {

constexpr GatherMask kEverything = 0xFFFFFFFF;
constexpr int64_t kCount = 3 * kBandElements + 12345;

OperandPtr waves(float factor) {
  std::vector<std::byte> bytes(static_cast<size_t>(kCount) * sizeof(float));
  for (int64_t i = 0; i < kCount; ++i) {
    const float value = static_cast<float>(i % 1009 - 504) * factor;
    std::memcpy(bytes.data() + i * static_cast<int64_t>(sizeof value), &value, sizeof value);
  }
  return dense_in_memory(std::move(bytes), {DType::f32, Shape{{kCount}}});
}

TEST(GatherParallel, GivesTheBitsOfOneThread) {
  const auto a = waves(0.001f), b = waves(0.00100001f);
  PairScratch scratch;
  const auto serial = gather_pair(*a, *b, {kEverything}, scratch);
  ASSERT_TRUE(serial.has_value());
  for (const size_t threads : {1, 2, 5}) {
    const ThreadLimit limit(threads);
    Progress silent("", 0, false);
    PairScratch small;
    const auto parallel = gather_parallel(*a, *b, {kEverything}, small, silent);
    ASSERT_TRUE(parallel.has_value());
    EXPECT_EQ(parallel->pair.dot, serial->pair.dot);
    EXPECT_EQ(parallel->pair.diff_squares, serial->pair.diff_squares);
    EXPECT_EQ(parallel->pair.worst, serial->pair.worst);
    EXPECT_EQ(parallel->relative.sum, serial->relative.sum);
    EXPECT_EQ(parallel->softmax.cross, serial->softmax.cross);
    EXPECT_EQ(parallel->abs_diff->quantile(0.5), serial->abs_diff->quantile(0.5));
    EXPECT_EQ(parallel->mine_md5, serial->mine_md5);
  }
}

TEST(GatherParallel, AFileThatEndsEarlyIsAnErrorWithItsName) {
  const fs::path path = fs::temp_directory_path() / fmt::format("assay_gather_{}.raw", ::getpid());
  std::ofstream(path, std::ios::binary) << std::string(static_cast<size_t>(kCount) * 4, 'x');
  const auto file = File::open(path);
  ASSERT_TRUE(file.has_value());
  const auto a = dense_in_file(*file, 0, {DType::f32, Shape{{kCount}}});
  ASSERT_EQ(::truncate(path.c_str(), 4096), 0);
  Progress silent("", 0, false);
  PairScratch small;
  const auto gathered = gather_parallel(*a, *waves(1), {gather::sums}, small, silent);
  fs::remove(path);
  ASSERT_FALSE(gathered.has_value());
  EXPECT_NE(gathered.error().message.find(path.string()), std::string::npos);
}

// Golden, of which the end is read at the moment when mine's file loses a part of its last page.
class WhileMineShrinks : public Operand {
 public:
  explicit WhileMineShrinks(fs::path file)
      : Operand({DType::f32, Shape{{kCount}}}), file_(std::move(file)), numbers_(waves(1)) {}
  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    if (first + count == kCount) fs::resize_file(file_, kCount * 4 - 100);
    return numbers_->block(first, count, scratch);
  }

 private:
  const fs::path file_;
  const OperandPtr numbers_;
};

TEST(GatherParallel, AFileThatLosesPartOfItsLastPageIsAnErrorWithItsName) {
  static_assert(kCount * 4 % 4096 > 100);
  const fs::path path = fs::temp_directory_path() / fmt::format("assay_gather_page_{}.raw", ::getpid());
  std::ofstream(path, std::ios::binary) << std::string(static_cast<size_t>(kCount) * 4, 'x');
  const auto file = File::open(path);
  ASSERT_TRUE(file.has_value());
  const auto a = dense_in_file(*file, 0, {DType::f32, Shape{{kCount}}});
  Progress silent("", 0, false);
  PairScratch small;
  const auto gathered = gather_parallel(*a, WhileMineShrinks(path), {gather::sums}, small, silent);
  fs::remove(path);
  ASSERT_FALSE(gathered.has_value());
  EXPECT_NE(gathered.error().message.find(path.string()), std::string::npos);
}

}  // namespace
}  // namespace assay
