#include "assay/dump/atb_statistics.h"

#include "assay/base/text.h"
#include "assay/support/csv.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace assay {
namespace {

constexpr std::string_view kFirstTitles = "Device and PID,Execution Count,";

enum Column : size_t { op_name, op_id, side, index, dtype, shape, max, min, mean, norm };
constexpr std::array<std::string_view, 10> kColumns = {"Op Name", "Op Id", "Input/Output", "Index", "Dtype",
                                                       "Shape",   "Max",   "Min",          "Mean",  "Norm"};
using Places = std::array<size_t, kColumns.size()>;

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

std::optional<Stats> stats_of(const std::vector<std::string>& cells, const Places& places) {
  Stats stats;
  Value* const into[] = {&stats.max, &stats.min, &stats.mean, &stats.norm};
  bool any = false;
  for (size_t i = 0; i < std::size(into); ++i)
    if (const auto number = parse_double(cells[places[Column::max + i]])) {
      *into[i] = *number;
      any = true;
    }
  return any ? std::optional(std::move(stats)) : std::nullopt;
}

std::optional<StatedTensor> read_row(const std::vector<std::string>& cells, const Places& places) {
  const auto path = atb_op_path(cells[places[Column::op_name]], cells[places[Column::op_id]]);
  const auto number = whole_number(cells[places[Column::index]]);
  const std::string& direction = cells[places[Column::side]];
  const bool is_input = direction == "input";
  if (!path || !number || (!is_input && direction != "output")) return std::nullopt;
  StatedTensor tensor;
  tensor.op = *path;
  tensor.file.port = is_input ? Port{Direction::input, *number, Phase::before}
                              : Port{Direction::output, *number, Phase::after};
  tensor.file.relative =
      fmt::format("{}/{}{}.bin", *path, is_input ? "before/intensor" : "after/outtensor", *number);
  tensor.file.draft.meta = atb_stated_meta(cells[places[Column::dtype]], cells[places[Column::shape]]);
  tensor.file.draft.stats = stats_of(cells, places);
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

bool is_atb_statistics(const fs::path& file) {
  if (!is_file(file)) return false;
  const auto opened = File::open(file);
  if (!opened || (*opened)->size() < std::ssize(kFirstTitles)) return false;
  std::string start(kFirstTitles.size(), '\0');
  return (*opened)->read(0, std::as_writable_bytes(std::span(start))) && start == kFirstTitles;
}

Result<std::vector<StatedTensor>> read_atb_statistics(const fs::path& file, Remarks& warnings) {
  ASSAY_TRY(auto opened, File::open(file));
  CsvReader rows(std::move(opened));
  std::vector<std::string> titles, cells;
  ASSAY_TRY(const bool has_titles, rows.next(titles));
  std::vector<StatedTensor> tensors;
  if (!has_titles) return tensors;
  ASSAY_TRY(const Places places, find_columns(titles, file));
  std::unordered_map<std::string, size_t> known;
  int64_t strange = 0, first_strange = 0;
  for (;;) {
    const auto more = rows.next(cells);
    if (!more) {  // what was read so far is still true
      warnings.push_back(unreadable(more.error().message));
      break;
    }
    if (!*more) break;
    auto tensor = cells.size() == titles.size() ? read_row(cells, places) : std::nullopt;
    if (!tensor) {
      if (strange++ == 0) first_strange = rows.line();
      continue;
    }
    const auto [place, is_new] = known.try_emplace(tensor->file.relative, tensors.size());
    if (is_new)
      tensors.push_back(std::move(*tensor));
    else
      tensors[place->second] = std::move(*tensor);
  }
  if (strange > 0)
    warnings.push_back(left_out(fmt::format("{}:{}: {} rows name no tensor of an operator and are left out",
                                            display(file), first_strange, strange),
                                strange));
  return tensors;
}

}  // namespace assay
