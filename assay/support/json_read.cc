// Reads JSON values into tapes.
#include "assay/base/text.h"
#include "assay/support/json_scan.h"
#include "assay/support/json_tape.h"

#include <charconv>
#include <cstdlib>
#include <limits>

namespace assay {

class JsonReader {
 public:
  JsonReader(JsonScanner& text, int64_t memory, bool allows_trailing_comma)
      : text_(text), memory_(memory), allows_trailing_comma_(allows_trailing_comma) {}

  // The value that is next, as the tape. Containers that are open are a list, not calls: depth costs no
  // stack.
  bool read_value();
  const JsonTape& tape() const { return tape_; }
  JsonTape take_tape() { return std::move(tape_); }

 private:
  enum class Step : uint8_t { value, key, behind_value, done, failed };

  Step begin_value();
  Step read_key();
  Step behind_value();
  Step begin(JsonKind kind);
  Step end();
  Step behind(bool went_well) const { return went_well ? Step::behind_value : Step::failed; }
  bool is_deep() const { return !skipped_.empty(); }

  bool add_text(JsonKind kind);
  bool add_kept_text(JsonKind kind, size_t begin);  // what was appended to the texts
  bool add_number();
  // Fills tokens where they lie: one that is filled elsewhere and then copied waits for its own stores.
  template <class Fill>
  bool add(JsonKind kind, Fill&& fill);
  bool add_real(double value);
  bool fits();

  JsonScanner& text_;
  const int64_t memory_;
  const bool allows_trailing_comma_;
  JsonTape tape_;
  std::vector<size_t> open_;   // places of the containers that are not closed yet
  std::vector<bool> skipped_;  // those below the limit of depth; true: an object
  std::string unwanted_;       // texts in them
};

bool JsonReader::read_value() {
  tape_.tokens_.clear();
  tape_.texts_.clear();
  tape_.too_deep_ = false;
  open_.clear();
  skipped_.clear();
  Step step = Step::value;
  while (step != Step::done && step != Step::failed) {
    switch (step) {
      case Step::value:
        step = begin_value();
        break;
      case Step::key:
        step = read_key();
        break;
      default:
        step = behind_value();
    }
  }
  return step == Step::done;
}

JsonReader::Step JsonReader::begin_value() {
  switch (text_.next()) {
    case '{':
      text_.take();
      return begin(JsonKind::object);
    case '[':
      text_.take();
      return begin(JsonKind::array);
    case '"':
      return behind(add_text(JsonKind::text));
    case 'n':
      return behind(text_.read_word("null") && add(JsonKind::null, [](JsonToken&) {}));
    case 't':
      return behind(text_.read_word("true") &&
                    add(JsonKind::boolean, [](JsonToken& token) { token.boolean = true; }));
    case 'f':
      return behind(text_.read_word("false") &&
                    add(JsonKind::boolean, [](JsonToken& token) { token.boolean = false; }));
    case 'N':
      return behind(text_.read_word("NaN") && add_real(std::numeric_limits<double>::quiet_NaN()));
    case 'I':
      return behind(text_.read_word("Infinity") && add_real(std::numeric_limits<double>::infinity()));
    default:
      return behind(add_number());
  }
}

JsonReader::Step JsonReader::begin(JsonKind kind) {
  const bool is_object = kind == JsonKind::object;
  if (is_deep() || open_.size() >= kJsonDepth) {
    if (!is_deep()) {  // keeps the place of the value
      tape_.too_deep_ = true;
      tape_.tokens_.emplace_back(JsonKind::null);
    }
    skipped_.push_back(is_object);
    if (static_cast<int64_t>(skipped_.size() / 8) > memory_) {
      text_.fail(JsonTrouble::too_large);
      return Step::failed;
    }
  } else {
    open_.push_back(tape_.tokens_.size());
    tape_.tokens_.emplace_back(kind);
  }
  if (text_.take_if(is_object ? '}' : ']')) return end();
  return is_object ? Step::key : Step::value;
}

JsonReader::Step JsonReader::end() {
  if (is_deep()) {
    skipped_.pop_back();
    return Step::behind_value;
  }
  tape_.tokens_.emplace_back(JsonKind::end);
  tape_.tokens_[open_.back()].size = static_cast<uint32_t>(tape_.tokens_.size() - open_.back());
  open_.pop_back();
  return behind(fits());
}

JsonReader::Step JsonReader::read_key() {
  if (text_.next() != '"') text_.wrong("a key in double quotes");
  if (text_.trouble() != JsonTrouble::none || !add_text(JsonKind::key)) return Step::failed;
  if (text_.take_if(':')) return Step::value;
  text_.wrong("':' behind a key");
  return Step::failed;
}

JsonReader::Step JsonReader::behind_value() {
  if (open_.empty()) return Step::done;
  const bool is_object = is_deep() ? skipped_.back() : tape_.tokens_[open_.back()].kind == JsonKind::object;
  const char close = is_object ? '}' : ']';
  const char next = text_.next();
  if (next == close) {
    text_.take();
    return end();
  }
  if (next != ',') {
    text_.wrong(is_object ? "',' or '}'" : "',' or ']'");
    return Step::failed;
  }
  text_.take();
  if (allows_trailing_comma_ && text_.take_if(close)) return end();
  return is_object ? Step::key : Step::value;
}

template <class Fill>
bool JsonReader::add(JsonKind kind, Fill&& fill) {
  if (is_deep()) return true;
  fill(tape_.tokens_.emplace_back(kind));
  return tape_.tokens_.size() % 1024 != 0 || fits();
}

bool JsonReader::fits() {
  const auto used = static_cast<int64_t>(tape_.texts_.size() + tape_.tokens_.size() * sizeof(JsonToken));
  return used <= memory_ || text_.fail(JsonTrouble::too_large);
}

bool JsonReader::add_text(JsonKind kind) {
  if (is_deep()) {
    unwanted_.clear();
    return text_.read_string(unwanted_);
  }
  const size_t begin = tape_.texts_.size();
  if (!text_.read_string(tape_.texts_)) return false;
  return add_kept_text(kind, begin);
}

bool JsonReader::add_kept_text(JsonKind kind, size_t begin) {
  const size_t size = tape_.texts_.size() - begin;
  if (size > std::numeric_limits<uint32_t>::max()) return text_.fail(JsonTrouble::too_large);
  const bool added = add(kind, [&](JsonToken& token) {
    token.size = static_cast<uint32_t>(size);
    token.text = begin;
  });
  return added && (size < 1024 || fits());
}

bool JsonReader::add_real(double value) {
  return add(JsonKind::real, [&](JsonToken& token) { token.real = value; });
}

bool JsonReader::add_number() {
  const auto read = text_.read_number();
  if (!read) return false;
  const std::string_view text = read->text;
  if (text == "-") return text_.read_word("Infinity") && add_real(-std::numeric_limits<double>::infinity());
  const char* const first = text.data();
  const char* const last = first + text.size();
  if (read->is_whole) {
    int64_t whole = 0;
    if (std::from_chars(first, last, whole).ec == std::errc())
      return add(JsonKind::integer, [&](JsonToken& token) { token.integer = whole; });
    if (is_deep()) return true;
    const size_t begin = tape_.texts_.size();
    tape_.texts_ += text;
    return add_kept_text(JsonKind::big, begin);
  }
  double real = 0;
  // As Python: too small is 0, too large is infinite.
  if (std::from_chars(first, last, real).ec == std::errc::result_out_of_range)
    real = std::strtod(std::string(text).c_str(), nullptr);
  return add_real(real);
}

namespace {

// The members of the object that is next, and of the one that is descended into.
class Members {
 public:
  Members(JsonScanner& text, std::string_view descend, int64_t memory, const UseMember& use)
      : text_(text), descend_(descend), reader_(text, memory, false), use_(use) {}

  Result<bool> read(bool inside);  // false: enough
  const std::string& key() const { return inside_key_.empty() ? key_ : inside_key_; }

 private:
  Result<bool> read_member(bool inside);

  JsonScanner& text_;
  const std::string_view descend_;
  JsonReader reader_;
  const UseMember& use_;
  std::string key_, inside_key_;
};

// Behind the opening brace. Trouble of the text stops it, too: the caller looks.
Result<bool> Members::read(bool inside) {
  if (text_.take_if('}')) return true;
  for (;;) {
    ASSAY_TRY(const bool go_on, read_member(inside));
    if (!go_on) return false;
    if (text_.take_if('}')) return true;
    if (!text_.take_if(',')) return text_.wrong("',' or '}'");
  }
}

Result<bool> Members::read_member(bool inside) {
  std::string& key = inside ? inside_key_ : key_;
  key.clear();
  if (text_.next() != '"') return text_.wrong("a key in double quotes");
  if (!text_.read_string(key)) return false;
  if (!text_.take_if(':')) return text_.wrong("':' behind a key");
  if (!inside && !descend_.empty() && key == descend_ && text_.take_if('{')) {
    ASSAY_TRY(const bool go_on, read(true));
    if (!go_on) return false;
    inside_key_.clear();
    static const JsonTape empty_object = *parse_json_text("{}", "");
    return use_(JsonMember{key, false, empty_object});
  }
  if (!reader_.read_value()) return false;
  return use_(JsonMember{key, inside, reader_.tape()});
}

}  // namespace

Result<void> read_json_members(const File& file, std::string_view descend, int64_t memory,
                               const UseMember& use) {
  JsonScanner text(file, memory);
  Members members(text, descend, memory, use);
  const char first = text.next();
  if (first != '{' && first != '\0')
    return fail(ErrorKind::bad_format, "{}: is not a JSON object", file.name());
  if (text.take_if('{')) {
    ASSAY_TRY(const bool read_all, members.read(false));
    if (!read_all && text.trouble() == JsonTrouble::none) return {};
    if (read_all && !text.at_end()) text.wrong("nothing behind the object");
  } else {
    text.wrong("'{'");
  }
  switch (text.trouble()) {
    case JsonTrouble::none:
      return {};
    case JsonTrouble::unreadable:
      return tl::unexpected<Error>(*text.read_error());
    case JsonTrouble::too_large:
      return fail(ErrorKind::limit, "{}: the entry '{}' takes more than {}", file.name(),
                  printable(members.key().substr(0, 200)), format_size(memory));
    case JsonTrouble::ended:
      return fail(ErrorKind::bad_format,
                  "{}: ends in the middle of its JSON text; was it cut off, or is it still being written?",
                  file.name());
    case JsonTrouble::wrong:
      break;
  }
  return fail(ErrorKind::bad_format, "{}: is not JSON at byte {}: expected {}", file.name(),
              text.stopped_at(), text.expected());
}

Result<JsonTape> parse_json_text(std::string_view text, std::string_view name) {
  constexpr int64_t kMemory = int64_t{64} << 20;
  JsonScanner scanner(text);
  JsonReader reader(scanner, kMemory, true);
  if (reader.read_value() && scanner.at_end()) return reader.take_tape();
  if (scanner.trouble() == JsonTrouble::too_large)
    return fail(ErrorKind::limit, "{}: takes more than {}", name, format_size(kMemory));
  scanner.wrong("nothing behind the value");
  return fail(ErrorKind::bad_format, "{}:{}: is not JSON: expected {}", name, scanner.line(),
              scanner.trouble() == JsonTrouble::ended && *scanner.expected() == '\0' ? "more of it"
                                                                                     : scanner.expected());
}

}  // namespace assay
