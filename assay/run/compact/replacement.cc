#include "assay/run/compact/replacement.h"

#include "assay/base/system_message.h"
#include "assay/base/text.h"
#include "assay/base/user_attributes.h"
#include "assay/format/ge_dump.h"
#include "assay/format/min_max.h"
#include "assay/format/npy.h"
#include "assay/format/npz.h"
#include "assay/format/stats_json.h"
#include "assay/metric/numpy_stats.h"
#include "assay/run/compact/long_names.h"
#include "assay/run/compact/removal.h"

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
                                    const CompactJob& job) {
  const FileState& source = job.state;
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
  // Behind the umask, which is for new files and not for what takes the place of one.
  if (::fchmod(out.descriptor(), source.mode & 0777) != 0)
    return fail(ErrorKind::mismatch, "its statistics cannot be given its permissions ({})",
                system_message(errno));
  if (const auto copied = copy_user_attributes(job.path, out.descriptor()); !copied)
    return fail(ErrorKind::mismatch, "{}", copied.error().message);
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
  const std::string aside = aside_name(source).filename().native();
  if (longest > 0 && std::ssize(aside) > longest)
    return Refusal{fmt::format(
        "to be removed, it is given a name of {} bytes for a moment, and a name may have {}; shorten it",
        aside.size(), longest)};
  return form == CompactForm::min_max ? refuse_by_mapping(source, replacement) : std::nullopt;
}

}  // namespace assay
