#include "assay/support/text_format.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace assay {
namespace {

enum : uint8_t { kBlank = 1, kLetter = 2, kDigit = 4, kEndsRun = 8 };

// kEndsRun: what ends a run of bytes inside a string that mean themselves.
constexpr std::array<uint8_t, 256> kClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (const unsigned char c : {' ', '\n', '\t', '\r', '\v', '\f'}) classes[c] = kBlank;
  for (unsigned c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = kLetter;
  classes['_'] = kLetter;
  for (unsigned c = '0'; c <= '9'; ++c) classes[c] = kDigit;
  for (const unsigned char c : {'\0', '"', '\'', '\\'}) classes[c] |= kEndsRun;
  classes['\n'] |= kEndsRun;
  return classes;
}();

bool is(char c, unsigned classes) { return (kClasses[static_cast<unsigned char>(c)] & classes) != 0; }

bool is_hex(char c) { return is(c, kDigit) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); }
bool is_octal(char c) { return c >= '0' && c <= '7'; }
unsigned digit_value(char c) {
  return static_cast<unsigned>(is(c, kDigit) ? c - '0' : (c | 0x20) - 'a' + 10);
}

constexpr int kMostEscape = 10;  // bytes of \UXXXXXXXX

bool is_opener(char c) { return c == '{' || c == '<'; }
bool is_quote(char c) { return c == '"' || c == '\''; }

// 12, 0x1F, 1.5e-3, .5, 1.f; a 0 lies behind the last digit.
const char* behind_number(const char* at) {
  if (at[0] == '0' && (at[1] | 0x20) == 'x') {
    const char* const digits = at += 2;
    while (is_hex(*at)) ++at;
    return at == digits ? nullptr : at;
  }
  const char* const first = at;
  while (is(*at, kDigit)) ++at;
  int64_t digits = at - first;
  if (*at == '.') {
    const char* const fraction = ++at;
    while (is(*at, kDigit)) ++at;
    digits += at - fraction;
  }
  if (digits == 0) return nullptr;
  if ((*at | 0x20) == 'e') {
    ++at;
    at += *at == '+' || *at == '-';
    if (!is(*at, kDigit)) return nullptr;
    while (is(*at, kDigit)) ++at;
  }
  at += (*at | 0x20) == 'f';
  return is(*at, kLetter | kDigit) || *at == '.' ? nullptr : at;
}

bool is_value_with_sign(std::string_view word) {  // -inf is no identifier, though it has only letters
  const std::string lower = to_lower(word);
  return lower == "inf" || lower == "infinity" || lower == "nan";
}

// The first byte of a string that must be looked at: its quote, a line feed, a backslash that is the last of
// the window, or `last`. Weights are strings of megabytes, which memchr passes over.
const char* behind_passed(const char* at, const char* last, char quote) {
  const auto find = [](const char* from, const char* to, char wanted) {
    const void* const found = std::memchr(from, wanted, static_cast<size_t>(to - from));
    return found == nullptr ? to : static_cast<const char*>(found);
  };
  for (;;) {
    const char* const end = find(at, last, quote);
    if (const char* const line_end = find(at, end, '\n'); line_end != end) return line_end;
    const char* slash = end;
    while (slash > at && slash[-1] == '\\') --slash;
    const bool is_escaped = (end - slash) % 2 == 1;
    if (end == last) return is_escaped ? end - 1 : end;
    if (!is_escaped) return end;
    at = end + 1;
  }
}

void append_utf8(std::string& out, unsigned code) {
  const auto byte = [&](unsigned value) { out += static_cast<char>(value); };
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  byte(kFirst[more] | (code >> (6 * more)));
  for (int left = more; left-- > 0;) byte(0x80 | ((code >> (6 * left)) & 0x3F));
}

}  // namespace

TextFormatReader::TextFormatReader(std::shared_ptr<const File> file, int64_t memory)
    : file_(std::move(file)), memory_(memory), buffer_(kWindow + 1) {
  at_ = last_ = buffer_.data();
  fill();
  if (last_ - at_ >= 3 && std::memcmp(at_, "\xEF\xBB\xBF", 3) == 0) at_ += 3;
}

// ----- the window

bool TextFormatReader::fill() {
  if (is_last_window_ || has_failed_) return false;
  if (const auto go_on = check_cancelled(); !go_on) return fail(go_on.error());
  const auto kept = static_cast<size_t>(last_ - at_);
  std::memmove(buffer_.data(), at_, kept);
  const auto free = std::as_writable_bytes(std::span(buffer_)).subspan(kept, kWindow - kept);
  const auto read = file_->read_some(offset_, free);
  const int64_t size = read ? *read : 0;
  at_ = buffer_.data();
  last_ = at_ + kept + size;
  buffer_[kept + static_cast<size_t>(size)] = '\0';
  offset_ += size;
  is_last_window_ = size < std::ssize(free);
  if (!read) return fail(read.error());
  return size > 0;
}

char TextFormatReader::peek() {
  for (;;) {
    const char* at = at_;
    int64_t lines = 0;  // a register: what `at` points to might be line_ itself, for all the compiler knows
    for (; is(*at, kBlank); ++at) lines += *at == '\n';
    line_ += lines;
    at_ = at;
    if (*at == '#') {
      do {
        at_ = static_cast<const char*>(std::memchr(at_, '\n', static_cast<size_t>(last_ - at_)));
        if (at_ == nullptr) at_ = last_;
      } while (at_ == last_ && fill());
      if (at_ == last_) return '\0';
      continue;
    }
    if (static_cast<size_t>(last_ - at) < kAhead && fill()) continue;
    return *at_;
  }
}

// ----- fields

TextEvent TextFormatReader::next() {
  if (has_failed_ || (has_text_ && !pass_text(nullptr))) return TextEvent::failed;
  for (;;) {
    char c = peek();
    if (!levels_.empty() && levels_.back().closer == ']') {
      if (c != ']') return element(c);
      close_list();
    } else if (c == ',' || c == ';') {
      ++at_;
    } else if (c == '}' || c == '>') {
      return close_block(c);
    } else if (at_end()) {
      return end_of_file();
    } else {
      if (!read_key(c)) return TextEvent::failed;
      c = peek();
      const bool has_colon = c == ':';
      if (has_colon) {
        ++at_;
        c = peek();
      }
      if (c != '[') {
        if (!has_colon && !is_opener(c)) return expected(fmt::format("':' or a block behind {}", key_));
        return value(c);
      }
      if (!open_list()) return TextEvent::failed;
    }
  }
}

bool TextFormatReader::open_list() {
  if (!push(']')) return false;
  levels_.back().key_size = static_cast<uint32_t>(key_.size());
  list_keys_ += key_;
  return true;
}

void TextFormatReader::close_list() {
  ++at_;
  list_keys_.resize(list_keys_.size() - levels_.back().key_size);
  levels_.pop_back();
}

TextEvent TextFormatReader::element(char first) {
  Level& list = levels_.back();
  if (!list.is_first) {
    if (first != ',') return expected(fmt::format("a comma or ] in the list of line {}", list.line));
    ++at_;
    first = peek();
  }
  list.is_first = false;
  // Blocks inside the list had keys of their own.
  key_.assign(list_keys_, list_keys_.size() - list.key_size);
  return value(first);
}

TextEvent TextFormatReader::close_block(char closer) {
  if (levels_.empty()) return expected("the name of a field");
  if (levels_.back().closer != closer)
    return expected(
        fmt::format("a field, or {} of the block of line {}", levels_.back().closer, levels_.back().line));
  ++at_;
  levels_.pop_back();
  return TextEvent::close;
}

TextEvent TextFormatReader::end_of_file() {
  if (has_failed_) return TextEvent::failed;
  if (levels_.empty()) return TextEvent::end;
  return fail(ErrorKind::bad_format,
              fmt::format("the file ends inside the block of line {}: it is cut off, or a {} is missing",
                          levels_.back().line, levels_.back().closer));
}

TextEvent TextFormatReader::value(char first) {
  if (is_opener(first)) return push(first == '{' ? '}' : '>') ? TextEvent::open : TextEvent::failed;
  if (is_quote(first)) {
    has_text_ = true;
    return TextEvent::text;
  }
  return word_value(first);
}

TextEvent TextFormatReader::word_value(char first) {
  const bool has_sign = first == '-';
  bool is_apart = false;  // blanks between the sign and its number
  if (has_sign) {
    first = *++at_;
    is_apart = is(first, kBlank) || first == '#' || at_end();
    if (is_apart) first = peek();
  }
  const char* const begin = at_;
  const char* behind = begin;
  if (is(first, kLetter)) {
    while (is(*behind, kLetter | kDigit)) ++behind;
    if (has_sign && !is_value_with_sign({begin, behind})) return expected("a number behind '-'");
  } else if (behind = behind_number(begin); behind == nullptr) {
    return expected(fmt::format("a value of {}", key_));
  }
  if (static_cast<size_t>(behind - begin) > kMostWord)
    return fail(ErrorKind::limit, fmt::format("a number or name of more than {} characters", kMostWord));
  at_ = behind;
  word_ = {has_sign && !is_apart ? begin - 1 : begin, behind};
  if (is_apart) word_ = signed_word_ = "-" + std::string(word_);
  return TextEvent::word;
}

bool TextFormatReader::read_key(char first) {
  if (first == '[') return read_extension_key();
  const char* behind = at_;
  if (is(first, kLetter))
    while (is(*behind, kLetter | kDigit)) ++behind;
  else  // a field whose name the writer did not know
    while (is(*behind, kDigit)) ++behind;
  if (behind == at_) return expected("the name of a field");
  if (static_cast<size_t>(behind - at_) > kMostWord)
    return fail(ErrorKind::limit, fmt::format("the name of a field has more than {} characters", kMostWord));
  key_.assign(at_, behind);
  at_ = behind;
  return true;
}

// [package.extension] or [type.googleapis.com/package.Message]; blanks do not count.
bool TextFormatReader::read_extension_key() {
  key_ = "[";
  ++at_;
  for (;;) {
    const char c = peek();
    const char* behind = at_;
    while (is(*behind, kLetter | kDigit) || *behind == '.' || *behind == '/' || *behind == '-') ++behind;
    key_.append(at_, behind);
    if (key_.size() > kMostWord)
      return fail(ErrorKind::limit,
                  fmt::format("the name of a field has more than {} characters", kMostWord));
    if (c == ']') break;
    if (behind == at_) return expected("the name of an extension and ]");
    at_ = behind;
  }
  ++at_;
  key_ += ']';
  return true;
}

bool TextFormatReader::push(char closer) {
  const size_t held = (levels_.size() + 1) * sizeof(Level) + list_keys_.size() + key_.size();
  if (static_cast<int64_t>(held) > memory_)
    return fail(ErrorKind::limit,
                fmt::format("blocks are nested {} deep, which takes more memory than the {} allowed",
                            levels_.size(), format_size(memory_)));
  levels_.push_back({line_, 0, closer, true});
  ++at_;
  return true;
}

bool TextFormatReader::skip_block() {
  const size_t outside = levels_.size() - 1;
  for (;;) {
    const TextEvent event = next();
    if (event == TextEvent::failed) return false;
    if (event == TextEvent::close && levels_.size() == outside) return true;
  }
}

// ----- strings

bool TextFormatReader::read_text(std::string& out) {
  out.clear();
  return has_text_ ? pass_text(&out) : !has_failed_;
}

bool TextFormatReader::pass_text(std::string* out) {
  has_text_ = false;
  do {
    const char quote = *at_++;
    for (;;) {
      const char* at = at_;
      if (out == nullptr) {
        at = behind_passed(at_, last_, quote);
      } else {
        while (!is(*at, kEndsRun)) ++at;
        if (std::ssize(*out) + (at - at_) > memory_)
          return fail(ErrorKind::limit, fmt::format("the string of {} takes more memory than the {} allowed",
                                                    key_, format_size(memory_)));
        out->append(at_, at);
      }
      at_ = at;
      if (*at == quote) break;
      if (at == last_) {
        if (!fill()) return fail(ErrorKind::bad_format, "the file ends inside a string: it is cut off");
      } else if (*at == '\\' && last_ - at < kMostEscape && fill()) {
        continue;
      } else if (*at == '\n') {
        return fail(ErrorKind::bad_format, "a string does not end in its line: a quote is missing");
      } else if (*at == '\\') {
        std::string passed;
        if (!append_escape(out == nullptr ? passed : *out)) return false;
      } else {
        if (out != nullptr) *out += *at;
        ++at_;
      }
    }
    ++at_;
  } while (is_quote(peek()));
  return !has_failed_;
}

// At a backslash; the whole escape lies in the window, or the file ends within it.
bool TextFormatReader::append_escape(std::string& out) {
  static constexpr std::string_view kNames = "abfnrtv\\'\"?", kValues = "\a\b\f\n\r\t\v\\'\"?";
  const char c = *++at_;
  if (const size_t which = kNames.find(c); c != '\0' && which != std::string_view::npos) {
    out += kValues[which];
    ++at_;
    return true;
  }
  if (is_octal(c)) {
    unsigned value = 0;
    for (int i = 0; i < 3 && is_octal(*at_); ++i) value = value * 8 + digit_value(*at_++);
    if (value > 0xFF) return fail(ErrorKind::bad_format, "an octal escape is beyond \\377");
    out += static_cast<char>(value);
    return true;
  }
  if ((c == 'x' || c == 'X') && is_hex(at_[1])) {
    unsigned value = digit_value(*++at_);
    if (is_hex(*++at_)) value = value * 16 + digit_value(*at_++);
    out += static_cast<char>(value);
    return true;
  }
  if (c == 'u' || c == 'U') return append_code_point(out, c == 'u' ? 4 : 8);
  return expected("an escape: \\n \\t \\r \\\" \\' \\\\ \\ooo \\xhh");
}

bool TextFormatReader::append_code_point(std::string& out, int digits) {
  ++at_;
  unsigned code = 0;
  for (int i = 0; i < digits; ++i, ++at_) {
    if (!is_hex(*at_)) return expected(fmt::format("{} hexadecimal digits", digits));
    code = code * 16 + digit_value(*at_);
  }
  if (code > 0x10FFFF) return fail(ErrorKind::bad_format, "an escape is beyond the last code point, 10FFFF");
  append_utf8(out, code);
  return true;
}

// ----- errors

std::string TextFormatReader::found() const {
  if (at_end()) return "the end of the file";
  const char* behind = at_;
  while (behind < last_ && behind - at_ < 40 && is(*behind, kLetter | kDigit)) ++behind;
  return fmt::format("'{}'", printable({at_, std::max(behind, at_ + 1)}));
}

TextFormatReader::Failed TextFormatReader::fail(ErrorKind kind, const std::string& reason) {
  return fail(Error{kind, fmt::format("{}:{}: {}", file_->name(), line_, reason)});
}

TextFormatReader::Failed TextFormatReader::fail(const Error& error) {
  if (!has_failed_) error_ = error;  // what follows from the first failure says nothing new
  has_failed_ = true;
  return {};
}

TextFormatReader::Failed TextFormatReader::expected(const std::string& what) {
  return fail(ErrorKind::bad_format, fmt::format("found {}, expected {}", found(), what));
}

}  // namespace assay
