// The directory of a zip file: where each entry lies, so that stored entries can be read in place. ZIP64
// included. Written for hostile files: nothing is believed before it was compared with the size of the file.
// Layout of the bytes, as far as we use it: docs/formats/npz.md
#pragma once

#include "assay/base/file.h"

#include <optional>
#include <vector>

namespace assay {

enum class ZipMethod : uint16_t { stored = 0, deflated = 8 };

struct ZipEntry {
  std::string name;  // bytes as they stand in the directory; use printable() in messages
  ZipMethod method = ZipMethod::stored;
  int64_t compressed_size = 0;
  int64_t size = 0;         // once inflated
  uint32_t crc = 0;         // CRC-32 of the inflated bytes
  int64_t data_offset = 0;  // of the first compressed byte
  // Why this entry must not be read (it overlaps another one, it is encrypted…). The other entries are not
  // harmed.
  std::optional<Error> trouble;
};

struct ZipDirectory {
  std::vector<ZipEntry> entries;  // in the order of the directory; folders are left out
  int64_t extent = 0;             // where the archive ends; less than the size of the file if bytes follow
};

// An error where there is no directory or it lies about itself. `memory`: the most bytes that the directory
// may take.
Result<ZipDirectory> read_zip_directory(const File& file, int64_t memory);

// A name that climbs out of the archive (a part of it is ".."), or no name at all. Neither read nor written:
// whoever made a path of it would write elsewhere. A leading '/' is harmless here and common: ONNX names its
// tensors so.
bool leads_out(std::string_view entry_name);

// The entry of that name; null if there is none.
const ZipEntry* find_entry(const ZipDirectory& directory, std::string_view name);

}  // namespace assay
