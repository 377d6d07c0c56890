// The rows of a table of statistics, whoever wrote it.
#pragma once

#include "assay/base/remark.h"
#include "assay/model/value.h"
#include "assay/support/csv.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace assay {

// How many of something there are, as tables print it: "17", or "17.0" where the column was one of reals.
std::optional<int64_t> parse_count(std::string_view cell);

// The cells of one row that should hold numbers. One that holds something else is the trouble of the row:
// what is not understood must not look like what was not said.
class StatedCells {
 public:
  // `none`: what the table writes where there is nothing to say, beside an empty cell.
  explicit StatedCells(std::span<const std::string_view> none) : none_(none) {}

  bool says_none(std::string_view cell) const;
  // Integers stay integers, so that those of 64 bits lose nothing. Absent where nothing is said.
  Value number(std::string_view title, std::string_view cell);
  std::optional<int64_t> count(std::string_view title, std::string_view cell);

  Nonfinite nonfinite(std::optional<int64_t> nans, std::optional<int64_t> minus_infs,
                      std::optional<int64_t> plus_infs);

  void complain_of_shape(std::string_view cell);
  void complain(std::string why) {
    if (trouble_.empty()) trouble_ = std::move(why);
  }
  const std::string& trouble() const { return trouble_; }  // the first one

 private:
  std::span<const std::string_view> none_;
  std::string trouble_;
};

template <class Tensor>
struct StatedRow {
  std::optional<Tensor> tensor = {};  // empty: the row describes none
  bool is_titles = false;             // … because it has titles, which may come again
};

// Every tensor that read(cells) finds, in order; of rows with the same key_of(tensor) the later one counts,
// in the place of the first. Rows that describe none are left out with one remark: "{file}:{line}: {n} rows
// {complaint} and are left out". Where the file cannot be read on, what was read so far is still true.
template <class Tensor, class Read, class KeyOf>
Result<std::vector<Tensor>> read_stated_rows(CsvReader& rows, const fs::path& file, const Read& read,
                                             const KeyOf& key_of, std::string_view complaint,
                                             Remarks& warnings) {
  std::vector<Tensor> tensors;
  std::vector<std::string> cells;
  std::unordered_map<std::string, size_t> known;
  int64_t strange = 0, first_strange = 0;
  for (;;) {
    const auto more = rows.next(cells);
    if (!more) {
      warnings.push_back(unreadable(more.error().message));
      break;
    }
    if (!*more) break;
    ASSAY_TRY(StatedRow<Tensor> row, read(cells));
    if (row.is_titles) continue;
    if (!row.tensor) {
      if (strange++ == 0) first_strange = rows.line();
      continue;
    }
    const auto [place, is_new] = known.try_emplace(key_of(*row.tensor), tensors.size());
    if (is_new)
      tensors.push_back(std::move(*row.tensor));
    else
      tensors[place->second] = std::move(*row.tensor);
  }
  if (strange > 0)
    warnings.push_back(left_out(
        fmt::format("{}:{}: {} rows {} and are left out", display(file), first_strange, strange, complaint),
        strange));
  return tensors;
}

}  // namespace assay
