#include "assay/base/zip_records.h"

#include <algorithm>
#include <iterator>

namespace assay {
namespace {

constexpr int64_t kAlignment = 64;  // what torch uses, so that its files can be mapped
constexpr int64_t kLocalSize = 30;
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

// Makes the data behind a header, of which all but this is written, begin at a multiple of 64 bytes.
void put_padding(Record& extra, const ZipRecord& entry) {
  const int64_t unpadded = entry.header_offset + kLocalSize + std::ssize(entry.name) + extra.size() + 4;
  const int64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  extra.put(kPaddingExtra)
      .put(static_cast<uint16_t>(padding))
      .put_text(std::string(static_cast<size_t>(padding), 'Z'));
}

void put_end64(Record& end, int64_t count, int64_t directory_size, int64_t offset, uint16_t made_by) {
  end.put_text("PK\6\6").put(int64_t{44}).put(made_by).put(kZip64Version).put(uint32_t{0}).put(uint32_t{0});
  end.put(count).put(count).put(directory_size).put(offset);
  end.put_text("PK\6\7").put(uint32_t{0}).put(offset + directory_size).put(uint32_t{1});
}

bool needs_64(int64_t number) { return number >= kIn64; }
uint32_t short_form(int64_t number) { return needs_64(number) ? kIn64 : static_cast<uint32_t>(number); }

}  // namespace

std::string zip_entry_header(const ZipRecord& entry) {
  const int64_t size = entry.size;
  Record extra;
  if (needs_64(size)) extra.put(kZip64Extra).put(uint16_t{16}).put(size).put(size);
  put_padding(extra, entry);

  Record header;
  header.put_text("PK\3\4")
      .put(needs_64(size) ? kZip64Version : kPlainVersion)
      .put(kUtf8Names)
      .put(uint16_t{0});
  header.put(uint16_t{0}).put(kDate).put(entry.crc);  // time, date
  header.put(short_form(size)).put(short_form(size));
  header.put(static_cast<uint16_t>(entry.name.size())).put(static_cast<uint16_t>(extra.size()));
  header.put_text(entry.name).put_text(extra.text());
  return header.text();
}

std::string zip_directory(std::span<const ZipRecord> entries, int64_t offset) {
  std::string out;
  for (const ZipRecord& entry : entries) {
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
    out += record.text();
  }
  const int64_t directory_size = std::ssize(out);
  const int64_t count = std::ssize(entries);
  Record end;
  if (count >= kIn64Short || needs_64(offset) || needs_64(directory_size))
    put_end64(end, count, directory_size, offset, kZip64Version);
  const auto short_count = static_cast<uint16_t>(std::min<int64_t>(count, kIn64Short));
  end.put_text("PK\5\6").put(uint16_t{0}).put(uint16_t{0}).put(short_count).put(short_count);
  end.put(short_form(directory_size)).put(short_form(offset)).put(uint16_t{0});
  return out + end.text();
}

namespace {
constexpr uint16_t kStreamed = 0x0008;     // sizes and checksum stand behind the data
constexpr uint16_t kMadeByMiniz = 0x031E;  // Unix, 3.0
}  // namespace

std::string streamed_entry_header(const ZipRecord& entry) {
  Record extra;
  put_padding(extra, entry);
  Record header;
  header.put_text("PK\3\4")
      .put(uint16_t{0})
      .put(static_cast<uint16_t>(kUtf8Names | kStreamed))
      .put(uint16_t{0});
  header.put(uint32_t{0})
      .put(uint32_t{0})
      .put(uint32_t{0})
      .put(uint32_t{0});  // time and date, checksum, sizes
  header.put(static_cast<uint16_t>(entry.name.size())).put(static_cast<uint16_t>(extra.size()));
  return header.put_text(entry.name).put_text(extra.text()).text();
}

std::string streamed_entry_end(const ZipRecord& entry) {
  const auto size = static_cast<uint32_t>(entry.size);
  return Record().put_text("PK\7\10").put(entry.crc).put(size).put(size).text();
}

std::string streamed_directory(std::span<const ZipRecord> entries, int64_t offset) {
  Record out;
  for (const ZipRecord& entry : entries) {
    const auto size = static_cast<uint32_t>(entry.size);
    out.put_text("PK\1\2").put(uint16_t{0}).put(uint16_t{0});
    out.put(static_cast<uint16_t>(kUtf8Names | kStreamed)).put(uint16_t{0}).put(uint32_t{0});
    out.put(entry.crc).put(size).put(size).put(static_cast<uint16_t>(entry.name.size())).put(uint16_t{0});
    out.put(uint16_t{0}).put(uint16_t{0}).put(uint16_t{0}).put(uint32_t{0});  // comment, disk, attributes
    out.put(static_cast<uint32_t>(entry.header_offset)).put_text(entry.name);
  }
  const int64_t size = out.size();
  put_end64(out, std::ssize(entries), size, offset, kMadeByMiniz);
  const auto count = static_cast<uint16_t>(entries.size());
  out.put_text("PK\5\6").put(uint16_t{0}).put(uint16_t{0}).put(count).put(count);
  out.put(static_cast<uint32_t>(size)).put(static_cast<uint32_t>(offset)).put(uint16_t{0});
  return out.text();
}

}  // namespace assay
