#include "assay/format/npz.h"

#include "assay/base/text.h"
#include "assay/format/npy_header.h"
#include "assay/format/zip_tensor.h"

#include <unordered_set>

namespace assay {
namespace {

constexpr std::string_view kSuffix = ".npy";

// An empty zip has no first entry; the suffix of the file decides about it.
bool sniff(Bytes head, int64_t /*file_size*/) { return first_entry_name(head).ends_with(kSuffix); }

Result<NpyHeader> read_header(const std::shared_ptr<const File>& file, const ZipEntry& entry,
                              const FormatOptions& options) {
  ASSAY_TRY(const OperandPtr bytes, dense_in_zip(file, entry, 0, {DType::u8, Shape{{entry.size}}}));
  Scratch scratch;
  const auto read = [&](int64_t offset, std::span<std::byte> out) {
    return bytes->read(offset, std::ssize(out), out, scratch);
  };
  const std::string name = fmt::format("{}: entry \"{}\"", file->name(), printable(entry.name));
  return read_npy_header(read, entry.size, options, name);
}

StoredTensor open_entry(const std::shared_ptr<const File>& file, const ZipEntry& entry,
                        const FormatOptions& options, std::vector<std::string>& warnings) {
  std::string name = printable(std::string_view(entry.name).substr(0, entry.name.size() - kSuffix.size()));
  auto header = read_header(file, entry, options);
  if (!header)
    return {.name = std::move(name),
            .data = tl::unexpected<Error>(header.error()),
            .meta = {},
            .stats = {},
            .facts = {}};
  const int64_t rest = entry.size - header->size - header->meta.byte_size();
  if (rest > 0)
    warnings.push_back(fmt::format("{}: entry \"{}\": {} bytes follow the array and are ignored",
                                   file->name(), printable(entry.name), rest));
  auto data = dense_in_zip(file, entry, header->size, header->meta).and_then([&](const OperandPtr& dense) {
    return tensor_from_npy(dense, *header);
  });
  return {.name = std::move(name), .data = std::move(data), .meta = header->meta, .stats = {}, .facts = {}};
}

Result<TensorSet> open(const std::shared_ptr<const File>& file, const FormatOptions& options) {
  ASSAY_TRY(const ZipDirectory directory, read_zip_directory(*file, options.memory));
  TensorSet set;
  set.extent = directory.extent;
  if (set.extent < file->size())
    set.warnings.push_back(fmt::format("{}: {} bytes follow the archive and are ignored", file->name(),
                                       file->size() - set.extent));
  int64_t others = 0;
  for (const ZipEntry& entry : directory.entries) {
    if (entry.name.ends_with(kSuffix))
      set.tensors.push_back(open_entry(file, entry, options, set.warnings));
    else
      ++others;
  }
  if (others > 0)
    set.warnings.push_back(
        fmt::format("{}: {} entries are not .npy files and are ignored", file->name(), others));
  return set;
}

Result<void> write(FileWriter& out, std::span<const StoredTensor> tensors) {
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

const Format npz_format{
    .name = "npz", .suffixes = {".npz"}, .one_tensor = false, .sniff = sniff, .open = open, .write = write};

}  // namespace assay
