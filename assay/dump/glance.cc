#include "assay/dump/glance.h"

#include "assay/base/listing.h"

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
    const auto listing = list_folder(folder);
    if (!entered.emplace(listing->device, listing->inode).second) continue;
    for (const ListedEntry& entry : listing->entries) {
      if (++seen > kMostEntries) return;
      if (entry.kind == ListedEntry::Kind::folder)
        left.push_back(folder / entry.name);
      else if (is_enough(folder, entry.name))
        return;
    }
  }
}

}  // namespace assay
