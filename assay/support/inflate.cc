#include "assay/support/inflate.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"

#include <zlib.h>

#include <algorithm>
#include <new>

namespace assay {
namespace {

constexpr int64_t kChunk = int64_t{1} << 16;     // compressed bytes read, or inflated bytes skipped, at once
constexpr size_t kMostAtOnce = size_t{1} << 30;  // zlib counts in 32 bits

}  // namespace

struct InflateStream::State {
  z_stream zlib{};
  ~State() { inflateEnd(&zlib); }
};

InflateStream::InflateStream(const File& file, const ZipEntry& entry, std::atomic<int64_t>* inflated)
    : file_(file),
      entry_(entry),
      inflated_(inflated),
      state_(std::make_unique<State>()),
      input_(static_cast<size_t>(kChunk)),
      crc_(static_cast<uint32_t>(crc32(0, nullptr, 0))) {
  // Raw deflate, without the zlib header. Fails only for want of memory.
  if (inflateInit2(&state_->zlib, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

InflateStream::~InflateStream() = default;

Result<void> InflateStream::skip(int64_t count) {
  if (count > 0) skipped_.resize(static_cast<size_t>(kChunk));
  while (count > 0) {
    ASSAY_TRY_DO(check_cancelled());
    const int64_t part = std::min(count, kChunk);
    ASSAY_TRY_DO(read(std::span(skipped_).first(static_cast<size_t>(part))));
    count -= part;
  }
  return {};
}

Result<void> InflateStream::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const size_t part = std::min(out.size(), kMostAtOnce);
    auto done = inflate_into(out.first(part));
    broken_ = !done;
    if (!done) return done;
    out = out.subspan(part);
  }
  return {};
}

Result<void> InflateStream::inflate_into(std::span<std::byte> out) {
  z_stream& zlib = state_->zlib;
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  while (zlib.avail_out > 0) {
    if (ended_)
      return fail(ErrorKind::bad_format, "{} inflates to {} bytes instead of {}", text(),
                  position_ + std::ssize(out) - zlib.avail_out, entry_.size);
    ASSAY_TRY_DO(step());
  }
  crc_ = static_cast<uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(out.data()), out.size()));
  position_ += std::ssize(out);
  if (inflated_ != nullptr) inflated_->fetch_add(std::ssize(out), std::memory_order_relaxed);
  return position_ == entry_.size ? check_end() : Result<void>{};
}

Result<void> InflateStream::step() {
  z_stream& zlib = state_->zlib;
  if (zlib.avail_in == 0 && taken_ < entry_.compressed_size) {
    const int64_t part = std::min(kChunk, entry_.compressed_size - taken_);
    ASSAY_TRY_DO(file_.read(entry_.data_offset + taken_, std::span(input_).first(static_cast<size_t>(part))));
    taken_ += part;
    zlib.next_in = reinterpret_cast<Bytef*>(input_.data());
    zlib.avail_in = static_cast<uInt>(part);
  }
  const int outcome = inflate(&zlib, Z_NO_FLUSH);
  ended_ = outcome == Z_STREAM_END;
  if (outcome == Z_MEM_ERROR) throw std::bad_alloc();
  if (outcome == Z_BUF_ERROR && zlib.avail_in == 0)
    return fail(ErrorKind::bad_format, "{} ends in the middle of its deflate stream", text());
  if (outcome != Z_OK && !ended_)
    return fail(ErrorKind::bad_format, "{} has a broken deflate stream: {}", text(),
                zlib.msg != nullptr ? zlib.msg : "bad data");
  return {};
}

// The stream must end exactly here: what came out is then whole, and the CRC-32 covers it.
Result<void> InflateStream::check_end() {
  z_stream& zlib = state_->zlib;
  std::byte beyond[1];
  zlib.next_out = reinterpret_cast<Bytef*>(beyond);
  zlib.avail_out = 1;
  while (!ended_ && zlib.avail_out > 0) ASSAY_TRY_DO(step());
  if (zlib.avail_out == 0)
    return fail(ErrorKind::bad_format, "{} inflates to more than the {} bytes it claims", text(),
                entry_.size);
  if (const int64_t rest = entry_.compressed_size - taken_ + zlib.avail_in; rest > 0)
    return fail(ErrorKind::bad_format, "{} has {} bytes behind the end of its deflate stream", text(), rest);
  if (crc_ != entry_.crc)
    return fail(ErrorKind::bad_format, "{} has CRC-32 {:08x}, but the directory says {:08x}", text(), crc_,
                entry_.crc);
  return {};
}

std::string InflateStream::text() const {
  return fmt::format("{}: entry \"{}\"", file_.name(), printable(entry_.name));
}

}  // namespace assay
