// A database that SQLite writes into a file without a name, so that nothing is left of one that is not
// finished.
#pragma once

#include "assay/base/file.h"

#include <sqlite3.h>

#include <memory>
#include <optional>

namespace assay {

// SQLite sees it as a file system of its own, of one file (and those that it sorts in, without names too).
class SqliteFile {
 public:
  explicit SqliteFile(FileWriter file);
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;
  ~SqliteFile();  // after the database was closed

  const std::string& vfs() const { return vfs_name_; }  // for sqlite3_open_v2
  FileWriter& file() { return file_; }
  // What went wrong with the file, in better words than SQLite has for it.
  const std::optional<Error>& trouble() const { return trouble_; }
  int note(const Error& error, int code);  // keeps the first one

 private:
  FileWriter file_;
  std::optional<Error> trouble_;
  std::string vfs_name_;
  sqlite3_vfs vfs_{};
};

}  // namespace assay
