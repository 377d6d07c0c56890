#include "assay/report/destination.h"

#include "assay/base/console.h"

#include <system_error>
#include <vector>

namespace assay {
namespace {

// A reader that went away has seen what it wanted.
Result<void> unless_unread(Result<void> written) {
  if (!written && written.error().kind == ErrorKind::cancelled) return {};
  return written;
}

// Never published: it has no name, and goes with the program.
Result<FileWriter> create_spool(fs::path folder) {
  if (folder == "-") {
    std::error_code error;
    folder = fs::temp_directory_path(error);
    if (error)
      return fail(ErrorKind::io, "standard output needs a folder for temporary files: {}", error.message());
  }
  return FileWriter::create(folder / "assay_waiting", IfExists::number, 0600);
}

}  // namespace

Result<FileWriter> create_report(const SinkOptions& options, const Head& head, std::string_view suffix) {
  const Profile& profile = *options.profile;
  ASSAY_TRY_DO(make_folder(options.folder, profile.folder_mode));
  return FileWriter::create(options.folder / (profile.file_stem(head) + std::string(suffix)),
                            IfExists::number, profile.file_mode);
}

Result<Destination> Destination::open(const SinkOptions& options, const Head& head, std::string_view suffix,
                                      bool starts_late) {
  Destination out(std::nullopt);
  if (options.folder != "-") {
    ASSAY_TRY(FileWriter file, create_report(options, head, suffix));
    out.file_.emplace(std::move(file));
  }
  if (starts_late) {
    ASSAY_TRY(FileWriter spool, create_spool(options.folder));
    out.spool_.emplace(std::move(spool));
  }
  return out;
}

Result<void> Destination::append_at_once(std::string_view text) {
  return file_ ? file_->append(text) : unless_unread(console::write_report(text));
}

Result<void> Destination::append(std::string_view text) {
  return spool_ ? spool_->append(text) : append_at_once(text);
}

Result<void> Destination::start_with(std::string_view text) {
  ASSAY_CHECK(spool_.has_value());
  ASSAY_TRY_DO(append_at_once(text));
  std::vector<std::byte> block(size_t{1} << 16);
  for (int64_t at = 0; at < spool_->size();) {
    ASSAY_TRY(const int64_t got, spool_->read_some(at, block));
    if (got == 0) break;
    ASSAY_TRY_DO(append_at_once(as_text(std::span(block).first(static_cast<size_t>(got)))));
    at += got;
  }
  return {};
}

void Destination::add_to_name(std::string_view text) {
  if (!file_) return;
  const fs::path& path = file_->path();
  file_->rename(path.stem().native() + std::string(text) + path.extension().native());
}

Result<void> Destination::end() { return file_ ? file_->sync() : unless_unread(console::flush()); }

Result<std::vector<fs::path>> Destination::publish() {
  if (!file_) return std::vector<fs::path>();
  ASSAY_TRY(fs::path name, file_->publish());
  return std::vector{std::move(name)};
}

}  // namespace assay
