#include "assay/support/yaml.h"

#include "assay/base/text.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

namespace assay {
namespace {

constexpr std::string_view kAlias =
    "aliases (*name) are not supported; a pattern that begins with * is written in quotes";

constexpr std::string_view kAnchor =
    "anchors (&name) are not supported; a text that begins with & is written in quotes";

int64_t line_of(const YAML::Mark& mark) { return mark.is_null() ? 1 : int64_t{mark.line} + 1; }

// A dry run over the events of the parser. Each list or map is announced before the parser descends into it,
// so throwing here bounds the recursion exactly; scanning the text for brackets and indents could only guess.
class Inspector : public YAML::EventHandler {
 public:
  explicit Inspector(int depth) : max_depth_(depth) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw YAML::ParserException(mark, std::string(kAlias));
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse(mark, anchor);
    value(mark, nullptr);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    refuse(mark, anchor);
    value(mark, &text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse(mark, anchor);
    descend(mark, false);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse(mark, anchor);
    descend(mark, true);
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Open {
    bool is_map = false, at_key = true;
    std::unordered_set<std::string> keys;
  };

  static void refuse(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) throw YAML::ParserException(mark, std::string(kAnchor));
  }

  void descend(const YAML::Mark& mark, bool is_map) {
    value(mark, nullptr);
    if (static_cast<int>(open_.size()) >= max_depth_)
      throw YAML::ParserException(mark, fmt::format("nested more than {} deep", max_depth_));
    open_.push_back({is_map, true, {}});
  }

  void value(const YAML::Mark& mark, const std::string* scalar) {
    if (open_.empty() || !open_.back().is_map) return;
    Open& map = open_.back();
    if (map.at_key && !scalar) throw YAML::ParserException(mark, "a key must be a plain word");
    // yaml-cpp keeps both and answers the first; a reader would expect the last.
    if (map.at_key && !map.keys.insert(*scalar).second)
      throw YAML::ParserException(mark, fmt::format("key '{}' is given twice", printable(*scalar)));
    map.at_key = !map.at_key;
  }

  int max_depth_;
  std::vector<Open> open_;
};

// yaml-cpp takes U+0004 for the end of the file, and YAML forbids all of them.
Result<void> refuse_control_characters(std::string_view text, std::string_view name) {
  int64_t line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t' && c != '\r') || byte == 0x7F)
      return fail(ErrorKind::bad_format, "{}:{}: control character \\x{:02x}; expected YAML text in UTF-8",
                  name, line, byte);
  }
  return {};
}

Result<YAML::Node> load(const std::string& text, std::string_view name, const YamlLimits& limits) try {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Inspector inspector(limits.depth);
  int documents = 0;
  while (parser.HandleNextDocument(inspector))
    if (++documents > 1)
      return fail(ErrorKind::bad_format, "{}: holds more than one YAML document; expected one", name);
  return YAML::Load(text);
} catch (const YAML::Exception& e) {
  // An unquoted pattern such as *.weight is an alias to YAML; its own words for that help nobody.
  const bool alias = e.msg != kAnchor &&
                     (e.msg.find("anchor") != std::string::npos || e.msg.find("alias") != std::string::npos);
  return fail(ErrorKind::bad_format, "{}:{}: {}", name, line_of(e.mark),
              alias ? std::string(kAlias) : printable(e.msg));
}

}  // namespace

Result<YAML::Node> parse_yaml(std::string_view text, std::string_view name, const YamlLimits& limits) {
  if (static_cast<int64_t>(text.size()) > limits.bytes)
    return fail(ErrorKind::limit, "{}: {} of YAML; at most {} are read", name,
                format_size(static_cast<int64_t>(text.size())), format_size(limits.bytes));
  ASSAY_TRY_DO(refuse_control_characters(text, name));
  return load(std::string(text), name, limits);
}

Result<YAML::Node> read_yaml(const fs::path& path, const YamlLimits& limits) {
  ASSAY_TRY(const std::shared_ptr<const File> file, File::open(path));
  if (file->size() > limits.bytes)
    return fail(ErrorKind::limit, "{}: {} of YAML; at most {} are read", file->name(),
                format_size(file->size()), format_size(limits.bytes));
  std::string text(static_cast<size_t>(file->size()), '\0');
  ASSAY_TRY_DO(file->read(0, std::as_writable_bytes(std::span(text))));
  return parse_yaml(text, file->name(), limits);
}

}  // namespace assay
