#include "assay/support/json_scan.h"

#include "assay/base/cancel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace assay {
namespace {

// How many of the 8 bytes come before the first quote, backslash or control character; 8: all.
int plain_bytes(const char* text) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = kOnes * 0x80;
  uint64_t bytes;
  std::memcpy(&bytes, text, sizeof bytes);
  const uint64_t quote = bytes ^ (kOnes * '"'), backslash = bytes ^ (kOnes * '\\');
  const uint64_t found =
      (((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash) | ((bytes - kOnes * ' ') & ~bytes)) &
      kHigh;
  return std::countr_zero(found) / 8;
}

void append_utf8(std::string& out, unsigned code) {
  const auto byte = [&](unsigned value) { out += static_cast<char>(value); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | (code >> 18));
    byte(0x80 | ((code >> 12) & 0x3F));
    byte(0x80 | ((code >> 6) & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

// Half of a pair, alone. Python writes a byte of a file name that is no UTF-8 as U+DC80..U+DCFF: it is that
// byte again, so that the file is found. Others stay as they were written, so that names remain different.
void append_lone_surrogate(std::string& out, unsigned code) {
  if (code >= 0xDC80 && code <= 0xDCFF)
    out += static_cast<char>(code - 0xDC00);
  else
    out += fmt::format("\\u{:04x}", code);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_number_part(char c) {
  return is_digit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

const char* behind_digits(const char* at) {
  while (is_digit(*at)) ++at;
  return at;
}

// The place behind -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?; null where the text is none. A 0 lies
// behind it.
const char* behind_number(const char* at, bool& is_whole) {
  at += *at == '-';
  if (!is_digit(*at)) return nullptr;
  at = *at == '0' ? at + 1 : behind_digits(at);
  is_whole = true;
  if (*at == '.') {
    if (!is_digit(*++at)) return nullptr;
    at = behind_digits(at);
    is_whole = false;
  }
  if (*at == 'e' || *at == 'E') {
    ++at;
    at += *at == '+' || *at == '-';
    if (!is_digit(*at)) return nullptr;
    at = behind_digits(at);
    is_whole = false;
  }
  return at;
}

}  // namespace

JsonScanner::JsonScanner(const File& file, int64_t memory)
    : file_(&file), memory_(memory), buffer_(kWindow + kPad) {
  at_ = last_ = buffer_.data();
  const char* none = at_;
  fill(none);
  skip_byte_order_mark();
}

JsonScanner::JsonScanner(std::string_view text) : has_comments_(true), buffer_(text.size() + kPad) {
  std::copy(text.begin(), text.end(), buffer_.begin());
  at_ = buffer_.data();
  last_ = at_ + text.size();
  offset_ = std::ssize(text);
  skip_byte_order_mark();
}

bool JsonScanner::fail(JsonTrouble trouble, const char* expected) {
  if (trouble_ == JsonTrouble::none) {
    trouble_ = trouble;
    expected_ = expected;
    stopped_at_ = offset();
  }
  return false;
}

int64_t JsonScanner::line() const {
  return 1 + std::count(buffer_.data(), buffer_.data() + stopped_at_, '\n');
}

bool JsonScanner::fill(const char*& token) {
  if (file_ == nullptr) return false;
  const auto kept = static_cast<size_t>(last_ - token), before = static_cast<size_t>(at_ - token);
  if (kept >= buffer_.size() - kPad) {
    if (static_cast<int64_t>(2 * kept) > std::max<int64_t>(memory_, 2 * kWindow))
      return fail(JsonTrouble::too_large);
    std::vector<char> larger(2 * kept + kPad);
    std::copy(token, last_, larger.begin());
    buffer_.swap(larger);
  } else {
    std::copy(token, last_, buffer_.begin());
  }
  const auto free = std::as_writable_bytes(std::span(buffer_)).subspan(kept, buffer_.size() - kPad - kept);
  const auto go_on = check_cancelled();
  const auto read = go_on ? file_->read_some(offset_, free) : tl::unexpected<Error>(go_on.error());
  const int64_t size = read ? *read : 0;
  if (!read) read_error_ = read.error();
  token = buffer_.data();
  at_ = token + before;
  last_ = token + kept + size;
  offset_ += size;
  std::fill_n(buffer_.begin() + (last_ - token), kPad, '\0');
  if (!read) return fail(JsonTrouble::unreadable);
  return size > 0;
}

bool JsonScanner::skip_comment() {
  if (*at_ != '#' && (*at_ != '/' || at_[1] != '/')) return false;
  while (at_ != last_ && *at_ != '\n') ++at_;
  return true;
}

void JsonScanner::skip_byte_order_mark() {
  if (last_ - at_ >= 3 && std::memcmp(at_, "\xEF\xBB\xBF", 3) == 0) at_ += 3;
}

bool JsonScanner::read_string(std::string& out) {
  if (next() != '"') return wrong("a text in double quotes");
  const char* plain = ++at_;  // what is plain from here on is copied at once
  for (;;) {
    const char* at = at_;
    int count;
    while ((count = plain_bytes(at)) == 8) at += 8;
    at_ = at + count;
    if (*at_ == '"') {
      out.append(plain, at_++);
      return true;
    }
    if (*at_ == '\\') {
      out.append(plain, at_);
      if (!append_escape(out)) return false;
      plain = at_;
    } else if (at_ < last_) {
      const int64_t where = offset();
      if (at_end()) return fail(JsonTrouble::ended);  // a text editor ends every file with a line feed
      wrong("no control characters in a text");
      stopped_at_ = where;
      return false;
    } else {
      out.append(plain, at_);
      plain = at_;
      if (file_ != nullptr && std::ssize(out) > memory_) return fail(JsonTrouble::too_large);
      if (!fill(plain)) return fail(JsonTrouble::ended);
    }
  }
}

std::optional<unsigned> JsonScanner::read_hex() {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = *at_;
    const char lower = static_cast<char>(c | 0x20);
    if (!is_digit(c) && (lower < 'a' || lower > 'f')) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(is_digit(c) ? c - '0' : lower - 'a' + 10);
  }
  return value;
}

bool JsonScanner::append_escape(std::string& out) {
  constexpr int kPairOfEscapes = 12;
  const char* escape = at_;
  while (last_ - at_ < kPairOfEscapes && fill(escape)) {
  }
  static constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
  ++at_;
  if (*at_ != 'u') {
    const size_t which = *at_ == '\0' ? std::string_view::npos : kNames.find(*at_);
    if (which == std::string_view::npos) return wrong("an escape that JSON knows");
    out += kValues[which];
    ++at_;
    return true;
  }
  ++at_;
  const auto code = read_hex();
  if (!code) return wrong("four hexadecimal digits");
  const bool is_high = *code >= 0xD800 && *code < 0xDC00, is_low = *code >= 0xDC00 && *code < 0xE000;
  if (!is_high && !is_low) {
    append_utf8(out, *code);
    return true;
  }
  if (is_high && at_[0] == '\\' && at_[1] == 'u') {
    const char* const behind = at_;
    at_ += 2;
    const auto low = read_hex();
    if (low && *low >= 0xDC00 && *low < 0xE000) {
      append_utf8(out, 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00));
      return true;
    }
    at_ = behind;
  }
  append_lone_surrogate(out, *code);
  return true;
}

std::optional<JsonNumber> JsonScanner::read_number() {
  JsonNumber number{{}, false};
  const char* first = at_;
  const char* behind = behind_number(first, number.is_whole);
  if (behind == nullptr || behind == last_ || is_number_part(*behind)) {  // cut by the buffer, or none
    do {
      while (is_number_part(*at_)) ++at_;
    } while (at_ == last_ && fill(first));
    if (trouble_ != JsonTrouble::none) return std::nullopt;
    behind = behind_number(first, number.is_whole);
    const bool is_infinity = at_ - first == 1 && *first == '-' && *at_ == 'I';
    if (behind != at_ && !is_infinity) {
      if (at_ != last_) at_ = first;
      wrong("a value");
      return std::nullopt;
    }
    behind = at_;
  }
  at_ = behind;
  number.text = {first, static_cast<size_t>(behind - first)};
  return number;
}

bool JsonScanner::read_word(std::string_view wanted) {
  const char* first = at_;
  while (static_cast<size_t>(last_ - first) <= wanted.size() && fill(first)) {
  }
  const size_t there = static_cast<size_t>(last_ - first);
  at_ = first;
  if (std::string_view(first, std::min(there, wanted.size())) != wanted.substr(0, there))
    return wrong("a value");
  at_ += std::min(there, wanted.size());
  if (there < wanted.size()) return wrong("a value");
  return true;
}

}  // namespace assay
