#include "assay/base/text.h"
#include "assay/format/atb_bin_write.h"
#include "assay/tensor/dense.h"
#include "capture/around.h"
#include "capture/fork_guard.h"
#include "library/given_tensor.h"
#include "library/open_handles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

struct assay_capture {
  explicit assay_capture(assay::capture::WriterConfig config, std::string folder)
      : writer(std::move(config)), root(std::move(folder)) {}
  assay::capture::Writer writer;
  std::string root;  // ends with '/' if it is not empty
};

namespace assay::capture {
namespace {

using library::guarded;
using library::is_dense;
using library::meta_of;
using library::refuse;

// Those that were not closed: a program that ends owes nothing to the disk.
library::OpenHandles<assay_capture>& open_captures() {
  static auto* const kept = new library::OpenHandles<assay_capture>;  // outlives whoever hands something in
  return *kept;
}
__attribute__((constructor)) void begin() { ForkGuard::covers(open_captures().guard()); }
__attribute__((destructor)) void close_all() {
  for (const auto& capture : open_captures().all()) capture->writer.close();
}

// Runs the body with the capture of a handle.
template <class Body>
assay_status on_capture(assay_capture* handle, Body body) {
  return guarded([&] {
    const std::shared_ptr<assay_capture> capture = open_captures().find(handle);
    return capture == nullptr ? library::refuse_handle(handle) : body(*capture);
  });
}

Result<std::string> place(const assay_capture& capture, const char* path) {
  const std::string text = path;
  if (text.empty() || text.ends_with('/') || text == "." || text.ends_with("/."))
    return fail(ErrorKind::bad_argument, "'{}' names no file", printable(text));
  if (text.starts_with('/')) return text;
  const auto parts = split(text, '/');
  if (std::find(parts.begin(), parts.end(), "..") != parts.end())
    return fail(ErrorKind::bad_argument, "'{}' leads out of the folder of the dump", printable(text));
  // One spelling of each, so that the writer knows files of one name.
  const std::string name = std::filesystem::path(text).lexically_normal().native();
  if (name == "capture.json" && !capture.root.empty())
    return fail(ErrorKind::bad_argument, "'{}' is the file in which the capture counts", printable(text));
  return capture.root + name;
}

Result<Task> task_for(const std::string& path, int format, const TensorMeta& meta,
                      const assay_attributes& attributes) {
  const int64_t count = meta.shape.count();
  Result<Task> task = Task{};
  switch (format) {
    case ASSAY_ATB_BIN: {
      const AtbDType* const type = find_atb_dtype(meta.dtype);
      if (type == nullptr)
        return fail(ErrorKind::unsupported, "{}: ATB has no type for {}", path, name(meta.dtype));
      const std::string atb_format = std::to_string(attributes.atb_format == 0 ? 2 : attributes.atb_format);
      task = atb_task(
          path, {atb_format, std::to_string(type->code), fmt::format("{}", fmt::join(meta.shape.dims, ","))},
          AtbContent::data, packed_size(meta.dtype, count));
      task->count = count;
      break;
    }
    case ASSAY_NPY:
      task = npy_task(path, meta);
      break;
    case ASSAY_PT:
      if (attributes.torch_object < 0 || attributes.torch_object > ASSAY_TORCH_FIXED_PARAMETER)
        return fail(ErrorKind::bad_argument, "torch has no object {}", attributes.torch_object);
      task = pt_task(path, meta,
                     {.folder = attributes.tensor_name == nullptr ? "archive" : attributes.tensor_name,
                      .requires_grad = attributes.torch_object == ASSAY_TORCH_TENSOR_WITH_GRADIENT ||
                                       attributes.torch_object == ASSAY_TORCH_PARAMETER,
                      .is_parameter = attributes.torch_object >= ASSAY_TORCH_PARAMETER});
      break;
    case ASSAY_SAFETENSORS:
      task = safetensors_task(path, meta, attributes.tensor_name == nullptr ? "" : attributes.tensor_name);
      break;
    default:
      return fail(ErrorKind::bad_argument, "there is no format {}", format);
  }
  if (task) task->existing = attributes.replaces != 0 ? Existing::replace : Existing::number;
  return task;
}

void tell(const Statistics& from, assay_statistics& to) {
  const DTypeKind kind = info(from.dtype).kind;
  const bool is_whole = kind == DTypeKind::integer || kind == DTypeKind::natural || kind == DTypeKind::truth;
  const auto value = [&](const Statistics::Extreme& extreme) {
    return kind == DTypeKind::integer ? static_cast<double>(extreme.integer)
           : is_whole                 ? static_cast<double>(extreme.natural)
                                      : extreme.real;
  };
  to = {.count = from.count,
        .nans = from.nans,
        .infs = from.infs,
        .zeros = from.zeros,
        .max = value(from.max),
        .min = value(from.min),
        .max_integer = from.max.integer,
        .min_integer = from.min.integer,
        .mean = from.mean(),
        .norm = from.norm(),
        .crc32 = from.crc32,
        .reserved = 0,
        .xor64 = from.xor64};
}

// The caller frees.
std::byte* gathered(const assay_tensor& tensor, const TensorMeta& meta) {
  auto* const memory = static_cast<std::byte*>(std::malloc(static_cast<size_t>(meta.byte_size())));
  if (memory == nullptr) throw std::bad_alloc();
  library::gather(tensor, meta, memory);
  return memory;
}

assay_status submit(assay_capture& capture, const assay_tensor& tensor, const char* path, int format,
                    const assay_attributes& attributes, assay_statistics* statistics) {
  const Result<TensorMeta> meta = meta_of(tensor);
  if (!meta) return refuse(meta.error());
  const bool is_kept = format != ASSAY_STATISTICS_ONLY;
  Result<Task> task = Task{};
  if (is_kept) {
    if (path == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a file without a path");
    const Result<std::string> where = place(capture, path);
    if (!where) return refuse(where.error());
    task = task_for(*where, format, *meta, attributes);
    if (!task) return refuse(task.error());
  }
  const int64_t count = meta->shape.count();
  const bool dense = is_dense(tensor, *meta);
  if (!dense && info(meta->dtype).storage_bits < 8)
    return refuse(ASSAY_UNSUPPORTED, "elements of fewer than 8 bits have no strides");
  Source source{
      {static_cast<const std::byte*>(tensor.data), static_cast<size_t>(packed_size(meta->dtype, count))},
      tensor.release,
      tensor.release_argument};
  if (!dense) {
    std::byte* const memory = gathered(tensor, *meta);
    if (tensor.release != nullptr) tensor.release(tensor.release_argument);
    source = {{memory, source.bytes.size()}, std::free, memory};
  }
  if (statistics != nullptr) {
    const bool has_sums = attributes.checksums != 0;
    tell(measure(meta->dtype, source.bytes, count, {true, has_sums, has_sums}), *statistics);
  }
  if (is_kept) {
    capture.writer.save(std::move(*task), source);
    return ASSAY_OK;
  }
  if (statistics != nullptr) capture.writer.count_statistics();
  if (source.release != nullptr) source.release(source.release_argument);
  return ASSAY_OK;
}

}  // namespace
}  // namespace assay::capture

using namespace assay::capture;

void assay_capture_config_init(assay_capture_config* config) {
  if (config == nullptr) return;
  const WriterConfig defaults;
  *config = {};
  config->size = sizeof *config;
  config->budget = defaults.budget;
  config->patience_ms = defaults.patience_ms;
  config->file_mode = defaults.rights.file;
  config->folder_mode = defaults.rights.folder;
}

assay_status assay_capture_open(const assay_capture_config* config, assay_capture** out) {
  return guarded([&] {
    if (config == nullptr || out == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    *out = nullptr;
    if (config->size != sizeof *config)
      return refuse(ASSAY_BAD_ARGUMENT,
                    "the configuration was not made by assay_capture_config_init of this version");
    if (config->budget <= 0 || config->threads < 0 || config->threads > 64 || config->patience_ms < 0 ||
        config->reserve < 0 || config->dedupe < 0 || config->dedupe > 2)
      return refuse(ASSAY_BAD_ARGUMENT, "a number of the configuration is out of range");
    std::string root = config->root == nullptr ? "" : config->root;
    while (root.size() > 1 && root.ends_with('/')) root.pop_back();
    WriterConfig wanted{.root = root,
                        .budget = config->budget,
                        .threads = config->threads,
                        .drops_data = config->drops_data != 0,
                        .patience_ms = config->patience_ms,
                        .reserve = config->reserve,
                        .links = static_cast<LinkKind>(config->dedupe),
                        .rights = {config->file_mode, config->folder_mode}};
    if (!root.empty() && !root.ends_with('/')) root += '/';
    *out = open_captures().add(std::make_shared<assay_capture>(std::move(wanted), root));
    return ASSAY_OK;
  });
}

assay_status assay_capture_tensor(assay_capture* capture, const assay_tensor* tensor, const char* path,
                                  int format, const assay_attributes* attributes,
                                  assay_statistics* statistics) {
  return on_capture(capture, [&](assay_capture& open) {
    if (tensor == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    return submit(open, *tensor, path, format, attributes == nullptr ? assay_attributes{} : *attributes,
                  statistics);
  });
}

void assay_count_down(void* number) {
  if (number != nullptr) __atomic_fetch_sub(static_cast<int64_t*>(number), 1, __ATOMIC_ACQ_REL);
}

assay_status assay_capture_line(assay_capture* capture, const char* path, const char* header,
                                const char* line) {
  return on_capture(capture, [&](assay_capture& open) {
    if (path == nullptr || line == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    const auto where = place(open, path);
    if (!where) return refuse(where.error());
    open.writer.append(*where, header == nullptr ? "" : std::string(header) + "\n", std::string(line) + "\n");
    return ASSAY_OK;
  });
}

assay_status assay_capture_text(assay_capture* capture, const char* path, const char* text) {
  return on_capture(capture, [&](assay_capture& open) {
    if (path == nullptr || text == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    const auto where = place(open, path);
    if (!where) return refuse(where.error());
    open.writer.replace(*where, text);
    return ASSAY_OK;
  });
}

assay_status assay_capture_flush(assay_capture* capture, int64_t timeout_ms) {
  return on_capture(capture, [&](assay_capture& open) {
    if (timeout_ms < 0) return refuse(ASSAY_BAD_ARGUMENT, "a time below zero");
    if (open.writer.flush(timeout_ms)) return ASSAY_OK;
    return refuse(ASSAY_TIMEOUT, "not everything was written in time");
  });
}

assay_status assay_capture_tally(assay_capture* capture, assay_tally* out) {
  return on_capture(capture, [&](assay_capture& open) {
    if (out == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    const Tally t = open.writer.tally();
    *out = {t.tensors, t.bytes, t.linked, t.statistics, t.lines, t.dropped, t.lost, t.lost_bytes};
    return ASSAY_OK;
  });
}

void assay_capture_close(assay_capture* capture) {
  guarded([&] {
    if (capture == nullptr) return ASSAY_OK;
    const std::shared_ptr<assay_capture> last = open_captures().remove(capture);
    if (last == nullptr) return assay::library::refuse_handle(capture);
    // Another thread may still hold it; one of its own that hangs on a dead disk does so for ever.
    if (!last->writer.close()) static_cast<void>(new std::shared_ptr<assay_capture>(last));
    return ASSAY_OK;
  });
}
