#include "assay/support/json_tape.h"

#include "assay/base/text.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace assay {

size_t JsonTape::find(size_t object, std::string_view key) const {
  if (kind(object) != JsonKind::object) return 0;
  size_t found = 0;
  for (size_t place = first(object); !is_end(place); place = next(place + 1))
    if (text(place) == key) found = place + 1;
  return found;
}

namespace {

// NaN and infinities as Python writes them; RapidJSON lets more through.
std::optional<double> nonfinite(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace

// Fills a tape from SAX events.
struct TapeHandler {
  explicit TapeHandler(int64_t memory_limit) : memory(memory_limit) {}

  JsonTape tape;
  int64_t memory;
  std::vector<size_t> open;  // containers that are not closed yet
  int skipped = 0;           // containers open below the limit of depth
  bool too_large = false;

  void clear() {
    tape.tokens_.clear();
    tape.texts_.clear();
    tape.too_deep_ = false;
    open.clear();
  }
  bool add(JsonToken token) {
    if (skipped > 0) return true;
    tape.tokens_.push_back(token);
    if (tape.tokens_.size() % 1024 != 0) return true;
    too_large = static_cast<int64_t>(tape.tokens_.size() * sizeof(JsonToken)) > memory;
    return !too_large;
  }
  bool add_text(JsonKind kind, std::string_view text) {
    if (skipped > 0) return true;
    JsonToken token;
    token.kind = kind;
    token.size = static_cast<uint32_t>(text.size());
    token.text = tape.texts_.size();
    tape.texts_ += text;
    tape.tokens_.push_back(token);
    const auto used = static_cast<int64_t>(tape.texts_.size() + tape.tokens_.size() * sizeof(JsonToken));
    too_large = used > memory || text.size() > std::numeric_limits<uint32_t>::max();
    return !too_large;
  }
  bool add_null() { return add({}); }
  bool add_boolean(bool value) {
    JsonToken token;
    token.kind = JsonKind::boolean;
    token.boolean = value;
    return add(token);
  }
  bool add_integer(int64_t value) {
    JsonToken token;
    token.kind = JsonKind::integer;
    token.integer = value;
    return add(token);
  }
  // The text of a number, whose grammar RapidJSON has checked.
  bool add_number(std::string_view text) {
    const auto is_part_of_real = [](char c) {
      return c == '.' || c == 'e' || c == 'E' || c == 'I' || c == 'N';
    };
    if (std::none_of(text.begin(), text.end(), is_part_of_real)) {
      int64_t whole = 0;
      const auto read = std::from_chars(text.data(), text.data() + text.size(), whole);
      return read.ec == std::errc() ? add_integer(whole) : add_text(JsonKind::big, text);
    }
    if (const auto value = nonfinite(text)) return add_real(*value);
    double real = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), real);
    // As Python: too small is 0, too large is infinite.
    if (read.ec == std::errc::result_out_of_range)
      return add_real(std::strtod(std::string(text).c_str(), nullptr));
    return read.ec == std::errc() && read.ptr == text.data() + text.size() && add_real(real);
  }
  bool add_real(double value) {
    JsonToken token;
    token.kind = JsonKind::real;
    token.real = value;
    return add(token);
  }
  bool begin(JsonKind kind) {
    if (skipped > 0 || open.size() >= kJsonDepth) {
      if (skipped++ == 0) {  // keeps the place of the value
        tape.too_deep_ = true;
        tape.tokens_.push_back({});
      }
      return true;
    }
    open.push_back(tape.tokens_.size());
    JsonToken token;
    token.kind = kind;
    tape.tokens_.push_back(token);
    return true;
  }
  bool end() {
    if (skipped > 0) {
      --skipped;
      return true;
    }
    JsonToken token;
    token.kind = JsonKind::end;
    tape.tokens_.push_back(token);
    const size_t size = tape.tokens_.size() - open.back();
    too_large = static_cast<int64_t>(size * sizeof(JsonToken)) > memory;
    tape.tokens_[open.back()].size = static_cast<uint32_t>(size);
    open.pop_back();
    return !too_large;
  }
  bool whole() const { return open.empty() && skipped == 0; }
};

namespace {

// Numbers come as text: RapidJSON's own full precision misreads integers of more than 20 digits.
constexpr unsigned kFlags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag;

// Reads the file through one buffer. RapidJSON's own stream wants a FILE*.
class FileStream {
 public:
  using Ch = char;
  explicit FileStream(const File& file) : file_(file), buffer_(size_t{1} << 18) { fill(); }

  Ch Peek() const { return *at_; }
  Ch Take() {
    const Ch c = *at_;
    if (++at_ == last_) fill();
    return c;
  }
  void skip_space() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')
      if (++at_ == last_) fill();
  }
  size_t Tell() const { return static_cast<size_t>(offset_) - static_cast<size_t>(last_ - at_); }
  // Only for in-place parsing, which is not used.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch) {}
  void Flush() {}
  size_t PutEnd(Ch*) { return 0; }

  const std::optional<Error>& error() const { return error_; }

 private:
  // Leaves a 0 where the file ends, which RapidJSON takes for the end of the text.
  void fill() {
    const int64_t wanted = std::min<int64_t>(static_cast<int64_t>(buffer_.size()), file_.size() - offset_);
    at_ = buffer_.data();
    if (wanted > 0) {
      const auto bytes = std::as_writable_bytes(std::span(buffer_)).first(static_cast<size_t>(wanted));
      if (auto read = file_.read(offset_, bytes); read) {
        offset_ += wanted;
        last_ = at_ + wanted;
        return;
      } else {
        error_ = std::move(read.error());
      }
    }
    buffer_[0] = '\0';
    last_ = at_ + 1;
    ++offset_;  // Tell() counts from behind the 0
  }

  const File& file_;
  std::vector<char> buffer_;
  int64_t offset_ = 0;
  const char* at_ = nullptr;
  const char* last_ = nullptr;
  std::optional<Error> error_;
};

}  // namespace
}  // namespace assay

// The indent of a dump.json is a fifth of its text; the general way takes it character by character.
template <>
inline void rapidjson::SkipWhitespace(assay::FileStream& stream) {
  stream.skip_space();
}

namespace assay {
namespace {

// Hands the members on as they become whole.
class MemberHandler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, MemberHandler> {
 public:
  MemberHandler(std::string_view descend, int64_t memory, const UseMember& use)
      : descend_(descend), tape_(memory), use_(use) {}

  bool Null() { return in_value() && tape_.add_null() && finish(); }
  bool Bool(bool b) { return in_value() && tape_.add_boolean(b) && finish(); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    return in_value() && tape_.add_number({text, size}) && finish();
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return in_value() && tape_.add_text(JsonKind::text, {text, size}) && finish();
  }
  bool StartArray() { return in_value() && tape_.begin(JsonKind::array); }
  bool EndArray(rapidjson::SizeType) { return tape_.end() && finish(); }
  bool StartObject() {
    if (level_ == 0 || (level_ == 1 && !descend_.empty() && key_ == descend_ && tape_.whole())) {
      ++level_;
      return true;
    }
    return in_value() && tape_.begin(JsonKind::object);
  }
  bool EndObject(rapidjson::SizeType) {
    if (!tape_.whole()) return tape_.end() && finish();
    if (--level_ == 0) return true;
    key_ = descend_;
    tape_.clear();
    return tape_.begin(JsonKind::object) && tape_.end() && finish();
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    if (!tape_.whole()) return tape_.add_text(JsonKind::key, {text, size});
    key_.assign(text, size);
    tape_.clear();
    return true;
  }

  bool is_object() const { return saw_object_; }
  bool too_large() const { return tape_.too_large; }
  const std::string& key() const { return key_; }
  const std::optional<Error>& error() const { return error_; }
  bool enough() const { return enough_; }

 private:
  bool in_value() {  // false where the text is no object
    saw_object_ = level_ > 0;
    return saw_object_;
  }
  bool finish() {
    if (!tape_.whole()) return true;
    const Result<bool> go_on = use_(JsonMember{key_, level_ == 2, tape_.tape});
    if (!go_on) error_ = go_on.error();
    enough_ = go_on && !*go_on;
    tape_.clear();
    return go_on && *go_on;
  }

  const std::string descend_;
  TapeHandler tape_;
  const UseMember& use_;
  std::string key_;
  int level_ = 0;  // 1: in the object, 2: in the member that is descended into
  bool saw_object_ = true, enough_ = false;
  std::optional<Error> error_;
};

// A whole value as one tape.
class ValueHandler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, ValueHandler> {
 public:
  TapeHandler tape{int64_t{64} << 20};
  bool Null() { return tape.add_null(); }
  bool Bool(bool b) { return tape.add_boolean(b); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) { return tape.add_number({text, size}); }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return tape.add_text(JsonKind::text, {text, size});
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    return tape.add_text(JsonKind::key, {text, size});
  }
  bool StartArray() { return tape.begin(JsonKind::array); }
  bool EndArray(rapidjson::SizeType) { return tape.end(); }
  bool StartObject() { return tape.begin(JsonKind::object); }
  bool EndObject(rapidjson::SizeType) { return tape.end(); }
};

// Blanks # comments, which RapidJSON does not know; // ones it does.
std::string without_hash_comments(std::string_view text) {
  std::string out(text);
  bool in_string = false;
  for (size_t i = 0; i < out.size(); ++i) {
    if (in_string) {
      if (out[i] == '\\')
        ++i;
      else
        in_string = out[i] != '"';
    } else if (out[i] == '"') {
      in_string = true;
    } else if (out[i] == '#') {
      while (i < out.size() && out[i] != '\n') out[i++] = ' ';
    }
  }
  return out;
}

void append_str(std::string& out, const JsonTape& tape, size_t place, bool quoted);

void append_items(std::string& out, const JsonTape& tape, size_t place, bool is_object) {
  bool first = true;
  for (size_t at = tape.first(place); !tape.is_end(at); at = tape.next(at)) {
    if (!first) out += ", ";
    first = false;
    if (is_object) {
      out += python_repr(tape.text(at));
      out += ": ";
      ++at;
    }
    append_str(out, tape, at, true);
  }
}

// Recursion ends at kJsonDepth: deeper values are not on the tape.
void append_str(std::string& out, const JsonTape& tape, size_t place, bool quoted) {
  switch (tape.kind(place)) {
    case JsonKind::null:
    case JsonKind::end:
      out += "None";
      break;
    case JsonKind::boolean:
      out += tape.boolean(place) ? "True" : "False";
      break;
    case JsonKind::integer:
      fmt::format_to(std::back_inserter(out), FMT_COMPILE("{}"), tape.integer(place));
      break;
    case JsonKind::real:
      append_python_float(out, tape.real(place));
      break;
    case JsonKind::big:
      out += tape.text(place);
      break;
    case JsonKind::text:
    case JsonKind::key:
      out += quoted ? python_repr(tape.text(place)) : std::string(tape.text(place));
      break;
    case JsonKind::object:
      out += '{';
      append_items(out, tape, place, true);
      out += '}';
      break;
    case JsonKind::array:
      out += '[';
      append_items(out, tape, place, false);
      out += ']';
      break;
  }
}

}  // namespace

Result<void> read_json_members(const File& file, std::string_view descend, int64_t memory,
                               const UseMember& use) {
  FileStream stream(file);
  rapidjson::Reader reader;
  MemberHandler handler(descend, memory, use);
  if (reader.Parse<kFlags>(stream, handler)) return {};
  if (stream.error()) return tl::unexpected<Error>(*stream.error());
  if (handler.error()) return tl::unexpected<Error>(*handler.error());
  if (handler.enough()) return {};
  if (!handler.is_object()) return fail(ErrorKind::bad_format, "{}: is not a JSON object", file.name());
  if (handler.too_large())
    return fail(ErrorKind::limit, "{}: the entry '{}' takes more than {}", file.name(),
                printable(handler.key()), format_size(memory));
  const auto where = static_cast<int64_t>(reader.GetErrorOffset());
  const bool is_open = reader.GetParseErrorCode() == rapidjson::kParseErrorStringMissQuotationMark;
  if (where + 2 >= file.size() || is_open)
    return fail(ErrorKind::bad_format,
                "{}: ends in the middle of its JSON text; was it cut off, or is it still being written?",
                file.name());
  return fail(ErrorKind::bad_format, "{}: is not JSON at byte {}: {}", file.name(), where,
              rapidjson::GetParseError_En(reader.GetParseErrorCode()));
}

Result<JsonTape> parse_json_text(std::string_view text, std::string_view name) {
  const std::string clean = without_hash_comments(text);
  rapidjson::MemoryStream stream(clean.data(), clean.size());
  rapidjson::Reader reader;
  ValueHandler handler;
  constexpr unsigned kByHand = kFlags | rapidjson::kParseCommentsFlag | rapidjson::kParseTrailingCommasFlag;
  if (reader.Parse<kByHand>(stream, handler)) return std::move(handler.tape.tape);
  const size_t where = std::min(reader.GetErrorOffset(), clean.size());
  const auto line = 1 + std::count(clean.begin(), clean.begin() + static_cast<std::ptrdiff_t>(where), '\n');
  return fail(ErrorKind::bad_format, "{}:{}: is not JSON: {}", name, line,
              rapidjson::GetParseError_En(reader.GetParseErrorCode()));
}

std::string python_str(const JsonTape& tape, size_t place) {
  std::string out;
  append_str(out, tape, place, false);
  return out;
}

std::string python_repr(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        if (c == quote)
          (out += '\\') += c;
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
          out += c;
    }
  }
  return out + quote;
}

void append_python_float(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  char text[40];
  out.append(text, fmt::format_to(text, FMT_COMPILE("{}"), value));
  if (std::trunc(value) == value && std::abs(value) < 1e16)
    out += ".0";  // else it has a point or an exponent
}

}  // namespace assay
