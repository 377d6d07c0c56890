// A tensor read block by block, however it lies: in a file, transposed, packed, joined from shards.
#pragma once

#include "assay/base/result.h"
#include "assay/tensor/dtype.h"

#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay {

struct Shape {
  std::vector<int64_t> dims;

  int64_t count()
      const;  // 1 for a scalar, 0 if any dimension is 0. Precondition: the product fits (formats check it).
  std::string text() const;  // "[2, 3]"
  friend bool operator==(const Shape&, const Shape&) = default;
};

// The two shapes without their dimensions of size 1 are equal.
bool same_but_for_ones(const Shape& a, const Shape& b);

// Coordinates of the element at `index` in row-major order: "[1, 2]".
std::string coordinates(const Shape& shape, int64_t index);

struct TensorMeta {
  DType dtype = DType::f32;
  Shape shape;
  int64_t byte_size() const { return shape.count() * size_of(dtype); }
  friend bool operator==(const TensorMeta&, const TensorMeta&) = default;
};

// A run of elements in row-major order, little-endian, unpacked. Does not own.
struct Block {
  DType dtype = DType::f32;
  const std::byte* data = nullptr;
  int64_t count = 0;
  Bytes bytes() const { return {data, static_cast<size_t>(count * size_of(dtype))}; }
};

// What an operand remembers for one reader between two calls (a stream, a band of rows). Thrown away by
// Scratch::forget().
struct ReaderState {
  virtual ~ReaderState() = default;
};

// The memory of one reader of one operand. A thread has its own; the buffers are reused from tensor to
// tensor.
class Scratch {
 public:
  // At least `bytes` bytes, 64-byte aligned, contents undefined. Valid until the next call on this scratch.
  std::byte* buffer(int64_t bytes);
  // The scratch of the i-th operand underneath this one.
  Scratch& below(size_t i = 0);
  // The state kept by an operand; null before the first call.
  std::unique_ptr<ReaderState> state;
  // Call before this scratch serves another operand. Buffers stay.
  void forget();
  // True: files may be mapped instead of read; holds for everything below too. Only for a reader that checks
  // for lost pages afterwards (see base/mapping.h): to all others a file that shrinks would look as if it
  // held zeros.
  bool may_map = false;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  int64_t capacity_ = 0;
  std::deque<Scratch> below_;
};

// Readers ask for blocks of at most this many elements, and mostly in rising order.
inline constexpr int64_t kBlockElements = int64_t{1} << 16;
// A reader that works on a part of a large tensor takes runs of this many elements, starting at a multiple of
// it: an operand that must gather may prepare one such band at a time.
inline constexpr int64_t kBandElements = int64_t{1} << 22;

// Where the elements of a tensor lie in a file as they are: row-major, little-endian, one after another.
struct FilePlace {
  std::filesystem::path file;
  int64_t offset = 0;
};

class Operand {
 public:
  explicit Operand(TensorMeta m) : meta(std::move(m)) {}
  virtual ~Operand() = default;
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  // Elements [first, first + count) of the row-major order. The view lives until the next call with the same
  // scratch. Precondition: 0 <= first, first + count <= meta.shape.count().
  virtual Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const = 0;
  // The same, into memory of the caller's (out.size() == count * size_of(dtype)).
  virtual Result<void> read(int64_t first, int64_t count, std::span<std::byte> out, Scratch& scratch) const;
  // These bytes of a file are wanted soon; advice only.
  virtual void will_need(int64_t /*first*/, int64_t /*count*/) const {}

  virtual std::optional<FilePlace> place() const { return std::nullopt; }

  const TensorMeta meta;
};
using OperandPtr = std::shared_ptr<const Operand>;

// The bytes of a whole tensor in memory. Fails for more than `limit` bytes.
Result<std::vector<std::byte>> read_whole(const Operand& operand, int64_t limit);

}  // namespace assay
