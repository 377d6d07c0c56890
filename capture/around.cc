#include "capture/around.h"

#include "assay/base/text.h"
#include "assay/format/atb_bin_write.h"
#include "assay/format/npy_write.h"
#include "assay/format/pt_write.h"
#include "assay/format/safetensors_write.h"
#include "assay/tensor/dense.h"

namespace assay::capture {
namespace {

Task task_of(std::string path, const TensorMeta& meta) {
  Task task{.path = std::move(path)};
  task.dtype = meta.dtype;
  task.count = meta.shape.count();
  return task;
}

tl::unexpected<Error> no_such_type(const std::string& path, std::string_view format, DType dtype) {
  return fail(ErrorKind::unsupported, "{}: {} has no type for {}", path, format, name(dtype));
}

}  // namespace

std::optional<DType> atb_dtype(const std::string& number) {
  const auto code = parse_int(number);
  const AtbDType* const known = code ? find_atb_dtype(*code) : nullptr;
  return known == nullptr ? std::nullopt : known->dtype;
}

Task atb_task(std::string path, AtbAttributes attributes, AtbContent content, int64_t bytes,
              std::string more) {
  Task task{.path = std::move(path), .has_data = content == AtbContent::data};
  const auto dtype = atb_dtype(attributes.dtype);
  if (dtype) {
    task.dtype = *dtype;
    task.count = bytes * 8 / info(*dtype).storage_bits;
    task.wanted.values = task.has_statistics = content == AtbContent::statistics;
  }
  task.around = [attributes = std::move(attributes), content, bytes, more = std::move(more),
                 is_known = dtype.has_value()](const Statistics& statistics,
                                               bool has_data) -> std::optional<Parts> {
    std::string lines = more;
    if (content == AtbContent::statistics) {
      const AtbTexts t = is_known ? atb_texts(statistics) : AtbTexts{"N/A", "N/A", "N/A", "N/A"};
      lines = "max=" + t.max + "\nmin=" + t.min + "\nmean=" + t.mean + "\nl2norm=" + t.norm + "\n" + lines;
    }
    const std::optional<int64_t> length = has_data ? std::optional(bytes) : std::nullopt;
    return Parts{atb_bin_header({attributes.format, attributes.dtype, attributes.dims}, length, lines), {}};
  };
  return task;
}

Result<Task> npy_task(std::string path, const TensorMeta& meta) {
  if (numpy_descr(meta.dtype).empty()) return no_such_type(path, "NumPy", meta.dtype);
  Task task = task_of(std::move(path), meta);
  task.around = [meta](const Statistics&, bool has_data) -> std::optional<Parts> {
    if (!has_data) return std::nullopt;
    return Parts{npy_header(meta), {}};
  };
  return task;
}

Result<Task> pt_task(std::string path, const TensorMeta& meta, PtObject object) {
  if (!torch_type(meta.dtype)) return no_such_type(path, "torch", meta.dtype);
  if (object.folder.empty() || object.folder.size() > kLongestPtFolder)
    return fail(ErrorKind::bad_argument, "{}: the folder in an archive has 1 to {} characters, not {}", path,
                kLongestPtFolder, object.folder.size());
  Task task = task_of(std::move(path), meta);
  task.wanted.crc32 = true;  // stands before the data
  task.around = [meta, object = std::move(object)](const Statistics& statistics,
                                                   bool has_data) -> std::optional<Parts> {
    if (!has_data) return std::nullopt;
    PtAround around = around_one_tensor(meta, object, statistics.crc32);
    return Parts{std::move(around.before), std::move(around.behind)};
  };
  return task;
}

Result<Task> safetensors_task(std::string path, const TensorMeta& meta, const std::string& tensor) {
  if (safetensors_dtype(meta.dtype).empty()) return no_such_type(path, "safetensors", meta.dtype);
  Task task = task_of(std::move(path), meta);
  task.around = [meta, tensor](const Statistics&, bool has_data) -> std::optional<Parts> {
    if (!has_data) return std::nullopt;
    const SafetensorsPlace place{tensor.empty() ? "tensor" : tensor, meta,
                                 packed_size(meta.dtype, meta.shape.count())};
    return Parts{safetensors_header(std::span(&place, 1)), {}};
  };
  return task;
}

}  // namespace assay::capture
