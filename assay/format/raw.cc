#include "assay/format/raw.h"

#include "assay/base/checked.h"
#include "assay/tensor/dense.h"

namespace assay {
namespace {

// Anything could be raw bytes: only the user can say so.
bool sniff_raw(Bytes /*head*/, int64_t /*file_size*/) { return false; }

Result<Shape> shape_of(const File& file, const FormatOptions& options) {
  const DType dtype = *options.raw_dtype;
  const int64_t available = file.size() - options.raw_offset;
  const int64_t bits = info(dtype).storage_bits;
  if (!options.raw_shape) {
    const int64_t size = size_of(dtype);
    if (bits >= 8 && available % size != 0)
      return fail(ErrorKind::mismatch,
                  "{}: {} bytes from byte {} are not a whole number of {} elements of {} bytes", file.name(),
                  available, options.raw_offset, name(dtype), size);
    const auto total_bits = checked_multiply(available, 8);
    if (!total_bits) return fail(ErrorKind::limit, "{}: {} bytes are too many", file.name(), available);
    return Shape{{*total_bits / bits}};
  }
  const auto count = checked_product(options.raw_shape->dims);
  const auto product = count ? checked_multiply(*count, size_of(dtype)) : count;
  if (!product)
    return fail(ErrorKind::bad_argument, "shape {} has a negative dimension or is too large",
                options.raw_shape->text());
  const int64_t needed = packed_size(dtype, *count);
  if (needed != available)
    return fail(ErrorKind::mismatch, "{}: shape {} of {} needs {} bytes, but the file has {} from byte {}",
                file.name(), options.raw_shape->text(), name(dtype), needed, available, options.raw_offset);
  return *options.raw_shape;
}

Result<TensorSet> open_raw(const std::shared_ptr<const File>& file, const FormatOptions& options) {
  if (!options.raw_dtype)
    return fail(ErrorKind::bad_argument, "{}: raw bytes do not say their type; pass --dtype and --shape",
                file->name());
  if (options.raw_offset < 0 || options.raw_offset > file->size())
    return fail(ErrorKind::bad_argument, "{}: offset {} lies outside the file of {} bytes", file->name(),
                options.raw_offset, file->size());
  ASSAY_TRY(const Shape shape, shape_of(*file, options));
  const TensorMeta meta{*options.raw_dtype, shape};
  TensorSet set;
  set.extent = file->size();
  set.tensors.push_back({.name = "",
                         .data = packed_in_file(file, options.raw_offset, meta),
                         .meta = meta,
                         .stats = {},
                         .facts = {}});
  return set;
}

}  // namespace

const Format raw_format{.name = "raw",
                        .suffixes = {},
                        .one_tensor = true,
                        .sniff = sniff_raw,
                        .open = open_raw,
                        .write = nullptr};

}  // namespace assay
