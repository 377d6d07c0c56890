#include "assay/format/min_max.h"

#include "assay/format/npy_header.h"
#include "assay/tensor/dense.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace assay {
namespace {

constexpr std::string_view kNpy = ".npy", kOthers = "others";

// The smallest real type that NumPy joins this one to: 8-bit integers fit into f16, 16-bit ones into f32.
DType real_for(DType dtype) {
  if (info(dtype).kind == DTypeKind::real) return dtype;
  if (info(dtype).kind == DTypeKind::complex) return component(dtype);
  return size_of(dtype) == 1 ? DType::f16 : size_of(dtype) == 2 ? DType::f32 : DType::f64;
}

DType larger(DType a, DType b) { return size_of(a) >= size_of(b) ? a : b; }

DType signed_of(int64_t bytes) {
  switch (bytes) {
    case 1:
      return DType::i8;
    case 2:
      return DType::i16;
    case 4:
      return DType::i32;
    case 8:
      return DType::i64;
    default:
      return DType::f64;  // no integer holds both i64 and u64
  }
}

// The value in another type: by way of f64, which is what NumPy does with 64-bit integers too.
void append_as(DType to, DType from, const std::array<std::byte, 16>& value, std::vector<std::byte>& out) {
  std::array<std::byte, 16> element = value;
  if (from != to) {
    double parts[2] = {0, 0};
    to_f64(from, value.data(), components(from), parts);
    from_f64(to, parts, components(to), element.data());
  }
  out.insert(out.end(), element.begin(), element.begin() + size_of(to));
}

// Of an empty tensor NumPy has neither; NaN, which is a f64, says so.
Extremes with_numpy_type(const Extremes& tensor) {
  Extremes out;
  if (tensor.is_empty) {
    const double nan = std::nan("");
    std::memcpy(out.min.data(), &nan, sizeof nan);
    out.max = out.min;
    return out;
  }
  out.dtype = numpy_stand_in(tensor.dtype);
  std::vector<std::byte> both;
  append_as(out.dtype, tensor.dtype, tensor.min, both);
  append_as(out.dtype, tensor.dtype, tensor.max, both);
  const auto size = static_cast<size_t>(size_of(out.dtype));
  std::copy_n(both.begin(), size, out.min.begin());
  std::copy_n(both.begin() + static_cast<std::ptrdiff_t>(size), size, out.max.begin());
  return out;
}

StoredTensor table_of(std::string name, std::span<const Extremes> tensors) {
  std::vector<Extremes> rows;
  for (const Extremes& tensor : tensors) rows.push_back(with_numpy_type(tensor));
  TensorMeta meta{DType::f64, Shape{{0}}};  // as np.array([])
  if (!rows.empty()) meta = {rows[0].dtype, Shape{{std::ssize(rows), 2}}};
  for (const Extremes& row : rows) meta.dtype = numpy_promotion(meta.dtype, row.dtype);
  std::vector<std::byte> bytes;
  for (const Extremes& row : rows) {
    append_as(meta.dtype, row.dtype, row.min, bytes);
    append_as(meta.dtype, row.dtype, row.max, bytes);
  }
  return {.name = std::move(name),
          .data = dense_in_memory(std::move(bytes), meta),
          .meta = meta,
          .stats = {},
          .facts = {}};
}

// ----- reading

constexpr int64_t kMostRows = 1 << 16;  // tensors of one operator; each takes hundreds of bytes

bool is_table(const StoredTensor& tensor) {
  if (tensor.name != "inputs" && tensor.name != "outputs" && tensor.name != kOthers) return false;
  if (!tensor.data) return false;
  const std::vector<int64_t>& dims = (*tensor.data)->meta.shape.dims;
  const bool is_empty = dims.size() == 1 && dims[0] == 0;
  return is_empty || (dims.size() == 2 && dims[1] == 2 && dims[0] <= kMostRows);
}

}  // namespace

bool is_min_max_name(std::string_view name) {
  return name.ends_with(kMinMaxNpy) || name.ends_with(kMinMaxNpz);
}

std::optional<std::string> name_before_min_max(std::string_view name) {
  if (!is_min_max_name(name)) return std::nullopt;
  const std::string_view stem = name.substr(0, name.size() - kMinMaxNpy.size());
  if (stem.empty() || stem.ends_with('/')) return std::nullopt;
  return std::string(stem) + std::string(name.ends_with(kMinMaxNpy) ? kNpy : std::string_view());
}

DType numpy_stand_in(DType dtype) {
  if (!numpy_descr(dtype).empty()) return dtype;
  switch (info(dtype).kind) {
    case DTypeKind::real:
      return dtype == DType::bf16 ? DType::f32 : DType::f64;
    case DTypeKind::integer:
      return DType::i8;
    case DTypeKind::complex:
      return DType::c64;
    default:
      return DType::u8;
  }
}

DType numpy_promotion(DType left, DType right) {
  if (left == right || right == DType::boolean) return left;
  if (left == DType::boolean) return right;
  const DTypeKind a = info(left).kind, b = info(right).kind;
  if (a == DTypeKind::complex || b == DTypeKind::complex) {
    const bool is_wide = larger(real_for(left), real_for(right)) == DType::f64;
    return is_wide ? DType::c128 : DType::c64;
  }
  if (a == DTypeKind::real || b == DTypeKind::real) return larger(real_for(left), real_for(right));
  if (a == b) return larger(left, right);
  const DType natural = a == DTypeKind::natural ? left : right, whole = natural == left ? right : left;
  return size_of(whole) > size_of(natural) ? whole : signed_of(2 * size_of(natural));
}

StoredTensor min_max_array(const Extremes& tensor) {
  const Extremes pair = with_numpy_type(tensor);
  std::vector<std::byte> bytes;
  append_as(pair.dtype, pair.dtype, pair.min, bytes);
  append_as(pair.dtype, pair.dtype, pair.max, bytes);
  const TensorMeta meta{pair.dtype, Shape{{2}}};
  return {
      .name = "", .data = dense_in_memory(std::move(bytes), meta), .meta = meta, .stats = {}, .facts = {}};
}

std::vector<StoredTensor> min_max_tables(std::span<const Extremes> inputs, std::span<const Extremes> outputs,
                                         std::span<const Extremes> others) {
  std::vector<StoredTensor> tables;
  tables.push_back(table_of("inputs", inputs));
  tables.push_back(table_of("outputs", outputs));
  if (!others.empty()) tables.push_back(table_of(std::string(kOthers), others));
  return tables;
}

bool is_min_max_archive(const fs::path& path) { return path.native().ends_with(kMinMaxNpz); }

Result<TensorSet> split_min_max(TensorSet archive) {
  for (const StoredTensor& tensor : archive.tensors) {
    if (!is_table(tensor)) return archive;
    // Bytes of buffers, which are not compared: only beside both others is it that.
    const bool is_of_buffers = archive.tensors.size() == 3 && (*tensor.data)->meta.dtype == DType::u8;
    if (tensor.name == kOthers && !is_of_buffers) return archive;
  }
  TensorSet set;
  set.extent = archive.extent;
  set.warnings = std::move(archive.warnings);
  for (const std::string_view direction : {"input", "output"})
    for (const StoredTensor& table : archive.tensors) {
      if (!table.name.starts_with(direction)) continue;
      const TensorMeta& meta = (*table.data)->meta;
      const int64_t row_size = 2 * size_of(meta.dtype);
      ASSAY_TRY(const std::vector<std::byte> bytes, read_whole(**table.data, meta.byte_size()));
      const int64_t rows = meta.shape.count() / 2;
      for (int64_t i = 0; i < rows; ++i) {
        StoredTensor row{
            .name = fmt::format("{}.{}", direction, i), .data = {}, .meta = {}, .stats = {}, .facts = {}};
        row.meta = TensorMeta{meta.dtype, Shape{{2}}};
        const auto begin = bytes.begin() + i * row_size;
        row.data = dense_in_memory(std::vector<std::byte>(begin, begin + row_size), *row.meta);
        set.tensors.push_back(std::move(row));
      }
    }
  return set;
}

}  // namespace assay
