#include "assay/support/zip_writer.h"

#include "assay/base/crc32.h"
#include "assay/base/text.h"
#include "assay/support/zip.h"

namespace assay {

Result<void> ZipWriter::begin(std::string_view name, int64_t size) {
  ASSAY_CHECK(missing_ == 0 && size >= 0);
  if (leads_out(name))
    return fail(ErrorKind::bad_argument, "{}: \"{}\" leads out of the archive and cannot name an entry",
                out_.name(), printable(name));
  if (name.size() > kLongestZipName)
    return fail(ErrorKind::bad_argument, "{}: an entry name of {} bytes is too long for a zip", out_.name(),
                name.size());
  entries_.push_back(
      {std::string(name), size, out_.size(), 0});  // the CRC-32 is known at the end and patched then
  missing_ = size;
  return out_.append(zip_entry_header(entries_.back()));
}

Result<void> ZipWriter::append(Bytes bytes) {
  ASSAY_CHECK(std::ssize(bytes) <= missing_);
  missing_ -= std::ssize(bytes);
  entries_.back().crc = crc32_of(entries_.back().crc, bytes);
  return out_.append(bytes);
}

Result<void> ZipWriter::end() {
  ASSAY_CHECK(missing_ == 0);
  const ZipRecord& entry = entries_.back();
  return out_.write_at(entry.header_offset + kZipCrcOffset, std::as_bytes(std::span(&entry.crc, 1)));
}

Result<void> ZipWriter::add(std::string_view name, Bytes bytes) {
  ASSAY_TRY_DO(begin(name, std::ssize(bytes)));
  ASSAY_TRY_DO(append(bytes));
  return end();
}

Result<void> ZipWriter::finish() { return out_.append(zip_directory(entries_, out_.size())); }

}  // namespace assay
