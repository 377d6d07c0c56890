// One reader's way through a deflated entry of a zip, forwards.
#pragma once

#include "assay/support/zip.h"

#include <atomic>
#include <memory>

namespace assay {

class InflateStream {
 public:
  // File and entry must outlive the stream. `inflated`: where the bytes that come out are counted; may be
  // null.
  InflateStream(const File& file, const ZipEntry& entry, std::atomic<int64_t>* inflated = nullptr);
  ~InflateStream();
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

  int64_t position() const { return position_; }  // of the next byte, once inflated
  // A read failed: what follows is lost.
  bool broken() const { return broken_; }

  // The next bytes. With the last byte of the entry come the checks that the stream ends there, fills its
  // compressed bytes, and has the CRC-32 of the directory.
  Result<void> read(std::span<std::byte> out);
  Result<void> skip(int64_t count);

 private:
  struct State;  // zlib's
  Result<void> inflate_into(std::span<std::byte> out);
  Result<void> step();
  Result<void> check_end();
  std::string text() const;

  const File& file_;
  const ZipEntry& entry_;
  std::atomic<int64_t>* const inflated_;
  std::unique_ptr<State> state_;
  std::vector<std::byte> input_, skipped_;
  int64_t taken_ = 0;  // compressed bytes read from the file
  int64_t position_ = 0;
  uint32_t crc_ = 0;
  bool ended_ = false, broken_ = false;
};

}  // namespace assay
