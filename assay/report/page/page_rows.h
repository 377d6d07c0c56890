// The rows that a page holds where there are more than it can: what failed, what stands around the first that
// did, and a sample of the rest. Which these are depends on the rows alone.
#pragma once

#include "assay/model/outcome.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// One row as the page has it.
struct PageRow {
  int64_t number = 0;  // in the report, from 1
  int64_t order = 0;   // of its node
  Level level = Level::pass;
  bool has_both = false;
  std::string text;
};

inline constexpr int64_t kMostPageRows = 50'000;
inline constexpr int64_t kMostPageText = int64_t{64} << 20;  // of them, before they are compressed

// With its number in front of its values.
void append_page_line(std::string& out, const PageRow& row);

class PageRows {
 public:
  explicit PageRows(int64_t most_rows, int64_t most_bytes) : most_rows_(most_rows), most_bytes_(most_bytes) {}

  void open_section();
  void add(PageRow row);                        // in report order
  void shrink_to(int64_t rows, int64_t bytes);  // from now on

  int64_t offered() const { return offered_; }
  int64_t offered_failed() const { return offered_failed_; }
  int64_t held() const { return held_; }
  int64_t held_failed() const { return failed_.count(); }
  bool holds_all() const { return held_ == offered_; }
  std::vector<const PageRow*> in_order() const;
  const PageRow* find(int64_t number) const;  // null: it is not held

 private:
  // Of those behind the first `spared`, the ones whose numbers have the smallest hashes.
  struct Kept {
    std::vector<PageRow> first, sample;  // the sample is a heap: the next to go on top
    int64_t spared = 0;
    int64_t count() const { return std::ssize(first) + std::ssize(sample); }
  };
  std::array<const std::vector<PageRow>*, 7> lists() const;
  void keep(Kept& kept, PageRow&& row);
  void let_go(Kept& into);
  void drop_one(Kept& kept);
  void shrink();

  int64_t most_rows_, most_bytes_;
  int64_t offered_ = 0, offered_failed_ = 0, held_ = 0, bytes_ = 0;
  Kept failed_{{}, {}, kSpared}, near_{{}, {}, kSpared}, rest_;
  std::vector<PageRow> before_;  // the last that passed, the oldest at `oldest_`
  size_t oldest_ = 0;
  int64_t first_failed_order_ = -1;  // of the section; -1: none yet
  int after_ = 0;                    // how many of the next rows stand near it

  static constexpr int64_t kSpared = 20'000;
  static constexpr int kEachSide = 60;
};

}  // namespace assay
