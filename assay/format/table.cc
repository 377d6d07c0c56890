#include "assay/format/atb_bin.h"
#include "assay/format/format.h"
#include "assay/format/ge_dump.h"
#include "assay/format/held_files.h"
#include "assay/format/min_max.h"
#include "assay/format/npy.h"
#include "assay/format/npz.h"
#include "assay/format/pt.h"
#include "assay/format/raw.h"
#include "assay/format/safetensors.h"
#include "assay/format/stats_json.h"

#include "assay/base/text.h"

#include <algorithm>

namespace assay {

// In the order they are tried: those with a magic number first, those that must look closer later.
std::span<const Format* const> formats() {
  static const Format* const kTable[] = {
      &npy_format,        &pt_format,        &npz_format,  // a .pt is a zip too: asked before .npz
      &atb_bin_format,    &pt_legacy_format, &safetensors_format, &safetensors_index_format,
      &stats_json_format, &ge_dump_format,
      &raw_format,  // only with --dtype; recognises nothing by itself
  };
  return kTable;
}

const Format* find_format(std::string_view name) {
  const auto all = formats();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Format* f) { return f->name == name; });
  return found == all.end() ? nullptr : *found;
}

const Format* find_format_by_suffix(const fs::path& path) {
  const std::string file_name = to_lower(path.filename().string());
  for (const Format* format : formats())
    for (const std::string_view suffix : format->suffixes)
      if (file_name.ends_with(suffix)) return format;
  return nullptr;
}

Result<const Format*> recognise_content(const File& file) {
  std::byte head[kSniffBytes];
  ASSAY_TRY(const int64_t got, file.read_some(0, head));
  for (const Format* format : formats())
    if (format->sniff(Bytes(head, static_cast<size_t>(got)), file.size())) return format;
  return nullptr;
}

Result<const Format*> recognise_file(const File& file) {
  // Several archives behind each other; a reader of one would show the last of them.
  if (to_lower(file.path().filename().string()).ends_with(".distcp"))
    return fail(
        ErrorKind::unsupported,
        "{}: is a part of a torch.distributed.checkpoint folder, whose .metadata says what is where; "
        "python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE.pt makes it one "
        "file",
        file.name());
  ASSAY_TRY(const Format* const format, recognise_content(file));
  return format != nullptr ? format : find_format_by_suffix(file.path());
}

namespace {

// Where `assay compact` has put the statistics of a file in its place, they are what is left of it. Other
// files of such a name are none of ours: then the file is missing.
std::shared_ptr<const File> find_statistics(const fs::path& path) {
  auto file = File::open(statistics_path(path));
  if (!file) return nullptr;
  const auto format = recognise_content(**file);
  return format && *format == &stats_json_format ? std::move(*file) : nullptr;
}

// Nothing honest has so many, and work grows with every one of them.
TensorSet refuse_many_dimensions(TensorSet set, const File& file) {
  for (StoredTensor& tensor : set.tensors) {
    const TensorMeta* const meta = tensor.data && *tensor.data ? &(*tensor.data)->meta
                                   : tensor.meta               ? &*tensor.meta
                                                               : nullptr;
    if (meta == nullptr || meta->shape.dims.size() <= kMaxDims) continue;
    tensor.data = fail(ErrorKind::bad_format, "{}: {} {} dimensions, more than {}", file.name(),
                       tensor.name.empty() ? "has" : fmt::format("tensor '{}' has", printable(tensor.name)),
                       meta->shape.dims.size(), kMaxDims);
    tensor.meta.reset();
  }
  return set;
}

Result<TensorSet> open_file(const std::shared_ptr<const File>& file, const FormatOptions& options) {
  if (options.raw_dtype) {  // a suffix says little about bytes that the user has to describe
    ASSAY_TRY(const Format* const format, recognise_content(*file));
    return (format != nullptr ? *format : raw_format).open(file, options);
  }
  if (file->size() == 0) return fail(ErrorKind::bad_format, "{}: is empty", file->name());
  ASSAY_TRY(const Format* const format, recognise_file(*file));
  if (format == nullptr)
    return fail(ErrorKind::bad_format,
                "{}: is not a tensor file we know; for raw bytes pass --dtype and --shape", file->name());
  if (!is_min_max_archive(file->path())) return format->open(file, options);
  ASSAY_TRY(TensorSet archive, format->open(file, options));
  return split_min_max(std::move(archive));
}

}  // namespace

Result<TensorSet> open_tensors(const fs::path& path, const FormatOptions& options) {
  if (options.held != nullptr)
    if (const TensorSet* const held = options.held->find(path)) return *held;
  auto opened = File::open(path);
  std::shared_ptr<const File> statistics;
  if (!opened && opened.error().kind == ErrorKind::not_found) statistics = find_statistics(path);
  if (!statistics) {
    ASSAY_TRY(const auto file, std::move(opened));
    ASSAY_TRY(TensorSet set, open_file(file, options));
    return refuse_many_dimensions(std::move(set), *file);
  }
  ASSAY_TRY(TensorSet set, stats_json_format.open(statistics, options));
  return refuse_many_dimensions(std::move(set), *statistics);
}

}  // namespace assay
