#include "assay/support/zip.h"

#include "assay/base/checked.h"
#include "assay/base/text.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

namespace assay {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;      // PK\3\4
constexpr uint32_t kEntrySignature = 0x02014b50;      // PK\1\2
constexpr uint32_t kEndSignature = 0x06054b50;        // PK\5\6
constexpr uint32_t kEnd64Signature = 0x06064b50;      // PK\6\6
constexpr uint32_t kLocator64Signature = 0x07064b50;  // PK\6\7
constexpr int64_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;
constexpr int64_t kMaxComment = 0xFFFF;
constexpr uint32_t kIn64 = 0xFFFFFFFF;   // the real number stands in the ZIP64 record
constexpr uint16_t kIn64Short = 0xFFFF;  // the same for a count
constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint16_t kEncrypted = 0x0001;
// Deflate cannot shrink better than 1032 : 1, so an entry that claims more is lying.
constexpr int64_t kMaxDeflateRatio = 1032;

template <class T>
T at(Bytes bytes, int64_t offset) {
  return load_le<T>(bytes.subspan(static_cast<size_t>(offset)));
}

// Numbers of 8 bytes on disk; negative once they exceed int64_t, which every check below refuses.
int64_t long_at(Bytes bytes, int64_t offset) { return static_cast<int64_t>(at<uint64_t>(bytes, offset)); }

struct End {
  int64_t entries = 0, directory_size = 0, directory_offset = 0;
  int64_t position = 0;  // of the first end record: the directory lies before it
  int64_t extent = 0;
};

Result<std::vector<std::byte>> read_bytes(const File& file, int64_t offset, int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  ASSAY_TRY_DO(file.read(offset, bytes));
  return bytes;
}

Result<void> widen_to_zip64(const File& file, End& end) {
  const int64_t end_position = end.position;
  if (end_position < kLocator64Size + kEnd64Size) return {};
  ASSAY_TRY(const auto locator, read_bytes(file, end_position - kLocator64Size, kLocator64Size));
  if (at<uint32_t>(locator, 0) != kLocator64Signature) return {};
  const int64_t record_offset = long_at(locator, 8);
  if (record_offset < 0 || record_offset > end_position - kLocator64Size - kEnd64Size)
    return fail(ErrorKind::bad_format, "{}: ZIP64 end record is said to be at byte {} of {}", file.name(),
                at<uint64_t>(locator, 8), file.size());
  ASSAY_TRY(const auto record, read_bytes(file, record_offset, kEnd64Size));
  if (at<uint32_t>(record, 0) != kEnd64Signature)
    return fail(ErrorKind::bad_format, "{}: no ZIP64 end record at byte {}, where one is said to be",
                file.name(), record_offset);
  if (at<uint32_t>(record, 16) != 0 || at<uint32_t>(record, 20) != 0)
    return fail(ErrorKind::unsupported, "{}: is one part of a zip in several files", file.name());
  end.entries = long_at(record, 32);
  end.directory_size = long_at(record, 40);
  end.directory_offset = long_at(record, 48);
  end.position = record_offset;
  return {};
}

// The end record is the last thing in the file, but for a comment of up to 64 KiB whose length it states.
Result<End> read_end(const File& file) {
  const int64_t tail_size = std::min(file.size(), kEndSize + kMaxComment);
  const int64_t tail_offset = file.size() - tail_size;
  ASSAY_TRY(const auto tail, read_bytes(file, tail_offset, tail_size));
  for (int64_t i = tail_size - kEndSize; i >= 0; --i) {
    if (at<uint32_t>(tail, i) != kEndSignature) continue;
    const int64_t comment = at<uint16_t>(tail, i + 20);
    if (i + kEndSize + comment > tail_size) continue;
    End end{.entries = at<uint16_t>(tail, i + 10),
            .directory_size = at<uint32_t>(tail, i + 12),
            .directory_offset = at<uint32_t>(tail, i + 16),
            .position = tail_offset + i,
            .extent = tail_offset + i + kEndSize + comment};
    const uint16_t disk = at<uint16_t>(tail, i + 4);
    if (disk != 0 && disk != kIn64Short)
      return fail(ErrorKind::unsupported, "{}: is one part of a zip in several files", file.name());
    ASSAY_TRY_DO(widen_to_zip64(file, end));
    return end;
  }
  return fail(ErrorKind::bad_format, "{}: zip without its end record (truncated, or still being written)",
              file.name());
}

// Replaces the numbers that did not fit 32 bits by those of the ZIP64 extra field, which lists only these, in
// this order.
bool take_zip64(Bytes extra, int64_t& size, int64_t& compressed_size, int64_t& header_offset) {
  while (extra.size() >= 4) {
    const uint16_t id = at<uint16_t>(extra, 0);
    const size_t length = at<uint16_t>(extra, 2);
    if (4 + length > extra.size()) return false;
    if (id != kZip64Extra) {
      extra = extra.subspan(4 + length);
      continue;
    }
    Bytes numbers = extra.subspan(4, length);
    for (int64_t* number : {&size, &compressed_size, &header_offset}) {
      if (*number != kIn64) continue;
      if (numbers.size() < 8) return false;
      *number = long_at(numbers, 0);
      numbers = numbers.subspan(8);
    }
    return true;
  }
  return false;
}

struct Placed {
  ZipEntry entry;
  int64_t header_offset = 0;
};

class DirectoryReader {
 public:
  DirectoryReader(const File& file, const End& end) : file_(file), end_(end) {}

  Result<std::vector<Placed>> read(Bytes directory) {
    std::vector<Placed> all;
    for (int64_t i = 0; i < end_.entries; ++i) {
      ASSAY_TRY(Placed placed, take_entry(directory, i));
      if (placed.entry.name.ends_with('/')) continue;
      if (!placed.entry.trouble) locate(placed);
      all.push_back(std::move(placed));
    }
    if (!directory.empty())
      return fail(ErrorKind::bad_format, "{}: {} bytes follow the {} entries of the zip directory",
                  file_.name(), directory.size(), end_.entries);
    mark_overlaps(all);
    mark_twins(all);
    return all;
  }

 private:
  template <class... Args>
  void harm(ZipEntry& entry, ErrorKind kind, fmt::format_string<Args...> reason, Args&&... args) {
    if (entry.trouble) return;
    entry.trouble = Error{kind, fmt::format("{}: entry \"{}\" {}", file_.name(), printable(entry.name),
                                            fmt::format(reason, std::forward<Args>(args)...))};
  }

  Result<Placed> take_entry(Bytes& directory, int64_t index) {
    const auto broken = [&](std::string_view reason) {
      return fail(ErrorKind::bad_format, "{}: entry {} of {} of the zip directory {}", file_.name(), index,
                  end_.entries, reason);
    };
    if (std::ssize(directory) < kEntrySize) return broken("runs past the end of the directory");
    if (at<uint32_t>(directory, 0) != kEntrySignature) return broken("has no signature");
    const int64_t name_size = at<uint16_t>(directory, 28);
    const int64_t extra_size = at<uint16_t>(directory, 30);
    const int64_t whole = kEntrySize + name_size + extra_size + at<uint16_t>(directory, 32);
    if (whole > std::ssize(directory)) return broken("runs past the end of the directory");

    Placed placed;
    ZipEntry& entry = placed.entry;
    entry.name = as_text(directory.subspan(kEntrySize, static_cast<size_t>(name_size)));
    entry.crc = at<uint32_t>(directory, 16);
    entry.compressed_size = at<uint32_t>(directory, 20);
    entry.size = at<uint32_t>(directory, 24);
    placed.header_offset = at<uint32_t>(directory, 42);
    const Bytes extra =
        directory.subspan(static_cast<size_t>(kEntrySize + name_size), static_cast<size_t>(extra_size));
    if ((entry.size == kIn64 || entry.compressed_size == kIn64 || placed.header_offset == kIn64) &&
        !take_zip64(extra, entry.size, entry.compressed_size, placed.header_offset))
      harm(entry, ErrorKind::bad_format, "lacks its ZIP64 sizes");

    const uint16_t method = at<uint16_t>(directory, 10);
    entry.method = ZipMethod{method};
    if (leads_out(entry.name)) harm(entry, ErrorKind::bad_format, "has a name that leads out of the archive");
    if ((at<uint16_t>(directory, 8) & kEncrypted) != 0) harm(entry, ErrorKind::unsupported, "is encrypted");
    if (entry.method != ZipMethod::stored && entry.method != ZipMethod::deflated)
      harm(entry, ErrorKind::unsupported, "is compressed by method {}; only stored and deflated are read",
           method);
    directory = directory.subspan(static_cast<size_t>(whole));
    return placed;
  }

  // The data begin behind the local header, whose length only it knows.
  void locate(Placed& placed) {
    ZipEntry& entry = placed.entry;
    const int64_t limit = end_.directory_offset;
    if (placed.header_offset < 0 || placed.header_offset > limit - kLocalSize)
      return harm(entry, ErrorKind::bad_format,
                  "is said to start at byte {}, past the data of the archive ({} bytes)",
                  static_cast<uint64_t>(placed.header_offset), limit);
    std::byte header[kLocalSize];
    if (auto got = file_.read(placed.header_offset, header); !got) {
      entry.trouble = std::move(got.error());
      return;
    }
    if (at<uint32_t>(header, 0) != kLocalSignature)
      return harm(entry, ErrorKind::bad_format,
                  "has no header at byte {}, where the directory says it starts", placed.header_offset);
    const int64_t name_size = at<uint16_t>(header, 26);
    entry.data_offset = placed.header_offset + kLocalSize + name_size + at<uint16_t>(header, 28);
    std::string local_name(static_cast<size_t>(name_size), '\0');
    if (name_size != std::ssize(entry.name) ||
        !file_.read(placed.header_offset + kLocalSize, std::as_writable_bytes(std::span(local_name))) ||
        local_name != entry.name)
      return harm(entry, ErrorKind::bad_format, "has another name in its own header");
    if (at<uint16_t>(header, 8) != static_cast<uint16_t>(entry.method))
      return harm(entry, ErrorKind::bad_format, "has another compression method in its own header");

    const auto data_end = checked_add(entry.data_offset, entry.compressed_size);
    if (entry.compressed_size < 0 || !data_end || *data_end > limit)
      return harm(entry, ErrorKind::bad_format,
                  "is said to take {} bytes from byte {}, past the data of the archive ({} bytes)",
                  static_cast<uint64_t>(entry.compressed_size), entry.data_offset, limit);
    if (entry.method == ZipMethod::stored && entry.size != entry.compressed_size)
      return harm(entry, ErrorKind::bad_format, "is stored, but has sizes {} and {}",
                  static_cast<uint64_t>(entry.size), entry.compressed_size);
    if (entry.size < 0 || entry.size / kMaxDeflateRatio > entry.compressed_size)
      return harm(entry, ErrorKind::bad_format,
                  "claims {} bytes from {} compressed ones, more than deflate can hold",
                  static_cast<uint64_t>(entry.size), entry.compressed_size);
  }

  // Entries that share bytes are the making of zip bombs; no tool writes them.
  void mark_overlaps(std::vector<Placed>& all) {
    std::vector<Placed*> order;
    for (Placed& placed : all)
      if (!placed.entry.trouble) order.push_back(&placed);
    std::sort(order.begin(), order.end(),
              [](const Placed* a, const Placed* b) { return a->header_offset < b->header_offset; });
    Placed* reaches_furthest = nullptr;
    const auto end_of = [](const Placed& p) { return p.entry.data_offset + p.entry.compressed_size; };
    for (Placed* placed : order) {
      if (reaches_furthest != nullptr && end_of(*reaches_furthest) > placed->header_offset) {
        harm(reaches_furthest->entry, ErrorKind::bad_format, "overlaps entry \"{}\"",
             printable(placed->entry.name));
        harm(placed->entry, ErrorKind::bad_format, "overlaps entry \"{}\"",
             printable(reaches_furthest->entry.name));
      }
      if (reaches_furthest == nullptr || end_of(*placed) > end_of(*reaches_furthest))
        reaches_furthest = placed;
    }
  }

  void mark_twins(std::vector<Placed>& all) {
    std::unordered_set<std::string_view> seen;
    for (Placed& placed : all)
      if (!seen.insert(placed.entry.name).second)
        harm(placed.entry, ErrorKind::bad_format, "stands in the directory more than once");
  }

  const File& file_;
  const End& end_;
};

}  // namespace

bool leads_out(std::string_view entry_name) {
  if (entry_name.empty() || entry_name.find('\0') != std::string_view::npos) return true;
  const auto parts = split(entry_name, '/');
  return std::find(parts.begin(), parts.end(), "..") != parts.end();
}

Result<ZipDirectory> read_zip_directory(const File& file, int64_t memory) {
  if (file.size() < kEndSize)
    return fail(ErrorKind::bad_format, "{}: {} bytes is too short for a zip", file.name(), file.size());
  ASSAY_TRY(const End end, read_end(file));
  const auto directory_end = checked_add(end.directory_offset, end.directory_size);
  if (end.directory_offset < 0 || end.directory_size < 0 || !directory_end || *directory_end > end.position)
    return fail(ErrorKind::bad_format,
                "{}: zip directory is said to take {} bytes from byte {}, but the end record is at byte {}",
                file.name(), static_cast<uint64_t>(end.directory_size),
                static_cast<uint64_t>(end.directory_offset), end.position);
  if (end.entries < 0 || end.entries > end.directory_size / kEntrySize)
    return fail(ErrorKind::bad_format, "{}: zip directory of {} bytes cannot hold {} entries", file.name(),
                end.directory_size, static_cast<uint64_t>(end.entries));
  // An entry takes more in memory than on disk.
  const auto needed = checked_add(end.directory_size, end.entries * static_cast<int64_t>(sizeof(Placed)));
  if (!needed || *needed > memory)
    return fail(ErrorKind::limit,
                "{}: a zip directory of {} entries needs {} bytes, more than the limit of {}; raise --memory",
                file.name(), end.entries, needed.value_or(end.directory_size), memory);
  ASSAY_TRY(const auto bytes, read_bytes(file, end.directory_offset, end.directory_size));
  ASSAY_TRY(auto placed, DirectoryReader(file, end).read(bytes));
  ZipDirectory directory;
  directory.extent = end.extent;
  directory.entries.reserve(placed.size());
  for (Placed& p : placed) directory.entries.push_back(std::move(p.entry));
  return directory;
}

const ZipEntry* find_entry(const ZipDirectory& directory, std::string_view name) {
  const auto found = std::find_if(directory.entries.begin(), directory.entries.end(),
                                  [&](const ZipEntry& e) { return e.name == name; });
  return found == directory.entries.end() ? nullptr : &*found;
}

}  // namespace assay
