// The characters and words of a JSON text, from a file through one buffer or from memory. By hand, since
// RapidJSON aborts on what Python writes and reads without a word (lone surrogates, numbers beyond the range
// of a double), holds strings of any length, and is half as fast.
#pragma once

#include "assay/base/file.h"

#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace assay {

enum class JsonTrouble : uint8_t { none, ended, wrong, too_large, unreadable };

struct JsonNumber {
  std::string_view text;  // until the scanner goes on; "-" before Infinity
  bool is_whole;
};

class JsonScanner {
 public:
  JsonScanner(const File& file, int64_t memory);
  explicit JsonScanner(std::string_view text);  // that people wrote: comments are allowed

  // The next character that is no blank, and stays next; 0 at the end.
  char next() {
    for (;;) {
      const char* at =
          at_;  // kept in a register: what is pointed at might be at_ itself, for all the compiler knows
      while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') ++at;
      at_ = at;
      if (*at == '\0' && at == last_) {
        const char* none = at_;
        if (!fill(none)) return '\0';
      } else if (!has_comments_ || !skip_comment()) {
        return *at_;
      }
    }
  }
  bool at_end() { return next() == '\0' && at_ == last_; }
  void take() { ++at_; }  // behind next()
  bool take_if(char wanted) {
    const bool is_it = next() == wanted;
    at_ += is_it;
    return is_it;
  }

  // These begin at next().
  bool read_string(std::string& out);  // appends
  bool read_word(std::string_view wanted);
  std::optional<JsonNumber> read_number();

  bool fail(JsonTrouble trouble, const char* expected = "");
  bool wrong(const char* expected) {  // or ended, where nothing more comes
    return fail(at_ == last_ ? JsonTrouble::ended : JsonTrouble::wrong, expected);
  }
  JsonTrouble trouble() const { return trouble_; }
  const char* expected() const { return expected_; }
  const std::optional<Error>& read_error() const { return read_error_; }
  int64_t stopped_at() const { return stopped_at_; }  // byte of the text
  int64_t line() const;                               // of it, in a text in memory

 private:
  int64_t offset() const { return offset_ - (last_ - at_); }  // of what is next
  static constexpr size_t kWindow = size_t{1} << 16;
  static constexpr size_t kPad = 8;  // zeros behind the text end every inner loop

  bool fill(const char*& token);  // keeps what lies between `token` and at_; false: nothing more
  bool skip_comment();
  void skip_byte_order_mark();
  bool append_escape(std::string& out);
  std::optional<unsigned> read_hex();

  const File* file_ = nullptr;
  int64_t memory_ = 0;
  bool has_comments_ = false;
  std::vector<char> buffer_;
  const char* at_ = nullptr;
  const char* last_ = nullptr;  // behind the text in the buffer
  int64_t offset_ = 0;          // of last_ in the file
  JsonTrouble trouble_ = JsonTrouble::none;
  const char* expected_ = "";
  int64_t stopped_at_ = 0;
  std::optional<Error> read_error_;
};

}  // namespace assay
