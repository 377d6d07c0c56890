#include "assay/run/convert/guard.h"

#include <sys/stat.h>

#include <algorithm>

namespace assay {

// Of the name itself, and of what it leads to where it is a link.
std::set<ConvertGuard::Identity> ConvertGuard::identities(const fs::path& path) {
  std::set<Identity> found;
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) found.emplace(status.st_dev, status.st_ino);
  if (::stat(path.c_str(), &status) == 0) found.emplace(status.st_dev, status.st_ino);
  return found;
}

void ConvertGuard::add_source(const fs::path& path) { sources_.merge(identities(path)); }

void ConvertGuard::begin(const fs::path& source) { current_ = identities(source); }

void ConvertGuard::add_output(const fs::path& path) { outputs_.merge(identities(path)); }

bool ConvertGuard::is_own(const fs::path& path) const {
  const std::set<Identity> found = identities(path);
  return std::any_of(found.begin(), found.end(), [&](const Identity& id) { return current_.contains(id); });
}

bool ConvertGuard::is_taken(const fs::path& path) const {
  const std::set<Identity> found = identities(path);
  return std::any_of(found.begin(), found.end(), [&](const Identity& id) {
    return outputs_.contains(id) || (sources_.contains(id) && !current_.contains(id));
  });
}

}  // namespace assay
