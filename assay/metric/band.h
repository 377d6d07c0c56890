// One pass over a part of a pair of operands.
#pragma once

#include "assay/base/cancel.h"
#include "assay/metric/gathered.h"
#include "assay/tensor/operand.h"

#include <algorithm>

namespace assay {

struct PairBuffers;

// What a thread needs to read a pair; reused from pair to pair.
struct PairScratch {
  Scratch mine, golden;
  Scratch held;                          // of a tensor that several are held against, one after another
  std::shared_ptr<PairBuffers> buffers;  // made by who gathers first
  void forget() {
    mine.forget();
    golden.forget();
  }
};

// Hands elements [first, first + count) of both to `gatherer`, block by block.
template <class Gatherer>
Result<void> add_blocks(const Operand& mine, const Operand& golden, int64_t first, int64_t count,
                        PairScratch& scratch, Gatherer& gatherer) {
  for (int64_t done = 0; done < count; done += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    const int64_t part = std::min(kBlockElements, count - done);
    ASSAY_TRY(const Block a, mine.block(first + done, part, scratch.mine));
    ASSAY_TRY(const Block b, golden.block(first + done, part, scratch.golden));
    gatherer.add(a, b);
  }
  return {};
}

// Gathers elements [first, first + count). first is a multiple of kBandElements; count at most kBandElements.
// Preconditions: both have the same number of elements and both or neither are complex.
Result<Gathered> gather_band(const Operand& mine, const Operand& golden, const GatherPlan& plan, int scale,
                             int64_t first, int64_t count, PairScratch& scratch);

// The whole pair, band after band on this thread. run/ has one that shares the bands out over the cores; same
// bits.
Result<Gathered> gather_pair(const Operand& mine, const Operand& golden, const GatherPlan& plan,
                             PairScratch& scratch);

// f64 data may need a second pass: 2^scale times the values have squares that neither overflow nor vanish. 0:
// all is well.
int better_scale(const Gathered& gathered);

// Checksums of the elements as they lie in memory (row-major, little-endian).
Result<std::string> crc32_of(const Operand& operand, Scratch& scratch);  // 8 hex digits
Result<std::string> md5_of(const Operand& operand, Scratch& scratch);    // 32 hex digits
Result<void> add_checksums(const Operand& mine, const Operand& golden, GatherMask needs, PairScratch& scratch,
                           Gathered& into);

}  // namespace assay
