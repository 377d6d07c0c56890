#include "assay/report/page/page_rows.h"

#include "assay/report/cells.h"

#include <algorithm>
#include <span>
#include <utility>

namespace assay {
namespace {

int64_t size_of(const PageRow& row) { return std::ssize(row.text) + int64_t{sizeof row}; }
// Of a row's number, each as likely as any other (the finaliser of MurmurHash3).
uint64_t hash_of(const PageRow& row) {
  uint64_t bits = static_cast<uint64_t>(row.number);
  for (const uint64_t factor : {0xff51afd7ed558ccdULL, 0xc4ceb9fe1a85ec53ULL})
    bits = (bits ^ bits >> 33) * factor;
  return bits ^ bits >> 33;
}
bool is_failed(const PageRow& row) { return row.level == Level::fail || row.level == Level::error; }

}  // namespace

void append_page_line(std::string& out, const PageRow& row) {
  out += '[';
  append_number(out, row.number);
  out += ',';
  out += std::string_view(row.text).substr(1);  // behind its own bracket
}

void PageRows::open_section() {
  first_failed_order_ = -1;
  after_ = 0;
  let_go(rest_);
}

void PageRows::add(PageRow row) {
  ++offered_;
  ++held_;
  bytes_ += size_of(row);
  if (is_failed(row)) {
    ++offered_failed_;
    if (row.has_both && (first_failed_order_ < 0 || row.order < first_failed_order_)) {
      first_failed_order_ = row.order;
      after_ = kEachSide;
      let_go(near_);
    }
    keep(failed_, std::move(row));
  } else if (after_ > 0) {
    --after_;
    keep(near_, std::move(row));
  } else if (before_.size() < size_t{kEachSide}) {
    before_.push_back(std::move(row));
  } else {
    keep(rest_, std::exchange(before_[oldest_], std::move(row)));
    oldest_ = (oldest_ + 1) % before_.size();
  }
  shrink();
}

// Those that wait are near the row at hand, or near none.
void PageRows::let_go(Kept& into) {
  for (PageRow& row : before_) keep(into, std::move(row));
  before_.clear();
  oldest_ = 0;
}

void PageRows::keep(Kept& kept, PageRow&& row) {
  if (std::ssize(kept.first) < kept.spared) {
    kept.first.push_back(std::move(row));
    return;
  }
  kept.sample.push_back(std::move(row));
  std::ranges::push_heap(kept.sample, {}, hash_of);
}

void PageRows::drop_one(Kept& kept) {
  if (kept.sample.empty()) {
    // Half of those that were to be spared may go too.
    kept.spared = std::min(kept.spared, std::ssize(kept.first)) / 2;
    for (PageRow& row : std::span(kept.first).subspan(static_cast<size_t>(kept.spared)))
      kept.sample.push_back(std::move(row));
    kept.first.resize(static_cast<size_t>(kept.spared));
    std::ranges::make_heap(kept.sample, {}, hash_of);
  }
  std::ranges::pop_heap(kept.sample, {}, hash_of);
  --held_;
  bytes_ -= size_of(kept.sample.back());
  kept.sample.pop_back();
}

void PageRows::shrink_to(int64_t rows, int64_t bytes) {
  most_rows_ = rows;
  most_bytes_ = bytes;
  shrink();
}

void PageRows::shrink() {
  while (held_ > most_rows_ || bytes_ > most_bytes_) {
    const bool has_many = rest_.count() > most_rows_ / 10;
    Kept& larger = failed_.count() >= near_.count() ? failed_ : near_;
    if (!has_many && larger.count() > 0)
      drop_one(larger);
    else if (rest_.count() > 0)
      drop_one(rest_);
    else
      return;  // what waits is all that is left
  }
}

std::vector<const PageRow*> PageRows::in_order() const {
  std::vector<const PageRow*> all;
  all.reserve(static_cast<size_t>(held_));
  for (const auto* rows : lists())
    for (const PageRow& row : *rows) all.push_back(&row);
  std::ranges::sort(all, {}, &PageRow::number);
  return all;
}

const PageRow* PageRows::find(int64_t number) const {
  for (const auto* rows : lists())
    if (const auto row = std::ranges::find(*rows, number, &PageRow::number); row != rows->end()) return &*row;
  return nullptr;
}

std::array<const std::vector<PageRow>*, 7> PageRows::lists() const {
  return {&failed_.first, &failed_.sample, &near_.first, &near_.sample,
          &rest_.first,   &rest_.sample,   &before_};
}

}  // namespace assay
