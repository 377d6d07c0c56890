#include "assay/run/compact/choice.h"

#include "assay/base/text.h"

#include <algorithm>

namespace assay {
namespace {

// Folders as shells complete them.
std::string without_slashes(std::string_view text) {
  while (text.starts_with("./") && text.size() > 2) text.remove_prefix(2);
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  return std::string(text);
}

// The folder without links, as far as it is there already.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  const fs::path real = fs::weakly_canonical(absolute, error);
  return without_slashes((error ? absolute : real).native());
}

// Nothing where it does not lie below the root; empty for the root itself.
std::optional<std::string> below(const fs::path& root, const fs::path& path) {
  const std::string relative = real_path(path).lexically_relative(root).generic_string();
  if (relative == ".") return std::string();
  if (relative.empty() || relative == ".." || relative.starts_with("../")) return std::nullopt;
  return relative;
}

}  // namespace

PathPatterns::PathPatterns(const fs::path& root, const std::vector<std::string>& given) {
  const fs::path real_root = real_path(root);
  for (size_t i = 0; i < given.size(); ++i) {
    const auto add = [&](std::string_view text, bool is_whole) {
      if (trim(text).empty()) return;
      const std::string pattern = without_slashes(trim(text));
      patterns_.push_back({pattern, places_of(real_root, pattern), i, is_whole});
    };
    add(given[i], true);
    if (given[i].find(',') != std::string::npos)
      for (const std::string_view part : split(given[i], ',')) add(part, false);
  }
}

std::vector<PathPatterns::Place> PathPatterns::places_of(const fs::path& root, const std::string& text) {
  std::vector<Place> places;
  if (const auto folder = below(root, text)) places.push_back({*folder, ""});
  // A link in the dump stands for what it leads to.
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(root / text, ignored)))
    if (const auto target = below(root, root / text)) places.push_back({*target, ""});
  // The folders before the first component that is more than a name.
  const size_t special = text.find_first_of("*?[");
  if (special == std::string::npos) return places;
  const size_t slash = text.rfind('/', special);
  const std::string before = slash == std::string::npos ? "." : slash == 0 ? "/" : text.substr(0, slash);
  if (const auto folder = below(root, before))
    places.push_back({*folder, slash == std::string::npos ? text : text.substr(slash + 1)});
  return places;
}

bool PathPatterns::Pattern::fits(std::string_view path) const {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (text == path || text == name || glob_match(text, path) || glob_match(text, name)) return true;
  return std::any_of(places.begin(), places.end(), [&](const Place& place) {
    if (place.glob.empty()) return place.folder == path;
    if (place.folder.empty()) return glob_match(place.glob, path);
    return path.size() > place.folder.size() + 1 && path.starts_with(place.folder) &&
           path[place.folder.size()] == '/' && glob_match(place.glob, path.substr(place.folder.size() + 1));
  });
}

bool PathPatterns::Pattern::is_of_root() const {
  return std::any_of(places.begin(), places.end(),
                     [](const Place& place) { return place.folder.empty() && place.glob.empty(); });
}

bool PathPatterns::fits(std::string_view path) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const Pattern& pattern) { return pattern.fits(path); });
}

bool PathPatterns::fits_above(std::string_view path) const {
  if (patterns_.empty()) return false;
  for (size_t end = path.size(); end != std::string_view::npos && end > 0;
       end = path.substr(0, end).rfind('/'))
    if (fits(path.substr(0, end))) return true;
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [](const Pattern& pattern) { return pattern.is_of_root(); });
}

void PathPatterns::note(std::string_view path) {
  for (Pattern& pattern : patterns_) pattern.is_used = pattern.is_used || pattern.fits(path);
}

std::vector<std::string> PathPatterns::in_vain() const {
  const auto is_used = [](const Pattern& pattern) { return pattern.is_used || pattern.is_of_root(); };
  // A name with commas that is there as a whole need not be there in parts, nor the other way round.
  const auto is_in_vain = [&](const Pattern& pattern) {
    if (is_used(pattern)) return false;
    return std::none_of(patterns_.begin(), patterns_.end(), [&](const Pattern& other) {
      if (other.given != pattern.given || &other == &pattern) return false;
      return pattern.is_whole || (other.is_whole && is_used(other));
    });
  };
  std::vector<std::string> out;
  for (const Pattern& pattern : patterns_)
    if (is_in_vain(pattern)) out.push_back(pattern.text);
  return out;
}

}  // namespace assay
