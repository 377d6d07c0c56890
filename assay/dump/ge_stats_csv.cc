#include "assay/dump/ge_stats_csv.h"

#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/dump/op_folders.h"
#include "assay/dump/stated_rows.h"
#include "assay/model/graph.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

enum Column : size_t {
  kSide,
  kIndex,
  kSize,
  kType,
  kFormat,
  kShape,
  kMax,
  kMin,
  kMean,
  kNorm,
  kCount,
  kNan,
  kNegative,
  kPositive,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kTitles = {
    "input/output", "index",     "data size",          "data type",         "format",
    "shape",        "max value", "min value",          "avg value",         "l2norm",
    "count",        "nan count", "negative inf count", "positive inf count"};

using Cells = std::vector<std::string>;

bool is_titles(const Cells& cells) { return to_lower(trim(cells.front())) == kTitles[kSide]; }

// The columns of the rows that follow; kNowhere: there is none.
class Columns {
 public:
  static Result<Columns> of(const Cells& titles, const fs::path& file, int64_t line) {
    Columns out;
    out.places_.fill(kNowhere);
    out.titles_ = titles.size();
    for (size_t place = 0; place < titles.size(); ++place) {
      std::string title = to_lower(trim(titles[place]));
      if (title == "l2norm value") title = kTitles[kNorm];
      const auto* const found = std::find(kTitles.begin(), kTitles.end(), title);
      if (found != kTitles.end()) out.places_[static_cast<size_t>(found - kTitles.begin())] = place;
    }
    if (out.places_[kSide] == kNowhere || out.places_[kIndex] == kNowhere)
      return fail(ErrorKind::bad_format,
                  "{}:{}: has no columns 'Input/Output' and 'Index'; statistics of a GE dump have them",
                  display(file), line);
    return out;
  }

  // Whether the row can be one of this table. Where other statistics than the usual are asked for, the count
  // stands first behind the shape, and the writer forgets it in some rows: what follows comes a cell too
  // early.
  bool fit(const Cells& cells) {
    is_without_count_ =
        places_[kCount] != kNowhere && places_[kCount] == places_[kShape] + 1 && cells.size() + 1 == titles_;
    return cells.size() == titles_ || is_without_count_;
  }

  std::string_view cell(const Cells& cells, Column column) const {
    size_t place = places_[column];
    if (place == kNowhere || (is_without_count_ && column == kCount)) return {};
    if (is_without_count_ && place > places_[kCount]) --place;
    return trim(cells[place]);
  }

 private:
  static constexpr size_t kNowhere = SIZE_MAX;
  std::array<size_t, kColumns> places_;
  size_t titles_ = 0;
  bool is_without_count_ = false;
};

// Integers stay integers, so that those of 64 bits lose nothing. Absent for "NA" and an empty cell.
Value number_in(std::string_view cell) {
  if (const auto whole = parse_int(cell)) return *whole;
  if (const auto real = parse_double(cell)) return *real;
  return {};
}

// "DT_FLOAT" and "4x50"; nothing where one of them is not said ("-", "UNKNOW") or what no tensor can be.
std::optional<TensorMeta> meta_of(std::string_view type, std::string_view dims, std::string_view elements) {
  const auto found = find_ge_dtype(type);
  if (!found) return std::nullopt;
  // A scalar has no dimensions.
  if (dims.empty()) return elements == "1" ? std::optional(TensorMeta{*found, {}}) : std::nullopt;
  return stated_meta(*found, split(dims, 'x'));
}

Nonfinite nonfinite_of(const Columns& columns, const Cells& cells) {
  const auto count = [&](Column column) {
    const int64_t said = parse_int(columns.cell(cells, column)).value_or(-1);
    return said < 0 ? -1 : said;
  };
  const int64_t minus = count(kNegative), plus = count(kPositive);
  const auto infs = minus < 0 || plus < 0 ? std::nullopt : checked_add(minus, plus);
  return {.nans = count(kNan), .infs = infs.value_or(-1), .minus_infs = minus};
}

std::optional<Stats> stats_of(const Columns& columns, const Cells& cells) {
  Stats stats{.max = number_in(columns.cell(cells, kMax)),
              .min = number_in(columns.cell(cells, kMin)),
              .mean = number_in(columns.cell(cells, kMean)),
              .norm = number_in(columns.cell(cells, kNorm)),
              .checksum = {},
              .nonfinite = nonfinite_of(columns, cells)};
  const Value absent;
  if (stats.max == absent && stats.min == absent && stats.mean == absent && stats.norm == absent)
    return std::nullopt;
  return stats;
}

std::vector<Fact> facts_of(const Columns& columns, const Cells& cells) {
  std::vector<Fact> facts;
  for (const auto& [key, column] :
       {std::pair("dtype", kType), {"storage_format", kFormat}, {"shape", kShape}})
    if (const std::string_view text = columns.cell(cells, column); !text.empty())
      facts.push_back({key, printable(text)});
  for (const auto& [key, column] : {std::pair("data_size", kSize),
                                    {"count", kCount},
                                    {"nan_count", kNan},
                                    {"negative_inf_count", kNegative},
                                    {"positive_inf_count", kPositive}})
    if (const auto number = parse_int(columns.cell(cells, column))) facts.push_back({key, *number});
  return facts;
}

std::optional<GeStatedTensor> read_row(const Columns& columns, const Cells& cells) {
  const std::string side = to_lower(columns.cell(cells, kSide));
  const auto index = whole_number(columns.cell(cells, kIndex));
  if ((side != "input" && side != "output") || !index) return std::nullopt;
  GeStatedTensor tensor;
  tensor.port = {side == "input" ? Direction::input : Direction::output, *index};
  tensor.draft.name = fmt::format("{}.{}", side, *index);
  tensor.draft.meta =
      meta_of(columns.cell(cells, kType), columns.cell(cells, kShape), columns.cell(cells, kCount));
  tensor.draft.stats = stats_of(columns, cells);
  tensor.draft.facts = facts_of(columns, cells);
  return tensor;
}

}  // namespace

bool is_ge_stats_csv(const fs::path& file) {
  constexpr std::string_view kFirstTitles = "Input/Output,Index,";
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return false;
  const auto opened = File::open(file);
  if (!opened || (*opened)->size() < std::ssize(kFirstTitles)) return false;
  std::string start(kFirstTitles.size(), '\0');
  return (*opened)->read(0, std::as_writable_bytes(std::span(start))) && start == kFirstTitles;
}

Result<std::vector<GeStatedTensor>> read_ge_stats_csv(const fs::path& file, Remarks& warnings) {
  ASSAY_TRY(auto opened, File::open(file));
  CsvReader rows(std::move(opened));
  Cells titles;
  ASSAY_TRY(const bool has_titles, rows.next(titles));
  if (!has_titles)
    return fail(ErrorKind::bad_format, "{}: is empty; expected the statistics of an operator, with titles",
                display(file));
  ASSAY_TRY(Columns columns, Columns::of(titles, file, rows.line()));
  const auto read = [&](const Cells& cells) -> Result<StatedRow<GeStatedTensor>> {
    if (is_titles(cells)) {  // written again when rows are appended late
      ASSAY_TRY(columns, Columns::of(cells, file, rows.line()));
      return StatedRow<GeStatedTensor>{.is_titles = true};
    }
    return StatedRow<GeStatedTensor>{columns.fit(cells) ? read_row(columns, cells) : std::nullopt};
  };
  const auto key_of = [](const GeStatedTensor& tensor) { return tensor.draft.name; };
  return read_stated_rows<GeStatedTensor>(rows, file, read, key_of, "describe no input or output", warnings);
}

}  // namespace assay
