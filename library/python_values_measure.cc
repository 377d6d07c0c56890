#include "library/python_values_parts.h"

#include "capture/statistics.h"
#include "library/given_tensor.h"

#include <algorithm>
#include <cstring>

namespace assay::library {

namespace {

// Elements of the CPU up to which PyTorch's own sums are taken: they show the same digits.
constexpr int64_t kByTorch = 4096;

Numbers numbers_of(const capture::Statistics& s) {
  const bool is_natural = info(s.dtype).kind != DTypeKind::integer;
  const bool is_infinite = s.infs == s.count;  // measuring begins at the lowest number, which is above -inf
  return {s.nans != 0,
          is_infinite && s.sum < 0 ? s.sum : s.max.real,
          is_infinite && s.sum > 0 ? s.sum : s.min.real,
          is_natural ? static_cast<int64_t>(s.max.natural) : s.max.integer,
          is_natural ? static_cast<int64_t>(s.min.natural) : s.min.integer,
          s.mean(),
          s.norm()};
}

}  // namespace

// Mean and norm as torch itself rounds them.
bool PythonValues::measure_small(Tensor& tensor) const {
  const auto ask = [&](PyObject* function, double& out) {
    const Owned answer(api_, api_.call(function, tensor.object, nullptr));
    const Owned item(api_, answer ? api_.get_attr(answer.get(), names_->item) : nullptr);
    const Owned number(api_, item ? api_.call(item.get(), nullptr) : nullptr);
    if (!number) return false;
    out = api_.real(number.get());
    return true;
  };
  return ask(options_.mean, tensor.numbers.mean) && ask(options_.norm, tensor.numbers.norm);
}

namespace {

// Whether its elements fill a stretch of memory, in whatever order.
bool fills(std::vector<int64_t> shape, std::vector<int64_t> strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) dims.emplace_back(strides[i], shape[i]);
  std::sort(dims.begin(), dims.end());
  int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

}  // namespace

// Whether the sign of a zero that is the largest or the smallest depends on which of two is looked at first.
bool PythonValues::has_both_zeros(const Tensor& tensor) {
  if (!is_real(tensor.dtype) || (tensor.numbers.max != 0 && tensor.numbers.min != 0) || !tensor.is_dense)
    return false;
  const auto size = static_cast<size_t>(size_of(tensor.dtype));
  const auto* const data =
      reinterpret_cast<const std::byte*>(tensor.address);  // NOLINT: Python gives it as a number
  bool has_plus = false, has_minus = false;
  for (size_t i = 0; i < static_cast<size_t>(tensor.count); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, data + i * size, size);
    has_plus |= bits == 0;
    has_minus |= bits == uint64_t{1} << (8 * size - 1);
  }
  return has_plus && has_minus;
}

bool PythonValues::measure_all(Walk& walk) {
  if (!measure_on_device(walk)) return false;
  const bool has_checksums = options_.summary == ASSAY_SUMMARY_MD5 || options_.summary == ASSAY_SUMMARY_XOR;
  int64_t bytes = 0;
  for (const Tensor& tensor : walk.tensors)
    if (!tensor.is_on_device) bytes += tensor.count * size_of(tensor.dtype);
  if (bytes == 0) return true;
  constexpr int64_t kWorthUnlocking = int64_t{64} << 10;
  void* const state = bytes >= kWorthUnlocking ? api_.unlock() : nullptr;
  bool all_well = true;
  for (Tensor& tensor : walk.tensors) {
    if (tensor.is_on_device || tensor.count == 0) continue;
    const TensorMeta meta{tensor.dtype, {tensor.shape}};
    const auto* data =
        reinterpret_cast<const std::byte*>(tensor.address);  // NOLINT: Python gives it as a number
    std::vector<std::byte> gathered;
    const auto gather = [&] {
      gathered.resize(static_cast<size_t>(tensor.count * size_of(tensor.dtype)));
      assay_tensor given{};
      given.data = data;
      given.ndim = static_cast<int32_t>(tensor.shape.size());
      given.shape = tensor.shape.data();
      given.strides = tensor.strides.data();
      library::gather(given, meta, gathered.data());
      data = gathered.data();
    };
    try {
      const bool is_turned = !tensor.is_dense && !has_checksums && fills(tensor.shape, tensor.strides);
      if (!tensor.is_dense && !is_turned) gather();
      const auto size = static_cast<size_t>(tensor.count * size_of(tensor.dtype));
      capture::Statistics found = capture::measure(
          tensor.dtype, {data, size}, tensor.count,
          {options_.summary != ASSAY_SUMMARY_XOR, has_checksums, options_.summary == ASSAY_SUMMARY_XOR});
      if (is_turned && (found.max.real == 0 ||
                        found.min.real == 0)) {  // the sign of a zero is that of the first in its order
        gather();
        found = capture::measure(tensor.dtype, {data, size}, tensor.count, {true, false, false});
      }
      tensor.numbers = numbers_of(found);
      tensor.crc32 = found.crc32;
      tensor.xor64 = found.xor64;
      tensor.is_measured = true;
    } catch (const std::exception&) {
      all_well = false;
    }
  }
  if (state != nullptr) api_.lock(state);
  if (!all_well) return false;
  for (const Tensor& tensor : walk.tensors)
    if (tensor.is_measured && tensor.count <= kByTorch && has_both_zeros(tensor))
      return false;  // torch says which
  if (options_.has_sums && options_.summary != ASSAY_SUMMARY_XOR)
    for (Tensor& tensor : walk.tensors)
      if (tensor.is_measured && tensor.count <= kByTorch && is_small_float(tensor.dtype) &&
          !tensor.shape.empty() && !measure_small(tensor))
        return false;
  return true;
}

bool PythonValues::measure_on_device(Walk& walk) {
  std::vector<Tensor*> waiting;
  for (Tensor& tensor : walk.tensors)
    if (tensor.is_on_device && tensor.count > 0) waiting.push_back(&tensor);
  const DeviceWanted wanted{options_.summary != ASSAY_SUMMARY_XOR, options_.summary == ASSAY_SUMMARY_MD5,
                            options_.summary == ASSAY_SUMMARY_XOR};
  while (!waiting.empty()) {
    const int64_t device = waiting.front()->device;
    const Owned number(api_, api_.new_whole(device));
    const Owned answer(api_, api_.call(options_.stream, number.get(), nullptr));
    if (!answer) return false;
    const uint64_t stream = api_.address(answer.get());
    std::vector<Tensor*> here, others;
    std::vector<DeviceTensor> given;
    for (Tensor* const tensor : waiting) {
      if (tensor->device != device) {
        others.push_back(tensor);
        continue;
      }
      if (stream != 0) {  // its memory is not to be used again before this stream is through with it
        const Owned kept(api_, api_.call(options_.keep_for_stream, tensor->object, nullptr));
        if (!kept) return false;
      }
      const bool needs_order = wanted.crc32 || wanted.xor64;
      if (!tensor->is_dense && (needs_order || !fills(tensor->shape, tensor->strides)) &&
          !gather_on_device(walk, *tensor))
        return false;
      here.push_back(tensor);
      given.push_back({tensor->address, tensor->dtype, tensor->count});
    }
    std::vector<uint32_t> slots(given.size());
    if (!cuda_->measure(static_cast<int>(device), stream, given, wanted, slots)) return false;
    for (size_t i = 0; i < here.size(); ++i) here[i]->slot = slots[i];
    waiting = std::move(others);
  }
  return true;
}

// One element behind the other, in memory that the allocator of torch keeps until this stream is done.
bool PythonValues::gather_on_device(Walk& walk, Tensor& tensor) const {
  const Owned ask(api_, api_.get_attr(tensor.object, names_->contiguous));
  PyObject* const copy = ask ? api_.call(ask.get(), nullptr) : nullptr;
  if (copy == nullptr) return false;
  walk.kept.emplace_back(api_, copy);
  const Owned ask_address(api_, api_.get_attr(copy, names_->data_ptr));
  const Owned address(api_, ask_address ? api_.call(ask_address.get(), nullptr) : nullptr);
  if (!address) return false;
  tensor.address = api_.address(address.get());
  return true;
}

}  // namespace assay::library
