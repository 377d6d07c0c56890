#include "assay/support/zip_writer.h"

#include "assay/base/text.h"
#include "assay/support/zip.h"

#include <zlib.h>

#include <algorithm>

namespace assay {
namespace {

constexpr int64_t kAlignment = 64;  // what torch uses, so that its files can be mapped
constexpr int64_t kLocalSize = 30;
constexpr int64_t kCrcInLocal = 14;
constexpr uint32_t kIn64 = 0xFFFFFFFF;
constexpr uint16_t kIn64Short = 0xFFFF;
constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint16_t kPaddingExtra = 0x4246;  // "FB": the id torch gives its padding
constexpr uint16_t kUtf8Names = 0x0800;
constexpr uint16_t kDate = 0x0021;  // 1980-01-01, the first day a zip can name
constexpr uint16_t kPlainVersion = 20, kZip64Version = 45;

class Record {
 public:
  template <class T>
  Record& put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  Record& put_text(std::string_view text) {
    text_.append(text);
    return *this;
  }
  const std::string& text() const { return text_; }
  int64_t size() const { return std::ssize(text_); }

 private:
  std::string text_;
};

bool needs_64(int64_t number) { return number >= kIn64; }
uint32_t short_form(int64_t number) { return needs_64(number) ? kIn64 : static_cast<uint32_t>(number); }

}  // namespace

Result<void> ZipWriter::begin(std::string_view name, int64_t size) {
  ASSAY_CHECK(missing_ == 0 && size >= 0);
  if (leads_out(name))
    return fail(ErrorKind::bad_argument, "{}: \"{}\" leads out of the archive and cannot name an entry",
                out_.name(), printable(name));
  if (name.size() > 0xFFFF - 1)
    return fail(ErrorKind::bad_argument, "{}: an entry name of {} bytes is too long for a zip", out_.name(),
                name.size());
  Record extra;
  if (needs_64(size)) extra.put(kZip64Extra).put(uint16_t{16}).put(size).put(size);
  const int64_t unpadded = out_.size() + kLocalSize + std::ssize(name) + extra.size() + 4;
  const int64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  extra.put(kPaddingExtra)
      .put(static_cast<uint16_t>(padding))
      .put_text(std::string(static_cast<size_t>(padding), 'Z'));

  Record header;
  header.put_text("PK\3\4")
      .put(needs_64(size) ? kZip64Version : kPlainVersion)
      .put(kUtf8Names)
      .put(uint16_t{0});
  header.put(uint16_t{0})
      .put(kDate)
      .put(uint32_t{0});  // time, date, CRC-32: known at the end and patched then
  header.put(short_form(size)).put(short_form(size));
  header.put(static_cast<uint16_t>(name.size())).put(static_cast<uint16_t>(extra.size()));
  header.put_text(name).put_text(extra.text());
  entries_.push_back({std::string(name), size, out_.size(), static_cast<uint32_t>(crc32(0, nullptr, 0))});
  missing_ = size;
  return out_.append(header.text());
}

Result<void> ZipWriter::append(Bytes bytes) {
  ASSAY_CHECK(std::ssize(bytes) <= missing_);
  missing_ -= std::ssize(bytes);
  uint32_t& crc = entries_.back().crc;
  crc = static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  return out_.append(bytes);
}

Result<void> ZipWriter::end() {
  ASSAY_CHECK(missing_ == 0);
  const Written& entry = entries_.back();
  return out_.write_at(entry.header_offset + kCrcInLocal, std::as_bytes(std::span(&entry.crc, 1)));
}

Result<void> ZipWriter::add(std::string_view name, Bytes bytes) {
  ASSAY_TRY_DO(begin(name, std::ssize(bytes)));
  ASSAY_TRY_DO(append(bytes));
  return end();
}

Result<void> ZipWriter::finish() {
  const int64_t directory_offset = out_.size();
  for (const Written& entry : entries_) {
    Record extra;
    if (needs_64(entry.size)) extra.put(entry.size).put(entry.size);
    if (needs_64(entry.header_offset)) extra.put(entry.header_offset);
    const int64_t extra_size = extra.size() == 0 ? 0 : 4 + extra.size();
    const uint16_t version = extra_size == 0 ? kPlainVersion : kZip64Version;
    Record record;
    record.put_text("PK\1\2")
        .put(version)
        .put(version)
        .put(kUtf8Names)
        .put(uint16_t{0})
        .put(uint16_t{0})
        .put(kDate);
    record.put(entry.crc).put(short_form(entry.size)).put(short_form(entry.size));
    record.put(static_cast<uint16_t>(entry.name.size())).put(static_cast<uint16_t>(extra_size));
    record.put(uint16_t{0}).put(uint16_t{0}).put(uint16_t{0}).put(uint32_t{0});  // comment, disk, attributes
    record.put(short_form(entry.header_offset)).put_text(entry.name);
    if (extra_size > 0)
      record.put(kZip64Extra).put(static_cast<uint16_t>(extra.size())).put_text(extra.text());
    ASSAY_TRY_DO(out_.append(record.text()));
  }
  const int64_t directory_size = out_.size() - directory_offset;
  const int64_t count = std::ssize(entries_);
  Record end;
  if (count >= kIn64Short || needs_64(directory_offset) || needs_64(directory_size)) {
    const int64_t end64_offset = out_.size();
    end.put_text("PK\6\6")
        .put(int64_t{44})
        .put(kZip64Version)
        .put(kZip64Version)
        .put(uint32_t{0})
        .put(uint32_t{0});
    end.put(count).put(count).put(directory_size).put(directory_offset);
    end.put_text("PK\6\7").put(uint32_t{0}).put(end64_offset).put(uint32_t{1});
  }
  const auto short_count = static_cast<uint16_t>(std::min<int64_t>(count, kIn64Short));
  end.put_text("PK\5\6").put(uint16_t{0}).put(uint16_t{0}).put(short_count).put(short_count);
  end.put(short_form(directory_size)).put(short_form(directory_offset)).put(uint16_t{0});
  return out_.append(end.text());
}

}  // namespace assay
