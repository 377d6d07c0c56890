// What one folder of a kernel dump holds.
#include "assay/base/decimals.h"
#include "assay/base/text.h"
#include "assay/dump/items.h"
#include "assay/dump/ms_kernel_parts.h"
#include "assay/dump/stated_rows.h"
#include "assay/dump/walk.h"
#include "assay/model/scalar_of.h"
#include "assay/support/csv.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace assay {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A time stamp only puts calls in order, so one that is too large for us may stand last.
int64_t timestamp_of(std::string_view digits) { return parse_int(digits).value_or(INT64_MAX); }

// ----- mapping.csv: names that were too long for the file system

using LongNames = std::unordered_map<std::string, std::string>;  // by the name in the folder, without .npy

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string_view without_npy(std::string_view name) {
  if (name.ends_with(".npy")) name.remove_suffix(4);
  return name;
}

LongNames read_long_names(const fs::path& path, Remarks& warnings) {
  LongNames names;
  auto file = File::open(path);
  if (!file) {
    warnings.push_back(unreadable(file.error().message));
    return names;
  }
  CsvReader reader(std::move(*file));
  std::vector<std::string> cells;
  for (bool is_title = true;; is_title = false) {
    const auto more = reader.next(cells);
    if (!more) warnings.push_back(unreadable(more.error().message + "; what stands behind it is not read"));
    if (!more || !*more) return names;
    if (is_title) continue;
    if (cells.size() < 2) {
      warnings.push_back(fmt::format("{}:{}: 1 cell where 2 are expected, a name and the name it stands for",
                                     display(path), reader.line()));
      continue;
    }
    names.insert_or_assign(std::string(without_npy(base_name(cells[0]))),
                           std::string(without_npy(base_name(cells[1]))) + ".npy");
  }
}

// ----- statistic.csv

enum Cell {
  kType,
  kOpName,
  kTask,
  kTime,
  kIo,
  kSlot,
  kDtype,
  kShape,
  kMax,
  kMin,
  kMean,
  kNorm,
  kNan,
  kNegative,
  kPositive
};
struct Title {
  std::string_view text;
  int place;              // where it stands if the header does not say; -1: then there is none
  bool is_missed = true;  // a table without it says less than others do
};
constexpr std::array<Title, 15> kTitles = {{{"Op Type", 0},
                                            {"Op Name", 1},
                                            {"Task ID", 2},
                                            {"Timestamp", 4},
                                            {"IO", 5},
                                            {"Slot", 6},
                                            {"Data Type", -1},
                                            {"Shape", -1},
                                            {"Max Value", -1},
                                            {"Min Value", -1},
                                            {"Avg Value", -1},
                                            {"L2Norm Value", -1},
                                            {"NaN Count", -1, false},
                                            {"Negative Inf Count", -1, false},
                                            {"Positive Inf Count", -1, false}}};

// What they say is no property of the tensor, or follows from its type and shape.
constexpr std::array<std::string_view, 2> kUnused = {"Stream ID", "Data Size"};

constexpr std::array<Cell, 4> kStatistics = {kMax, kMin, kMean, kNorm};
constexpr std::string_view kNull = "null";
constexpr std::array<std::string_view, 1> kKernelNone = {kNull};

bool has_titles(const std::vector<std::string>& cells) {
  const auto has = [&](Cell cell) {
    return std::any_of(cells.begin(), cells.end(),
                       [&](const std::string& text) { return trim(text) == kTitles[cell].text; });
  };
  return has(kOpName) && has(kTask);
}

class StatisticsReader {
 public:
  StatisticsReader(std::shared_ptr<const File> file, bool null_is_zero, KernelFolder& out)
      : path_(file->name()), null_is_zero_(null_is_zero), reader_(std::move(file)), out_(out) {}

  void read() {
    std::vector<std::string> cells;
    const auto titles = reader_.next(cells);
    if (!titles) return warn(unreadable(titles.error().message));
    if (!*titles) return warn(unreadable(fmt::format("{}: is empty", path_)));
    if (!has_titles(cells))
      return warn(unreadable(
          fmt::format("{}: the first row does not have the titles 'Op Name' and 'Task ID'", path_)));
    find_places(cells);
    for (;;) {
      const auto more = reader_.next(cells);
      if (!more) warn(unreadable(more.error().message + "; what stands behind it is not read"));
      if (!more || !*more) break;
      add_row(cells);
    }
    if (short_rows_ > 0)
      warn(left_out(
          fmt::format("{}: {} rows do not say which tensor they describe, the first at line {}; skipped",
                      path_, short_rows_, first_short_),
          short_rows_));
    if (odd_times_ > 0)
      warn(
          fmt::format("{}: {} rows have a time stamp that is no number, the first at line {}; "
                      "they count as first calls",
                      path_, odd_times_, first_odd_));
  }

 private:
  void warn(Remark remark) { out_.warnings.push_back(std::move(remark)); }

  void find_places(const std::vector<std::string>& titles) {
    expected_ = titles.size();
    for (size_t i = 0; i < kTitles.size(); ++i) {
      places_[i] = kTitles[i].place;
      for (size_t at = 0; at < titles.size(); ++at)
        if (trim(titles[at]) == kTitles[i].text) places_[i] = static_cast<int>(at);
      if (places_[i] < 0 && kTitles[i].is_missed)
        warn(fmt::format("{}: has no column '{}'", path_, kTitles[i].text));
    }
    std::vector<std::string> unknown;
    for (const std::string& title : titles) {
      const std::string_view text = trim(title);
      if (std::ranges::find(kTitles, text, &Title::text) == kTitles.end() &&
          std::ranges::find(kUnused, text) == kUnused.end())
        unknown.emplace_back(text);
    }
    if (!unknown.empty())
      warn(left_out(
          fmt::format("{}: {} not compared: {}", path_,
                      unknown.size() == 1 ? "1 column is" : fmt::format("{} columns are", unknown.size()),
                      some_names(unknown)),
          std::ssize(unknown)));
  }

  // Empty where the row or the header ends before it.
  static std::string_view cell(const std::vector<std::string>& cells, int place) {
    return place >= 0 && place < std::ssize(cells) ? trim(cells[static_cast<size_t>(place)])
                                                   : std::string_view();
  }

  void add_row(const std::vector<std::string>& cells) {
    const auto at = [&](Cell which) { return cell(cells, places_[which]); };
    if (at(kOpName).empty() || at(kIo).empty() || at(kSlot).empty()) {
      if (short_rows_++ == 0) first_short_ = reader_.line();
      return;
    }
    KernelEntry entry;
    entry.name = {std::string(at(kType)), fmt::format("{}.{}", at(kOpName), at(kTask)), std::string(at(kIo)),
                  std::string(at(kSlot)), 0};
    if (const auto number = parse_int(at(kTime))) {
      entry.name.timestamp = *number;
    } else if (is_number(at(kTime))) {
      entry.name.timestamp = INT64_MAX;
    } else if (odd_times_++ == 0) {
      first_odd_ = reader_.line();
    }
    entry.dtype = at(kDtype);
    entry.shape = at(kShape);
    if (cells.size() < expected_)
      entry.trouble = fmt::format("{}:{}: the row has {} cells where its header has {}", path_,
                                  reader_.line(), cells.size(), expected_);
    StatedCells numbers(kKernelNone);
    entry.max = statistic(numbers, cells, kMax);
    entry.min = statistic(numbers, cells, kMin);
    entry.mean = statistic(numbers, cells, kMean);
    entry.norm = statistic(numbers, cells, kNorm);
    entry.nonfinite = nonfinite_of(numbers, cells);
    if (entry.trouble.empty() && !numbers.trouble().empty())
      entry.trouble = fmt::format("{}:{}: {}", path_, reader_.line(), numbers.trouble());
    entry.decimals = printed_decimals(std::array{at(kMax), at(kMin), at(kMean), at(kNorm)});
    entry.says_nothing = std::all_of(std::begin(kStatistics), std::end(kStatistics),
                                     [&](Cell which) { return at(which).empty() || at(which) == kNull; });
    out_.entries.push_back(std::move(entry));
  }

  Scalar statistic(StatedCells& numbers, const std::vector<std::string>& cells, Cell which) const {
    const std::string_view text = cell(cells, places_[which]);
    if (text == "False" || (text == kNull && null_is_zero_)) return 0.0;
    if (text == "True") return 1.0;
    return scalar_of(numbers.number(kTitles[which].text, text));
  }

  Nonfinite nonfinite_of(StatedCells& numbers, const std::vector<std::string>& cells) const {
    const auto of = [&](Cell which) {
      return numbers.count(kTitles[which].text, cell(cells, places_[which]));
    };
    return numbers.nonfinite(of(kNan), of(kNegative), of(kPositive));
  }

  const std::string path_;
  const bool null_is_zero_;
  CsvReader reader_;
  KernelFolder& out_;
  std::array<int, kTitles.size()> places_{};
  size_t expected_ = 0;
  int64_t short_rows_ = 0, first_short_ = 0, odd_times_ = 0, first_odd_ = 0;
};

struct Listed {
  std::vector<FoundFile> tensors;
  std::vector<std::string> others;
  bool has_mapping = false, has_statistics = false;
};

Listed list_folder(const fs::path& folder, Remarks& warnings) {
  Listed listed;
  for (FoundFile& file : list_files(folder, warnings)) {
    const std::string& name = file.relative;
    listed.has_mapping |= name == "mapping.csv";
    listed.has_statistics |= name == kKernelStatistics;
    if (name.starts_with('.')) continue;
    if (name.ends_with(".npy"))
      listed.tensors.push_back(std::move(file));
    else
      listed.others.push_back(std::move(file.relative));
  }
  return listed;
}

// The rows that no file of the folder stands for: where a run keeps both, the files say more.
void add_statistics(const fs::path& csv, bool null_is_zero, KernelFolder& out) {
  std::unordered_set<std::string> in_files;
  for (const KernelEntry& entry : out.entries) in_files.insert(entry.name.key());
  auto file = File::open(csv);
  if (!file) {
    out.warnings.push_back(unreadable(file.error().message));
    return;
  }
  KernelFolder rows;
  StatisticsReader(std::move(*file), null_is_zero, rows).read();
  std::move(rows.warnings.begin(), rows.warnings.end(), std::back_inserter(out.warnings));
  for (KernelEntry& row : rows.entries)
    if (in_files.count(row.name.key()) == 0) out.entries.push_back(std::move(row));
  out.statistics = csv;
}

}  // namespace

// Four fields, a time stamp of one or more numbers, "input" or "output" with numbers behind it, and exactly
// two more fields. Newer dumps write the element type too: of "output.0.ND.npy" and "output.0.ND.Float32.npy"
// the slot is 0, as in a statistic.csv.
std::optional<KernelName> parse_kernel_name(std::string_view file_name) {
  const std::vector<std::string_view> fields = split(file_name, '.');
  const size_t count = fields.size();
  if (count < 9 || fields.back() != "npy") return std::nullopt;
  for (const std::string_view field : fields)
    if (field.empty()) return std::nullopt;
  size_t io = 4;
  while (io < count && is_number(fields[io])) ++io;
  if (io == 4 || io + 4 > count || (fields[io] != "input" && fields[io] != "output")) return std::nullopt;
  KernelName name;
  name.io = fields[io];
  for (size_t i = io + 1; i + 3 < count; ++i) {
    if (!is_number(fields[i])) return std::nullopt;
    name.io += '.';
    name.io += fields[i];
  }
  name.type = fields[0];
  name.operation = fmt::format("{}.{}", fields[1], fields[2]);
  name.slot = fields[count - 3];
  if (io + 5 == count && !is_number(name.slot)) {
    name.io = fields[io];
    name.slot = fields[io + 1];
  }
  name.timestamp = timestamp_of(fields[4]);
  return name;
}

bool is_kernel_statistics(const fs::path& csv) {
  auto file = File::open(csv);
  if (!file) return false;
  CsvReader reader(std::move(*file));
  std::vector<std::string> cells;
  const auto row = reader.next(cells);
  return row && *row && has_titles(cells);
}

KernelFolder read_kernel_folder(const fs::path& folder, bool null_is_zero) {
  KernelFolder out;
  Listed listed = list_folder(folder, out.warnings);
  LongNames long_names;
  if (listed.has_mapping) long_names = read_long_names(folder / "mapping.csv", out.warnings);
  note_misfits(folder, std::move(listed.others), out.warnings);
  std::vector<std::string> skipped;
  for (const FoundFile& file : listed.tensors) {
    const auto found = long_names.find(std::string(without_npy(file.relative)));
    auto name = parse_kernel_name(found == long_names.end() ? file.relative : found->second);
    if (!name) {
      skipped.push_back(file.relative);
      continue;
    }
    KernelEntry& entry = out.entries.emplace_back();
    entry.name = std::move(*name);
    entry.file = path_of(folder, file);
    entry.size = file.size;
  }
  if (!skipped.empty())
    out.warnings.push_back(left_out(fmt::format("{}: {} .npy files are not named as kernels are; skipped: {}",
                                                display(folder), skipped.size(), some_names(skipped)),
                                    std::ssize(skipped)));
  if (listed.has_statistics) add_statistics(folder / kKernelStatistics, null_is_zero, out);
  return out;
}

}  // namespace assay
