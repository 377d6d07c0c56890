#include "assay/golden/numbers.h"

#include "assay/base/checked.h"
#include "assay/support/parallel.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/dtype_simd.h"
#include "assay/tensor/gather.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace assay {
namespace {

constexpr int64_t kBytesOfNumber = sizeof(double);
constexpr int64_t kCostOfChunk = int64_t{1} << 18;  // operations that make up for waking a thread

Result<void> check_memory(const Operand& data, int64_t memory) {
  const int64_t count = data.meta.shape.count();
  const auto bytes = checked_multiply(count, 2 * kBytesOfNumber);  // beside the tensor, what is made of it
  if (bytes && *bytes <= memory) return {};
  return fail(ErrorKind::limit, "a tensor of shape {} needs more than the {} MiB that --memory allows",
              data.meta.shape.text(), memory >> 20);
}

// Both take blocks in the order of the tensor.
template <class Take>
Result<void> for_blocks(const Operand& data, Take take) {
  Scratch scratch;
  const int64_t count = data.meta.shape.count();
  for (int64_t first = 0; first < count; first += kBlockElements) {
    ASSAY_TRY(const Block block, data.block(first, std::min(kBlockElements, count - first), scratch));
    take(first, block);
  }
  return {};
}

template <class T>
void widen_integers(const Block& block, int64_t* to) {
  for (int64_t i = 0; i < block.count; ++i) {
    T value;
    std::memcpy(&value, block.data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    to[i] = static_cast<int64_t>(value);
  }
}

bool is_whole(DType dtype) {
  const DTypeKind kind = info(dtype).kind;
  return kind == DTypeKind::integer || kind == DTypeKind::natural || kind == DTypeKind::truth;
}

template <class T>
OperandPtr in_memory(DType dtype, const Shape& shape, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return dense_in_memory(std::move(bytes), TensorMeta{dtype, shape});
}

class Held final : public Operand {
 public:
  Held(TensorMeta tensor, std::shared_ptr<const std::byte[]> elements)
      : Operand(std::move(tensor)), elements_(std::move(elements)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& /*scratch*/) const override {
    return Block{meta.dtype, elements_.get() + first * size_of(meta.dtype), count};
  }

 private:
  const std::shared_ptr<const std::byte[]> elements_;
};

}  // namespace

std::shared_ptr<std::byte[]> fresh_bytes(int64_t count) {
  constexpr int64_t kLarge = int64_t{4} << 20;
  const auto size = static_cast<size_t>(count);
  if (count < kLarge) return std::make_shared<std::byte[]>(size);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::madvise(memory, size, MADV_HUGEPAGE);  // a page of 4 KiB at a time, the kernel takes longer than we do
  return {static_cast<std::byte*>(memory), [size](std::byte* at) { ::munmap(at, size); }};
}

OperandPtr held(TensorMeta meta, std::shared_ptr<const std::byte[]> elements) {
  return std::make_shared<Held>(std::move(meta), std::move(elements));
}

Result<void> check_inputs(const GoldenCall& call, size_t least, size_t most) {
  if (call.in.size() >= least && call.in.size() <= most) return {};
  return fail(ErrorKind::mismatch, "{} takes {} inputs, the dump has {}", call.type,
              least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most),
              call.in.size());
}

bool has_input(const GoldenCall& call, size_t i) {
  return i < call.in.size() && call.in[i] != nullptr && call.in[i]->meta.shape.count() > 0;
}

Result<Numbers> numbers_of(const Operand& data, int64_t memory) {
  if (is_complex(data.meta.dtype)) return fail(ErrorKind::mismatch, "a complex input is not computed with");
  ASSAY_TRY_DO(check_memory(data, memory));
  Numbers numbers{data.meta.shape, {}};
  numbers.values.resize(static_cast<size_t>(data.meta.shape.count()));
  ASSAY_TRY_DO(for_blocks(data, [&](int64_t first, const Block& block) {
    to_f64(block.dtype, block.data, block.count, numbers.values.data() + first);
  }));
  return numbers;
}

Result<Numbers> numbers_of(const GoldenCall& call, size_t i) {
  if (i >= call.in.size() || call.in[i] == nullptr)
    return fail(ErrorKind::mismatch, "{} has no input {}", call.type, i);
  return numbers_of(*call.in[i], call.memory);
}

Result<Integers> integers_of(const GoldenCall& call, size_t i) {
  if (i >= call.in.size() || call.in[i] == nullptr)
    return fail(ErrorKind::mismatch, "{} has no input {}", call.type, i);
  const Operand& data = *call.in[i];
  if (!is_whole(data.meta.dtype))
    return fail(ErrorKind::mismatch, "input {} of {} is {} where whole numbers are wanted", i, call.type,
                name(data.meta.dtype));
  ASSAY_TRY_DO(check_memory(data, call.memory));
  Integers out{data.meta.shape, std::vector<int64_t>(static_cast<size_t>(data.meta.shape.count()))};
  ASSAY_TRY_DO(for_blocks(data, [&](int64_t first, const Block& block) {
    int64_t* const to = out.values.data() + first;
    if (block.dtype == DType::i64 || block.dtype == DType::u64) {
      widen_integers<int64_t>(block, to);
      return;
    }
    std::vector<double> wide(static_cast<size_t>(block.count));
    to_f64(block.dtype, block.data, block.count, wide.data());
    std::ranges::transform(wide, to, [](double value) { return static_cast<int64_t>(value); });
  }));
  return out;
}

Expected expected(DType dtype, Numbers value, std::vector<float> allowed) {
  Expected out;
  out.dtype = dtype;
  if (!allowed.empty()) out.allowed = in_memory(DType::f32, value.shape, allowed);
  out.value = in_memory(DType::f64, value.shape, value.values);
  return out;
}

Expected expected(DType dtype, const Integers& value) {
  if (dtype == DType::i64) return exactly(in_memory(DType::i64, value.shape, value.values));
  std::vector<double> wide(value.values.begin(), value.values.end());
  std::vector<std::byte> bytes(wide.size() * static_cast<size_t>(size_of(dtype)));
  from_f64(dtype, wide.data(), value.count(), bytes.data());
  return exactly(dense_in_memory(std::move(bytes), TensorMeta{dtype, value.shape}));
}

Expected exactly(OperandPtr value) {
  Expected out;
  out.dtype = value->meta.dtype;
  out.value = std::move(value);
  return out;
}

Result<size_t> dimension(const Shape& shape, int64_t number, std::string_view param) {
  const int64_t rank = std::ssize(shape.dims);
  if (number < -rank || number >= rank)
    return fail(ErrorKind::mismatch, "{} {} is no dimension of shape {}", param, number, shape.text());
  return static_cast<size_t>(number < 0 ? number + rank : number);
}

Result<int64_t> count_of(const Shape& shape) {
  const auto count = checked_product(shape.dims);
  if (!count || !checked_multiply(*count, kBytesOfNumber))
    return fail(ErrorKind::mismatch, "no tensor has the shape {}", shape.text());
  return *count;
}

Result<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  Shape out;
  const size_t rank = std::max(a.dims.size(), b.dims.size());
  out.dims.resize(rank);
  const auto extent = [rank](const Shape& shape, size_t i) {
    const size_t missing = rank - shape.dims.size();
    return i < missing ? 1 : shape.dims[i - missing];
  };
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = extent(a, i), y = extent(b, i);
    if (x != y && x != 1 && y != 1)
      return fail(ErrorKind::mismatch, "shapes {} and {} do not fit", a.text(), b.text());
    out.dims[i] = x == 1 ? y : x;
  }
  ASSAY_TRY_DO(count_of(out));
  return out;
}

Result<Numbers> broadcast(const Numbers& numbers, const Shape& shape) {
  if (numbers.shape == shape) return numbers;
  ASSAY_TRY(const Shape common, broadcast_shape(numbers.shape, shape));
  if (common != shape)
    return fail(ErrorKind::mismatch, "shape {} does not fit into {}", numbers.shape.text(), shape.text());
  ASSAY_TRY(const int64_t count, count_of(shape));
  Numbers out{shape, std::vector<double>(static_cast<size_t>(count))};
  const size_t rank = shape.dims.size(), missing = rank - numbers.shape.dims.size();
  std::vector<int64_t> strides(rank, 0);
  int64_t stride = 1;
  for (size_t i = rank; i-- > missing;) {
    const int64_t extent = numbers.shape.dims[i - missing];
    strides[i] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  std::vector<int64_t> at(rank, 0);
  int64_t from = 0;
  for (int64_t i = 0; i < count; ++i) {
    out.values[static_cast<size_t>(i)] = numbers.values[static_cast<size_t>(from)];
    for (size_t d = rank; d-- > 0;) {
      from += strides[d];
      if (++at[d] < shape.dims[d]) break;
      from -= strides[d] * shape.dims[d];
      at[d] = 0;
    }
  }
  return out;
}

double unit_roundoff(DType dtype) {
  if (!is_real(dtype)) return 0;
  return std::ldexp(1.0, -info(dtype).mantissa_bits - 1);
}

double unit_of_arithmetic(DType dtype) {
  return unit_roundoff(dtype == DType::f64 ? DType::f64 : DType::f32);
}

void round_to(DType dtype, std::span<double> values) {
  if (dtype == DType::f16) return round_f16(values.data(), std::ssize(values));
  if (dtype == DType::bf16) return round_bf16(values.data(), std::ssize(values));
  constexpr size_t kAtOnce = 4096;
  std::byte bytes[kAtOnce * sizeof(double)];
  for (size_t first = 0; first < values.size(); first += kAtOnce) {
    const std::span<double> some = values.subspan(first, std::min(kAtOnce, values.size() - first));
    from_f64(dtype, some.data(), std::ssize(some), bytes);
    to_f64(dtype, bytes, std::ssize(some), some.data());
  }
}

double rounded_to(DType dtype, double value) {
  round_to(dtype, {&value, 1});
  return value;
}

double round_half_even(double value) {
  const double down = std::floor(value), rest = value - down;
  if (rest < 0.5) return down;
  if (rest > 0.5) return down + 1;
  return std::fmod(down, 2) == 0 ? down : down + 1;
}

void in_parallel(int64_t count, int64_t cost, const std::function<void(int64_t, int64_t)>& work) {
  const int64_t chunk = std::max<int64_t>(1, kCostOfChunk / std::max<int64_t>(1, cost));
  const auto one = [&](size_t i) {
    const int64_t first = static_cast<int64_t>(i) * chunk;
    work(first, std::min(count, first + chunk));
  };
  if (count > chunk)
    parallel_for(static_cast<size_t>((count - 1) / chunk + 1), one, WhileWaiting::stands);
  else if (count > 0)
    one(0);
}

}  // namespace assay
