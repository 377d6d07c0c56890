// What stands in a zip archive around the data of stored (not compressed) entries. The same input gives the
// same bytes: no clock is read. ZIP64 only where a size or a count needs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace assay {

struct ZipRecord {
  std::string name;
  int64_t size = 0, header_offset = 0;
  uint32_t crc = 0;
};

inline constexpr int64_t kZipCrcOffset = 14;  // of the CRC-32 in the header of an entry
inline constexpr size_t kLongestZipName = 0xFFFF - 1;

// What stands before the data, which then begin at a multiple of 64 bytes.
std::string zip_entry_header(const ZipRecord& entry);
// What stands behind the last entry, which ends at `offset`.
std::string zip_directory(std::span<const ZipRecord> entries, int64_t offset);

// The same as PyTorch 1.13 writes it: sizes stand behind the data, there is no date, and the directory ends
// in ZIP64. Offsets and sizes are below kLargestStreamed.
inline constexpr int64_t kLargestStreamed = 0xFFFFFFFF;
std::string streamed_entry_header(const ZipRecord& entry);
std::string streamed_entry_end(const ZipRecord& entry);
std::string streamed_directory(std::span<const ZipRecord> entries, int64_t offset);

}  // namespace assay
