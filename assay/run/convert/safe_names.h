// File names for tensors, whose own names may hold anything.
#pragma once

#include "assay/base/file.h"

#include <functional>
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
  // `is_taken`: whether something lies at a path that must not be touched.
  explicit SafeNames(std::function<bool(const std::string& path)> is_taken = {})
      : is_taken_(std::move(is_taken)) {}
  // `stem`: relative, without suffix, safe already.
  fs::path claim(const std::string& stem, std::string_view suffix);

 private:
  bool is_free(const std::string& path) const;
  bool lies_in_a_file(const std::string& path) const;  // one of its folders is the name of a file
  std::function<bool(const std::string&)> is_taken_;
  std::unordered_set<std::string> files_, folders_;
  std::unordered_map<std::string, int> last_number_;  // by the path that was wanted
};

}  // namespace assay
