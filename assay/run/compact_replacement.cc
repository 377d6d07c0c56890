#include "assay/run/compact_replacement.h"

#include "assay/base/text.h"
#include "assay/format/ge_dump.h"
#include "assay/format/min_max.h"
#include "assay/format/npy.h"
#include "assay/format/npz.h"
#include "assay/format/stats_json.h"
#include "assay/metric/numpy_stats.h"
#include "assay/support/csv.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace assay {
namespace {

// As if the elements that are not finite were not there.
Stats of_finite_part(const OneSide& all, DType dtype) {
  OneSide side = all;
  side.count = side.finite;
  side.nans = side.infs = side.minus_infs = 0;
  return exact_statistics(side, dtype);
}

Result<TensorStatistics> measure_tensor(const StoredTensor& tensor) {
  ASSAY_TRY(const OperandPtr data, tensor.data);
  ASSAY_TRY(const ChecksummedSide measured, gather_one_with_checksum(*data));
  const OneSide& side = measured.side;
  TensorStatistics out;
  out.name = tensor.name;
  out.meta = data->meta;
  out.stats = exact_statistics(side, data->meta.dtype);
  out.stats.checksum = measured.crc32;
  out.nans = side.nans;
  out.infs = side.infs;
  out.zeros = side.zeros;
  if (side.nans + side.infs > 0) out.finite = of_finite_part(side, data->meta.dtype);
  out.facts = tensor.facts;
  return out;
}

Result<WriteReplacement> measure_statistics(const File& file, const Format& format, const TensorSet& set) {
  FileStatistics measured{file.path().filename().native(), format.name, file.size(), {}};
  for (const StoredTensor& tensor : set.tensors) {
    ASSAY_TRY(TensorStatistics statistics, measure_tensor(tensor));
    measured.tensors.push_back(std::move(statistics));
  }
  return [text = stats_json_text(measured)](FileWriter& out) { return out.append(text); };
}

Result<WriteReplacement> measure_min_max(const Format& format, const TensorSet& set) {
  std::vector<Extremes> inputs, outputs;
  for (const StoredTensor& tensor : set.tensors) {
    ASSAY_TRY(const OperandPtr data, tensor.data);
    ASSAY_TRY(const Extremes extremes, gather_extremes(*data));
    (tensor.name.starts_with("input") ? inputs : outputs).push_back(extremes);
  }
  if (&format == &npy_format)
    return [tensor = outputs.at(0)](FileWriter& out) { return write_min_max_npy(out, tensor); };
  return [inputs, outputs](FileWriter& out) { return write_min_max_npz(out, inputs, outputs); };
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

// What mapping.csv has for a name; nothing where it has no such row, or cannot be read to its end.
std::optional<std::string> find_long_name(const fs::path& mapping, std::string_view name) {
  auto file = File::open(mapping);
  if (!file) return std::nullopt;
  CsvReader rows(std::move(*file));
  std::vector<std::string> cells;
  std::optional<std::string> found;
  for (;;) {
    const auto more = rows.next(cells);
    if (!more || !*more) return found;
    if (cells.size() >= 2 && cells[0] == name) found = cells[1];
  }
}

}  // namespace

bool is_replacement_name(std::string_view file_name) {
  return file_name.ends_with(kStatsSuffix) || is_min_max_name(file_name);
}

fs::path replacement_path(const fs::path& source, CompactForm form) {
  if (form == CompactForm::stats) return statistics_path(source);
  const std::string name = source.filename().native();
  if (!to_lower(name).ends_with(".npy")) return source.parent_path() / (name + std::string(kMinMaxNpz));
  return source.parent_path() / (name.substr(0, name.size() - 4) + std::string(kMinMaxNpy));
}

std::optional<std::string> refuse_foreign_replacement(const fs::path& replacement,
                                                      const CompactOptions& options) {
  if (!read_state(replacement)) return std::nullopt;
  const auto file = File::open(replacement);
  if (!file) return file.error().message;
  const auto format = recognise_content(**file);
  const bool is_ours =
      format && *format != nullptr &&
      (options.form == CompactForm::stats ? *format == &stats_json_format
                                          : *format == &npy_format || *format == &npz_format);
  if (is_ours) return std::nullopt;
  return fmt::format("{}: is in the way: something else than statistics; move it", (*file)->name());
}

Result<WriteReplacement> measure_file(const File& file, const Format& format, const TensorSet& set,
                                      CompactForm form) {
  return form == CompactForm::stats ? measure_statistics(file, format, set) : measure_min_max(format, set);
}

Result<int64_t> write_replacement(const WriteReplacement& write, const fs::path& path, unsigned mode) {
  // One that exists is left over from a run that was ended between writing it and removing the source. Where
  // there is none, the file gets its name in one step and no temporary name is ever seen.
  const bool exists = read_state(path).has_value();
  ASSAY_TRY(FileWriter out, FileWriter::create(path, exists ? IfExists::replace : IfExists::refuse, mode));
  ASSAY_TRY_DO(write(out));
  const int64_t size = out.size();
  ASSAY_TRY(const fs::path published, out.publish());
  return size;
}

Result<void> note_long_name(const fs::path& source, const fs::path& replacement) {
  const fs::path mapping = source.parent_path() / "mapping.csv";
  const auto long_name = find_long_name(mapping, source.filename().native());
  const std::string name = replacement.filename().native();
  if (!long_name || find_long_name(mapping, name)) return {};
  const std::string suffix(kMinMaxNpz);
  const std::string row = fmt::format("{},{}\n", csv_cell(name), csv_cell(*long_name + suffix));
  // In one write at the end, since the dump may be adding rows at the same time.
  const int descriptor = ::open(mapping.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  const bool written =
      descriptor >= 0 && ::write(descriptor, row.data(), row.size()) == static_cast<ssize_t>(row.size());
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (written) return {};
  return fail(ErrorKind::io, "{}: cannot be written: {}", display(mapping),
              std::generic_category().message(error));
}

}  // namespace assay
