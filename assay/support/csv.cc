#include "assay/support/csv.h"

#include "assay/base/text.h"

namespace assay {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 10;
constexpr int kEnd = -1;

bool ends_row(int c) { return c == kEnd || c == '\n' || c == '\r'; }

}  // namespace

Result<int> CsvReader::peek() {
  if (used_ == buffer_.size()) {
    const bool is_start = offset_ == 0;
    buffer_.resize(kBufferBytes);
    used_ = 0;
    const auto count = file_->read_some(offset_, std::as_writable_bytes(std::span(buffer_)));
    if (!count) {
      buffer_.clear();
      return tl::unexpected<Error>(count.error());
    }
    buffer_.resize(static_cast<size_t>(*count));
    offset_ += *count;
    if (is_start && as_text(std::as_bytes(std::span(buffer_))).starts_with("\xEF\xBB\xBF")) used_ = 3;
    if (used_ == buffer_.size()) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[used_]);
}

void CsvReader::skip_line_end(int first) {
  ++used_;
  ++line_;
  if (first != '\r') return;
  const auto second = peek();
  if (second && *second == '\n') ++used_;
}

Result<void> CsvReader::read_cell(std::string& cell, int64_t& row_bytes) {
  bool quoted = false, is_start = true;
  for (;; is_start = false) {
    ASSAY_TRY(const int c, peek());
    if (quoted ? c == kEnd : c == separator_ || ends_row(c)) {
      ends_in_quote_ = quoted;
      return {};
    }
    ++used_;
    if (++row_bytes > most_row_bytes_)
      return fail(ErrorKind::bad_format,
                  "{}: the row at line {} has more than {}; is a quote not closed there?", file_->name(),
                  row_line_, format_size(most_row_bytes_));
    if (c == '\n') ++line_;
    if (c != '"' || (!quoted && !is_start)) {
      cell += static_cast<char>(c);
      continue;
    }
    if (!quoted) {
      quoted = true;
      continue;
    }
    ASSAY_TRY(const int after, peek());
    if (after == '"') {
      ++used_;
      ++row_bytes;
      cell += '"';
    } else {
      quoted = false;
    }
  }
}

Result<bool> CsvReader::next(std::vector<std::string>& cells) {
  cells.clear();
  for (;;) {
    ASSAY_TRY(const int c, peek());
    if (c == kEnd) return false;
    if (!ends_row(c)) break;
    skip_line_end(c);
  }
  row_line_ = line_;
  int64_t row_bytes = 0;
  for (;;) {
    ASSAY_TRY_DO(read_cell(cells.emplace_back(), row_bytes));
    ASSAY_TRY(const int c, peek());
    if (c == separator_) {
      ++used_;
      ++row_bytes;
      continue;
    }
    if (c != kEnd) skip_line_end(c);
    return true;
  }
}

}  // namespace assay
