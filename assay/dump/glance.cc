#include "assay/dump/glance.h"

#include <sys/stat.h>

#include <set>
#include <utility>
#include <vector>

namespace assay {

void glance_below(const fs::path& root,
                  const std::function<bool(const fs::path& folder, std::string_view file)>& is_enough) {
  constexpr int kMostEntries = 100'000;
  std::vector<fs::path> left = {root};
  std::set<std::pair<dev_t, ino_t>> entered;  // links may lead in a circle
  int seen = 0;
  while (!left.empty()) {
    const fs::path folder = std::move(left.back());
    left.pop_back();
    struct stat status {};
    if (::stat(folder.c_str(), &status) != 0 || !entered.emplace(status.st_dev, status.st_ino).second)
      continue;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (++seen > kMostEntries) return;
      std::error_code ignored;
      if (it->is_directory(ignored))
        left.push_back(it->path());
      else if (is_enough(folder, it->path().filename().native()))
        return;
    }
  }
}

}  // namespace assay
