// Rows of a file of cells with commas (or another character) between them, one at a time and of any file
// size. Cells as Python's csv module reads them: quotes count at the start of a cell only, "" between quotes
// is a quote, a row ends with \n, \r or \r\n outside quotes. A byte order mark is skipped, blank rows too.
#pragma once

#include "assay/base/file.h"

#include <memory>
#include <string>
#include <vector>

namespace assay {

class CsvReader {
 public:
  // A quote that is never closed makes the rest of the file one row; it ends here.
  static constexpr int64_t kMostRowBytes = int64_t{1} << 20;
  explicit CsvReader(std::shared_ptr<const File> file, char separator = ',',
                     int64_t most_row_bytes = kMostRowBytes)
      : file_(std::move(file)), separator_(separator), most_row_bytes_(most_row_bytes) {}

  // False at the end of the file. After an error there is nothing more to read.
  Result<bool> next(std::vector<std::string>& cells);
  int64_t line() const { return row_line_; }  // where the row began, from 1
  // The file ended inside a quote, which whatever is written behind it would be a part of.
  bool ends_in_quote() const { return ends_in_quote_; }

 private:
  Result<int> peek();  // the next byte; -1 at the end of the file
  Result<void> read_cell(std::string& cell, int64_t& row_bytes);
  void skip_line_end(int first);

  const std::shared_ptr<const File> file_;
  const char separator_;
  const int64_t most_row_bytes_;
  std::vector<char> buffer_;
  size_t used_ = 0;  // of the buffer
  int64_t offset_ = 0;
  int64_t line_ = 1, row_line_ = 0;
  bool ends_in_quote_ = false;
};

}  // namespace assay
