#include "probe/json.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>

namespace assay::probe {
namespace {

constexpr size_t kMostDepth = 3000;  // a node of a graph takes two levels; a thousand of them are allowed

class Builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Builder> {
 public:
  bool Null() { return add({Json::Kind::null, "null"}); }
  bool Bool(bool value) { return add({Json::Kind::boolean, value ? "true" : "false"}); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    return add({Json::Kind::number, {text, size}});
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    return add({Json::Kind::string, {text, size}});
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    keys_.back().assign(text, size);
    return true;
  }
  bool StartObject() { return open(Json::Kind::object); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(Json::Kind::array); }
  bool EndArray(rapidjson::SizeType) { return close(); }
  Json take() { return std::move(root_); }

 private:
  bool open(Json::Kind kind) {
    if (open_.size() >= kMostDepth) return false;
    open_.push_back({kind});
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Json done = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return add(std::move(done));
  }
  bool add(Json value) {
    if (open_.empty())
      root_ = std::move(value);
    else if (open_.back().kind == Json::Kind::array)
      open_.back().items.push_back(std::move(value));
    else
      open_.back().members.emplace_back(std::move(keys_.back()), std::move(value));
    return true;
  }
  Json root_;
  std::vector<Json> open_;
  std::vector<std::string> keys_;
};

void put_string(std::string_view text, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out.append("\\").push_back(c);
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20)
      out.append("\\u00").append({kHex[byte >> 4], kHex[byte & 15]});
    else
      out += c;
  }
  out += '"';
}

void put(const Json& value, std::string& out) {
  const auto list = [&](const auto& all, char begin, char end, const auto& each) {
    out += begin;
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out += ',';
      each(all[i]);
    }
    out += end;
  };
  switch (value.kind) {
    case Json::Kind::array:
      list(value.items, '[', ']', [&](const Json& item) { put(item, out); });
      break;
    case Json::Kind::object:
      list(value.members, '{', '}', [&](const auto& member) {
        put_string(member.first, out);
        out += ':';
        put(member.second, out);
      });
      break;
    case Json::Kind::string:
      put_string(value.text, out);
      break;
    default:
      out += value.text.empty() ? "null" : value.text;
  }
}

}  // namespace

Json Json::strings(const std::vector<std::string>& values) {
  Json out{Kind::array};
  for (const std::string& value : values) out.items.push_back(string(value));
  return out;
}

const Json* Json::find(std::string_view key) const {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
  return found == members.end() ? nullptr : &found->second;
}

void Json::set(std::string_view key, Json value) {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == key; });
  if (found != members.end())
    found->second = std::move(value);
  else
    members.emplace_back(std::string(key), std::move(value));
}

std::optional<Json> parse_json(std::string_view text) {
  Builder builder;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  if (reader.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag>(stream, builder)
          .IsError())
    return std::nullopt;
  return builder.take();
}

std::string compact_text(const Json& value) {
  std::string out;
  put(value, out);
  return out;
}

}  // namespace assay::probe
