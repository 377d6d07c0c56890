// Protobuf messages in their text form (name: "a" op { type: "Add" }), field by field through one window of
// the file. By hand, since google::protobuf::TextFormat needs a schema for every field and holds the whole
// text; here nobody has the schema, and weights make files of hundreds of megabytes.
#pragma once

#include "assay/base/file.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// What next() came to. Elements of a list (key: [a, b]) come one by one, like a field that is repeated.
enum class TextEvent : uint8_t {
  text,    // a string: read_text(), or go on to pass over it
  word,    // a number, a truth value, the name of an enum value: word()
  open,    // a block begins: its fields follow, or skip_block()
  close,   // the innermost block ends
  end,     // of the file, every block closed
  failed,  // error() says why; nothing more comes
};

//   TextFormatReader reader(file, memory);
//   for (TextEvent event = reader.next(); event != TextEvent::end; event = reader.next()) …
class TextFormatReader {
 public:
  // `memory` bounds a string that is read, and what deep nesting takes.
  TextFormatReader(std::shared_ptr<const File> file, int64_t memory);

  TextEvent next();
  // Of the field, until next(): its name, its number, or the name of an extension in its brackets.
  std::string_view key() const { return key_; }
  std::string_view word() const { return word_; }  // until next(); with its minus sign
  // The bytes of the string, escapes resolved, adjacent strings joined. False: failed.
  bool read_text(std::string& out);
  // Behind `open`: to the end of the block, whose `close` does not come any more. False: failed.
  bool skip_block();

  int64_t line() const { return line_; }  // from 1
  const Error& error() const { return error_; }

 private:
  struct Level {
    int64_t line;       // where it was opened
    uint32_t key_size;  // of a list: bytes of its key at the end of list_keys_
    char closer;        // } > ]
    bool is_first;      // of a list: no element yet
  };
  struct Failed {  // what every function here returns of a failure
    operator bool() const { return false; }
    operator TextEvent() const { return TextEvent::failed; }
  };
  static constexpr size_t kWindow = size_t{1} << 18;
  static constexpr size_t kMostWord = 1024;        // names and numbers of more bytes are refused
  static constexpr size_t kAhead = 2 * kMostWord;  // so many bytes lie behind what peek() came to

  bool fill();  // keeps what lies behind at_; false: nothing more
  // The next byte that is neither blank nor comment, and stays next; 0 at the end of the file.
  char peek();
  bool at_end() const { return at_ == last_; }

  bool push(char closer);
  bool open_list();
  void close_list();
  TextEvent close_block(char closer);
  TextEvent end_of_file();
  TextEvent element(char first);
  TextEvent value(char first);
  TextEvent word_value(char first);
  bool read_key(char first);
  bool read_extension_key();
  bool pass_text(std::string* out);
  bool append_escape(std::string& out);
  bool append_code_point(std::string& out, int digits);

  std::string found() const;  // what is next, for messages
  Failed fail(ErrorKind kind, const std::string& reason);
  Failed fail(const Error& error);
  Failed expected(const std::string& what);  // instead of what was found

  const std::shared_ptr<const File> file_;
  const int64_t memory_;
  std::vector<char> buffer_;
  const char* at_ = nullptr;
  const char* last_ = nullptr;  // behind the text in the buffer; a 0 lies there
  int64_t offset_ = 0;          // of last_ in the file
  bool is_last_window_ = false;
  int64_t line_ = 1;
  std::vector<Level> levels_;
  std::string list_keys_;
  std::string key_, signed_word_;
  std::string_view word_;
  bool has_text_ = false;  // next() came to a string that is not read yet
  bool has_failed_ = false;
  Error error_;
};

}  // namespace assay
