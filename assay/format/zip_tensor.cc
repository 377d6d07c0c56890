#include "assay/format/zip_tensor.h"

#include "assay/base/cancel.h"
#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/tensor/dense.h"

#include <algorithm>

namespace assay {
namespace {

constexpr int kMostPasses = 4;

// How one reader goes through a deflated entry.
struct EntryReader final : ReaderState {
  std::unique_ptr<InflateStream> stream;              // while it goes forwards
  int passes = 0;                                     // over the whole tensor: a few of them are no disorder
  std::optional<InflatedEntry::Reader> in_any_order;  // from its first step back on
};

class Inflated final : public Operand {
 public:
  Inflated(std::shared_ptr<InflatedEntry> entry, int64_t offset, TensorMeta m, ReadOrder order)
      : Operand(std::move(m)), entry_(std::move(entry)), offset_(offset), order_(order) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    const int64_t bytes = count * size_of(meta.dtype);
    std::byte* const to = scratch.buffer(bytes);
    ASSAY_TRY_DO(read(first, count, std::span(to, static_cast<size_t>(bytes)), scratch));
    return Block{meta.dtype, to, count};
  }

  Result<void> read(int64_t first, int64_t /*count*/, std::span<std::byte> out,
                    Scratch& scratch) const override {
    const int64_t begin = offset_ + first * size_of(meta.dtype);
    if (!scratch.state) scratch.state = std::make_unique<EntryReader>();
    auto& reader = static_cast<EntryReader&>(*scratch.state);
    const bool goes_back = reader.stream != nullptr && reader.stream->position() > begin;
    const bool starts_over = goes_back && first == 0 && reader.passes < kMostPasses;
    if (!reader.in_any_order &&
        (order_ == ReadOrder::any || entry_->has_several_tensors() || (goes_back && !starts_over))) {
      reader.stream.reset();
      reader.in_any_order.emplace(*entry_);
    }
    if (reader.in_any_order) return reader.in_any_order->read(begin, out);
    if (reader.stream == nullptr || reader.stream->broken() || starts_over) {
      reader.stream = entry_->stream();
      ++reader.passes;
    }
    ASSAY_TRY_DO(reader.stream->skip(begin - reader.stream->position()));
    return reader.stream->read(out);
  }

  void will_need(int64_t /*first*/, int64_t /*count*/) const override {
    const ZipEntry& entry = entry_->entry();
    entry_->file().will_need(entry.data_offset, std::min(entry.compressed_size, int64_t{1} << 22));
  }

 private:
  const std::shared_ptr<InflatedEntry> entry_;
  const int64_t offset_;
  const ReadOrder order_;
};

}  // namespace

ZipSource::ZipSource(std::shared_ptr<const File> file, const ZipEntry& entry, const FormatOptions& options)
    : file_(std::move(file)),
      entry_(entry),
      inflated_(
          entry.method == ZipMethod::stored
              ? nullptr
              : std::make_shared<InflatedEntry>(
                    file_, entry, options.inflated ? options.inflated : std::make_shared<InflatedRoom>())) {}

Result<OperandPtr> ZipSource::dense(int64_t offset, TensorMeta meta, ReadOrder order) {
  if (entry_.trouble) return tl::unexpected<Error>(*entry_.trouble);
  const auto count = checked_product(meta.shape.dims);
  const auto bytes = count ? checked_multiply(*count, size_of(meta.dtype)) : std::nullopt;
  if (!bytes || offset < 0 || offset > entry_.size || *bytes > entry_.size - offset)
    return fail(ErrorKind::bad_format, "{}: entry \"{}\" holds {} bytes, too few for {}{} from byte {}",
                file_->name(), printable(entry_.name), entry_.size, name(meta.dtype), meta.shape.text(),
                offset);
  if (inflated_ == nullptr) return dense_in_file(file_, entry_.data_offset + offset, std::move(meta));
  inflated_->add_tensor(offset + *bytes);
  return std::make_shared<Inflated>(inflated_, offset, std::move(meta), order);
}

Result<ReadBytes> reader_of(const std::shared_ptr<const File>& file, const ZipEntry& entry) {
  if (entry.trouble) return tl::unexpected<Error>(*entry.trouble);
  if (entry.method == ZipMethod::stored)
    return [file, start = entry.data_offset](int64_t offset, std::span<std::byte> out) {
      return file->read(start + offset, out);
    };
  const auto kept = std::make_shared<const ZipEntry>(entry);
  return [file, kept, stream = std::shared_ptr<InflateStream>()](int64_t offset,
                                                                 std::span<std::byte> out) mutable {
    if (stream == nullptr || stream->position() > offset)
      stream = std::make_shared<InflateStream>(*file, *kept);
    auto skipped = stream->skip(offset - stream->position());
    return skipped ? stream->read(out) : skipped;
  };
}

Result<std::vector<std::byte>> read_entry(const std::shared_ptr<const File>& file, const ZipEntry& entry,
                                          int64_t limit) {
  if (entry.size > limit)
    return fail(ErrorKind::limit,
                "{}: entry \"{}\" takes {} bytes, more than the limit of {}; raise --memory", file->name(),
                printable(entry.name), entry.size, limit);
  ASSAY_TRY(const ReadBytes read, reader_of(file, entry));
  std::vector<std::byte> bytes(static_cast<size_t>(entry.size));
  ASSAY_TRY_DO(read(0, bytes));
  return bytes;
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
