// The plain operands: bytes in a file, bytes in memory.
#pragma once

#include "assay/base/file.h"
#include "assay/tensor/operand.h"

namespace assay {

// Row-major little-endian elements at `offset` of a file, one after another without packing.
OperandPtr dense_in_file(std::shared_ptr<const File> file, int64_t offset, TensorMeta meta);

// Row-major little-endian elements that `bytes` holds (at least meta.byte_size() of them).
OperandPtr dense_in_memory(std::vector<std::byte> bytes, TensorMeta meta);
// … or somebody else does, for longer than the operand lives.
OperandPtr dense_in_borrowed_memory(Bytes bytes, TensorMeta meta);

// Types of fewer than 8 bits, packed in a file: i4, u4, f4: low nibble first; f6: 4 elements in 3 bytes, low
// bits first; i2, u2: low bits first; u1: high bit first.
OperandPtr packed_in_file(std::shared_ptr<const File> file, int64_t offset, TensorMeta meta);

// Bytes that `count` packed elements take in a file.
int64_t packed_size(DType dtype, int64_t count);

// One packed run to one byte per element, and back. For both, element 0 starts at bit 0 of `from`/`to`.
void unpack(DType dtype, const std::byte* from, int64_t count, std::byte* to);
void pack(DType dtype, const std::byte* from, int64_t count,
          std::byte* to);  // zeroes the unused bits of the last byte

// Bits of the last byte that `count` packed elements leave over, and whether they hold something. `from` is
// where the last group of kPackedGroup elements begins: byte packed_size(dtype, count - count %
// kPackedGroup). Every packing starts anew at a byte after so many elements (4 in 3 bytes for f6, 8 in a byte
// for u1).
inline constexpr int64_t kPackedGroup = 8;
int64_t spare_bits(DType dtype, int64_t count);
bool are_spare_bits_set(DType dtype, const std::byte* from, int64_t count);

// Big-endian elements made little-endian.
OperandPtr byte_swapped(OperandPtr source);

}  // namespace assay
