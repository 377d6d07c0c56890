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

void add_tensor(PickleWriter& pickle, const TensorMeta& meta, const TorchType& type, size_t key) {
  const bool untyped = type.storage_class.empty();
  pickle.global("torch._utils", untyped ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2")
      .op("((")
      .string("storage");
  if (untyped)
    pickle.global("torch.storage", "UntypedStorage");
  else
    pickle.global("torch", type.storage_class);
  pickle.string(std::to_string(key))
      .string("cpu")
      .integer(untyped ? meta.byte_size() : meta.shape.count())
      .op("tQ");
  pickle.integer(0).tuple(meta.shape.dims).tuple(contiguous_strides(meta.shape)).op("\x89");
  pickle.global("collections", "OrderedDict").op(")R");
  if (untyped) pickle.global("torch", type.dtype_name);
  pickle.op("tR");
}

PtAround around_one_tensor(const TensorMeta& meta, uint32_t crc) {
  PickleWriter pickle;
  add_tensor(pickle, meta, *torch_type(meta.dtype), 0);
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
