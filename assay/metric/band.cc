#include "assay/metric/band.h"

#include "assay/base/cancel.h"
#include "assay/metric/pair_gatherer.h"

#include <fmt/format.h>
#include <md5.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kSafeSize =
    0x1p400;  // squares of values between this and its inverse can be summed as they are

template <class Update>
Result<void> for_each_block(const Operand& operand, Scratch& scratch, Update update) {
  const int64_t total = operand.meta.shape.count();
  for (int64_t first = 0; first < total; first += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY(const Block block, operand.block(first, std::min(kBlockElements, total - first), scratch));
    update(block.bytes());
  }
  return {};
}

}  // namespace

Result<Gathered> gather_band(const Operand& mine, const Operand& golden, const GatherPlan& plan, int scale,
                             int64_t first, int64_t count, PairScratch& scratch) {
  const DType mine_dtype = mine.meta.dtype, golden_dtype = golden.meta.dtype;
  if (scratch.buffers == nullptr) scratch.buffers = make_pair_buffers();
  PairGatherer gatherer(mine_dtype, golden_dtype, plan, first * components(mine_dtype), scale,
                        scratch.buffers);
  ASSAY_TRY_DO(add_blocks(mine, golden, first, count, scratch, gatherer));
  return gatherer.take();
}

Result<Gathered> gather_pair(const Operand& mine, const Operand& golden, const GatherPlan& plan,
                             PairScratch& scratch) {
  const int64_t total = mine.meta.shape.count();
  const auto pass = [&](const GatherPlan& wanted, int scale) -> Result<Gathered> {
    scratch.forget();
    ASSAY_TRY(Gathered all,
              gather_band(mine, golden, wanted, scale, 0, std::min(kBandElements, total), scratch));
    for (int64_t first = kBandElements; first < total; first += kBandElements) {
      ASSAY_TRY(const Gathered band, gather_band(mine, golden, wanted, scale, first,
                                                 std::min(kBandElements, total - first), scratch));
      all.merge(band);
    }
    return all;
  };
  ASSAY_TRY(Gathered gathered, pass(plan, 0));
  if (const int scale = better_scale(gathered)) {
    ASSAY_TRY(const Gathered scaled, pass({gather::scaled}, scale));
    gathered.take_sums(scaled);
  }
  ASSAY_TRY_DO(add_checksums(mine, golden, plan.needs, scratch, gathered));
  return gathered;
}

int better_scale(const Gathered& gathered) {
  const auto is_double = [](DType dtype) { return component(dtype) == DType::f64; };
  const PairSums& p = gathered.pair;
  if (p.finite == 0 || (!is_double(gathered.mine_dtype) && !is_double(gathered.golden_dtype))) return 0;
  const double largest =
      std::max({std::abs(p.mine.min), std::abs(p.mine.max), std::abs(p.golden.min), std::abs(p.golden.max)});
  if (largest == 0 || (largest < kSafeSize && largest > 1 / kSafeSize)) return 0;
  return -std::ilogb(largest);  // brings the largest value close to 1
}

Result<std::string> crc32_of(const Operand& operand, Scratch& scratch) {
  scratch.forget();
  uLong crc = ::crc32(0, nullptr, 0);
  ASSAY_TRY_DO(for_each_block(operand, scratch, [&](Bytes bytes) {
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }));
  return fmt::format("{:08x}", crc);
}

Result<std::string> md5_of(const Operand& operand, Scratch& scratch) {
  scratch.forget();
  MD5_CTX context;
  ::MD5Init(&context);
  ASSAY_TRY_DO(for_each_block(operand, scratch, [&](Bytes bytes) {
    ::MD5Update(&context, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }));
  uint8_t digest[MD5_DIGEST_LENGTH];
  ::MD5Final(digest, &context);
  std::string text;
  for (const uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

Result<void> add_checksums(const Operand& mine, const Operand& golden, GatherMask needs, PairScratch& scratch,
                           Gathered& into) {
  if (needs & gather::crc32) {
    ASSAY_TRY(into.mine_crc32, crc32_of(mine, scratch.mine));
    ASSAY_TRY(into.golden_crc32, crc32_of(golden, scratch.golden));
  }
  if (needs & gather::md5) {
    ASSAY_TRY(into.mine_md5, md5_of(mine, scratch.mine));
    ASSAY_TRY(into.golden_md5, md5_of(golden, scratch.golden));
  }
  return {};
}

}  // namespace assay
