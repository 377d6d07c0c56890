#include "assay/support/xlsx_package.h"

#include <zlib.h>

#include <new>

namespace assay {
namespace {

constexpr int64_t k32BitLimit = 0xFFFFFFFF;  // this value itself means "look into the 64-bit field"
constexpr uint16_t kDeflated = 8;
constexpr uint16_t kUtf8Names = 1 << 11;
constexpr uint16_t kVersionPlain = 20, kVersion64 = 45;
constexpr uint16_t kExtra64 = 0x0001;
// Padding that Office knows ("growth hint"). It keeps the place of the 64-bit sizes in a local header, which
// is written before the size of its part is known.
constexpr uint16_t kExtraPadding = 0xA220, kPaddingSignature = 0xA028;
constexpr uint16_t kExtraSize = 16;
// 1980-01-01, the first day zip knows: the same rows give the same bytes at any hour.
constexpr uint16_t kDate = (0 << 9) | (1 << 5) | 1;

template <class T>
void put(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

uint32_t low32(int64_t size, bool large) { return large ? 0xFFFFFFFFU : static_cast<uint32_t>(size); }

// The fields that local header and directory have in common, from flags to sizes.
void put_common(std::string& out, uint32_t crc, int64_t stored, int64_t size, bool large) {
  put<uint16_t>(out, kUtf8Names);
  put<uint16_t>(out, kDeflated);
  put<uint16_t>(out, 0);  // time
  put<uint16_t>(out, kDate);
  put<uint32_t>(out, crc);
  put<uint32_t>(out, low32(stored, large));
  put<uint32_t>(out, low32(size, large));
}

std::string local_header(const std::string& name, uint32_t crc, int64_t stored, int64_t size, bool large) {
  std::string out = "PK\x03\x04";
  put<uint16_t>(out, large ? kVersion64 : kVersionPlain);
  put_common(out, crc, stored, size, large);
  put<uint16_t>(out, static_cast<uint16_t>(name.size()));
  put<uint16_t>(out, 4 + kExtraSize);
  out += name;
  put<uint16_t>(out, large ? kExtra64 : kExtraPadding);
  put<uint16_t>(out, kExtraSize);
  if (large) {
    put<int64_t>(out, size);
    put<int64_t>(out, stored);
  } else {
    put<uint16_t>(out, kPaddingSignature);
    out.append(kExtraSize - 2, '\0');
  }
  return out;
}

uint32_t crc_of(std::string_view text) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

// A block of deflate data that holds the text as it is. At the start of the data it begins on a byte
// boundary.
std::string stored_block(std::string_view text) {
  if (text.empty()) return {};
  std::string out(1, '\0');
  put<uint16_t>(out, static_cast<uint16_t>(text.size()));
  put<uint16_t>(out, static_cast<uint16_t>(~text.size()));
  return out.append(text);
}

std::string end_of_directory(int64_t parts, int64_t at, int64_t size) {
  std::string out;
  const bool large = at >= k32BitLimit;
  if (large) {
    out += std::string_view("PK\x06\x06", 4);
    put<uint64_t>(out, 44);  // bytes that follow
    put<uint16_t>(out, kVersion64);
    put<uint16_t>(out, kVersion64);
    put<uint32_t>(out, 0);
    put<uint32_t>(out, 0);
    put<int64_t>(out, parts);
    put<int64_t>(out, parts);
    put<int64_t>(out, size);
    put<int64_t>(out, at);
    out += std::string_view("PK\x06\x07", 4);
    put<uint32_t>(out, 0);
    put<int64_t>(out, at + size);
    put<uint32_t>(out, 1);
  }
  out += std::string_view("PK\x05\x06", 4);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, 0);
  put<uint16_t>(out, static_cast<uint16_t>(parts));
  put<uint16_t>(out, static_cast<uint16_t>(parts));
  put<uint32_t>(out, static_cast<uint32_t>(size));
  put<uint32_t>(out, low32(at, large));
  put<uint16_t>(out, 0);
  return out;
}

}  // namespace

DeflatedChunk deflate_chunk(std::string_view text) {
  ASSAY_CHECK(text.size() < (size_t{1} << 31));
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  DeflatedChunk chunk;
  chunk.text_size = std::ssize(text);
  chunk.crc = crc_of(text);
  chunk.bytes.resize(deflateBound(&stream, text.size()) +
                     16);  // the bound does not count the mark of a flush
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(chunk.bytes.data());
  stream.avail_out = static_cast<uInt>(chunk.bytes.size());
  const int code = deflate(&stream, Z_SYNC_FLUSH);
  ASSAY_CHECK((code == Z_OK || text.empty()) && stream.avail_in == 0 && stream.avail_out > 0);
  chunk.bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return chunk;
}

bool XlsxPackage::Part::is_large() const { return stored_size >= k32BitLimit || text_size >= k32BitLimit; }

Result<void> XlsxPackage::add(const std::string& name, std::string_view text) {
  ASSAY_TRY_DO(open(name, ""));
  ASSAY_TRY_DO(append(text));
  return close("");
}

Result<void> XlsxPackage::open(const std::string& name, std::string_view start) {
  ASSAY_CHECK(!open_ && start.size() <= 0xFFFF);
  open_ = true;
  start_size_ = start.size();
  const std::string block = stored_block(start);
  Part& part = parts_.emplace_back();
  part.name = name;
  part.offset = file_.size();
  part.stored_size = std::ssize(block);
  return file_.append(local_header(name, 0, 0, 0, false) + block);
}

Result<void> XlsxPackage::append(const DeflatedChunk& chunk) {
  ASSAY_CHECK(open_);
  Part& part = parts_.back();
  part.crc = static_cast<uint32_t>(crc32_combine(part.crc, chunk.crc, chunk.text_size));
  part.text_size += chunk.text_size;
  part.stored_size += std::ssize(chunk.bytes);
  return file_.append(chunk.bytes);
}

Result<void> XlsxPackage::close(std::string_view start) {
  ASSAY_CHECK(open_ && start.size() == start_size_);
  open_ = false;
  Part& part = parts_.back();
  static constexpr std::string_view kLastBlock("\x03\x00",
                                               2);  // an empty block with the mark of the last one
  ASSAY_TRY_DO(file_.append(kLastBlock));
  part.stored_size += std::ssize(kLastBlock);
  part.crc = static_cast<uint32_t>(crc32_combine(crc_of(start), part.crc, part.text_size));
  part.text_size += std::ssize(start);
  const std::string header =
      local_header(part.name, part.crc, part.stored_size, part.text_size, part.is_large());
  return file_.write_at(part.offset, as_bytes(header + stored_block(start)));
}

Result<void> XlsxPackage::end() {
  ASSAY_CHECK(!open_);
  const int64_t at = file_.size();
  std::string directory;
  for (const Part& part : parts_) {
    const bool large = part.is_large() || part.offset >= k32BitLimit;
    directory += std::string_view("PK\x01\x02", 4);
    put<uint16_t>(directory, large ? kVersion64 : kVersionPlain);
    put<uint16_t>(directory, large ? kVersion64 : kVersionPlain);
    put_common(directory, part.crc, part.stored_size, part.text_size, large);
    put<uint16_t>(directory, static_cast<uint16_t>(part.name.size()));
    put<uint16_t>(directory, large ? 28 : 0);
    directory.append(10, '\0');  // comment, disk, attributes
    put<uint32_t>(directory, low32(part.offset, large));
    directory += part.name;
    if (large) {
      put<uint16_t>(directory, kExtra64);
      put<uint16_t>(directory, 24);
      put<int64_t>(directory, part.text_size);
      put<int64_t>(directory, part.stored_size);
      put<int64_t>(directory, part.offset);
    }
  }
  ASSAY_TRY_DO(file_.append(directory));
  ASSAY_TRY_DO(file_.append(end_of_directory(std::ssize(parts_), at, std::ssize(directory))));
  return file_.sync();
}

}  // namespace assay
