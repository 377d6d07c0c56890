#include "assay/tensor/dense.h"

#include "assay/base/mapping.h"
#include "assay/tensor/in_memory.h"

#include <algorithm>

namespace assay {
namespace {

// A mapping pays for itself from about this size on.
constexpr int64_t kWorthMapping = int64_t{4} << 20;

struct WindowState final : ReaderState {
  explicit WindowState(std::shared_ptr<const File> file) : window(std::move(file)) {}
  MappedWindow window;
};

class DenseInFile final : public Operand {
 public:
  DenseInFile(std::shared_ptr<const File> file, int64_t offset, TensorMeta m)
      : Operand(std::move(m)), file_(std::move(file)), offset_(offset), size_(size_of(meta.dtype)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    if (scratch.may_map && meta.byte_size() >= kWorthMapping) {
      if (!scratch.state) scratch.state = std::make_unique<WindowState>(file_);
      auto& window = static_cast<WindowState&>(*scratch.state).window;
      if (const auto bytes = window.view(offset_ + first * size_, count * size_))
        return Block{meta.dtype, bytes->data(), count};
    }
    std::byte* const buffer = scratch.buffer(count * size_);
    ASSAY_TRY_DO(file_->read(offset_ + first * size_, {buffer, static_cast<size_t>(count * size_)}));
    return Block{meta.dtype, buffer, count};
  }

  Result<void> read(int64_t first, int64_t, std::span<std::byte> out, Scratch&) const override {
    return file_->read(offset_ + first * size_, out);
  }

  void will_need(int64_t first, int64_t count) const override {
    file_->will_need(offset_ + first * size_, count * size_);
  }

  std::optional<FilePlace> place() const override { return FilePlace{file_->path(), offset_}; }

 private:
  const std::shared_ptr<const File> file_;
  const int64_t offset_;
  const int64_t size_;
};

class DenseInMemory final : public Operand {
 public:
  DenseInMemory(std::vector<std::byte> bytes, TensorMeta m)
      : Operand(std::move(m)), bytes_(std::move(bytes)) {
    ASSAY_CHECK(std::ssize(bytes_) >= meta.byte_size());
  }

  Result<Block> block(int64_t first, int64_t count, Scratch&) const override {
    return Block{meta.dtype, bytes_.data() + first * size_of(meta.dtype), count};
  }

  const std::byte* data() const { return bytes_.data(); }

 private:
  const std::vector<std::byte> bytes_;
};

class DenseInBorrowedMemory final : public Operand {
 public:
  DenseInBorrowedMemory(Bytes bytes, TensorMeta m) : Operand(std::move(m)), bytes_(bytes) {
    ASSAY_CHECK(std::ssize(bytes_) >= meta.byte_size());
  }

  Result<Block> block(int64_t first, int64_t count, Scratch&) const override {
    return Block{meta.dtype, bytes_.data() + first * size_of(meta.dtype), count};
  }

  const std::byte* data() const { return bytes_.data(); }

 private:
  const Bytes bytes_;
};

class PackedInFile final : public Operand {
 public:
  PackedInFile(std::shared_ptr<const File> file, int64_t offset, TensorMeta m)
      : Operand(std::move(m)), file_(std::move(file)), offset_(offset) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    const int64_t skip = first % kPackedGroup;
    std::byte* const unpacked = scratch.buffer(skip + count);
    ASSAY_TRY_DO(load(first - skip, skip + count, unpacked, scratch));
    return Block{meta.dtype, unpacked + skip, count};
  }

  void will_need(int64_t first, int64_t count) const override {
    const int64_t start = first - first % kPackedGroup;
    file_->will_need(offset_ + packed_size(meta.dtype, start),
                     packed_size(meta.dtype, first + count - start));
  }

 private:
  // `first` is a multiple of kPackedGroup.
  Result<void> load(int64_t first, int64_t count, std::byte* to, Scratch& scratch) const {
    const int64_t size = packed_size(meta.dtype, count);
    std::byte* const packed = scratch.below().buffer(size);
    ASSAY_TRY_DO(file_->read(offset_ + packed_size(meta.dtype, first), {packed, static_cast<size_t>(size)}));
    unpack(meta.dtype, packed, count, to);
    return {};
  }

  const std::shared_ptr<const File> file_;
  const int64_t offset_;
};

template <class T, T (*Swap)(T)>
void swap_all(std::byte* bytes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    value = Swap(value);
    std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
  }
}

uint16_t swap16(uint16_t value) { return __builtin_bswap16(value); }
uint32_t swap32(uint32_t value) { return __builtin_bswap32(value); }
uint64_t swap64(uint64_t value) { return __builtin_bswap64(value); }

class ByteSwapped final : public Operand {
 public:
  explicit ByteSwapped(OperandPtr source) : Operand(source->meta), source_(std::move(source)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    const int64_t size = count * size_of(meta.dtype);
    std::byte* const buffer = scratch.buffer(size);
    ASSAY_TRY_DO(read(first, count, {buffer, static_cast<size_t>(size)}, scratch));
    return Block{meta.dtype, buffer, count};
  }

  Result<void> read(int64_t first, int64_t count, std::span<std::byte> out, Scratch& scratch) const override {
    ASSAY_TRY_DO(source_->read(first, count, out, scratch.below()));
    const int64_t parts = count * components(meta.dtype);
    switch (size_of(component(meta.dtype))) {
      case 2:
        swap_all<uint16_t, swap16>(out.data(), parts);
        break;
      case 4:
        swap_all<uint32_t, swap32>(out.data(), parts);
        break;
      case 8:
        swap_all<uint64_t, swap64>(out.data(), parts);
        break;
      default:
        break;
    }
    return {};
  }

  void will_need(int64_t first, int64_t count) const override { source_->will_need(first, count); }

 private:
  const OperandPtr source_;
};

}  // namespace

OperandPtr dense_in_file(std::shared_ptr<const File> file, int64_t offset, TensorMeta meta) {
  return std::make_shared<DenseInFile>(std::move(file), offset, std::move(meta));
}

OperandPtr dense_in_memory(std::vector<std::byte> bytes, TensorMeta meta) {
  return std::make_shared<DenseInMemory>(std::move(bytes), std::move(meta));
}

OperandPtr dense_in_borrowed_memory(Bytes bytes, TensorMeta meta) {
  return std::make_shared<DenseInBorrowedMemory>(bytes, std::move(meta));
}

const std::byte* in_memory(const Operand& operand) {
  if (const auto* const own = dynamic_cast<const DenseInMemory*>(&operand)) return own->data();
  if (const auto* const borrowed = dynamic_cast<const DenseInBorrowedMemory*>(&operand))
    return borrowed->data();
  return nullptr;
}

OperandPtr packed_in_file(std::shared_ptr<const File> file, int64_t offset, TensorMeta meta) {
  if (info(meta.dtype).storage_bits >= 8) return dense_in_file(std::move(file), offset, std::move(meta));
  return std::make_shared<PackedInFile>(std::move(file), offset, std::move(meta));
}

OperandPtr byte_swapped(OperandPtr source) {
  if (size_of(component(source->meta.dtype)) == 1) return source;
  return std::make_shared<ByteSwapped>(std::move(source));
}

}  // namespace assay
