// Finished work of a run, in a file beside its report: after a fall the same command takes it from there.
#pragma once

#include "assay/base/file.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

class Journal {
 public:
  // made_by: the program and the command, which have to be the same. What a fall has cut off at the end of
  // the file is cut off for good. An error where another run is at work on it.
  static Result<Journal> open(const fs::path& path, std::string_view made_by);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  bool has(const std::string& name) const { return places_.contains(name); }
  // What was kept under a name; nothing where nothing was.
  Result<std::optional<std::string>> find(const std::string& name) const;
  Result<void> keep(const std::string& name, std::string_view work);
  size_t kept_before() const { return kept_before_; }  // pieces of work, by earlier runs
  void remove();                                       // the report is there

 private:
  struct Place {
    int64_t offset, size;
  };
  Journal(fs::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  Result<void> read_all(std::string_view made_by);
  Result<void> append(std::string_view bytes);
  fs::path path_;
  int descriptor_;
  int64_t end_ = 0;
  size_t kept_before_ = 0;
  std::map<std::string, Place> places_;
};

}  // namespace assay
