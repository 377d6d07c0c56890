#include "assay/format/pt_write.h"

#include "assay/base/crc32.h"
#include "assay/base/zip_records.h"

#include <algorithm>
#include <vector>

namespace assay {
namespace {

std::vector<int64_t> contiguous_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.dims.size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape.dims[i], 1);
  }
  return strides;
}

class ArchiveText {
 public:
  void add(std::string name, std::string_view data) {
    begin(std::move(name), std::ssize(data), crc32_of(0, as_bytes(data)));
    text_ += data;
  }
  void begin(std::string name, int64_t size, uint32_t crc) {
    entries_.push_back({std::move(name), size, end_ + std::ssize(text_), crc});
    text_ += zip_entry_header(entries_.back());
  }
  // What was written so far; `skipped` bytes of somebody else's follow.
  std::string take(int64_t skipped) {
    end_ += std::ssize(text_) + skipped;
    return std::exchange(text_, {});
  }
  std::string finish() { return text_ + zip_directory(entries_, end_ + std::ssize(text_)); }

 private:
  std::string text_;
  int64_t end_ = 0;  // of what was taken
  std::vector<ZipRecord> entries_;
};

}  // namespace

PickledTensor with_own_storage(const TensorMeta& meta, size_t key) {
  return {.shape = meta.shape, .key = key, .stored = meta, .strides = contiguous_strides(meta.shape)};
}

void add_tensor(PickleWriter& pickle, const PickledTensor& tensor, const TorchType& type) {
  const bool untyped = type.storage_class.empty();
  const std::string_view wants_gradient = tensor.requires_grad ? "\x88" : "\x89";
  if (tensor.is_parameter) pickle.global("torch._utils", "_rebuild_parameter").op("(");
  pickle.global("torch._utils", untyped ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2")
      .op("((")
      .string("storage");
  if (untyped)
    pickle.global("torch.storage", "UntypedStorage");
  else
    pickle.global("torch", type.storage_class);
  pickle.string(std::to_string(tensor.key))
      .string("cpu")
      .integer(untyped ? tensor.stored.byte_size() : tensor.stored.shape.count())
      .op("tQ");
  pickle.integer(tensor.offset).tuple(tensor.shape.dims).tuple(tensor.strides);
  pickle.op(tensor.is_parameter ? "\x89" : wants_gradient);
  pickle.global("collections", "OrderedDict").op(")R");
  if (untyped) pickle.global("torch", type.dtype_name);
  pickle.op("tR");
  if (tensor.is_parameter) pickle.op(wants_gradient).global("collections", "OrderedDict").op(")RtR");
}

PtAround around_one_tensor(const TensorMeta& meta, uint32_t crc) {
  PickleWriter pickle;
  add_tensor(pickle, with_own_storage(meta, 0), *torch_type(meta.dtype));
  pickle.op(".");
  ArchiveText archive;
  archive.add("archive/data.pkl", pickle.text());
  archive.add("archive/byteorder", "little");
  archive.begin("archive/data/0", meta.byte_size(), crc);
  PtAround out{archive.take(meta.byte_size()), {}};
  archive.add("archive/version", "3\n");
  out.behind = archive.finish();
  return out;
}

}  // namespace assay
