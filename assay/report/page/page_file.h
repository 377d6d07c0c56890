// A page that lies on the disk (--report html), made into a database that can be asked for its rows.
#pragma once

#include "assay/base/file.h"

#include <string>

namespace assay {

struct PageFile {
  std::string mine, golden, command;  // of the run
  bool holds_all = false;             // rows of its report; else a choice of them
};

// Writes what the page holds into a new database, as --report sqlite would have.
Result<PageFile> store_page(const fs::path& page, const fs::path& database);

}  // namespace assay
