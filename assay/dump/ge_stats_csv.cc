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

constexpr std::string_view kGeNone[] = {"NA", "N/A", "-"};

// The numbers of one row, by their columns.
class Numbers : public StatedCells {
 public:
  Numbers(const Columns& columns, const Cells& cells)
      : StatedCells(kGeNone), columns_(columns), cells_(cells) {}

  Value value(Column column) { return number(kTitles[column], columns_.cell(cells_, column)); }
  std::optional<int64_t> count(Column column) {
    return StatedCells::count(kTitles[column], columns_.cell(cells_, column));
  }

 private:
  const Columns& columns_;
  const Cells& cells_;
};

// "DT_FLOAT" and "4x50"; nothing where one of them is not said ("-", "UNKNOW") or what no tensor can be.
std::optional<TensorMeta> meta_of(std::string_view type, std::string_view dims,
                                  std::optional<int64_t> elements) {
  const auto found = find_ge_dtype(type);
  if (!found) return std::nullopt;
  // A scalar has no dimensions.
  if (dims.empty()) return elements == 1 ? std::optional(TensorMeta{*found, {}}) : std::nullopt;
  return stated_meta(*found, split(dims, 'x'));
}

std::optional<Stats> stats_of(Numbers& numbers) {
  Stats stats{.max = numbers.value(kMax),
              .min = numbers.value(kMin),
              .mean = numbers.value(kMean),
              .norm = numbers.value(kNorm),
              .checksum = {},
              .nonfinite =
                  numbers.nonfinite(numbers.count(kNan), numbers.count(kNegative), numbers.count(kPositive))};
  const Value absent;
  if (stats.max == absent && stats.min == absent && stats.mean == absent && stats.norm == absent)
    return std::nullopt;
  return stats;
}

std::vector<Fact> facts_of(const Columns& columns, const Cells& cells, Numbers& numbers) {
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
    if (const auto number = numbers.count(column)) facts.push_back({key, *number});
  return facts;
}

std::optional<GeStatedTensor> read_row(const Columns& columns, const Cells& cells) {
  const std::string side = to_lower(columns.cell(cells, kSide));
  const auto index = whole_number(columns.cell(cells, kIndex));
  if ((side != "input" && side != "output") || !index) return std::nullopt;
  GeStatedTensor tensor;
  tensor.port = {side == "input" ? Direction::input : Direction::output, *index};
  tensor.draft.name = fmt::format("{}.{}", side, *index);
  Numbers numbers(columns, cells);
  const auto elements = numbers.count(kCount);
  tensor.draft.meta = meta_of(columns.cell(cells, kType), columns.cell(cells, kShape), elements);
  tensor.draft.stats = stats_of(numbers);
  tensor.draft.facts = facts_of(columns, cells, numbers);
  if (tensor.draft.meta && elements && *elements != tensor.draft.meta->shape.count())
    numbers.complain(fmt::format("count is {}, but a tensor of shape {} has {} elements", *elements,
                                 tensor.draft.meta->shape.text(), tensor.draft.meta->shape.count()));
  tensor.draft.trouble = numbers.trouble();
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
    auto tensor = columns.fit(cells) ? read_row(columns, cells) : std::nullopt;
    if (tensor && !tensor->draft.trouble.empty())
      tensor->draft.trouble = fmt::format("{}:{}: {}", display(file), rows.line(), tensor->draft.trouble);
    return StatedRow<GeStatedTensor>{std::move(tensor)};
  };
  const auto key_of = [](const GeStatedTensor& tensor) { return tensor.draft.name; };
  return read_stated_rows<GeStatedTensor>(rows, file, read, key_of, "describe no input or output", warnings);
}

}  // namespace assay
