#include "assay/report/destination.h"

#include <cerrno>
#include <system_error>
#include <vector>

namespace assay {
namespace {

tl::unexpected<Error> trouble(std::string_view what) {
  const int error = errno;
  return fail(ErrorKind::io, "{}: cannot be written: {}", what, std::generic_category().message(error));
}

constexpr std::string_view kStdout = "standard output";
constexpr std::string_view kSpool = "temporary file for standard output";

// A reader that went away has seen what it wanted.
Result<void> check_written(bool written, std::string_view what) {
  if (!written && errno != EPIPE) return trouble(what);
  return {};
}

Result<void> put(std::FILE* file, std::string_view text, std::string_view what) {
  return check_written(std::fwrite(text.data(), 1, text.size(), file) == text.size(), what);
}

}  // namespace

Result<FileWriter> create_report(const SinkOptions& options, const Head& head, std::string_view suffix) {
  const Profile& profile = *options.profile;
  ASSAY_TRY_DO(make_folder(options.folder, profile.folder_mode));
  return FileWriter::create(options.folder / (profile.file_stem(head) + std::string(suffix)),
                            IfExists::number, profile.file_mode);
}

Result<Destination> Destination::open(const SinkOptions& options, const Head& head, std::string_view suffix,
                                      bool patched) {
  if (options.folder != "-") {
    ASSAY_TRY(FileWriter file, create_report(options, head, suffix));
    return Destination(std::move(file));
  }
  Destination out(std::nullopt);
  if (patched) {
    out.spool_.reset(std::tmpfile());
    if (!out.spool_) return trouble(kSpool);
  }
  return out;
}

Result<void> Destination::append(std::string_view text) {
  if (file_) return file_->append(text);
  return spool_ ? put(spool_.get(), text, kSpool) : put(stdout, text, kStdout);
}

Result<void> Destination::patch(int64_t offset, std::string_view text) {
  if (file_) return file_->write_at(offset, as_bytes(text));
  ASSAY_CHECK(spool_ != nullptr);
  if (::fseeko(spool_.get(), offset, SEEK_SET) != 0) return trouble(kSpool);
  ASSAY_TRY_DO(put(spool_.get(), text, kSpool));
  if (::fseeko(spool_.get(), 0, SEEK_END) != 0) return trouble(kSpool);
  return {};
}

void Destination::add_to_name(std::string_view text) {
  if (!file_) return;
  const fs::path& path = file_->path();
  file_->rename(path.stem().native() + std::string(text) + path.extension().native());
}

Result<void> Destination::end() {
  if (file_) return {};
  if (spool_) {
    if (::fseeko(spool_.get(), 0, SEEK_SET) != 0) return trouble(kSpool);  // flushes
    std::vector<char> block(size_t{1} << 16);
    while (const size_t got = std::fread(block.data(), 1, block.size(), spool_.get()))
      ASSAY_TRY_DO(put(stdout, {block.data(), got}, kStdout));
    if (std::ferror(spool_.get()) != 0) return trouble(kSpool);
  }
  return check_written(std::fflush(stdout) == 0, kStdout);
}

Result<std::vector<fs::path>> Destination::publish() {
  if (!file_) return std::vector<fs::path>();
  ASSAY_TRY(fs::path name, file_->publish());
  return std::vector{std::move(name)};
}

}  // namespace assay
