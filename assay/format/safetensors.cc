#include "assay/format/safetensors.h"

#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/format/append_data.h"
#include "assay/format/safetensors_header.h"
#include "assay/tensor/dense.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

namespace assay {
namespace {

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeader = 100'000'000;  // as the reference implementation
constexpr std::string_view kUnnamed = "tensor";

bool sniff_safetensors(Bytes head, int64_t file_size) {
  if (file_size < kLengthBytes + 2 || head.size() < kLengthBytes + 2) return false;
  const auto length = load_le<uint64_t>(head);
  const std::string_view json = as_text(head.subspan(kLengthBytes, 2));
  return length >= 2 && length <= kMaxHeader && json[0] == '{' &&
         (json[1] == '"' || json[1] == '}' || json[1] == ' ');
}

Result<std::string> read_header(const File& file, const FormatOptions& options) {
  if (file.size() < kLengthBytes)
    return fail(ErrorKind::bad_format, "{}: {} bytes is too short for safetensors", file.name(), file.size());
  std::byte head[kLengthBytes];
  ASSAY_TRY_DO(file.read(0, head));
  const auto length = load_le<uint64_t>(head);
  if (length > static_cast<uint64_t>(file.size() - kLengthBytes))
    return fail(ErrorKind::bad_format, "{}: the header of {} bytes runs past the end of the file of {} bytes",
                file.name(), length, file.size());
  const int64_t limit = std::min(kMaxHeader, options.memory);
  if (length > static_cast<uint64_t>(limit))
    return fail(ErrorKind::limit, "{}: the header of {} bytes is longer than {} bytes", file.name(), length,
                limit);
  std::string json(length, '\0');
  ASSAY_TRY_DO(file.read(kLengthBytes, std::as_writable_bytes(std::span(json))));
  if (!json.starts_with('{'))
    return fail(ErrorKind::bad_format, "{}: the header starts with '{}' and not with '{{'", file.name(),
                printable(json.substr(0, 1)));
  return json;
}

struct Extent {
  TensorMeta meta;
  int64_t begin = 0, end = 0;  // in the data
};

// What an entry says about itself, checked against the size of the data.
Result<Extent> check_entry(const SafetensorsEntry& entry, const File& file, int64_t data_size) {
  const auto where = [&] { return fmt::format("{}: tensor '{}'", file.name(), printable(entry.name)); };
  if (!entry.trouble.empty()) return fail(ErrorKind::bad_format, "{} {}", where(), entry.trouble);
  if (!entry.dtype || !entry.shape || !entry.offsets || entry.offsets->size() != 2)
    return fail(ErrorKind::bad_format, "{} lacks dtype, shape or two data_offsets", where());
  const auto dtype = find_safetensors_dtype(*entry.dtype);
  if (!dtype)
    return fail(ErrorKind::unsupported, "{} has the unknown dtype {}", where(), printable(*entry.dtype));
  const auto count = checked_product(*entry.shape);
  if (!count || !checked_multiply(*count, size_of(*dtype)))
    return fail(ErrorKind::bad_format, "{} has a shape with a negative dimension or too large", where());
  const Extent extent{{*dtype, Shape{*entry.shape}}, (*entry.offsets)[0], (*entry.offsets)[1]};
  if (extent.begin < 0 || extent.begin > extent.end)
    return fail(ErrorKind::bad_format, "{} has data_offsets [{}, {}] that are not a range", where(),
                extent.begin, extent.end);
  if (extent.end > data_size)
    return fail(ErrorKind::bad_format,
                "{} ends at byte {} of the data, but the file has {} (truncated, or still being written)",
                where(), extent.end, data_size);
  const int64_t needed = packed_size(*dtype, *count);
  if (extent.end - extent.begin != needed)
    return fail(ErrorKind::bad_format, "{} has {} bytes, but {} of shape {} needs {}", where(),
                extent.end - extent.begin, *entry.dtype, extent.meta.shape.text(), needed);
  return extent;
}

// Two tensors that share bytes, or a name, cannot both be right: neither is read.
void refuse_doubles(const std::vector<SafetensorsEntry>& entries, const File& file,
                    std::vector<Result<Extent>>& extents) {
  std::unordered_map<std::string_view, size_t> by_name;
  by_name.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto [first, is_new] = by_name.emplace(entries[i].name, i);
    if (is_new) continue;
    for (const size_t twin : {first->second, i})
      extents[twin] = fail(ErrorKind::bad_format, "{}: tensor '{}' appears twice in the header", file.name(),
                           printable(entries[i].name));
  }
  std::vector<size_t> order;
  for (size_t i = 0; i < extents.size(); ++i)
    if (extents[i] && extents[i]->begin < extents[i]->end) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(extents[a]->begin, a) < std::pair(extents[b]->begin, b);
  });
  std::set<size_t> overlapping;
  int64_t reached = 0;
  size_t reached_by = 0;
  for (const size_t i : order) {
    if (extents[i]->begin < reached) overlapping.insert({i, reached_by});
    if (extents[i]->end > reached) {
      reached = extents[i]->end;
      reached_by = i;
    }
  }
  for (const size_t i : overlapping)
    extents[i] = fail(ErrorKind::bad_format, "{}: tensor '{}' overlaps another one", file.name(),
                      printable(entries[i].name));
}

// Bytes that no tensor claims: the reference implementation refuses such files.
int64_t unclaimed_bytes(const std::vector<Result<Extent>>& extents, int64_t data_size) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const auto& extent : extents) {
    if (!extent) return 0;  // said already
    ranges.emplace_back(extent->begin, extent->end);
  }
  std::sort(ranges.begin(), ranges.end());
  int64_t claimed = 0;
  for (const auto& [begin, end] : ranges) claimed += end - begin;
  return data_size - claimed;
}

// How many tensors have something in the bits that their last byte leaves over. Data is read for it.
Result<int64_t> count_spare_bits(const File& file, int64_t data_start,
                                 const std::vector<Result<Extent>>& extents) {
  int64_t found = 0;
  for (const auto& extent : extents) {
    if (!extent || spare_bits(extent->meta.dtype, extent->meta.shape.count()) == 0) continue;
    const auto& [dtype, shape] = extent->meta;
    const int64_t count = shape.count(), whole = packed_size(dtype, count - count % kPackedGroup);
    std::byte last[kPackedGroup] = {};
    const auto size = static_cast<size_t>(packed_size(dtype, count) - whole);
    ASSAY_TRY_DO(file.read(data_start + extent->begin + whole, {last, size}));
    found += are_spare_bits_set(dtype, last, count) ? 1 : 0;
  }
  return found;
}

Result<TensorSet> open_safetensors(const std::shared_ptr<const File>& file, const FormatOptions& options) {
  ASSAY_TRY(const std::string json, read_header(*file, options));
  ASSAY_TRY(const SafetensorsHeader header, parse_safetensors_header(json, file->name(), options.memory));
  const std::vector<SafetensorsEntry>& entries = header.entries;
  const int64_t data_start = kLengthBytes + std::ssize(json);
  const int64_t data_size = file->size() - data_start;
  std::vector<Result<Extent>> extents;
  extents.reserve(entries.size());
  for (const SafetensorsEntry& entry : entries) extents.push_back(check_entry(entry, *file, data_size));
  refuse_doubles(entries, *file, extents);

  TensorSet set;
  set.extent = file->size();
  if (const int64_t extra = unclaimed_bytes(extents, data_size); extra > 0) {
    set.warnings.push_back(left_out(fmt::format("{}: {} bytes belong to no tensor", file->name(), extra)));
    set.beside.push_back({fmt::format("{} bytes that belong to no tensor", extra)});
  }
  if (header.metadata > 0)
    set.beside.push_back({fmt::format(
        "{} of metadata", header.metadata == 1 ? "an entry" : fmt::format("{} entries", header.metadata))});
  if (header.unknown_fields > 0)
    set.beside.push_back(
        {fmt::format("{} of its tensors that {} not known",
                     header.unknown_fields == 1 ? "a field" : fmt::format("{} fields", header.unknown_fields),
                     header.unknown_fields == 1 ? "is" : "are")});
  if (options.every_byte) {
    ASSAY_TRY(const int64_t found, count_spare_bits(*file, data_start, extents));
    if (found > 0) set.beside.push_back({"bits behind the elements of a tensor"});
  }
  set.tensors.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    StoredTensor tensor{
        .name = printable(entries[i].name), .data = OperandPtr(), .meta = {}, .stats = {}, .facts = {}};
    if (extents[i]) {
      tensor.meta = extents[i]->meta;
      tensor.data = packed_in_file(file, data_start + extents[i]->begin, extents[i]->meta);
    } else {
      tensor.data = tl::unexpected<Error>(extents[i].error());
    }
    set.tensors.push_back(std::move(tensor));
  }
  return set;
}

struct Planned {
  std::string name;
  OperandPtr tensor;
  int64_t size = 0;
};

Result<std::vector<Planned>> plan(const FileWriter& out, std::span<const StoredTensor> tensors) {
  std::vector<Planned> planned;
  std::set<std::string> names;
  for (const StoredTensor& stored : tensors) {
    ASSAY_TRY(const OperandPtr tensor, stored.data);
    const DType dtype = tensor->meta.dtype;
    Planned next{stored.name.empty() ? std::string(kUnnamed) : stored.name, tensor,
                 packed_size(dtype, tensor->meta.shape.count())};
    if (next.name == "__metadata__" || !names.insert(next.name).second)
      return fail(ErrorKind::bad_argument, "{}: two tensors named '{}' cannot be written to one file",
                  out.name(), next.name);
    const bool whole_bytes = tensor->meta.shape.count() % 8 * info(dtype).storage_bits % 8 == 0;
    if (safetensors_dtype(dtype).empty() || !whole_bytes)
      return fail(ErrorKind::unsupported,
                  "{}: tensor '{}': safetensors cannot hold {} {}; cast it, or write .pt", out.name(),
                  next.name, name(dtype), tensor->meta.shape.text());
    planned.push_back(std::move(next));
  }
  // Widest elements first, so that every tensor is aligned.
  std::sort(planned.begin(), planned.end(), [](const Planned& a, const Planned& b) {
    const int bits_a = info(a.tensor->meta.dtype).storage_bits,
              bits_b = info(b.tensor->meta.dtype).storage_bits;
    return std::pair(-bits_a, std::string_view(a.name)) < std::pair(-bits_b, std::string_view(b.name));
  });
  return planned;
}

Result<void> write_safetensors(FileWriter& out, std::span<const StoredTensor> tensors) {
  ASSAY_TRY(const auto planned, plan(out, tensors));
  std::vector<SafetensorsPlace> places;
  for (const Planned& p : planned) places.push_back({p.name, p.tensor->meta, p.size});
  ASSAY_TRY_DO(out.append(safetensors_header(places)));
  for (const Planned& p : planned) ASSAY_TRY_DO(append_data(out, *p.tensor));
  return {};
}

}  // namespace

const Format safetensors_format{.name = "safetensors",
                                .suffixes = {".safetensors"},
                                .one_tensor = false,
                                .sniff = sniff_safetensors,
                                .open = open_safetensors,
                                .write = write_safetensors};

}  // namespace assay
