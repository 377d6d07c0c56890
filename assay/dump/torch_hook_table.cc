#include "assay/dump/torch_hook_table.h"

#include "assay/base/text.h"
#include "assay/dump/stated_rows.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace assay {
namespace {

enum HookColumn : size_t {
  kHookSide,
  kHookIndex,
  kHookMax,
  kHookMin,
  kHookMean,
  kHookNorm,
  kHookType,
  kHookShape,
  kHookColumns
};
constexpr std::array<std::string_view, kHookColumns> kHookTitles = {
    "InputOutput", "Index", "Max", "Min", "Mean", "L2Norm", "DataType", "Shape"};
constexpr size_t kHookNeeded = kHookType;  // older tables may lack what follows
constexpr std::string_view kHookNone[] = {"None", "N/A"};

using HookPlaces = std::array<size_t, kHookColumns>;  // of the columns, in a row

Result<HookPlaces> find_hook_columns(const std::vector<std::string>& titles, const fs::path& path) {
  HookPlaces places{};
  for (size_t i = 0; i < places.size(); ++i) {
    places[i] = static_cast<size_t>(std::find(titles.begin(), titles.end(), kHookTitles[i]) - titles.begin());
    if (places[i] == titles.size() && i < kHookNeeded)
      return fail(ErrorKind::bad_format,
                  "{}: lacks a column; InputOutput, Index, Max, Min, Mean and L2Norm are needed",
                  display(path));
  }
  return places;
}

// "torch.float32" and "(1, 3, 4)"; nothing for what no tensor can be.
std::optional<TensorMeta> hook_meta(std::string_view type, std::string_view tuple) {
  if (tuple.size() < 2 || tuple.front() != '(' || tuple.back() != ')') return std::nullopt;
  std::vector<std::string_view> dims = split(tuple.substr(1, tuple.size() - 2), ',');
  for (std::string_view& dim : dims) dim = trim(dim);
  std::erase(dims, "");  // "(3,)" and "()"
  return stated_meta(type, dims);
}

void read_hook_statistics(const std::vector<std::string>& cells, const HookPlaces& places,
                          TensorDraft& draft) {
  StatedCells numbers(kHookNone);
  Stats& stats = draft.stats.emplace();
  Value* const into[] = {&stats.max, &stats.min, &stats.mean, &stats.norm};
  for (size_t i = 0; i < std::size(into); ++i)
    *into[i] = numbers.number(kHookTitles[kHookMax + i], cells[places[kHookMax + i]]);
  if (places[kHookType] < cells.size() && places[kHookShape] < cells.size()) {
    const std::string& shape = cells[places[kHookShape]];
    draft.meta = hook_meta(cells[places[kHookType]], shape);
    if (!numbers.says_none(shape) && !hook_meta(name(DType::u8), shape)) numbers.complain_of_shape(shape);
  }
  draft.trouble = numbers.trouble();
}

struct HookWord {
  std::string_view word;
  Direction direction;
  bool is_named;
};
constexpr HookWord kHookWords[] = {{"input", Direction::input, false},
                                   {"output", Direction::output, false},
                                   {"argument", Direction::input, true},
                                   {"kwargs", Direction::input, true},
                                   {"result", Direction::output, true}};

}  // namespace

std::optional<Port> hook_port_of(std::string_view name) {
  for (const HookWord& each : kHookWords) {
    if (!name.starts_with(each.word)) continue;
    if (each.is_named) return Port(each.direction, kNamedHookPort);
    const size_t mark = name.find('_');
    if (mark == std::string_view::npos) return Port(each.direction, 0);
    const std::string_view number = name.substr(mark + 1, name.find_first_of("_.", mark + 1) - mark - 1);
    return Port(each.direction, whole_number(number).value_or(0));
  }
  return std::nullopt;
}

Result<std::vector<OpFile>> read_hook_table(const fs::path& path, const std::string& module,
                                            Remarks& warnings) {
  ASSAY_TRY(auto file, File::open(path));
  CsvReader rows(std::move(file));
  std::vector<std::string> titles;
  ASSAY_TRY(const bool has_titles, rows.next(titles));
  if (!has_titles) return fail(ErrorKind::bad_format, "{}: is empty; it should have titles", display(path));
  ASSAY_TRY(const HookPlaces places, find_hook_columns(titles, path));
  std::unordered_map<std::string, int32_t> seen;  // tensors inside of an output begin to count anew
  const auto read = [&](const std::vector<std::string>& cells) -> Result<StatedRow<OpFile>> {
    if (cells.size() < titles.size()) return StatedRow<OpFile>{};
    const std::string direction = to_lower(cells[places[kHookSide]]), &index = cells[places[kHookIndex]];
    const bool is_input = direction.starts_with("in");
    if (!is_input && !direction.starts_with("out")) return StatedRow<OpFile>{};
    OpFile row;
    row.port.direction = is_input ? Direction::input : Direction::output;
    if (const auto number = whole_number(index.substr(0, index.find('_')))) {  // "2_1" is of output 2
      row.port.index = *number;
      row.relative = fmt::format("{}/{}_{}", module, is_input ? "input" : "output", printable(index));
    } else {
      const auto named = hook_port_of(index);
      if (!named || named->index != kNamedHookPort) return StatedRow<OpFile>{};
      row.port.index = kNamedHookPort;
      row.relative = fmt::format("{}/{}", module, printable(index));
    }
    row.described_in = module + "/" + path.filename().native();
    row.row = ++seen[row.relative] - 1;
    if (row.row > 0)
      row.name = fmt::format("{} ({})", row.relative, row.row + 1);  // one name for each tensor
    read_hook_statistics(cells, places, row.draft);
    if (!row.draft.trouble.empty())
      row.draft.trouble = fmt::format("{}:{}: {}", display(path), rows.line(), row.draft.trouble);
    return StatedRow<OpFile>{std::move(row)};
  };
  const auto key_of = [](const OpFile& row) { return fmt::format("{}:{}", row.row, row.relative); };
  return read_stated_rows<OpFile>(rows, path, read, key_of, "lack cells, or are no numbered Input or Output,",
                                  warnings);
}

}  // namespace assay
