#include "assay/format/zip_rest.h"

#include <algorithm>
#include <unordered_map>

namespace assay {
namespace {

constexpr std::string_view kLocal = "PK\3\4", kDescriptor = "PK\7\10", kEntry = "PK\1\2", kEnd64 = "PK\6\6",
                           kLocator = "PK\6\7", kEnd = "PK\5\6";
constexpr int64_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kLocatorSize = 20;
constexpr size_t kLongestNote = 32;  // bytes of an extra field: times, sizes of a large entry

// The parts of a zip, one after another from its first byte.
class Parts {
 public:
  Parts(const File& file, const ZipDirectory& directory) : file_(file), extent_(directory.extent) {
    for (const ZipEntry& entry : directory.entries)
      ends_[entry.data_offset] = entry.data_offset + entry.compressed_size;
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
  std::optional<std::string> text(int64_t offset, int64_t size) const {
    if (offset < 0 || size < 0 || size > extent_ - offset) return std::nullopt;
    std::string out(static_cast<size_t>(size), '\0');
    if (!file_.read(offset, std::as_writable_bytes(std::span(out)))) return std::nullopt;
    return out;
  }
  bool begins(int64_t offset, std::string_view signature) const { return text(offset, 4) == signature; }
  template <class T>
  static int64_t number(const std::string& record, size_t at) {
    return static_cast<int64_t>(load_le<T>(as_bytes(record).subspan(at)));
  }

  std::optional<int64_t> end_of_part() const {
    if (begins(at_, kLocal)) return end_of_data();
    if (begins(at_, kDescriptor)) return end_of_descriptor();
    if (begins(at_, kEntry)) {
      const auto record = text(at_, kEntrySize);
      if (!record || number<uint16_t>(*record, 32) != 0) return std::nullopt;  // a comment
      const int64_t name = number<uint16_t>(*record, 28), extra = number<uint16_t>(*record, 30);
      if (!is_plain_extra(at_ + kEntrySize + name, extra)) return std::nullopt;
      return at_ + kEntrySize + name + extra;
    }
    if (begins(at_, kEnd64)) {
      const auto record = text(at_, 12);
      const int64_t size = record ? number<uint64_t>(*record, 4) : -1;
      return size == 44 ? std::optional(at_ + 12 + size) : std::nullopt;
    }
    if (begins(at_, kLocator)) return at_ + kLocatorSize;
    if (begins(at_, kEnd)) return at_ + kEndSize;  // and there it must end: a comment would follow
    return std::nullopt;
  }

  std::optional<int64_t> end_of_data() const {
    const auto record = text(at_, kLocalSize);
    if (!record) return std::nullopt;
    const int64_t name = number<uint16_t>(*record, 26), extra = number<uint16_t>(*record, 28);
    const auto entry = ends_.find(at_ + kLocalSize + name + extra);
    if (entry == ends_.end() || !is_plain_extra(at_ + kLocalSize + name, extra)) return std::nullopt;
    return entry->second;
  }

  // Sizes behind an entry, in 32 or 64 bits: whatever leads to the next part.
  std::optional<int64_t> end_of_descriptor() const {
    for (const int64_t size : {16, 24})
      for (const std::string_view next : {kLocal, kEntry})
        if (begins(at_ + size, next)) return at_ + size;
    return std::nullopt;
  }

  // Fields of (number, length, bytes): short notes, or padding of one letter as torch writes it.
  bool is_plain_extra(int64_t offset, int64_t size) const {
    const auto fields = text(offset, size);
    if (!fields) return false;
    for (std::string_view left = *fields; !left.empty();) {
      if (left.size() < 4) return left.find_first_not_of('\0') == std::string_view::npos;
      const size_t length = load_le<uint16_t>(as_bytes(left).subspan(2));
      const std::string_view content = left.substr(4, length);
      if (content.size() < length) return false;
      if (length > kLongestNote && content.find_first_not_of(content[0]) != std::string_view::npos)
        return false;
      left.remove_prefix(4 + length);
    }
    return true;
  }

  const File& file_;
  const int64_t extent_;
  int64_t at_ = 0;
  std::unordered_map<int64_t, int64_t> ends_;  // of data, by where it begins
};

}  // namespace

std::optional<int64_t> find_zip_rest(const File& file, const ZipDirectory& directory) {
  return Parts(file, directory).first_stray();
}

}  // namespace assay
