// Statistics of one tensor in one pass.
#pragma once

#include "assay/base/result.h"
#include "assay/tensor/operand.h"

#include <string>

namespace assay {

// Of the finite components (two per complex element); sums in the same fixed order as for pairs.
struct OneSide {
  int64_t count = 0, finite = 0, nans = 0, infs = 0, zeros = 0;
  int64_t minus_infs = 0;   // those of the infs that are negative
  double min = 0, max = 0;  // meaningless if finite == 0
  double sum = 0, sum_squares = 0;

  double mean() const;  // NaN if finite == 0
  double norm() const;  // 2-norm
  double deviation()
      const;  // population standard deviation; from centred sums of the blocks, so no cancellation
  double centred_squares = 0;  // Σ (x - mean)²
};

Result<OneSide> gather_one(const Operand& operand);

// With the CRC-32 of the elements as they lie in memory, as crc32_of() gives it, in the same pass.
struct ChecksummedSide {
  OneSide side;
  std::string crc32;  // 8 hex digits
};
Result<ChecksummedSide> gather_one_with_checksum(const Operand& operand);

}  // namespace assay
