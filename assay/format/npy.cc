#include "assay/format/npy.h"

#include "assay/format/append_data.h"
#include "assay/format/npy_header.h"
#include "assay/tensor/dense.h"

namespace assay {
namespace {

bool sniff_npy(Bytes head, int64_t /*file_size*/) { return as_text(head).starts_with("\x93NUMPY"); }

Result<TensorSet> open_npy(const std::shared_ptr<const File>& file, const FormatOptions& options) {
  const auto read = [&](int64_t offset, std::span<std::byte> out) { return file->read(offset, out); };
  ASSAY_TRY(const NpyHeader header, read_npy_header(read, file->size(), options, file->name()));
  TensorSet set;
  set.extent = header.size + header.meta.byte_size();
  if (set.extent < file->size())
    set.warnings.push_back(left_out(fmt::format("{}: {} bytes follow the array and are ignored", file->name(),
                                                file->size() - set.extent)));
  auto tensor = tensor_from_npy(dense_in_file(file, header.size, header.meta), header);
  set.tensors.push_back(
      {.name = "", .data = std::move(tensor), .meta = header.meta, .stats = {}, .facts = {}});
  return set;
}

Result<void> write_npy(FileWriter& out, std::span<const StoredTensor> tensors) {
  if (tensors.size() != 1)
    return fail(ErrorKind::bad_argument, "{}: a .npy file holds one array, not {}; write .npz", out.name(),
                tensors.size());
  ASSAY_TRY(const OperandPtr tensor, tensors[0].data);
  if (numpy_descr(tensor->meta.dtype).empty())
    return fail(ErrorKind::unsupported, "{}: NumPy has no type for {}; cast it, or write .safetensors or .pt",
                out.name(), name(tensor->meta.dtype));
  ASSAY_TRY_DO(out.append(npy_header(tensor->meta)));
  return append_data(out, *tensor);
}

}  // namespace

const Format npy_format{.name = "npy",
                        .suffixes = {".npy"},
                        .one_tensor = true,
                        .sniff = sniff_npy,
                        .open = open_npy,
                        .write = write_npy};

}  // namespace assay
