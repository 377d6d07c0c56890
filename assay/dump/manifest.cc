#include "assay/dump/manifest.h"

#include "assay/base/text.h"

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <utility>

namespace assay {
namespace {

constexpr std::string_view kNames[] = {"manifest.txt", "manifest.json"};  // the first one that exists counts

std::string normalised(std::string_view path) { return fs::path(path).lexically_normal().generic_string(); }

std::vector<std::string> parse_lines(std::string_view text) {
  std::vector<std::string> paths;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view path = trim(line);
    if (!path.empty() && path[0] != '#') paths.push_back(normalised(path));
  }
  return paths;
}

// Accepts one flat array of strings and stops at anything else.
struct PathArray : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, PathArray> {
  std::vector<std::string> paths;
  bool open = false;
  bool Default() { return false; }
  bool StartArray() { return !std::exchange(open, true); }
  bool EndArray(rapidjson::SizeType) { return true; }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    if (open) paths.push_back(normalised({text, length}));
    return open;
  }
};

Result<std::vector<std::string>> parse_json(std::string_view text, const fs::path& file) {
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  PathArray handler;
  if (!reader.Parse<rapidjson::kParseIterativeFlag>(stream, handler))
    return fail(ErrorKind::bad_format, "{}: is not a JSON array of paths (byte {})", display(file),
                reader.GetErrorOffset());
  return std::move(handler.paths);
}

}  // namespace

bool is_manifest(std::string_view relative) { return relative == kNames[0] || relative == kNames[1]; }

Result<std::optional<Manifest>> read_manifest(const fs::path& root, int64_t memory) {
  for (const std::string_view name : kNames) {
    const fs::path path = root / name;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    ASSAY_TRY(const auto file, File::open(path));
    if (file->size() > memory)
      return fail(ErrorKind::limit, "{}: {} is more than the {} a manifest may have", file->name(),
                  format_size(file->size()), format_size(memory));
    std::string text(static_cast<size_t>(file->size()), '\0');
    ASSAY_TRY_DO(file->read(0, std::as_writable_bytes(std::span(text))));
    if (name == kNames[0]) return Manifest{path, parse_lines(text)};
    ASSAY_TRY(std::vector<std::string> paths, parse_json(text, path));
    return Manifest{path, std::move(paths)};
  }
  return std::nullopt;
}

}  // namespace assay
