// What can be read of a page without its script: the verdict, and what failed.
#pragma once

#include "assay/report/rows.h"

#include <string>

namespace assay {

class StillPage {
 public:
  explicit StillPage(const RowTable& table) : table_(table) {}

  void add(const RowView& row);  // keeps the first few that failed
  std::string html(const Summary& summary) const;

 private:
  std::vector<size_t> shown_columns() const;

  const RowTable& table_;
  std::string rows_;
  int64_t failed_ = 0;
};

}  // namespace assay
