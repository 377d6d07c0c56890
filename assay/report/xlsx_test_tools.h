// Reads a workbook back, for the tests of the spreadsheets.
#pragma once

#include "assay/base/file.h"
#include "assay/support/zip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <string>

namespace assay {

// The parts of the file, inflated and checked against their sums.
inline std::map<std::string, std::string> parts_of(const fs::path& path) {
  std::map<std::string, std::string> parts;
  const auto file = File::open(path);
  if (!file) return parts;
  const auto directory = read_zip_directory(**file, int64_t{1} << 20);
  EXPECT_TRUE(directory);
  for (const ZipEntry& entry : directory ? directory->entries : std::vector<ZipEntry>()) {
    EXPECT_FALSE(entry.trouble);
    std::vector<std::byte> stored(static_cast<size_t>(entry.compressed_size));
    EXPECT_TRUE((*file)->read(entry.data_offset, stored));
    std::string text(static_cast<size_t>(entry.size) + 1, '\0');
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, -MAX_WBITS), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(stored.data());
    stream.avail_in = static_cast<uInt>(stored.size());
    stream.next_out = reinterpret_cast<Bytef*>(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END) << entry.name;
    EXPECT_EQ(stream.avail_in, 0U);
    EXPECT_EQ(static_cast<int64_t>(stream.total_out), entry.size);
    inflateEnd(&stream);
    text.pop_back();
    EXPECT_EQ(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())),
              entry.crc);
    parts[entry.name] = text;
  }
  return parts;
}

inline int64_t count_of(const std::string& text, std::string_view word) {
  int64_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace assay
