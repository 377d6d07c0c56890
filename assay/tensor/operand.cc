#include "assay/tensor/operand.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace assay {

int64_t Shape::count() const {
  int64_t product = 1;
  for (const int64_t d : dims) product *= d;
  return product;
}

std::string Shape::text() const { return fmt::format("[{}]", fmt::join(dims, ", ")); }

bool same_but_for_ones(const Shape& a, const Shape& b) {
  const auto squeezed = [](const Shape& shape) {
    std::vector<int64_t> dims;
    std::copy_if(shape.dims.begin(), shape.dims.end(), std::back_inserter(dims),
                 [](int64_t d) { return d != 1; });
    return dims;
  };
  return squeezed(a) == squeezed(b);
}

std::string coordinates(const Shape& shape, int64_t index) {
  std::vector<int64_t> at(shape.dims.size());
  for (size_t i = at.size(); i-- > 0;) {
    at[i] = index % shape.dims[i];
    index /= shape.dims[i];
  }
  return Shape{at}.text();
}

void Scratch::Free::operator()(std::byte* memory) const { std::free(memory); }

std::byte* Scratch::buffer(int64_t bytes) {
  if (bytes > capacity_ || !memory_) {
    const size_t rounded = (static_cast<size_t>(std::max<int64_t>(bytes, 1)) + 4095) / 4096 * 4096;
    memory_.reset();
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, rounded)));
    if (!memory_) throw std::bad_alloc();
    capacity_ = static_cast<int64_t>(rounded);
  }
  return memory_.get();
}

Scratch& Scratch::below(size_t i) {
  while (below_.size() <= i) below_.emplace_back();
  below_[i].may_map = may_map;
  return below_[i];
}

void Scratch::forget() {
  state.reset();
  for (Scratch& scratch : below_) scratch.forget();
}

Result<void> Operand::read(int64_t first, int64_t count, std::span<std::byte> out, Scratch& scratch) const {
  const int64_t size = size_of(meta.dtype);
  for (int64_t done = 0; done < count;) {
    const int64_t part = std::min(count - done, kBlockElements);
    ASSAY_TRY(const Block piece, block(first + done, part, scratch));
    std::copy(piece.bytes().begin(), piece.bytes().end(), out.begin() + done * size);
    done += part;
  }
  return {};
}

Result<std::vector<std::byte>> read_whole(const Operand& operand, int64_t limit) {
  if (operand.meta.byte_size() > limit)
    return fail(ErrorKind::limit,
                "a tensor of {} bytes does not fit the memory limit of {} bytes; raise --memory",
                operand.meta.byte_size(), limit);
  std::vector<std::byte> bytes(static_cast<size_t>(operand.meta.byte_size()));
  Scratch scratch;
  ASSAY_TRY_DO(operand.read(0, operand.meta.shape.count(), bytes, scratch));
  return bytes;
}

}  // namespace assay
