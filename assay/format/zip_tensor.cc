#include "assay/format/zip_tensor.h"

#include "assay/base/cancel.h"
#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/tensor/dense.h"

#include <zlib.h>

#include <algorithm>

namespace assay {
namespace {

constexpr int64_t kChunk = int64_t{1} << 16;  // compressed bytes read, or inflated bytes skipped, at once

// One reader's place in a deflated entry.
class InflateStream final : public ReaderState {
 public:
  InflateStream(const File& file, const ZipEntry& entry) : file_(file), entry_(entry), input_(kChunk) {
    // Raw deflate, without the zlib header. Fails only for want of memory.
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~InflateStream() override { inflateEnd(&stream_); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

  int64_t position() const { return position_; }
  bool broken() const { return broken_; }

  Result<void> skip(int64_t count) {
    if (count > 0) skipped_.resize(kChunk);
    while (count > 0) {
      ASSAY_TRY_DO(check_cancelled());
      const int64_t part = std::min(count, kChunk);
      ASSAY_TRY_DO(read(std::span(skipped_).first(static_cast<size_t>(part))));
      count -= part;
    }
    return {};
  }

  Result<void> read(std::span<std::byte> out) {
    auto done = inflate_into(out);
    broken_ = !done;
    return done;
  }

 private:
  Result<void> inflate_into(std::span<std::byte> out) {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out > 0) {
      if (ended_)
        return fail(ErrorKind::bad_format, "{} inflates to {} bytes instead of {}", text(), total(out),
                    entry_.size);
      ASSAY_TRY_DO(step());
    }
    crc_ = static_cast<uint32_t>(crc32_z(crc_, reinterpret_cast<const Bytef*>(out.data()), out.size()));
    position_ += std::ssize(out);
    return position_ == entry_.size ? check_end() : Result<void>{};
  }

  Result<void> step() {
    if (stream_.avail_in == 0 && taken_ < entry_.compressed_size) {
      const int64_t part = std::min(kChunk, entry_.compressed_size - taken_);
      ASSAY_TRY_DO(
          file_.read(entry_.data_offset + taken_, std::span(input_).first(static_cast<size_t>(part))));
      taken_ += part;
      stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
      stream_.avail_in = static_cast<uInt>(part);
    }
    const int outcome = inflate(&stream_, Z_NO_FLUSH);
    ended_ = outcome == Z_STREAM_END;
    if (outcome == Z_MEM_ERROR) throw std::bad_alloc();
    if (outcome == Z_BUF_ERROR && stream_.avail_in == 0)
      return fail(ErrorKind::bad_format, "{} ends in the middle of its deflate stream", text());
    if (outcome != Z_OK && !ended_)
      return fail(ErrorKind::bad_format, "{} has a broken deflate stream: {}", text(),
                  stream_.msg != nullptr ? stream_.msg : "bad data");
    return {};
  }

  // The stream must end exactly here: what came out is then whole, and the CRC-32 covers it.
  Result<void> check_end() {
    std::byte beyond[1];
    stream_.next_out = reinterpret_cast<Bytef*>(beyond);
    stream_.avail_out = 1;
    while (!ended_ && stream_.avail_out > 0) ASSAY_TRY_DO(step());
    if (stream_.avail_out == 0)
      return fail(ErrorKind::bad_format, "{} inflates to more than the {} bytes it claims", text(),
                  entry_.size);
    if (crc_ != entry_.crc)
      return fail(ErrorKind::bad_format, "{} has CRC-32 {:08x}, but the directory says {:08x}", text(), crc_,
                  entry_.crc);
    return {};
  }

  std::string text() const { return fmt::format("{}: entry \"{}\"", file_.name(), printable(entry_.name)); }
  int64_t total(std::span<std::byte> out) const { return position_ + std::ssize(out) - stream_.avail_out; }

  const File& file_;
  const ZipEntry& entry_;
  z_stream stream_{};
  std::vector<std::byte> input_, skipped_;
  int64_t taken_ = 0;     // compressed bytes read from the file
  int64_t position_ = 0;  // inflated bytes handed out
  uint32_t crc_ = static_cast<uint32_t>(crc32(0, nullptr, 0));
  bool ended_ = false, broken_ = false;
};

class Inflated final : public Operand {
 public:
  Inflated(std::shared_ptr<const File> file, ZipEntry entry, int64_t offset, TensorMeta m)
      : Operand(std::move(m)), file_(std::move(file)), entry_(std::move(entry)), offset_(offset) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    const int64_t bytes = count * size_of(meta.dtype);
    std::byte* const to = scratch.buffer(bytes);
    ASSAY_TRY_DO(read(first, count, std::span(to, static_cast<size_t>(bytes)), scratch));
    return Block{meta.dtype, to, count};
  }

  Result<void> read(int64_t first, int64_t /*count*/, std::span<std::byte> out,
                    Scratch& scratch) const override {
    const int64_t begin = offset_ + first * size_of(meta.dtype);
    auto* stream = static_cast<InflateStream*>(scratch.state.get());
    if (stream == nullptr || stream->position() > begin || stream->broken()) {
      auto fresh = std::make_unique<InflateStream>(*file_, entry_);
      stream = fresh.get();
      scratch.state = std::move(fresh);
    }
    ASSAY_TRY_DO(stream->skip(begin - stream->position()));
    while (!out.empty()) {  // zlib counts in 32 bits
      const size_t part = std::min(out.size(), size_t{1} << 30);
      ASSAY_TRY_DO(stream->read(out.first(part)));
      out = out.subspan(part);
    }
    return {};
  }

  void will_need(int64_t /*first*/, int64_t /*count*/) const override {
    file_->will_need(entry_.data_offset, std::min(entry_.compressed_size, int64_t{1} << 22));
  }

 private:
  const std::shared_ptr<const File> file_;
  const ZipEntry entry_;
  const int64_t offset_;
};

}  // namespace

Result<OperandPtr> dense_in_zip(const std::shared_ptr<const File>& file, const ZipEntry& entry,
                                int64_t offset, TensorMeta meta) {
  if (entry.trouble) return tl::unexpected<Error>(*entry.trouble);
  const auto count = checked_product(meta.shape.dims);
  const auto bytes = count ? checked_multiply(*count, size_of(meta.dtype)) : std::nullopt;
  if (!bytes || offset < 0 || offset > entry.size || *bytes > entry.size - offset)
    return fail(ErrorKind::bad_format, "{}: entry \"{}\" holds {} bytes, too few for {}{} from byte {}",
                file->name(), printable(entry.name), entry.size, name(meta.dtype), meta.shape.text(), offset);
  if (entry.method == ZipMethod::stored)
    return dense_in_file(file, entry.data_offset + offset, std::move(meta));
  return std::make_shared<Inflated>(file, entry, offset, std::move(meta));
}

Result<std::vector<std::byte>> read_entry(const std::shared_ptr<const File>& file, const ZipEntry& entry,
                                          int64_t limit) {
  if (entry.size > limit)
    return fail(ErrorKind::limit,
                "{}: entry \"{}\" takes {} bytes, more than the limit of {}; raise --memory", file->name(),
                printable(entry.name), entry.size, limit);
  ASSAY_TRY(const OperandPtr bytes, dense_in_zip(file, entry, 0, {DType::u8, Shape{{entry.size}}}));
  return read_whole(*bytes, limit);
}

Result<void> append_elements(ZipWriter& out, const Operand& operand) {
  Scratch scratch;
  const int64_t count = operand.meta.shape.count();
  for (int64_t first = 0; first < count; first += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY(const Block block, operand.block(first, std::min(kBlockElements, count - first), scratch));
    ASSAY_TRY_DO(out.append(block.bytes()));
  }
  return {};
}

std::string_view first_entry_name(Bytes head) {
  constexpr size_t kLocalSize = 30;
  if (head.size() < kLocalSize || !as_text(head).starts_with("PK\3\4")) return {};
  const size_t length = load_le<uint16_t>(head.subspan(26));
  if (kLocalSize + length > head.size()) return {};
  return as_text(head.subspan(kLocalSize, length));
}

}  // namespace assay
