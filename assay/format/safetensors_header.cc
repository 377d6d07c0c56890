#include "assay/format/safetensors_header.h"

#include "assay/base/text.h"
#include "assay/format/format.h"

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace assay {
namespace {

using rapidjson::SizeType;

constexpr int64_t kMaxDepth = 64;
constexpr int64_t kBytesPerEntry = 512;  // what an entry and the tensor made of it take at least

// Every event with its depth; `Derived` has start(bool object), end(), text(), number(), other(), all called
// with depth_ already that of the value's container.
template <class Derived>
class Events : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Events<Derived>> {
 public:
  bool Null() { return self().other(); }
  bool Bool(bool) { return self().other(); }
  bool Int(int value) { return Int64(value); }
  bool Uint(unsigned value) { return Int64(value); }
  bool Int64(int64_t value) { return self().number(value); }
  bool Uint64(uint64_t value) {  // RapidJSON calls this for what does not fit Int64's range test
    constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return value <= kMax ? self().number(static_cast<int64_t>(value)) : self().other();
  }
  bool Double(double) { return self().other(); }
  bool String(const char* text, SizeType length, bool) { return self().text({text, length}); }
  bool Key(const char* text, SizeType length, bool) {
    self().key({text, length});
    return self().entries.size() <= max_entries ||
           stop("has too many entries for the memory limit; raise --memory");
  }
  bool StartObject() { return enter(true); }
  bool EndObject(SizeType) { return leave(); }
  bool StartArray() { return enter(false); }
  bool EndArray(SizeType) { return leave(); }

  std::string_view stopped;  // why the reading was given up
  size_t max_entries = 0;

 protected:
  bool stop(std::string_view reason) {
    stopped = reason;
    return false;
  }

  int64_t depth_ = 0;  // containers that are open

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
  bool enter(bool object) {
    if (!self().start(object)) return false;
    return ++depth_ <= kMaxDepth || stop("is nested too deeply");
  }
  bool leave() {
    --depth_;
    return true;
  }
};

class HeaderHandler : public Events<HeaderHandler> {
 public:
  std::vector<SafetensorsEntry> entries;
  int64_t metadata = 0, unknown_fields = 0;

  void key(std::string_view name) {
    if (depth_ == 1) {
      in_entry_ = name != "__metadata__";
      if (in_entry_) entries.push_back({std::string(name), {}, {}, {}, {}});
      seen_ = {};
    } else if (depth_ == 2) {
      metadata += in_entry_ ? 0 : 1;
      field_ = name;
      if (in_entry_ && std::find(std::begin(kFields), std::end(kFields), name) == std::end(kFields))
        ++unknown_fields;
      // JSON leaves open which of two counts.
      for (size_t i = 0; i < std::size(kFields); ++i)
        if (in_entry_ && name == kFields[i] && std::exchange(seen_[i], true))
          wrong(fmt::format("has {} twice", name));
    }
  }
  bool start(bool object) {
    if (depth_ == 0) return object;
    if (!in_entry_) return depth_ != 1 || object || bare_metadata();
    if (depth_ == 1 && !object) return wrong("is not an object");
    if (depth_ == 2 && !object && field_ == "shape") entries.back().shape.emplace();
    if (depth_ == 2 && !object && field_ == "data_offsets") entries.back().offsets.emplace();
    if (depth_ == 3 && is_list()) return wrong("has a list where a number should be");
    return true;
  }
  bool number(int64_t value) {
    if (depth_ == 0) return false;
    if (!in_entry_) return depth_ != 1 || bare_metadata();
    if (depth_ == 1) return wrong("is not an object");
    if (depth_ != 3) return true;
    SafetensorsEntry& entry = entries.back();
    if (field_ == "shape" && entry.shape) {
      if (entry.shape->size() == kMaxDims) return wrong("has more than 64 dimensions");
      entry.shape->push_back(value);
    }
    if (field_ == "data_offsets" && entry.offsets) {
      if (entry.offsets->size() == 2) return wrong("has more than two data_offsets");
      entry.offsets->push_back(value);
    }
    return true;
  }
  bool text(std::string_view value) {
    if (in_entry_ && depth_ == 2 && field_ == "dtype") {
      entries.back().dtype = std::string(value);
      return true;
    }
    return other();
  }
  bool other() {
    if (depth_ == 0) return false;
    if (!in_entry_) return depth_ != 1 || bare_metadata();
    if (depth_ == 1) return wrong("is not an object");
    if (depth_ == 3 && is_list()) return wrong("has something else where a number should be");
    return true;
  }

 private:
  bool is_list() const { return field_ == "shape" || field_ == "data_offsets"; }
  // "__metadata__" is no object: what it is instead counts as one.
  bool bare_metadata() {
    ++metadata;
    return true;
  }
  bool wrong(std::string_view what) {
    if (entries.back().trouble.empty()) entries.back().trouble = what;
    return true;
  }

  static constexpr std::string_view kFields[] = {"dtype", "shape", "data_offsets"};
  bool in_entry_ = false;
  std::array<bool, std::size(kFields)> seen_{};
  std::string field_;
};

class IndexHandler : public Events<IndexHandler> {
 public:
  std::vector<ShardEntry> entries;
  bool found = false;

  void key(std::string_view name) {
    if (depth_ == 1) in_map_ = name == "weight_map";
    if (depth_ == 2 && in_map_) name_ = name;
  }
  bool start(bool object) {
    if (depth_ == 0) return object;
    if (depth_ == 1 && in_map_) found = object;
    return depth_ == 1 || other();
  }
  bool text(std::string_view value) {
    if (depth_ == 2 && in_map_) {
      entries.push_back({name_, std::string(value)});
      return true;
    }
    return other();
  }
  bool number(int64_t) { return other(); }
  bool other() {
    if (depth_ == 2 && in_map_) entries.push_back({name_, {}});  // not a file name: refused later, by name
    return depth_ > 0;
  }

 private:
  bool in_map_ = false;
  std::string name_;
};

template <class Handler>
Result<void> parse(std::string_view json, std::string_view file, std::string_view what, Handler& handler) {
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  rapidjson::MemoryStream bytes(json.data(), json.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
  rapidjson::Reader reader;
  const auto parsed = reader.Parse<kFlags>(stream, handler);
  // RapidJSON takes a NUL for the end of the text.
  if (parsed && stream.Tell() < json.size())
    return fail(ErrorKind::bad_format, "{}: {} bytes follow the JSON of the {}; only blanks may", file,
                json.size() - stream.Tell(), what);
  if (parsed) return {};
  if (!handler.stopped.empty()) return fail(ErrorKind::limit, "{}: the {} {}", file, what, handler.stopped);
  if (parsed.Code() == rapidjson::kParseErrorTermination)
    return fail(ErrorKind::bad_format, "{}: the {} is not a JSON object", file, what);
  return fail(ErrorKind::bad_format, "{}: the {} is not valid JSON at byte {}: {}", file, what,
              parsed.Offset(), rapidjson::GetParseError_En(parsed.Code()));
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::string_view file,
                                                   int64_t memory) {
  HeaderHandler handler;
  handler.max_entries = static_cast<size_t>(memory / kBytesPerEntry);
  ASSAY_TRY_DO(parse(json, file, "header", handler));
  return SafetensorsHeader{std::move(handler.entries), handler.metadata, handler.unknown_fields};
}

Result<std::vector<ShardEntry>> parse_safetensors_index(std::string_view json, std::string_view file,
                                                        int64_t memory) {
  IndexHandler handler;
  handler.max_entries = static_cast<size_t>(memory / kBytesPerEntry);
  ASSAY_TRY_DO(parse(json, file, "index", handler));
  if (!handler.found) return fail(ErrorKind::bad_format, "{}: has no object \"weight_map\"", file);
  return std::move(handler.entries);
}

}  // namespace assay
