// --only and --skip of assay compact: which files of a folder are meant. A pattern that is misread costs
// data, so it is taken in every way in which it can be meant, and says whether it fits anything.
#pragma once

#include "assay/base/file.h"

#include <string>
#include <string_view>
#include <vector>

namespace assay {

// A pattern fits a path below the root, a file name, or a path as the user would type it from where he stands
// or from "/". It is a glob, and also the very text: shells complete names that have brackets or commas.
class PathPatterns {
 public:
  PathPatterns() = default;
  // Each text is a list with commas between, or one name that has some.
  PathPatterns(const fs::path& root, const std::vector<std::string>& given);

  bool empty() const { return patterns_.empty(); }
  bool fits(std::string_view path) const;        // relative to the root; the path itself
  bool fits_above(std::string_view path) const;  // … or a folder in which it lies, the root among them

  // Something has this path: the patterns that fit it are not in vain.
  void note(std::string_view path);
  std::vector<std::string> in_vain() const;  // as given

 private:
  // A place on this disk: the folder by its name, below it a glob.
  struct Place {
    std::string folder;  // relative to the root; empty: the root
    std::string glob;    // empty: the folder itself
  };
  struct Pattern {
    std::string text;
    std::vector<Place> places = {};
    size_t given = 0;  // the text of which it is a part
    bool is_whole = false;
    bool is_used = false;
    bool fits(std::string_view path) const;
    bool is_of_root() const;
  };
  static std::vector<Place> places_of(const fs::path& root, const std::string& text);

  std::vector<Pattern> patterns_;
};

}  // namespace assay
