#include "assay/dump/atb_statistics.h"

#include "assay/base/decimals.h"
#include "assay/base/text.h"
#include "assay/dump/stated_rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace assay {
namespace {

constexpr std::string_view kPath = "Tensor Path";  // older tables may lack it
constexpr std::string_view kAtbNone[] = {kAtbNothing};

enum Column : size_t { op_name, op_id, side, index, dtype, shape, max, min, mean, norm };
constexpr std::array<std::string_view, 10> kColumns = {"Op Name", "Op Id", "Input/Output", "Index", "Dtype",
                                                       "Shape",   "Max",   "Min",          "Mean",  "Norm"};
using Places = std::array<size_t, kColumns.size()>;  // of the columns, in a row

Result<Places> find_columns(const std::vector<std::string>& titles, const fs::path& file) {
  Places places{};
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const auto found = std::find(titles.begin(), titles.end(), kColumns[i]);
    if (found == titles.end())
      return fail(ErrorKind::bad_format, "{}: has no column '{}'; the statistic.csv of an ATB dump has one",
                  display(file), kColumns[i]);
    places[i] = static_cast<size_t>(found - titles.begin());
  }
  return places;
}

// "(re,im)" of a complex tensor: nothing that Assay measures compares with it, but NaN and infinities in it
// tell.
std::optional<Value> complex_number(std::string_view cell) {
  if (!cell.starts_with('(') || !cell.ends_with(')')) return std::nullopt;
  const std::vector<std::string_view> parts = split(cell.substr(1, cell.size() - 2), ',');
  const auto real = parse_double(parts.front()), imaginary = parse_double(parts.back());
  if (parts.size() != 2 || !real || !imaginary) return std::nullopt;
  for (const double part : {*real, *imaginary})
    if (std::isnan(part)) return part;
  for (const double part : {*real, *imaginary})
    if (std::isinf(part)) return part;
  return Value();
}

void read_statistics(const std::vector<std::string>& cells, const Places& places, TensorDraft& draft) {
  StatedCells numbers(kAtbNone);
  Stats stats;
  Value* const into[] = {&stats.max, &stats.min, &stats.mean, &stats.norm};
  std::array<std::string_view, std::size(into)> printed;
  bool any = false;
  for (size_t i = 0; i < std::size(into); ++i) {
    printed[i] = cells[places[Column::max + i]];
    const auto complex = complex_number(printed[i]);
    *into[i] = complex ? *complex : numbers.number(kColumns[Column::max + i], printed[i]);
    any |= *into[i] != Value();
  }
  const std::string& dims = cells[places[Column::shape]];
  if (!numbers.says_none(dims) && !atb_stated_meta(name(DType::u8), dims)) numbers.complain_of_shape(dims);
  draft.trouble = numbers.trouble();
  stats.decimals = printed_decimals(printed);
  if (any) draft.stats = std::move(stats);
}

// "0", or "0_query" where the operator has names for its tensors.
std::optional<int> index_of(std::string_view cell) {
  const size_t end = std::min(cell.find('_'), cell.size());
  const std::string_view name = cell.substr(end);
  const bool is_name = std::ranges::all_of(
      name, [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
  return is_name && name.size() != 1 ? whole_number(cell.substr(0, end)) : std::nullopt;
}

std::optional<StatedTensor> read_row(const std::vector<std::string>& cells, const Places& places,
                                     std::optional<size_t> path_place) {
  const auto path = atb_op_path(cells[places[Column::op_name]], cells[places[Column::op_id]]);
  const std::string& tensor_index = cells[places[Column::index]];
  const auto number = index_of(tensor_index);
  const std::string& direction = cells[places[Column::side]];
  const bool is_input = direction == "input";
  if (!path || !number || (!is_input && direction != "output")) return std::nullopt;
  StatedTensor tensor;
  tensor.op = *path;
  tensor.file.port = is_input ? Port{Direction::input, *number, Phase::before}
                              : Port{Direction::output, *number, Phase::after};
  tensor.file.relative =
      fmt::format("{}/{}{}.bin", *path, is_input ? "before/intensor" : "after/outtensor", tensor_index);
  tensor.file.draft.meta = atb_stated_meta(cells[places[Column::dtype]], cells[places[Column::shape]]);
  read_statistics(cells, places, tensor.file.draft);
  tensor.names_file = path_place && !cells[*path_place].empty() && cells[*path_place] != kAtbNothing;
  return tensor;
}

}  // namespace

std::optional<std::string> atb_op_path(std::string_view names, std::string_view ids) {
  const std::vector<std::string_view> types = split(names, '/'), numbers = split(ids, '_');
  if (types.size() != numbers.size()) return std::nullopt;
  std::string path;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].empty() || !whole_number(numbers[i])) return std::nullopt;
    path += fmt::format("{}{}_{}", i == 0 ? "" : "/", numbers[i], types[i]);
  }
  return path;
}

std::optional<TensorMeta> atb_stated_meta(std::string_view type, std::string_view dims) {
  return stated_meta(type, dims.empty() ? std::vector<std::string_view>() : split(dims, 'x'));
}

bool has_atb_titles(std::span<const std::string> first_row) {
  return first_row.size() > 2 && first_row[0] == kAtbDevice && first_row[1] == kAtbExecution;
}

bool is_atb_statistics(const fs::path& file) {
  if (!is_file(file)) return false;
  auto opened = File::open(file);
  if (!opened) return false;
  CsvReader rows(std::move(*opened));
  std::vector<std::string> titles;
  const auto has_titles = rows.next(titles);
  return has_titles && *has_titles && has_atb_titles(titles);
}

namespace {

// A table lies in the folder of a round, "3", in that of a rank, "0_4711", and each row says both again.
class PlaceOfTable {
 public:
  PlaceOfTable(const fs::path& file, const std::vector<std::string>& titles)
      : round_(file.parent_path().filename().native()),
        rank_(file.parent_path().parent_path().filename().native()),
        says_place_(has_atb_titles(titles) && whole_number(round_) && is_rank(rank_)) {}

  void note(const std::vector<std::string>& cells) {
    if (!says_place_ || cells.size() < 2 || (cells[0] == rank_ && cells[1] == round_)) return;
    if (strangers_++ == 0) first_ = fmt::format("round {} of {}", cells[1], cells[0]);
  }
  void say(const fs::path& file, Remarks& warnings) const {
    if (strangers_ == 0) return;
    warnings.push_back(left_out(
        fmt::format("{}: {} of {}, not of round {} of {}: is this the table of another rank or round?",
                    display(file), strangers_ == 1 ? "1 row is" : fmt::format("{} rows are", strangers_),
                    printable(first_), printable(round_), printable(rank_)),
        strangers_));
  }

 private:
  static bool is_rank(std::string_view name) {
    const std::vector<std::string_view> parts = split(name, '_');
    return parts.size() == 2 && whole_number(parts[0]) && whole_number(parts[1]);
  }

  std::string round_, rank_;
  bool says_place_;
  int64_t strangers_ = 0;
  std::string first_;
};

}  // namespace

Result<std::vector<StatedTensor>> read_atb_statistics(const fs::path& file, Remarks& warnings) {
  ASSAY_TRY(auto opened, File::open(file));
  CsvReader rows(std::move(opened));
  std::vector<std::string> titles;
  ASSAY_TRY(const bool has_titles, rows.next(titles));
  if (!has_titles) return fail(ErrorKind::bad_format, "{}: is empty; it should have titles", display(file));
  ASSAY_TRY(const Places places, find_columns(titles, file));
  const auto path = std::find(titles.begin(), titles.end(), kPath);
  const auto path_place =
      path == titles.end() ? std::nullopt : std::optional(static_cast<size_t>(path - titles.begin()));
  PlaceOfTable place(file, titles);
  const auto read = [&](const std::vector<std::string>& cells) -> Result<StatedRow<StatedTensor>> {
    place.note(cells);
    auto tensor = cells.size() == titles.size() ? read_row(cells, places, path_place) : std::nullopt;
    if (tensor && !tensor->file.draft.trouble.empty())
      tensor->file.draft.trouble =
          fmt::format("{}:{}: {}", display(file), rows.line(), tensor->file.draft.trouble);
    return StatedRow<StatedTensor>{std::move(tensor)};
  };
  const auto key_of = [](const StatedTensor& tensor) { return tensor.file.relative; };
  ASSAY_TRY(auto tensors, read_stated_rows<StatedTensor>(rows, file, read, key_of,
                                                         "name no tensor of an operator", warnings));
  place.say(file, warnings);
  return tensors;
}

}  // namespace assay
