#include "assay/graph/operation_tables.h"

#include "assay/base/text.h"
#include "assay/support/csv.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace assay {
namespace {

struct NamedType {
  std::string_view name;
  int32_t elem_type;
};

// The words of ATB and of Python, and the numbers of ONNX.
constexpr NamedType kTypes[] = {
    {"float", 1},      {"float32", 1},     {"uint8", 2},    {"int8", 3},      {"uint16", 4},
    {"int16", 5},      {"int32", 6},       {"int64", 7},    {"string", 8},    {"bool", 9},
    {"float16", 10},   {"double", 11},     {"float64", 11}, {"uint32", 12},   {"uint64", 13},
    {"complex64", 14}, {"complex128", 15}, {"bf16", 16},    {"bfloat16", 16},
};

int32_t elem_type_of(std::string_view name) {
  for (const NamedType& type : kTypes)
    if (type.name == name) return type.elem_type;
  return 0;
}

// "float;float16" and "2,2;4" → two types.
std::vector<TensorType> parse_types(std::string_view names, std::string_view shapes) {
  std::vector<TensorType> types;
  if (trim(names).empty()) return types;
  for (const std::string_view name : split(names, ';'))
    types.push_back({elem_type_of(to_lower(trim(name))), {}});
  const auto parts = split(shapes, ';');
  types.resize(std::min(types.size(), parts.size()));  // what has no shape says nothing
  for (size_t i = 0; i < types.size(); ++i) {
    if (trim(parts[i]).empty()) continue;
    for (const std::string_view dim : split(parts[i], ',')) {
      const auto number = parse_int(trim(dim));
      types[i].dims.push_back(number && *number >= 0 ? *number : -1);
    }
  }
  return types;
}

class TableReader {
 public:
  TableReader(const AtbTopology& topology, int64_t memory) : left_(memory) {
    for (const AtbOp& op : topology.ops) wanted_.insert(op.name);
  }

  Result<int64_t> read(const fs::path& path);  // how many operations it told of
  bool has_all() const { return out_.ops.size() == wanted_.size(); }
  void warn(std::string message) { out_.warnings.push_back(std::move(message)); }
  OperationTables take() { return std::move(out_); }

 private:
  enum Column { kOpName, kInDType, kInShape, kOutDType, kOutShape, kColumns };
  using Places = std::array<size_t, kColumns>;
  static Result<Places> find_columns(const std::vector<std::string>& header, const File& file);

  std::unordered_set<std::string_view> wanted_;
  int64_t left_;
  OperationTables out_;
};

Result<TableReader::Places> TableReader::find_columns(const std::vector<std::string>& header,
                                                      const File& file) {
  constexpr std::array<std::string_view, kColumns> kNames = {"OpName", "InDType", "InShape", "OutDType",
                                                             "OutShape"};
  Places places{};
  for (size_t i = 0; i < kColumns; ++i) {
    const auto found = std::find_if(header.begin(), header.end(),
                                    [&](const std::string& cell) { return trim(cell) == kNames[i]; });
    if (found == header.end())
      return fail(ErrorKind::bad_format,
                  "{}: has no column '{}'; expected the table of an ATB dump, cells with | between them",
                  file.name(), kNames[i]);
    places[i] = static_cast<size_t>(found - header.begin());
  }
  return places;
}

Result<int64_t> TableReader::read(const fs::path& path) {
  ASSAY_TRY(const std::shared_ptr<const File> file, File::open(path));
  CsvReader rows(file, '|');
  std::vector<std::string> cells;
  ASSAY_TRY(const bool has_header, rows.next(cells));
  if (!has_header)
    return fail(ErrorKind::bad_format, "{}: is empty; expected the table of an ATB dump", file->name());
  ASSAY_TRY(const Places places, find_columns(cells, *file));
  const size_t needed = *std::max_element(places.begin(), places.end()) + 1;
  int64_t told = 0;
  for (;;) {
    ASSAY_TRY(const bool has_row, rows.next(cells));
    if (!has_row || has_all()) return told;
    if (cells.size() < needed) continue;  // a row that the run was ended in
    const std::string& name = cells[places[kOpName]];
    if (!wanted_.contains(name) || out_.ops.contains(name)) continue;
    OperationTypes types{parse_types(cells[places[kInDType]], cells[places[kInShape]]),
                         parse_types(cells[places[kOutDType]], cells[places[kOutShape]])};
    left_ -= static_cast<int64_t>(name.size() + sizeof(OperationTypes));
    for (const auto* list : {&types.ins, &types.outs})
      for (const TensorType& type : *list)
        left_ -= static_cast<int64_t>(sizeof(TensorType) + type.dims.size() * sizeof(int64_t));
    if (left_ < 0)
      return fail(ErrorKind::limit, "{}: its types and shapes take too much memory", file->name());
    out_.ops.emplace(name, std::move(types));
    ++told;
  }
}

}  // namespace

std::vector<fs::path> find_operation_tables(const fs::path& topology_json) {
  std::error_code ignored;
  const fs::path process = fs::absolute(topology_json, ignored).lexically_normal().parent_path();
  const fs::path folder = process.parent_path().parent_path() / "operation_io_tensors" / process.filename();
  std::vector<fs::path> tables;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("operation") && name.ends_with(".csv")) tables.push_back(at->path());
  }
  std::sort(tables.begin(), tables.end(),
            [](const fs::path& a, const fs::path& b) { return natural_less(a.string(), b.string()); });
  return tables;
}

OperationTables read_operation_tables(const std::vector<fs::path>& tables, const AtbTopology& topology,
                                      int64_t memory) {
  TableReader reader(topology, memory);
  bool has_some = false;
  for (const fs::path& table : tables) {
    const auto told = reader.read(table);
    if (!told) {
      reader.warn(told.error().message);
      break;
    }
    // There is a table for every round: one that adds nothing is the first of many that do not.
    if (reader.has_all() || (has_some && *told == 0)) break;
    has_some = has_some || *told > 0;
  }
  return reader.take();
}

}  // namespace assay
