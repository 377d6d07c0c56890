#include "assay/format/pickle.h"

#include <algorithm>

namespace assay {
namespace {

constexpr int64_t kReadAhead = int64_t{1} << 16;

}  // namespace

PickleInput::PickleInput(Read read, int64_t begin, int64_t end, int64_t memory, std::string name)
    : read_(std::move(read)),
      position_(begin),
      end_(end),
      memory_(memory),
      name_(std::move(name)),
      buffer_begin_(begin) {}

// Makes `count` bytes from position_ stand in the buffer. Precondition: count <= end_ - position_.
Result<void> PickleInput::fill(int64_t count) {
  if (position_ + count <= buffer_begin_ + std::ssize(buffer_)) return {};
  if (count > memory_)
    return fail(ErrorKind::limit,
                "{}: pickle holds a value of {} bytes or more, above the limit of {}; raise --memory", name_,
                count, memory_);
  const int64_t wanted = std::min(std::max(count, kReadAhead), end_ - position_);
  std::vector<std::byte> fresh(static_cast<size_t>(wanted));
  ASSAY_TRY_DO(read_(position_, fresh));
  buffer_ = std::move(fresh);
  buffer_begin_ = position_;
  return {};
}

Result<Bytes> PickleInput::take(int64_t count) {
  if (count < 0 || count > end_ - position_)
    return fail(ErrorKind::bad_format,
                "{}: pickle wants {} bytes from byte {}, but only {} follow (truncated)", name_,
                static_cast<uint64_t>(count), position_, end_ - position_);
  ASSAY_TRY_DO(fill(count));
  const Bytes bytes(buffer_.data() + (position_ - buffer_begin_), static_cast<size_t>(count));
  position_ += count;
  return bytes;
}

Result<std::string_view> PickleInput::take_line() {
  for (int64_t length = 0;;) {
    const int64_t seen = std::min(std::max(length * 2, int64_t{256}), end_ - position_);
    ASSAY_TRY_DO(fill(seen));
    const std::string_view text =
        as_text(Bytes(buffer_.data() + (position_ - buffer_begin_), static_cast<size_t>(seen)));
    const size_t found = text.find('\n', static_cast<size_t>(length));
    if (found != std::string_view::npos) {
      position_ += static_cast<int64_t>(found) + 1;
      return text.substr(0, found);
    }
    if (seen == end_ - position_)
      return fail(ErrorKind::bad_format, "{}: pickle ends in the middle of a line (truncated)", name_);
    length = seen;
  }
}

}  // namespace assay
