#include "assay/graph/atb_params.h"

#include "assay/base/text.h"

#include <cmath>
#include <unordered_map>

namespace assay {
namespace {

bool is_container(JsonKind kind) { return kind == JsonKind::object || kind == JsonKind::array; }

Value scalar_at(const JsonTape& tape, size_t place) {
  switch (tape.kind(place)) {
    case JsonKind::boolean:
      return tape.boolean(place);
    case JsonKind::integer:
      return tape.integer(place);
    case JsonKind::real:
      // What is no finite number stays a text: taken for absent, it would mean the default.
      if (std::isfinite(tape.real(place))) return tape.real(place);
      return std::isnan(tape.real(place)) ? std::string("NaN")
                                          : std::string(tape.real(place) > 0 ? "Infinity" : "-Infinity");
    case JsonKind::big:
      if (const auto number = parse_double(tape.text(place)); number && std::isfinite(*number))
        return *number;
      return std::string(tape.text(place));
    case JsonKind::text:
      return std::string(tape.text(place));
    default:
      return {};
  }
}

class ParamReader {
 public:
  ParamReader(const JsonTape& tape, int64_t memory) : tape_(tape), memory_(memory) {}

  bool read(size_t place);
  AtbParams take() { return std::move(out_); }
  int64_t repeated() const { return repeated_; }

 private:
  struct Open {
    size_t at;
    int64_t element;  // -1: of an object
    size_t prefix;    // bytes of key_ that are the key of the container
  };

  bool add_value(size_t place);  // a scalar or a list of scalars, under key_
  void enter(size_t place);
  bool holds_containers(size_t array) const;

  const JsonTape& tape_;
  const int64_t memory_;
  AtbParams out_;
  std::string key_;
  std::vector<Open> open_;
  std::unordered_map<std::string, size_t> places_;  // in the list, by key
  int64_t repeated_ = 0;
};

bool ParamReader::holds_containers(size_t array) const {
  for (size_t at = tape_.first(array); !tape_.is_end(at); at = tape_.next(at))
    if (is_container(tape_.kind(at))) return true;
  return false;
}

bool ParamReader::add_value(size_t place) {
  OpParam param;
  param.key = key_;
  param.is_list = tape_.kind(place) == JsonKind::array;
  out_.bytes += static_cast<int64_t>(sizeof(OpParam) + 2 * key_.size());
  const auto add = [&](size_t at) {
    out_.bytes += static_cast<int64_t>(sizeof(Value) + (tape_.is_text(at) ? tape_.text(at).size() : 0));
    if (out_.bytes <= memory_) param.values.push_back(scalar_at(tape_, at));
  };
  if (param.is_list)
    for (size_t at = tape_.first(place); !tape_.is_end(at); at = tape_.next(at)) add(at);
  else
    add(place);
  if (out_.bytes > memory_) return false;
  const auto [known, is_new] = places_.emplace(key_, out_.list.size());
  if (is_new) {
    out_.list.push_back(std::move(param));
  } else {
    ++repeated_;
    out_.list[known->second] = std::move(param);
  }
  return true;
}

void ParamReader::enter(size_t place) {
  open_.push_back({tape_.first(place), tape_.kind(place) == JsonKind::object ? -1 : 0, key_.size()});
}

bool ParamReader::read(size_t place) {
  enter(place);
  while (!open_.empty()) {
    Open& top = open_.back();
    if (tape_.is_end(top.at)) {
      open_.pop_back();
      continue;
    }
    key_.resize(top.prefix);
    if (open_.size() > 1) key_ += '.';
    size_t value = top.at;
    if (top.element < 0)
      key_ += tape_.text(value++);
    else
      key_ += std::to_string(top.element++);
    top.at = tape_.next(value);
    if (tape_.kind(value) == JsonKind::object ||
        (tape_.kind(value) == JsonKind::array && holds_containers(value)))
      enter(value);
    else if (!add_value(value))
      return false;
  }
  return true;
}

}  // namespace

std::optional<AtbParams> read_atb_params(const JsonTape& tape, size_t place, int64_t memory,
                                         int64_t& repeated) {
  if (tape.kind(place) == JsonKind::text || tape.kind(place) == JsonKind::null) return AtbParams{};
  if (tape.kind(place) != JsonKind::object) {
    AtbParams single;
    single.bytes = sizeof(OpParam) + sizeof(Value);
    single.list.push_back({"param", {scalar_at(tape, place)}, false});
    return single;
  }
  ParamReader reader(tape, memory);
  if (!reader.read(place)) return std::nullopt;
  repeated = reader.repeated();
  return reader.take();
}

}  // namespace assay
