#include "assay/format/pt_opaque.h"

#include "assay/base/text.h"
#include "assay/format/pickle_text.h"
#include "assay/format/pt_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

using Kind = PickleValue::Kind;

// How protocols 0 to 2, which know no bytes, call for them.
constexpr std::string_view kMakersOfBytes[] = {"_codecs.encode", "builtins.bytes", "builtins.bytearray",
                                               "__builtin__.bytes", "__builtin__.bytearray"};

bool makes_bytes(const PickleValue& callable) {
  return callable.kind == Kind::global && std::find(std::begin(kMakersOfBytes), std::end(kMakersOfBytes),
                                                    callable.text) != std::end(kMakersOfBytes);
}

// Functions that pickles of small objects call: members of an enum (in some versions of Python), regular
// expressions, generators of random numbers.
constexpr std::string_view kMakersOfObjects[] = {
    "builtins.getattr",
    "__builtin__.getattr",
    "functools.partial",
    "re._compile",
    "numpy.random._pickle.__bit_generator_ctor",
    "numpy.random._pickle.__generator_ctor",
    "numpy.random._pickle.__randomstate_ctor",
    "numpy.random.bit_generator.__pyx_unpickle_SeedSequence",
};
constexpr int64_t kMostNumbers = 16, kMostLetters = 4096;  // that a small object is made of

// By the custom of Python: functions begin with a small letter. What is called a tensor or an array may be
// one.
bool is_class_name(std::string_view name) {
  name = name.substr(name.rfind('.') + 1);
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  return !name.empty() && name.front() >= 'A' && name.front() <= 'Z' &&
         name.find("Tensor") == std::string_view::npos && name.find("Array") == std::string_view::npos;
}

}  // namespace

std::optional<int64_t> raw_bytes(const PickleGraph& graph, const PickleValue& value) {
  if (value.kind == Kind::bytes) {
    if (value.is_str && printable(value.text) == value.text) return std::nullopt;
    return std::ssize(value.text);
  }
  // Ends: the argument was made before the call.
  const PickleValue* call = &value;
  while (call->kind == Kind::call && makes_bytes(graph[call->items[0]])) {
    const std::vector<PickleRef>& arguments = graph[call->items[1]].items;
    if (arguments.empty()) return 0;
    call = &graph[arguments[0]];
    if (call->kind == Kind::bytes) return std::ssize(call->text);
    if (call->kind == Kind::text)  // one character for each byte, in UTF-8
      return std::count_if(call->text.begin(), call->text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  }
  return std::nullopt;
}

std::optional<std::string> raw_bytes_text(const PickleGraph& graph, const PickleValue& value) {
  if (!raw_bytes(graph, value)) return std::nullopt;
  const PickleValue* made_of = &value;
  while (made_of->kind == Kind::call) {
    const std::vector<PickleRef>& arguments = graph[made_of->items[1]].items;
    if (arguments.empty()) return "b''";
    made_of = &graph[arguments[0]];
  }
  const std::string bytes =
      made_of->kind == Kind::text ? to_latin1(made_of->text).value_or(made_of->text) : made_of->text;
  std::string text = "b'";
  for (const char byte : bytes) {
    const bool is_shown = byte >= ' ' && byte <= '~' && byte != '\\' && byte != '\'';
    text += is_shown ? std::string(1, byte) : fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return text + "'";
}

bool is_small_object(const PickleGraph& graph, const PickleValue& call) {
  const PickleValue& maker = graph[call.items[0]];
  if (maker.kind != Kind::global) return false;
  if (!is_class_name(maker.text) &&
      std::ranges::find(kMakersOfObjects, maker.text) == std::end(kMakersOfObjects))
    return false;
  // Objects inside of it were looked at by themselves.
  int64_t numbers = 0, letters = 0;
  std::vector<PickleRef> waiting(call.items.begin() + 1, call.items.end());
  waiting.insert(waiting.end(), {call.state, call.keywords});
  while (!waiting.empty()) {
    const PickleValue& value = graph[waiting.back()];
    waiting.pop_back();
    // Empty containers count too, so that this ends whatever holds whatever.
    ++numbers;
    if (value.kind == Kind::text || value.kind == Kind::bytes) letters += std::ssize(value.text);
    if (value.kind == Kind::none || value.kind == Kind::text || value.kind == Kind::global) --numbers;
    if (numbers > kMostNumbers || letters > kMostLetters || std::ssize(waiting) > kMostLetters) return false;
    if (value.kind != Kind::call && value.kind != Kind::global)
      waiting.insert(waiting.end(), value.items.begin(), value.items.end());
  }
  return true;
}

std::string name_of_maker(const PickleGraph& graph, const PickleValue& call) {
  const PickleValue& maker = graph[call.items[0]];
  return maker.kind == Kind::global ? printable(maker.text.substr(0, kLongestName)) : "a call";
}

void LeftObjects::add(const std::string& path, const std::string& maker) {
  while (!all_.empty() && all_.back().path.starts_with(path + ".")) all_.pop_back();
  all_.push_back({path, maker});
}

void LeftObjects::note(const std::string& file_name, Remarks& warnings) const {
  constexpr size_t kShown = 3;
  if (all_.empty()) return;
  std::string some;
  for (size_t i = 0; i < std::min(all_.size(), kShown); ++i)
    some += fmt::format("{}{} ({})", i == 0 ? "" : ", ", printable(all_[i].path), all_[i].maker);
  warnings.push_back(
      left_out(fmt::format("{}: {} no tensor and not compared: {}{}", file_name,
                           all_.size() == 1 ? "1 object is" : fmt::format("{} objects are", all_.size()),
                           some, all_.size() > kShown ? ", …" : ""),
               std::ssize(all_)));
}

std::vector<std::string> refused_names(const PickleGraph& graph, size_t most) {
  std::vector<std::string> names;
  for (const PickleValue& value : graph.values) {
    if (value.kind != Kind::global || find_pt_name(value.text).meaning != PtMeaning::refused) continue;
    std::string name = printable(value.text.substr(0, kLongestName));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    if (names.size() == most) break;
  }
  return names;
}

std::optional<std::string> refused_root(const PickleGraph& graph) {
  const PickleValue& root = graph[graph.root];
  if (root.kind != Kind::call) return std::nullopt;
  const PickleValue& callable = graph[root.items[0]];
  if (callable.kind != Kind::global || find_pt_name(callable.text).meaning != PtMeaning::refused)
    return std::nullopt;
  return printable(callable.text.substr(0, kLongestName));
}

int64_t count_detached(const PickleGraph& graph) {
  std::vector<bool> attached(graph.values.size());
  std::vector<PickleRef> waiting = {graph.root};
  while (!waiting.empty()) {
    const PickleRef next = waiting.back();
    waiting.pop_back();
    if (attached[next]) continue;
    attached[next] = true;
    const PickleValue& value = graph[next];
    waiting.insert(waiting.end(), value.items.begin(), value.items.end());
    waiting.push_back(value.state);
    waiting.push_back(value.keywords);
  }
  // The first three are None, False and True, which every graph has.
  return std::count(attached.begin() + 3, attached.end(), false);
}

}  // namespace assay
