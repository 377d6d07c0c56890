#include "assay/format/zip_rest.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"

#include <zlib.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace assay {
namespace {

constexpr std::string_view kLocal = "PK\3\4", kDescriptor = "PK\7\10", kEntry = "PK\1\2", kEnd64 = "PK\6\6",
                           kLocator = "PK\6\7", kEnd = "PK\5\6";
constexpr int64_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr uint16_t kZip64Field = 0x0001, kPaddingField = 0x4246;  // "FB": what torch calls its padding
constexpr int64_t kHasDescriptor = 8;                             // among the flags of an entry

// The parts of a zip, one after another from its first byte. Each kind has its turn.
class Parts {
 public:
  Parts(const File& file, const ZipDirectory& directory)
      : file_(file), extent_(directory.extent), entries_left_(std::ssize(directory.entries)) {
    for (const ZipEntry& entry : directory.entries) {
      entries_[entry.data_offset] = &entry;
      numbers_.insert({entry.size, entry.compressed_size});
    }
  }

  std::optional<int64_t> first_stray() {
    while (at_ < extent_) {
      const auto next = end_of_part();
      if (!next || *next <= at_ || *next > extent_) return at_;
      at_ = *next;
    }
    return std::nullopt;
  }

 private:
  enum class Turn : uint8_t { data, directory, end64, locator, end, nothing };

  std::optional<std::string> text(int64_t offset, int64_t size) const {
    if (offset < 0 || size < 0 || size > extent_ - offset) return std::nullopt;
    std::string out(static_cast<size_t>(size), '\0');
    if (!file_.read(offset, std::as_writable_bytes(std::span(out)))) return std::nullopt;
    return out;
  }
  bool begins(std::string_view signature) const { return text(at_, 4) == signature; }
  template <class T>
  static int64_t number(const std::string& record, size_t at) {
    return static_cast<int64_t>(load_le<T>(as_bytes(record).subspan(at)));
  }
  // No part comes again once a later one was there.
  bool take_turn(Turn turn, Turn next) {
    if (turn_ > turn) return false;
    turn_ = next;
    return true;
  }

  std::optional<int64_t> end_of_part() {
    if (begins(kLocal)) return end_of_data();
    if (begins(kDescriptor)) return end_of_descriptor();
    described_ = nullptr;
    if (begins(kEntry)) return end_of_entry();
    if (begins(kEnd64)) {
      const auto record = text(at_, kEnd64Size);
      const bool is_plain =
          record && number<uint64_t>(*record, 4) == kEnd64Size - 12;  // without its first 12
      return is_plain && take_turn(Turn::end64, Turn::locator) ? std::optional(at_ + kEnd64Size)
                                                               : std::nullopt;
    }
    if (begins(kLocator) && take_turn(Turn::locator, Turn::end)) return at_ + kLocatorSize;
    // And there it must end: a comment would follow.
    if (begins(kEnd) && entries_left_ == 0 && take_turn(Turn::end, Turn::nothing)) return at_ + kEndSize;
    return std::nullopt;
  }

  std::optional<int64_t> end_of_data() {
    const auto record = text(at_, kLocalSize);
    if (!record || !take_turn(Turn::data, Turn::data)) return std::nullopt;
    const int64_t name = number<uint16_t>(*record, 26), extra = number<uint16_t>(*record, 28);
    const auto found = entries_.find(at_ + kLocalSize + name + extra);
    numbers_.insert(at_);
    if (found == entries_.end() || !is_plain_extra(at_ + kLocalSize + name, extra)) return std::nullopt;
    const ZipEntry& entry = *found->second;
    described_ = (number<uint16_t>(*record, 6) & kHasDescriptor) != 0 ? &entry : nullptr;
    return entry.data_offset + entry.compressed_size;
  }

  // Behind the data of an entry, the same numbers as in the directory, in 32 or 64 bits.
  std::optional<int64_t> end_of_descriptor() {
    const ZipEntry* const entry = std::exchange(described_, nullptr);
    const auto record = text(at_, 24);
    if (entry == nullptr || !record || number<uint32_t>(*record, 4) != entry->crc) return std::nullopt;
    const int64_t packed = entry->compressed_size, size = entry->size;
    if (number<uint32_t>(*record, 8) == packed && number<uint32_t>(*record, 12) == size) return at_ + 16;
    if (number<uint64_t>(*record, 8) == packed && number<uint64_t>(*record, 16) == size) return at_ + 24;
    return std::nullopt;
  }

  std::optional<int64_t> end_of_entry() {
    const auto record = text(at_, kEntrySize);
    if (!record || number<uint16_t>(*record, 32) != 0) return std::nullopt;  // a comment
    if (entries_left_-- == 0 || !take_turn(Turn::directory, Turn::directory)) return std::nullopt;
    const int64_t name = number<uint16_t>(*record, 28), extra = number<uint16_t>(*record, 30);
    if (!is_plain_extra(at_ + kEntrySize + name, extra)) return std::nullopt;
    return at_ + kEntrySize + name + extra;
  }

  // Fields of (number, length, bytes): sizes and places that do not fit 32 bits, or padding as torch writes
  // it.
  bool is_plain_extra(int64_t offset, int64_t size) const {
    const auto fields = text(offset, size);
    if (!fields) return false;
    for (std::string_view left = *fields; !left.empty();) {
      if (left.size() < 4) return left.find_first_not_of('\0') == std::string_view::npos;
      const auto field = load_le<uint16_t>(as_bytes(left));
      const size_t length = load_le<uint16_t>(as_bytes(left).subspan(2));
      const std::string_view content = left.substr(4, length);
      if (content.size() < length) return false;
      if (field == kZip64Field ? !are_sizes(content) : field != kPaddingField || !is_padding(content))
        return false;
      left.remove_prefix(4 + length);
    }
    return true;
  }

  bool are_sizes(std::string_view content) const {
    for (; content.size() >= 8; content.remove_prefix(8))
      if (const auto value = static_cast<int64_t>(load_le<uint64_t>(as_bytes(content)));
          value != 0 && !numbers_.contains(value))
        return false;
    return content.find_first_not_of('\0') == std::string_view::npos;  // the number of a disk
  }

  static bool is_padding(std::string_view content) {
    return content.find_first_not_of('Z') == std::string_view::npos ||
           content.find_first_not_of('\0') == std::string_view::npos;
  }

  const File& file_;
  const int64_t extent_;
  int64_t at_ = 0;
  Turn turn_ = Turn::data;
  int64_t entries_left_;                                  // of the directory
  std::unordered_map<int64_t, const ZipEntry*> entries_;  // by where their data begin
  std::unordered_set<int64_t> numbers_;                   // sizes and places that the archive has to state
  const ZipEntry* described_ = nullptr;                   // behind whose data we are, if a descriptor follows
};

const ZipEntry* find_damaged_entry(const File& file, const ZipDirectory& directory) {
  std::vector<std::byte> block(size_t{1} << 20);
  for (const ZipEntry& entry : directory.entries) {
    if (entry.method != ZipMethod::stored || entry.trouble) continue;
    uLong crc = crc32_z(0, nullptr, 0);
    for (int64_t done = 0; done < entry.size; done += std::ssize(block)) {
      const auto piece =
          std::span(block).first(static_cast<size_t>(std::min(std::ssize(block), entry.size - done)));
      if (!check_cancelled() || !file.read(entry.data_offset + done, piece)) return &entry;
      crc = crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
    }
    if (crc != entry.crc) return &entry;
  }
  return nullptr;
}

}  // namespace

void note_zip_rest(const File& file, const ZipDirectory& directory, TensorSet& set) {
  if (const auto rest = Parts(file, directory).first_stray())
    set.beside.push_back({fmt::format("bytes at byte {} that are no entry of the archive", *rest)});
  if (const ZipEntry* const damaged = find_damaged_entry(file, directory))
    set.beside.push_back({fmt::format("damaged data (entry \"{}\" has another CRC-32 than the archive says)",
                                      printable(damaged->name))});
}

}  // namespace assay
