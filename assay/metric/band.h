// One pass over a part of a pair of operands.
#pragma once

#include "assay/metric/gathered.h"
#include "assay/tensor/operand.h"

namespace assay {

struct PairBuffers;

// What a thread needs to read a pair; reused from pair to pair.
struct PairScratch {
  Scratch mine, golden;
  std::shared_ptr<PairBuffers> buffers;  // made by who gathers first
  void forget() {
    mine.forget();
    golden.forget();
  }
};

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
