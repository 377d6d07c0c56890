#include "assay/run/compact/long_names.h"

#include "assay/base/system_message.h"
#include "assay/format/min_max.h"
#include "assay/support/csv.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <unordered_map>

namespace assay {
namespace {

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + '"';
}

// What mapping.csv of a folder has for each name, the last row of a name: read once, and again when it is no
// longer the file that was read. A folder may have as many rows as files, and each file asks.
class LongNames {
 public:
  // Nothing where there is no such row, or no mapping.csv. One that cannot be read to its end is an error:
  // the row may stand behind that.
  Result<std::optional<std::string>> find(const fs::path& mapping, const std::string& name) {
    const std::lock_guard lock(guard_);
    const auto state = read_state(mapping);
    if (!state) return std::nullopt;
    if (mapping != mapping_ || *state != state_) ASSAY_TRY_DO(read(mapping, *state));
    const auto found = names_.find(name);
    return found == names_.end() ? std::nullopt : std::optional(found->second);
  }

  // A row of so many bytes was added to it. Somebody else may have added some too: then it is read again.
  void add(const fs::path& mapping, const std::string& name, std::string long_name, size_t bytes,
           const FileState& before, const FileState& after) {
    const std::lock_guard lock(guard_);
    if (mapping != mapping_ || before != state_ || after.size != before.size + static_cast<int64_t>(bytes))
      return;
    names_[name] = std::move(long_name);
    state_ = after;
  }

 private:
  Result<void> read(const fs::path& mapping, const FileState& state) {
    names_.clear();
    mapping_.clear();
    ASSAY_TRY(auto file, File::open(mapping));
    CsvReader rows(std::move(file));
    std::vector<std::string> cells;
    for (;;) {
      ASSAY_TRY(const bool more, rows.next(cells));
      if (!more) break;
      if (cells.size() >= 2) names_[cells[0]] = cells[1];
    }
    if (rows.ends_in_quote())
      return fail(ErrorKind::bad_format, "the quote in the row at line {} is not closed", rows.line());
    mapping_ = mapping;
    state_ = state;
    return {};
  }

  std::mutex guard_;
  fs::path mapping_;
  FileState state_;
  std::unordered_map<std::string, std::string> names_;
};

LongNames& long_names() {
  static LongNames names;
  return names;
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
            long_names().find(row.mapping, source.filename().native()));
  if (!long_name) return row;
  row.long_name = *long_name + std::string(kMinMaxNpz);
  ASSAY_TRY(const std::optional<std::string> there,
            long_names().find(row.mapping, replacement.filename().native()));
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
  if (writer == Writer::unseen)
    return Refusal{
        fmt::format("mapping.csv, where the name of its statistics must be noted: {}", kUnseenWriter), true};
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

std::optional<Refusal> refuse_by_mapping(const fs::path& source, const fs::path& replacement) {
  const auto row = new_row(source, replacement);
  if (!row)
    return Refusal{fmt::format("mapping.csv, which may say what its name stands for, cannot be read to its "
                               "end ({}); mend it, or move it away",
                               row.error().message),
                   true};
  if (row->is_contradicted)
    return Refusal{fmt::format("mapping.csv has another row for {} already; remove one of them",
                               display(replacement.filename())),
                   true};
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
  const FileState before = descriptor >= 0 ? read_state(descriptor) : FileState{};
  const int error = descriptor >= 0 ? append_whole(descriptor, row) : errno;
  if (descriptor >= 0 && error == 0)
    long_names().add(mapping, replacement.filename().native(), added.long_name, row.size(), before,
                     read_state(descriptor));
  if (descriptor >= 0) ::close(descriptor);
  if (error == 0) return {};
  return fail(ErrorKind::io, "{}: cannot be written: {}", display(mapping), system_message(error));
}

}  // namespace assay
