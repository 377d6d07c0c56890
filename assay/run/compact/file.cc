#include "assay/run/compact/file.h"

#include "assay/base/sync.h"
#include "assay/base/system_message.h"
#include "assay/base/text.h"
#include "assay/base/user_attributes.h"
#include "assay/format/atb_bin.h"
#include "assay/format/ge_dump.h"
#include "assay/format/npy.h"
#include "assay/format/pt.h"
#include "assay/format/stats_json.h"
#include "assay/run/compact/removal.h"
#include "assay/run/compact/replacement.h"
#include "assay/run/compact/rest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace assay {
namespace {

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

FileState state_of(const struct stat& status) {
  return {status.st_dev,
          status.st_ino,
          status.st_size,
          nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim),
          status.st_mode,
          status.st_uid,
          status.st_gid,
          status.st_nlink};
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "Add.Add_2.44.6.1706596912161941", or the digits that stand for a name that was too long.
bool is_ge_name(std::string_view name) {
  if (is_number(name)) return true;
  const std::vector<std::string_view> fields = split(name, '.');
  return fields.size() >= 4 && is_number(fields.back()) && is_number(fields[2]);
}

bool has_tensor_suffix(std::string_view name) {
  const std::string lower = to_lower(name);
  return std::any_of(std::begin(kTensorSuffixes), std::end(kTensorSuffixes),
                     [&](std::string_view suffix) { return lower.ends_with(suffix); });
}

bool is_replaceable(const Format& format, CompactForm form) {
  if (&format == &npy_format || &format == &ge_dump_format) return true;
  return form == CompactForm::stats &&
         (&format == &atb_bin_format || &format == &pt_format || &format == &pt_legacy_format);
}

FileFate kept(std::string why) { return {Fate::kept, std::move(why)}; }

// What the file system says against replacing it.
std::optional<FileFate> refuse_by_state(const CompactJob& job) {
  const std::string name = display(job.path);
  const auto now = read_state(job.path);
  if (!now) return FileFate{Fate::gone};
  if (!S_ISREG(now->mode)) return FileFate{Fate::left_out};
  const Writer writer = find_writer(job.path);
  if (*now != job.state || writer == Writer::somebody)
    return FileFate{Fate::kept, fmt::format("{}: is still being written", name), true};
  if (writer == Writer::unseen) return FileFate{Fate::kept, fmt::format("{}: {}", name, kUnseenWriter), true};
  if (now->size == 0) return kept(fmt::format("{}: is empty", name));
  if (now->links > 1)
    return kept(fmt::format("{}: has {} names (hard links); removing one of them would save nothing", name,
                            now->links));
  if (const uid_t self = ::geteuid(); self != 0 && now->owner != self)
    return kept(fmt::format("{}: belongs to another user", name));
  if (writer == Writer::hidden)
    return kept(fmt::format(
        "{}: whether anybody is writing it is told to its owner only; run this as its owner", name));
  return std::nullopt;
}

// What its contents say against it; nothing where it may be replaced.
std::optional<FileFate> refuse_by_content(const File& file, const Format& format, const TensorSet& set) {
  if (set.extent != file.size())
    return kept(
        fmt::format("{}: its header describes {} bytes, but it has {} (still being written, or "
                    "broken?)",
                    file.name(), set.extent, file.size()));
  if (set.tensors.empty()) return kept(fmt::format("{}: holds no tensor", file.name()));
  for (const StoredTensor& tensor : set.tensors)
    if (!tensor.data) {
      const bool is_description = tensor.data.error().kind == ErrorKind::not_found && tensor.meta;
      return is_description ? FileFate{Fate::left_out} : kept(tensor.data.error().message);
    }
  const bool is_pt = &format == &pt_format || &format == &pt_legacy_format;
  if (is_pt && (set.tensors.size() > 1 || !set.tensors[0].name.empty()))
    return kept(
        fmt::format("{}: holds named tensors; only files of one bare tensor are replaced, as dumps "
                    "have them (a checkpoint?)",
                    file.name()));
  return std::nullopt;
}

// An ATB file of a few lines that names the file with its data: nothing to save, and its target may go.
bool refers_to_another(const TensorSet& set) {
  const auto is_alias = [](const Fact& fact) { return fact.key == "data"; };
  return set.tensors.size() == 1 &&
         std::any_of(set.tensors[0].facts.begin(), set.tensors[0].facts.end(), is_alias);
}

// An error of the file is its fate; Ctrl-C ends the run.
Result<FileFate> fate_of(const Error& error) {
  if (error.kind == ErrorKind::cancelled) return tl::unexpected<Error>(error);
  return kept(error.message);
}

// By where the file really lies as well: the user may stand in that folder, or come through a link.
bool is_data_of_msprobe(const fs::path& path) {
  std::error_code ignored;
  const fs::path real = fs::canonical(path, ignored);
  const auto lies_in_it = [](const fs::path& file) {
    const fs::path folder = file.parent_path();
    return std::find(folder.begin(), folder.end(), "dump_tensor_data") != folder.end();
  };
  return lies_in_it(path) || lies_in_it(real);
}

Result<FileFate> publish(const CompactJob& job, const File& file, const Format& format, const TensorSet& set,
                         const CompactOptions& options) {
  const auto path = replacement_path(job.path, options.form);
  if (!path)
    return kept(fmt::format(
        "{}: would become what a file whose name ends in .npy becomes; rename it, or pass --as stats",
        file.name()));
  if (options.form == CompactForm::min_max && is_data_of_msprobe(job.path))
    return kept(
        fmt::format("{}: dump.json names it, and would not find its extremes; pass --as stats", file.name()));
  if (const auto refused = refuse_by_name(job.path, *path, options.form))
    return FileFate{Fate::kept, fmt::format("{}: {}", file.name(), refused->why), refused->may_pass};
  // Whose what has that name already is, only the data tell; what is put there later is not what was looked
  // into.
  const auto before = read_state(*path);
  Replacement measured;
  if (!options.dry_run || before) {
    auto done = measure_file(file, format, set, options.form);
    if (!done) return fate_of(done.error());
    measured = std::move(*done);
  }
  const Occupant occupant = find_occupant(*path, measured, options.format);
  if (occupant == Occupant::foreign || (occupant == Occupant::same && !before))
    return kept(fmt::format("{}: {} is in the way, which is not what would be written now; move one of them",
                            file.name(), display(path->filename())));
  FileFate fate{.fate = Fate::replaced, .replacement = *path};
  fate.was_there = occupant == Occupant::same;
  if (fate.was_there && (before->owner != job.state.owner || before->links > 1))
    return kept(fmt::format("{}: {} is there already, and belongs to somebody else; move one of them",
                            file.name(), display(path->filename())));
  if (fate.was_there && !has_user_attributes_of(job.path, *path))
    return kept(fmt::format("{}: {} is there already, without its extended attributes; move one of them",
                            file.name(), display(path->filename())));
  if (options.dry_run) return fate;
  if (fate.was_there) {
    fate.published = *before;
    if (auto synced = sync_file(*path); !synced) return FileFate{Fate::trouble, synced.error().message, true};
    return fate;
  }
  const auto written = write_replacement(measured, *path, job);
  if (!written && written.error().kind == ErrorKind::mismatch)
    return FileFate{Fate::kept, fmt::format("{}: {}", file.name(), written.error().message), true};
  if (!written) return FileFate{Fate::trouble, written.error().message, true};
  fate.published = *written;
  return fate;
}

bool is_in_place(const FileFate& published) {
  const auto now = read_state(published.replacement);
  const Writer writer = find_writer(published.replacement);
  return now && is_unchanged(published.published, *now) &&
         (writer == Writer::nobody || writer == Writer::hidden);
}

// Only what this run wrote and nobody changed.
void take_back(const FileFate& published) {
  if (!published.was_there && is_in_place(published)) ::unlink(published.replacement.c_str());
}

}  // namespace

std::optional<FileState> read_state(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return state_of(status);
}

Writer find_writer(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) return errno == EMFILE || errno == ENFILE ? Writer::unseen : Writer::nobody;
  // A writer that comes while the lease is held has us signalled; SIGURG is one that nobody minds.
  ::fcntl(descriptor, F_SETSIG, SIGURG);
  const int error = ::fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0 ? 0 : errno;
  if (error == 0) ::fcntl(descriptor, F_SETLEASE, F_UNLCK);
  ::close(descriptor);
  if (error == EAGAIN || error == EBUSY) return Writer::somebody;
  return error == EACCES || error == EPERM ? Writer::hidden : Writer::nobody;
}

std::optional<FileState> read_state(int folder, const std::string& name) {
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return state_of(status);
}

FileState read_state(int descriptor) {
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 ? state_of(status) : FileState{};
}

bool is_unchanged(const FileState& before, const FileState& now) {
  return now.device == before.device && now.inode == before.inode && now.size == before.size &&
         now.modified_ns == before.modified_ns;
}

bool may_be_compacted(std::string_view file_name, CompactForm form) {
  if (file_name.starts_with('.') || is_replacement_name(file_name)) return false;
  if (file_name.starts_with("Opdebug.")) return false;  // what an overflow was, not tensors
  const std::string lower = to_lower(file_name);
  if (form == CompactForm::min_max) return lower.ends_with(".npy") || is_ge_name(file_name);
  return has_tensor_suffix(file_name) || is_ge_name(file_name);
}

Result<FileFate> publish_replacement(const CompactJob& job, const CompactOptions& options) {
  if (auto refused = refuse_by_state(job)) return *refused;
  const auto file = File::open(job.path);
  if (!file && file.error().kind == ErrorKind::not_found) return FileFate{Fate::gone};
  if (!file) return kept(file.error().message);
  const auto format = recognise_content(**file);
  if (!format) return kept(format.error().message);
  if (*format == nullptr)
    return kept(
        fmt::format("{}: is not a tensor file we know (still being written, or broken?)", (*file)->name()));
  if (!is_replaceable(**format, options.form)) return FileFate{Fate::left_out};
  FormatOptions format_options = options.format;
  format_options.every_byte = true;
  const auto set = (*format)->open(*file, format_options);
  if (!set) return kept(set.error().message);
  if (refers_to_another(*set)) return FileFate{Fate::left_out};
  if (auto refused = refuse_by_content(**file, **format, *set)) return *refused;
  const auto uncovered = find_uncovered(*file, *set, options.form == CompactForm::stats);
  if (!uncovered) return fate_of(uncovered.error());
  if (*uncovered)
    return kept(fmt::format("{}: holds {}, of which its statistics would say nothing; {}", (*file)->name(),
                            (*uncovered)->what,
                            (*uncovered)->in_facts ? "pass --as stats" : "leave it out with --skip"));
  // A type that was guessed, a shape that does not fit: the numbers may be those of another tensor, and
  // nobody could tell any more. Whatever is worth saying of a file is a reason to keep it.
  if (!set->warnings.empty()) return kept(set->warnings[0]);
  return publish(job, **file, **format, *set, options);
}

FileFate remove_source(const CompactJob& job, const FileFate& published, const CompactOptions& options) {
  const auto now = read_state(job.path);
  if (!now) {
    if (options.alone) take_back(published);
    return {Fate::gone};
  }
  if (*now != job.state || find_writer(job.path) != Writer::nobody) {
    take_back(published);  // it says what is no longer true
    return {Fate::kept, fmt::format("{}: was changed while it was measured", display(job.path)), true};
  }
  if (!is_in_place(published))
    return {Fate::kept,
            fmt::format("{}: its statistics were changed or removed meanwhile", display(job.path)), true};
  if (options.form == CompactForm::min_max)
    if (auto noted = note_long_name(job.path, published.replacement); !noted) {
      take_back(published);
      if (noted.error().kind == ErrorKind::mismatch)
        return {Fate::kept, fmt::format("{}: {}", display(job.path), noted.error().message), true};
      return {Fate::trouble, noted.error().message, true};
    }
  switch (remove_unless_written(job.path, job.state)) {
    case Removal::done:
      return published;
    case Removal::was_written:
      take_back(published);
      return {Fate::kept, fmt::format("{}: was changed while it was measured", display(job.path)), true};
    case Removal::failed:
      break;
  }
  const int error = errno;
  const fs::path aside = aside_name(job.path);
  return {Fate::trouble,
          fmt::format("{}: cannot be removed, though its statistics are written: {}{}", display(job.path),
                      system_message(error),
                      read_state(aside) ? fmt::format("; {} lies beside it", display(aside.filename())) : ""),
          true};
}

}  // namespace assay
