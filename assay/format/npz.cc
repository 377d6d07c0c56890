#include "assay/format/npz.h"

#include "assay/base/text.h"
#include "assay/format/npy_header.h"
#include "assay/format/zip_rest.h"
#include "assay/format/zip_tensor.h"

#include <unordered_set>

namespace assay {
namespace {

constexpr std::string_view kSuffix = ".npy";

// An empty zip has no first entry; the suffix of the file decides about it.
bool sniff_npz(Bytes head, int64_t /*file_size*/) { return first_entry_name(head).ends_with(kSuffix); }

StoredTensor open_entry(const std::shared_ptr<const File>& file, const ZipEntry& entry,
                        const FormatOptions& options) {
  StoredTensor tensor{
      .name = printable(std::string_view(entry.name).substr(0, entry.name.size() - kSuffix.size())),
      .data = OperandPtr(),
      .meta = {},
      .stats = {},
      .facts = {}};
  const std::string where = fmt::format("{}: entry \"{}\"", file->name(), printable(entry.name));
  const auto header = reader_of(file, entry).and_then([&](const ReadBytes& read) {
    return read_npy_header(read, entry.size, options, where);
  });
  if (!header) {
    tensor.data = tl::unexpected<Error>(header.error());
    return tensor;
  }
  tensor.meta = header->meta;
  // No tool leaves bytes behind the array; and what no tensor reaches would not be checked.
  if (const int64_t rest = entry.size - header->size - header->meta.byte_size(); rest > 0) {
    tensor.data = fail(ErrorKind::bad_format, "{} has {} bytes behind its array", where, rest);
    return tensor;
  }
  const ReadOrder order = is_turned(*header) ? ReadOrder::any : ReadOrder::forwards;
  tensor.data = ZipSource(file, entry, options)
                    .dense(header->size, header->meta, order)
                    .and_then([&](const OperandPtr& dense) { return tensor_from_npy(dense, *header); });
  return tensor;
}

Result<TensorSet> open_npz(const std::shared_ptr<const File>& file, const FormatOptions& options) {
  ASSAY_TRY(const ZipDirectory directory, read_zip_directory(*file, options.memory));
  TensorSet set;
  set.extent = directory.extent;
  if (set.extent < file->size())
    set.warnings.push_back(left_out(fmt::format("{}: {} bytes follow the archive and are ignored",
                                                file->name(), file->size() - set.extent)));
  int64_t others = 0;
  for (const ZipEntry& entry : directory.entries) {
    if (entry.name.ends_with(kSuffix))
      set.tensors.push_back(open_entry(file, entry, options));
    else
      ++others;
  }
  if (others > 0) {
    set.warnings.push_back(left_out(
        fmt::format("{}: {} entries are not .npy files and are ignored", file->name(), others), others));
    set.beside.push_back({fmt::format("{} entries that are no arrays", others)});
  }
  if (options.every_byte) note_zip_rest(*file, directory, set);
  return set;
}

Result<void> write_npz(FileWriter& out, std::span<const StoredTensor> tensors) {
  ZipWriter zip(out);
  std::unordered_set<std::string> names;
  for (size_t i = 0; i < tensors.size(); ++i) {
    ASSAY_TRY(const OperandPtr tensor, tensors[i].data);
    if (numpy_descr(tensor->meta.dtype).empty())
      return fail(ErrorKind::unsupported,
                  "{}: NumPy has no type for {} (tensor \"{}\"); cast it, or write .safetensors or .pt",
                  out.name(), name(tensor->meta.dtype), printable(tensors[i].name));
    const std::string header = npy_header(tensor->meta);
    // np.savez names an array without a name arr_0, arr_1…
    const std::string entry = tensors[i].name.empty() ? fmt::format("arr_{}", i) : tensors[i].name;
    if (!names.insert(entry).second)
      return fail(ErrorKind::bad_argument, "{}: two tensors have the name \"{}\"", out.name(),
                  printable(entry));
    ASSAY_TRY_DO(zip.begin(entry + std::string(kSuffix), std::ssize(header) + tensor->meta.byte_size()));
    ASSAY_TRY_DO(zip.append(as_bytes(header)));
    ASSAY_TRY_DO(append_elements(zip, *tensor));
    ASSAY_TRY_DO(zip.end());
  }
  return zip.finish();
}

}  // namespace

const Format npz_format{.name = "npz",
                        .suffixes = {".npz"},
                        .one_tensor = false,
                        .sniff = sniff_npz,
                        .open = open_npz,
                        .write = write_npz};

}  // namespace assay
