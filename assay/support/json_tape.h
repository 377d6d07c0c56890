// Large JSON files, member by member. One member at a time becomes a flat list of tokens, so that memory
// follows the largest member and not the file, and deep nesting costs no stack.
#pragma once

#include "assay/base/file.h"
#include "assay/base/result.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// big: an integer that 64 bits do not hold, as its text.
enum class JsonKind : uint8_t { null, boolean, integer, real, big, text, key, object, array, end };

struct JsonToken {
  explicit JsonToken(JsonKind what) : kind(what) {}
  JsonKind kind;
  uint32_t size = 0;  // of a text or key: bytes; of an object or array: tokens up to and with its end
  union {
    bool boolean;
    int64_t integer = 0;
    double real;
    size_t text;  // offset
  };
};

// One JSON value. Places are positions in the list of tokens; the value itself begins at 0.
class JsonTape {
 public:
  JsonKind kind(size_t place) const { return tokens_[place].kind; }
  bool boolean(size_t place) const { return tokens_[place].boolean; }
  int64_t integer(size_t place) const { return tokens_[place].integer; }
  double real(size_t place) const { return tokens_[place].real; }
  std::string_view text(size_t place) const {
    return std::string_view(texts_).substr(tokens_[place].text, tokens_[place].size);
  }
  bool is_text(size_t place) const { return kind(place) == JsonKind::text; }
  bool is_text(size_t place, std::string_view wanted) const {
    return is_text(place) && text(place) == wanted;
  }
  // The place behind the value that begins here.
  size_t next(size_t place) const {
    const JsonKind k = kind(place);
    return place + (k == JsonKind::object || k == JsonKind::array ? tokens_[place].size : 1);
  }
  // Elements of an array or members of an object: place of the first one, until kind() is `end`.
  size_t first(size_t place) const { return place + 1; }
  bool is_end(size_t place) const { return kind(place) == JsonKind::end; }
  // The value of a member, where the last one counts if a key is repeated; 0 if there is none.
  size_t find(size_t object, std::string_view key) const;
  bool too_deep() const { return too_deep_; }  // what lay deeper than the limit is missing

 private:
  friend class JsonReader;
  std::vector<JsonToken> tokens_;
  std::string texts_;
  bool too_deep_ = false;
};

inline constexpr int kJsonDepth = 420;  // deeper than msprobe's own limit of 400

struct JsonMember {
  std::string_view key;
  bool inside;  // a member of the member that was descended into
  const JsonTape& value;
};
using UseMember = std::function<Result<bool>(const JsonMember&)>;  // false: enough, stop reading

// Calls `use` for every member of the object in the file. The member named `descend` (if any), where it is an
// object, is not given as a whole: its own members are, and behind them an empty object in its name. `memory`
// bounds a single member. Bare NaN and Infinity are numbers, and texts may hold half a surrogate pair, as
// Python writes them.
Result<void> read_json_members(const File& file, std::string_view descend, int64_t memory,
                               const UseMember& use);

// A whole value from a text that people write by hand: # and // comments and trailing commas are allowed.
Result<JsonTape> parse_json_text(std::string_view text, std::string_view name);

// The value as Python's str() prints it: None, True, [0, 'a'], 1e-05.
std::string python_str(const JsonTape& tape, size_t place);
std::string python_repr(std::string_view text);  // 'it' or "it's", with escapes
void append_python_float(std::string& out, double value);

}  // namespace assay
