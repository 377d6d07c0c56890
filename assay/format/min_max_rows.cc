#include "assay/format/min_max_rows.h"

#include "assay/tensor/dense.h"

#include <fmt/format.h>

namespace assay {
namespace {

constexpr int64_t kMostRows = 1 << 16;  // tensors of one operator; each takes hundreds of bytes

bool is_table(const StoredTensor& tensor) {
  if (tensor.name != "inputs" && tensor.name != "outputs") return false;
  if (!tensor.data) return false;
  const std::vector<int64_t>& dims = (*tensor.data)->meta.shape.dims;
  const bool is_empty = dims.size() == 1 && dims[0] == 0;
  return is_empty || (dims.size() == 2 && dims[1] == 2 && dims[0] <= kMostRows);
}

}  // namespace

bool is_min_max_archive(const fs::path& path) { return path.native().ends_with("_min_max.npz"); }

Result<TensorSet> split_min_max(TensorSet archive) {
  for (const StoredTensor& tensor : archive.tensors)
    if (!is_table(tensor)) return archive;
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
