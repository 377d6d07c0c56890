#include "assay/run/convert/safe_names.h"

#include "assay/base/text.h"

namespace assay {
namespace {

constexpr size_t kLongestPart =
    200;  // bytes; file systems allow 255, and a number and a suffix are still to come
constexpr size_t kLongestPath = 1000;

bool is_odd(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F ||
         std::string_view("\\:*?\"<>|'`$&;!~").find(c) != std::string_view::npos;
}

std::string safe_part(std::string_view part) {
  std::string out;
  for (const char c : printable(part)) out += is_odd(c) ? '_' : c;
  if (out.starts_with('.')) out[0] = '_';  // also "..": hidden files and ways out
  if (out.starts_with('-')) out[0] = '_';  // looks like a flag
  if (out.size() > kLongestPart) {
    size_t end = kLongestPart;
    while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xC0) == 0x80) --end;  // not inside a character
    out.resize(end);
  }
  return out;
}

}  // namespace

std::string safe_path(std::string_view tensor_name) {
  std::string out;
  for (const std::string_view part : split(tensor_name, '/')) {
    if (part.empty() || part == ".") continue;
    if (!out.empty()) out += '/';
    out += safe_part(part);
  }
  if (out.size() > kLongestPath) {  // folders nested beyond reason
    for (char& c : out) c = c == '/' ? '_' : c;
    out = safe_part(out);
  }
  return out.empty() ? "unnamed" : out;
}

bool SafeNames::lies_in_a_file(const std::string& path) const {
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (files_.contains(path.substr(0, slash))) return true;
  return false;
}

// Taken are the names of files, and a file cannot lie where a folder is wanted or the other way round.
bool SafeNames::is_free(const std::string& path) const {
  if (files_.contains(path) || folders_.contains(path) || lies_in_a_file(path)) return false;
  return !is_taken_ || !is_taken_(path);
}

fs::path SafeNames::claim(const std::string& stem, std::string_view suffix) {
  std::string path = stem + std::string(suffix);
  if (!is_free(path)) {
    // "a.npy/b" beside "a": numbering b would not help, its folder cannot exist.
    std::string flat = stem;
    if (lies_in_a_file(path))
      for (char& c : flat) c = c == '/' ? '_' : c;
    path = flat + std::string(suffix);
    int& number = last_number_.try_emplace(path, 1).first->second;
    while (!is_free(path)) path = fmt::format("{}_{}{}", flat, ++number, suffix);
  }
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    folders_.insert(path.substr(0, slash));
  files_.insert(path);
  return path;
}

}  // namespace assay
