#include "assay/format/atb_bin.h"

#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/format/append_data.h"
#include "assay/format/atb_bin_alias.h"
#include "assay/format/atb_bin_header.h"
#include "assay/format/atb_bin_write.h"
#include "assay/format/stats_json.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/gather.h"

#include <set>

namespace assay {
namespace {

// An alias may point to an alias; real chains have one or two links.
constexpr size_t kMaxHops = 64;
constexpr int64_t kPlainFormat = 2;  // nd

bool sniff_atb(Bytes head, int64_t /*file_size*/) { return looks_like_atb_header(as_text(head)); }

Result<DType> dtype_of(const File& file, const AtbHeader& header) {
  const AtbDType* const known = find_atb_dtype(header.dtype_code);
  if (known == nullptr)
    return fail(ErrorKind::unsupported, "{}: dtype={} is not a type of ATB that we know", file.name(),
                header.dtype_code);
  if (!known->dtype)
    return fail(ErrorKind::unsupported, "{}: holds {} data, which cannot be compared", file.name(),
                known->name);
  return *known->dtype;
}

struct Record {
  Result<OperandPtr> data;
  int64_t extent = 0;
  Remarks warnings;
  std::vector<Beside> beside = {};
};

// What lies around the elements, or stands in the header, and is not read.
std::vector<Beside> beside_elements(const AtbHeader& header, int64_t needed) {
  std::vector<Beside> out;
  if (header.length && *header.length > needed)
    out.push_back({fmt::format("{} bytes behind its elements", *header.length - needed)});
  if (header.data_length && *header.data_length != needed && header.data_length != header.length)
    out.push_back({fmt::format("a $Object.data line of {} bytes where there are {}", *header.data_length,
                               header.length.value_or(needed))});
  if (header.data_offset > 0)
    out.push_back({fmt::format("{} bytes before its elements", header.data_offset)});
  if (header.count && *header.count > 1) out.push_back({fmt::format("{} objects", *header.count)});
  if (header.stats) out.push_back({"statistics of its own"});
  if (header.has_more) out.push_back({"lines of its header that are not known"});
  return out;
}

// A record that states its data itself, not by an alias.
Record open_record(const std::shared_ptr<const File>& file, const AtbHeader& header, const TensorMeta& meta) {
  const auto failed = [&](tl::unexpected<Error> error) {
    return Record{std::move(error), header.size, {}, {}};
  };
  const int64_t needed = packed_size(meta.dtype, meta.shape.count());
  if (header.count == 0 && needed > 0) {
    if (header.stats)
      return failed(fail(ErrorKind::not_found, "{}: holds statistics only, no data", file->name()));
    return failed(
        fail(ErrorKind::not_found, "{}: holds a description only, no data (Count=0)", file->name()));
  }
  const int64_t available = file->size() - header.size;
  if (header.length && *header.length < needed)
    return failed(fail(ErrorKind::bad_format, "{}: $Object.Length={}, but dims {} of {} need {} bytes",
                       file->name(), *header.length, meta.shape.text(), name(meta.dtype), needed));
  const auto end = checked_add(header.data_offset, needed);
  if (!end || *end > available)
    return failed(
        fail(ErrorKind::bad_format,
             "{}: {} bytes follow the header, but dims {} of {} need {} (truncated, or still being written)",
             file->name(), available, meta.shape.text(), name(meta.dtype), needed));
  const int64_t start = header.size + header.data_offset;
  Record record{packed_in_file(file, start, meta), 0, {}, beside_elements(header, needed)};
  if (const int64_t spare = spare_bits(meta.dtype, meta.shape.count()); spare > 0)
    record.beside.push_back({.what = fmt::format("{} bits behind its elements", spare),
                             .offset = start,
                             .bytes = needed,
                             .slot = 0});
  if (header.length && *header.length > needed)
    record.warnings.push_back(
        left_out(fmt::format("{}: $Object.Length={}, of which dims {} of {} use {} bytes", file->name(),
                             *header.length, meta.shape.text(), name(meta.dtype), needed)));
  const int64_t stated =
      header.length ? checked_add(header.data_offset, *header.length).value_or(available) : *end;
  record.extent = header.size + std::min(std::max(*end, stated), available);
  return record;
}

void warn_about_rest(const File& file, int64_t extent, std::string_view of_what, Remarks& warnings) {
  if (extent >= file.size()) return;
  static constexpr std::string_view kStart = "$Version=";
  std::byte next[kStart.size()];
  const auto got = file.read_some(extent, next);
  const bool record = got && as_text(Bytes(next, static_cast<size_t>(*got))) == kStart;
  warnings.push_back(
      left_out(record ? fmt::format("{}: was written twice; the first record is used", file.name())
                      : fmt::format("{}: {} bytes follow the {} and are ignored", file.name(),
                                    file.size() - extent, of_what)));
}

Result<void> check_same_tensor(const File& start, const TensorMeta& meta, const fs::path& target,
                               const TensorMeta& found) {
  if (found.dtype == meta.dtype && found.shape.count() == meta.shape.count()) return {};
  return fail(ErrorKind::mismatch, "{}: is {} {}, but its data in {} is {} {}", start.name(),
              name(meta.dtype), meta.shape.text(), display(target), name(found.dtype), found.shape.text());
}

// The file that an alias means is gone, and its statistics are there: they hold for the alias too.
Result<OperandPtr> take_statistics(const File& start, const TensorMeta& meta, const fs::path& target,
                                   std::optional<Stats>& stats) {
  ASSAY_TRY(TensorSet set, open_tensors(target));
  if (set.tensors.size() != 1 || !set.tensors[0].meta || !set.tensors[0].stats)
    return fail(ErrorKind::bad_format, "{}: refers to {}, which holds {} tensors where one is expected",
                start.name(), display(target), set.tensors.size());
  ASSAY_TRY_DO(check_same_tensor(start, meta, target, *set.tensors[0].meta));
  stats = std::move(set.tensors[0].stats);
  return std::move(set.tensors[0].data);
}

// Follows aliases from `header` until a file has data of its own, and sees it as `meta`. Where only the
// statistics of that file are left, these go to `stats`. The files on the way go to `set`.
Result<OperandPtr> open_alias(const std::shared_ptr<const File>& start, const AtbHeader& start_header,
                              const TensorMeta& meta, TensorSet& set, std::optional<Stats>& stats) {
  std::set<fs::path> visited{fs::absolute(start->path()).lexically_normal()};
  std::shared_ptr<const File> file = start;
  AtbHeader header = start_header;
  while (!header.alias.empty()) {
    if (visited.size() > kMaxHops)
      return fail(ErrorKind::limit, "{}: its data= lines lead through more than {} files", start->name(),
                  kMaxHops);
    ASSAY_TRY(const fs::path target, find_alias_target(*file, header.alias));
    if (!visited.insert(target).second)
      return fail(ErrorKind::bad_format, "{}: its data= lines lead in a circle", start->name());
    set.files.push_back(target);
    auto opened = File::open(target);
    if (!opened && opened.error().kind == ErrorKind::not_found) {
      set.files.push_back(statistics_path(target));
      return take_statistics(*start, meta, target, stats);
    }
    ASSAY_TRY(file, std::move(opened));
    ASSAY_TRY(header, read_atb_header(*file));
  }
  ASSAY_TRY(const DType dtype, dtype_of(*file, header));
  ASSAY_TRY_DO(check_same_tensor(*start, meta, file->path(), {dtype, header.shape}));
  Record record = open_record(file, header, {dtype, header.shape});
  ASSAY_TRY(OperandPtr data, std::move(record.data));
  warn_about_rest(*file, record.extent, "data", set.warnings);
  std::move(record.warnings.begin(), record.warnings.end(), std::back_inserter(set.warnings));
  return header.shape == meta.shape ? data : reshaped(std::move(data), meta.shape);
}

Result<TensorSet> open_atb(const std::shared_ptr<const File>& file, const FormatOptions& /*options*/) {
  ASSAY_TRY(const AtbHeader header, read_atb_header(*file));
  TensorSet set;
  set.warnings = header.warnings;
  set.extent = header.size;
  StoredTensor tensor{.name = "", .data = OperandPtr(), .meta = {}, .stats = header.stats, .facts = {}};
  if (header.format_code) tensor.facts.push_back({"format", atb_format_name(*header.format_code)});
  const auto dtype = dtype_of(*file, header);
  if (!dtype) {
    tensor.data = tl::unexpected<Error>(dtype.error());
    set.extent = file->size();
  } else {
    tensor.meta = TensorMeta{*dtype, header.shape};
    if (!header.alias.empty()) {
      tensor.facts.push_back({"data", printable(header.alias)});
      tensor.data = open_alias(file, header, *tensor.meta, set, tensor.stats);
    } else {
      Record record = open_record(file, header, *tensor.meta);
      tensor.data = std::move(record.data);
      set.extent = record.extent;
      std::move(record.warnings.begin(), record.warnings.end(), std::back_inserter(set.warnings));
      set.beside = std::move(record.beside);
    }
    // A header without data may be followed by another record too; data that is cut off is not.
    const bool is_header_only = set.extent == header.size && (header.count == 0 || !header.alias.empty());
    if (tensor.data || is_header_only)
      warn_about_rest(*file, set.extent, is_header_only ? "header" : "data", set.warnings);
  }
  set.tensors.push_back(std::move(tensor));
  return set;
}

int64_t format_code_of(const StoredTensor& tensor) {
  for (const Fact& fact : tensor.facts)
    if (const auto* text = std::get_if<std::string>(&fact.value); fact.key == "format" && text != nullptr)
      if (const auto code = find_atb_format(to_lower(*text))) return *code;
  return kPlainFormat;
}

Result<void> write_atb(FileWriter& out, std::span<const StoredTensor> tensors) {
  if (tensors.size() != 1)
    return fail(ErrorKind::bad_argument, "{}: an ATB file holds one tensor, not {}", out.name(),
                tensors.size());
  ASSAY_TRY(const OperandPtr tensor, tensors[0].data);
  const AtbDType* const dtype = find_atb_dtype(tensor->meta.dtype);
  if (dtype == nullptr)
    return fail(ErrorKind::unsupported, "{}: ATB has no type for {}; cast it, or write .safetensors",
                out.name(), name(tensor->meta.dtype));
  const int64_t length = packed_size(tensor->meta.dtype, tensor->meta.shape.count());
  std::string dims;
  for (const int64_t dim : tensor->meta.shape.dims) dims += fmt::format("{}{}", dims.empty() ? "" : ",", dim);
  ASSAY_TRY_DO(out.append(atb_bin_header(
      {std::to_string(format_code_of(tensors[0])), std::to_string(dtype->code), dims}, length)));
  return append_data(out, *tensor);
}

}  // namespace

const Format atb_bin_format{.name = "atb",
                            .suffixes = {".bin"},
                            .one_tensor = true,
                            .sniff = sniff_atb,
                            .open = open_atb,
                            .write = write_atb};

}  // namespace assay
