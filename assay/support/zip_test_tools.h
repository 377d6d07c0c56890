// For tests: zips of deflated entries, as other tools write them, and such as no tool writes.
#pragma once

#include "assay/base/bytes.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

namespace assay::testing_tools {

struct ToDeflate {
  std::string name, data;
  std::string behind = {};  // bytes of the entry that follow the deflate stream
  uint32_t claim_more = 0;  // bytes that the directory adds to the size
};

inline std::string deflated(std::string_view data) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string deflated_zip(const std::vector<ToDeflate>& entries) {
  const auto le = [](auto value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  std::string file, directory;
  for (const ToDeflate& entry : entries) {
    const std::string packed = deflated(entry.data) + entry.behind;
    const auto crc = static_cast<uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(entry.data.data()), entry.data.size()));
    const std::string common = le(uint16_t{20}) + le(uint16_t{0}) + le(uint16_t{8}) + le(uint32_t{0}) +
                               le(crc) + le(static_cast<uint32_t>(packed.size())) +
                               le(static_cast<uint32_t>(entry.data.size()) + entry.claim_more) +
                               le(static_cast<uint16_t>(entry.name.size()));
    directory += "PK\1\2" + le(uint16_t{20}) + common + le(uint16_t{0}) + std::string(10, '\0') +
                 le(static_cast<uint32_t>(file.size())) + entry.name;
    file += "PK\3\4" + common + le(uint16_t{0}) + entry.name + packed;
  }
  const auto count = static_cast<uint16_t>(entries.size());
  return file + directory + "PK\5\6" + le(uint32_t{0}) + le(count) + le(count) +
         le(static_cast<uint32_t>(directory.size())) + le(static_cast<uint32_t>(file.size())) +
         le(uint16_t{0});
}

}  // namespace assay::testing_tools
