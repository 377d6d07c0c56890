#include "assay/format/pt_writer.h"

#include "assay/base/text.h"
#include "assay/format/pt_names.h"
#include "assay/format/zip_tensor.h"

#include <limits>
#include <unordered_set>

namespace assay {
namespace {

// A pickle of protocol 2, the one torch.save uses, without a memo: every value is written out.
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
  PickleWriter& tuple(std::span<const int64_t> values) {
    op("(");
    for (const int64_t value : values) integer(value);
    return op("t");
  }
  const std::string& text() const { return text_; }

 private:
  template <class T>
  PickleWriter& number(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  std::string text_;
};

std::vector<int64_t> contiguous_strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.dims.size());
  int64_t stride = 1;
  for (size_t i = strides.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape.dims[i], 1);
  }
  return strides;
}

// torch._utils._rebuild_tensor_v2(storage, 0, size, stride, False, OrderedDict()); _v3 adds the dtype, for
// types that have no storage class of their own.
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

Result<std::string> make_pickle(const FileWriter& out, std::span<const StoredTensor> tensors) {
  const bool single = tensors.size() == 1 && tensors[0].name.empty();
  PickleWriter pickle;
  if (!single) pickle.op("}(");
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const StoredTensor& stored = tensors[i];
    if (!stored.data) return tl::unexpected<Error>(stored.data.error());
    const TensorMeta& meta = (*stored.data)->meta;
    const auto type = torch_type(meta.dtype);
    if (!type)
      return fail(ErrorKind::unsupported,
                  "{}: torch has no type for {} (tensor \"{}\"); cast it, or write another format",
                  out.name(), name(meta.dtype), printable(stored.name));
    if (stored.name.size() > std::numeric_limits<uint32_t>::max() || !names.insert(stored.name).second)
      return fail(ErrorKind::bad_argument, "{}: two tensors have the name \"{}\"", out.name(),
                  printable(stored.name));
    if (!single) pickle.string(stored.name);
    add_tensor(pickle, meta, *type, i);
  }
  pickle.op(single ? "." : "u.");
  return pickle.text();
}

}  // namespace

Result<void> write_pt(FileWriter& out, std::span<const StoredTensor> tensors) {
  ASSAY_TRY(const std::string pickle, make_pickle(out, tensors));
  ZipWriter zip(out);
  ASSAY_TRY_DO(zip.add("archive/data.pkl", as_bytes(pickle)));
  ASSAY_TRY_DO(zip.add("archive/byteorder", as_bytes(std::string_view("little"))));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Operand& tensor = **tensors[i].data;
    ASSAY_TRY_DO(zip.begin(fmt::format("archive/data/{}", i), tensor.meta.byte_size()));
    ASSAY_TRY_DO(append_elements(zip, tensor));
    ASSAY_TRY_DO(zip.end());
  }
  ASSAY_TRY_DO(zip.add("archive/version", as_bytes(std::string_view("3\n"))));
  return zip.finish();
}

}  // namespace assay
