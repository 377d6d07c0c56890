#include "assay/run/compact/replacement.h"

#include "assay/base/system_message.h"
#include "assay/base/text.h"
#include "assay/format/ge_dump.h"
#include "assay/format/min_max.h"
#include "assay/format/npy.h"
#include "assay/format/npz.h"
#include "assay/format/stats_json.h"
#include "assay/metric/numpy_stats.h"
#include "assay/support/csv.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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
  ASSAY_TRY_DO(add_exact_extremes(*data, out.stats));
  out.stats.checksum = measured.crc32;
  out.nans = side.nans;
  out.infs = side.infs;
  out.minus_infs = side.minus_infs;
  out.zeros = side.zeros;
  if (side.nans + side.infs > 0) out.finite = of_finite_part(side, data->meta.dtype);
  out.facts = tensor.facts;
  return out;
}

Result<Replacement> measure_statistics(const File& file, const Format& format, const TensorSet& set) {
  FileStatistics measured{file.path().filename().native(), format.name, file.size(), {}, {}};
  for (const StoredTensor& tensor : set.tensors) {
    ASSAY_TRY(TensorStatistics statistics, measure_tensor(tensor));
    measured.tensors.push_back(std::move(statistics));
  }
  for (const StoredTensor& other : set.others) {
    ASSAY_TRY(TensorStatistics statistics, measure_tensor(other));
    measured.others.push_back(std::move(statistics));
  }
  return Replacement{stats_json_text(measured), {}, nullptr};
}

Result<Replacement> measure_min_max(const Format& format, const TensorSet& set) {
  std::vector<Extremes> inputs, outputs, others;
  const auto measure = [](const StoredTensor& tensor, std::vector<Extremes>& to) -> Result<void> {
    ASSAY_TRY(const OperandPtr data, tensor.data);
    ASSAY_TRY(const Extremes extremes, gather_extremes(*data));
    to.push_back(extremes);
    return {};
  };
  for (const StoredTensor& tensor : set.tensors)
    ASSAY_TRY_DO(measure(tensor, tensor.name.starts_with("input") ? inputs : outputs));
  for (const StoredTensor& other : set.others) ASSAY_TRY_DO(measure(other, others));
  Replacement out;
  out.format = &format == &npy_format ? &npy_format : &npz_format;
  if (out.format == &npy_format)
    out.arrays.push_back(min_max_array(outputs.at(0)));
  else
    out.arrays = min_max_tables(inputs, outputs, others);
  return out;
}

// Every array, its type, its shape and its bits, and nothing beside them.
bool holds_exactly(const std::shared_ptr<const File>& file, const Replacement& wanted,
                   const FormatOptions& options) {
  const auto format = recognise_content(*file);
  if (!format || *format != wanted.format) return false;
  const auto set = wanted.format->open(file, options);
  if (!set || !set->warnings.empty() || !set->beside.empty() || set->extent != file->size() ||
      set->tensors.size() != wanted.arrays.size())
    return false;
  for (size_t i = 0; i < wanted.arrays.size(); ++i) {
    const StoredTensor &found = set->tensors[i], &array = wanted.arrays[i];
    if (found.name != array.name || !found.data || (*found.data)->meta != (*array.data)->meta) return false;
    const int64_t bytes = array.meta->byte_size();
    const auto a = read_whole(**found.data, bytes), b = read_whole(**array.data, bytes);
    if (!a || !b || *a != *b) return false;
  }
  return true;
}

bool holds_text(const File& file, std::string_view wanted) {
  if (file.size() != std::ssize(wanted)) return false;
  std::string text(wanted.size(), '\0');
  return file.read(0, std::as_writable_bytes(std::span(text))).has_value() && text == wanted;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

// What mapping.csv has for a name; nothing where it has no such row, or where there is no mapping.csv. One
// that cannot be read to its end is an error: the row may stand behind that.
Result<std::optional<std::string>> find_long_name(const fs::path& mapping, std::string_view name) {
  auto file = File::open(mapping);
  if (!file && file.error().kind == ErrorKind::not_found) return std::nullopt;
  if (!file) return tl::unexpected<Error>(file.error());
  CsvReader rows(std::move(*file));
  std::vector<std::string> cells;
  std::optional<std::string> found;
  for (;;) {
    ASSAY_TRY(const bool more, rows.next(cells));
    if (!more) return found;
    if (cells.size() >= 2 && cells[0] == name) found = cells[1];
  }
}

// The row of mapping.csv that a replacement needs.
struct NewRow {
  fs::path mapping;
  std::string long_name = {};    // of the replacement
  bool is_needed = false;        // it is not there yet
  bool is_contradicted = false;  // there is another one for that name
};

Result<NewRow> new_row(const fs::path& source, const fs::path& replacement) {
  NewRow row{.mapping = source.parent_path() / "mapping.csv"};
  ASSAY_TRY(const std::optional<std::string> long_name,
            find_long_name(row.mapping, source.filename().native()));
  if (!long_name) return row;
  row.long_name = *long_name + std::string(kMinMaxNpz);
  ASSAY_TRY(const std::optional<std::string> there,
            find_long_name(row.mapping, replacement.filename().native()));
  row.is_needed = !there;
  row.is_contradicted = there && *there != row.long_name;
  return row;
}

std::optional<Refusal> refuse_by_writer(const fs::path& mapping) {
  const Writer writer = find_writer(mapping);
  if (writer == Writer::somebody)
    return Refusal{
        "mapping.csv, where the name of its statistics must be noted, is being written; run this again when "
        "it is closed",
        true};
  if (writer == Writer::hidden)
    return Refusal{
        "whether anybody is writing mapping.csv, where the name of its statistics must be noted, is told to "
        "its owner only; run this as its owner",
        true};
  return std::nullopt;
}

// All of it, or nothing: what a full disk took of it is taken back, unless somebody wrote behind it.
int append_whole(int descriptor, std::string_view text) {
  struct stat before {
  }, after{};
  if (::fstat(descriptor, &before) != 0) return errno;
  size_t done = 0;
  int error = 0;
  while (done < text.size() && error == 0) {
    const ssize_t put = ::write(descriptor, text.data() + done, text.size() - done);
    if (put > 0) done += static_cast<size_t>(put);
    if (put == 0) error = ENOSPC;
    if (put < 0 && errno != EINTR) error = errno;
  }
  if (error == 0 && ::fdatasync(descriptor) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (error == 0 || done == 0) return error;
  if (::fstat(descriptor, &after) == 0 && after.st_size == before.st_size + static_cast<off_t>(done) &&
      ::ftruncate(descriptor, before.st_size) != 0)
    return errno;
  return error;
}

bool ends_with_line_feed(const fs::path& path) {
  const auto file = File::open(path);
  std::byte last[1] = {};
  return file && ((*file)->size() == 0 ||
                  ((*file)->read((*file)->size() - 1, last) && last[0] == static_cast<std::byte>('\n')));
}

}  // namespace

bool is_replacement_name(std::string_view file_name) {
  return file_name.ends_with(kStatsSuffix) || is_min_max_name(file_name);
}

std::optional<fs::path> replacement_path(const fs::path& source, CompactForm form) {
  if (form == CompactForm::stats) return statistics_path(source);
  const std::string name = source.filename().native();
  if (name.ends_with(".npy"))
    return source.parent_path() / (name.substr(0, name.size() - 4) + std::string(kMinMaxNpy));
  if (to_lower(name).ends_with(".npy")) return std::nullopt;
  return source.parent_path() / (name + std::string(kMinMaxNpz));
}

Occupant find_occupant(const fs::path& replacement, const Replacement& measured,
                       const FormatOptions& options) {
  const auto state = read_state(replacement);
  if (!state) return Occupant::nobody;
  const auto file = S_ISREG(state->mode) ? File::open(replacement) : fail(ErrorKind::io, "not a file");
  if (!file) return Occupant::foreign;
  const bool is_same = measured.format != nullptr ? holds_exactly(*file, measured, options)
                                                  : holds_text(**file, measured.text);
  return is_same ? Occupant::same : Occupant::foreign;
}

Result<Replacement> measure_file(const File& file, const Format& format, const TensorSet& set,
                                 CompactForm form) {
  return form == CompactForm::stats ? measure_statistics(file, format, set) : measure_min_max(format, set);
}

Result<FileState> write_replacement(const Replacement& replacement, const fs::path& path,
                                    const FileState& source) {
  // It was not there when it was looked for.
  const auto refused = [&](const Error& error) -> tl::unexpected<Error> {
    if (!read_state(path)) return tl::unexpected<Error>(error);
    return fail(ErrorKind::mismatch, "{} was put there while it was measured; move one of them",
                display(path.filename()));
  };
  auto created = FileWriter::create(path, IfExists::refuse, source.mode & 0666);
  if (!created) return refused(created.error());
  FileWriter& out = *created;
  const bool is_given_away = ::geteuid() == 0 && (source.owner != 0 || source.group != ::getegid());
  if (is_given_away && ::fchown(out.descriptor(), source.owner, source.group) != 0)
    return fail(ErrorKind::mismatch,
                "its statistics cannot be given to its owner ({}); run this as its owner",
                system_message(errno));
  ASSAY_TRY_DO(replacement.format != nullptr ? replacement.format->write(out, replacement.arrays)
                                             : out.append(replacement.text));
  if (const auto published = out.publish(); !published) return refused(published.error());
  return read_state(out.descriptor());
}

std::optional<Refusal> refuse_by_name(const fs::path& source, const fs::path& replacement, CompactForm form) {
  const std::string name = replacement.filename().native();
  const long longest = ::pathconf(source.parent_path().c_str(), _PC_NAME_MAX);
  if (longest > 0 && std::ssize(name) > longest)
    return Refusal{
        fmt::format("its statistics would need a name of {} bytes, and a name may have {}; shorten it",
                    name.size(), longest)};
  if (form != CompactForm::min_max) return std::nullopt;
  const auto row = new_row(source, replacement);
  if (!row)
    return Refusal{fmt::format("mapping.csv, which may say what its name stands for, cannot be read to its "
                               "end ({}); mend it, or move it away",
                               row.error().message),
                   true};
  if (row->is_contradicted)
    return Refusal{
        fmt::format("mapping.csv has another row for {} already; remove one of them", display(name)), true};
  if (!row->is_needed) return std::nullopt;
  const auto state = read_state(row->mapping);
  if (state && (S_ISLNK(state->mode) || state->links > 1))
    return Refusal{
        "mapping.csv, where the name of its statistics must be noted, is a link, and what it leads to may "
        "be somebody else's; put a copy in its place",
        true};
  return refuse_by_writer(row->mapping);
}

Result<void> note_long_name(const fs::path& source, const fs::path& replacement) {
  ASSAY_TRY(const NewRow added, new_row(source, replacement));
  if (!added.is_needed) return {};
  const fs::path& mapping = added.mapping;
  if (const auto refused = refuse_by_writer(mapping)) return fail(ErrorKind::mismatch, "{}", refused->why);
  // A last row without its line feed gets one: it must not grow by ours.
  const std::string row = fmt::format("{}{},{}\n", ends_with_line_feed(mapping) ? "" : "\n",
                                      csv_cell(replacement.filename().native()), csv_cell(added.long_name));
  // In one write at the end, since the dump may begin to add rows at the same time.
  const int descriptor = ::open(mapping.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  struct stat status {};
  if (descriptor >= 0 && ::fstat(descriptor, &status) == 0 && status.st_nlink > 1) {
    ::close(descriptor);
    return fail(ErrorKind::io, "{}: has several names (hard links); put a copy in its place",
                display(mapping));
  }
  const int error = descriptor >= 0 ? append_whole(descriptor, row) : errno;
  if (descriptor >= 0) ::close(descriptor);
  if (error == 0) return {};
  return fail(ErrorKind::io, "{}: cannot be written: {}", display(mapping), system_message(error));
}

}  // namespace assay
