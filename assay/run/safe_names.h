// File names for tensors, whose own names may hold anything.
#pragma once

#include "assay/base/file.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace assay {

// A relative path for a tensor name: '/' separates folders; "..", leading dots, control characters, bytes
// that are not UTF-8 and characters that shells or other systems dislike become '_'; long parts are cut.
// Never empty, never absolute.
std::string safe_path(std::string_view tensor_name);

// Hands out paths below one folder, none of them twice: x.npy, x_2.npy, …
class SafeNames {
 public:
  // `stem`: relative, without suffix, safe already.
  fs::path claim(const std::string& stem, std::string_view suffix);

 private:
  bool is_free(const std::string& path) const;
  std::unordered_set<std::string> files_, folders_;
  std::unordered_map<std::string, int> last_number_;  // by the path that was wanted
};

}  // namespace assay
