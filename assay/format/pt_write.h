// The parts of a file of torch.save: the pickle of tensors, and one tensor as a whole file.
#pragma once

#include "assay/format/pt_names.h"
#include "assay/tensor/operand.h"

#include <bit>
#include <span>
#include <string>
#include <vector>

namespace assay {

// A pickle of protocol 2, the one torch.save uses. Only containers are remembered, for references to them.
class PickleWriter {
 public:
  PickleWriter() : text_("\x80\x02") {}

  PickleWriter& op(std::string_view code) {
    text_.append(code);
    return *this;
  }
  PickleWriter& global(std::string_view module, std::string_view name) {
    text_.append("c").append(module).append("\n").append(name).append("\n");
    return *this;
  }
  PickleWriter& string(std::string_view text) {
    op("X").number(static_cast<uint32_t>(text.size()));
    text_.append(text);
    return *this;
  }
  PickleWriter& integer(int64_t value) {
    if (value >= 0 && value < 256) return op("K").number(static_cast<uint8_t>(value));
    if (value >= 0 && value < 65536) return op("M").number(static_cast<uint16_t>(value));
    if (value == static_cast<int32_t>(value)) return op("J").number(static_cast<int32_t>(value));
    return op("\x8a\x08").number(value);
  }
  PickleWriter& real(double value) {  // the one big-endian number
    return op("G").number(__builtin_bswap64(std::bit_cast<uint64_t>(value)));
  }
  PickleWriter& tuple(std::span<const int64_t> values) {
    op("(");
    for (const int64_t value : values) integer(value);
    return op("t");
  }
  // One that 64 bits do not hold: two's complement, little-endian.
  PickleWriter& long_integer(std::string_view bytes) {
    if (bytes.size() < 256)
      op("\x8a").number(static_cast<uint8_t>(bytes.size()));
    else
      op("\x8b").number(static_cast<uint32_t>(bytes.size()));
    return op(bytes);
  }
  PickleWriter& remember(uint32_t number) { return op("r").number(number); }
  PickleWriter& remember_shortly(uint8_t number) { return op("q").number(number); }
  PickleWriter& recall(uint32_t number) { return op("j").number(number); }
  PickleWriter& recall_shortly(uint8_t number) { return op("h").number(number); }
  const std::string& text() const { return text_; }

 private:
  template <class T>
  PickleWriter& number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  std::string text_;
};

// A tensor as the pickle has it: a view of one of the storages of the file.
struct PickledTensor {
  Shape shape;
  size_t key = 0;     // of the storage
  TensorMeta stored;  // all of it
  int64_t offset = 0;
  std::vector<int64_t> strides;
  bool requires_grad = false, is_parameter = false;
};
PickledTensor with_own_storage(const TensorMeta& meta, size_t key);

// torch._utils._rebuild_tensor_v2(storage, offset, size, stride, requires_grad, OrderedDict()); _v3 adds the
// dtype, for types that have no storage class of their own. A parameter is that in _rebuild_parameter(tensor,
// requires_grad, OrderedDict()), and the tensor in it wants no gradient.
void add_tensor(PickleWriter& pickle, const PickledTensor& tensor, const TorchType& type);

// What a file with one tensor is beyond the tensor. PyTorch calls the folder like the file, without its
// suffix.
struct PtObject {
  std::string folder = "archive";
  bool requires_grad = false, is_parameter = false;
};
inline constexpr size_t kLongestPtFolder = 1024;

// What stands before and behind the data of the one tensor of a file, byte for byte as torch.save of
// PyTorch 1.13 writes it, which every later one reads; but for data of 4 GiB and more. `crc` is the CRC-32 of
// the data. Precondition: torch_type(meta.dtype).
struct PtAround {
  std::string before, behind;
};
PtAround around_one_tensor(const TensorMeta& meta, const PtObject& object, uint32_t crc);

}  // namespace assay
