// The tables that msprobe makes of kernel dumps.
#include "assay/base/text.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

using SideOf = SideFacts Comparison::*;
struct NamedSide {
  std::string_view name;
  SideOf side;
};
constexpr std::array<NamedSide, 2> kSides = {{{"NPU", &Comparison::mine}, {"Bench", &Comparison::golden}}};

bool has_numbers(const Comparison& row) { return !row.verdict.word.empty(); }

Value text_or_absent(std::string_view words) { return words.empty() ? Value() : Value(std::string(words)); }

// Names are whole paths, without symbolic links followed.
std::string whole_path(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return (error ? path : whole).lexically_normal().native();
}

// ----- what both kinds of table have

Value name_cell(const SideFacts& side, bool is_data) {
  if (side.item == nullptr) return {};
  if (!is_data || side.file.empty()) return text_or_absent(stated_of(side).data_name);
  return whole_path(side.file);
}

Value dtype_cell(const SideFacts& side, bool is_data) {
  if (!is_data) return text_or_absent(stated_of(side).dtype);
  return side.meta ? Value(std::string(info(side.meta->dtype).long_name)) : Value();
}

// As Python prints a tuple: "(2, 3)", "(4,)", "()".
std::string tuple_text(const Shape& shape) {
  std::string out = "(";
  for (const int64_t dim : shape.dims) out += fmt::format("{}{}", out.size() > 1 ? ", " : "", dim);
  return out + (shape.dims.size() == 1 ? ",)" : ")");
}

// Generation 3 has texts in this column, also for what is not there, and square brackets, which no
// spreadsheet takes for a negative number.
Value shape_cell(const SideFacts& side, bool is_data, Generation generation) {
  std::string out(is_data ? "None" : "nan");
  bool is_there = false;
  if (!is_data && side.item != nullptr) {
    is_there = true;
    out = stated_of(side).shape;
  } else if (is_data && side.meta) {
    is_there = true;
    out = tuple_text(side.meta->shape);
  }
  if (generation != Generation::g3) return is_there ? text_or_absent(out) : Value();
  std::replace(out.begin(), out.end(), '(', '[');
  std::replace(out.begin(), out.end(), ')', ']');
  return out;
}

// The numbers of a column share one type, which is f64 as soon as one of them is real.
Value statistic(Value value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return value;
}

template <class Cell>
void add_per_side(std::vector<Column>& out, std::string_view title, ColumnKind kind, Cell cell) {
  for (const NamedSide& named : kSides)
    out.push_back({fmt::format("{} {}", named.name, title),
                   [side = named.side, cell](const RowView& v) { return cell(v.row.*side); }, kind});
}

void add_statistics(std::vector<Column>& out, bool is_data) {
  struct Statistic {
    std::string_view name;
    Scalar Stated::*stated;
    Value Stats::*measured;
  };
  constexpr Statistic kStatistics[] = {{"max", &Stated::max, &Stats::max},
                                       {"min", &Stated::min, &Stats::min},
                                       {"mean", &Stated::mean, &Stats::mean},
                                       {"l2norm", &Stated::norm, &Stats::norm}};
  for (const NamedSide& named : kSides)
    for (const Statistic& which : kStatistics)
      out.push_back({fmt::format("{} {}", named.name, which.name),
                     [side = named.side, which, is_data](const RowView& v) {
                       const SideFacts& facts = v.row.*side;
                       if (!is_data) return to_value(in_f32(stated_of(facts).*which.stated));
                       return facts.measured ? statistic(*facts.measured.*which.measured) : Value();
                     },
                     ColumnKind::number});
}

// ----- tensors

enum class What : uint8_t { cosine, distance, rounded_number, ratio };

Value tensor_cell(const Comparison& row, int column, What what, Generation generation) {
  if (!has_numbers(row)) return {};
  if (what == What::cosine && row.mine.meta && row.mine.meta->shape.count() == 1)
    return std::string("unsupported");
  const auto value = metric(row, column);
  // Nothing but NaN and infinities in the same places counts as zeros.
  if (!value) return what == What::cosine || what == What::ratio ? 1.0 : 0.0;
  if (std::isnan(*value)) return std::string("Nan");
  if (what == What::cosine) return printed_cosine(*value, generation);
  return what == What::distance ? *value : rounded(*value, 12);
}

void add_tensor_metrics(std::vector<Column>& out, const Head& head, Generation generation) {
  const MsprobeColumns columns(head, generation);
  const auto add = [&](std::string title, int column, What what) {
    out.push_back({std::move(title),
                   [column, what, generation](const RowView& v) {
                     return tensor_cell(v.row, column, what, generation);
                   },
                   ColumnKind::number});
  };
  add("Cosine", columns.cosine, What::cosine);
  if (generation != Generation::g1) add("EucDist", columns.l2, What::distance);
  add("MaxAbsErr", columns.max_abs, What::rounded_number);
  add("MaxRelativeErr", columns.max_rel, What::rounded_number);
  add("One Thousandth Err Ratio", columns.ratio_1e3, What::ratio);
  add("Five Thousandths Err Ratio", columns.ratio_5e3, What::ratio);
}

// ----- statistics: the original subtracts and divides in f32

double number_in_f32(const SideFacts& side, Scalar Stated::*which) {
  return number_of(in_f32(stated_of(side).*which)).value_or(std::nan(""));
}

float difference(const Comparison& row, Scalar Stated::*which, Generation generation) {
  const auto signed_difference =
      static_cast<float>(number_in_f32(row.mine, which) - number_in_f32(row.golden, which));
  return generation == Generation::g1 ? std::abs(signed_difference) : signed_difference;
}

Value percentage(const Comparison& row, Scalar Stated::*which, Generation generation) {
  const double golden = number_in_f32(row.golden, which);
  const bool is_g1 = generation == Generation::g1;
  if (is_g1 && !(golden > 0)) return std::string("0%");
  if (golden == 0) return std::string("N/A");
  const auto share = static_cast<float>(double{difference(row, which, generation)} / golden);
  if (std::isnan(share)) return is_g1 ? Value() : Value(std::string("Nan"));
  std::string out;
  append_python_float(out, std::abs(double{share} * 100));
  return out + '%';
}

Value csv_file(const SideFacts& side) {
  if (side.item == nullptr) return {};
  if (side.item->facts == nullptr) return {};
  for (const Fact& fact : *side.item->facts)
    if (const auto* path = std::get_if<std::string>(&fact.value); path != nullptr && fact.key == "csv_file")
      return whole_path(*path);
  return {};
}

void add_differences(std::vector<Column>& out, Generation generation) {
  struct Difference {
    std::string_view difference, error;
    Scalar Stated::*which;
  };
  constexpr Difference kDifferences[] = {{"Max diff", "MaxRelativeErr", &Stated::max},
                                         {"Min diff", "MinRelativeErr", &Stated::min},
                                         {"Mean diff", "MeanRelativeErr", &Stated::mean},
                                         {"L2norm diff", "NormRelativeErr", &Stated::norm}};
  for (const Difference& column : kDifferences)
    out.push_back({std::string(column.difference),
                   [which = column.which, generation](const RowView& v) {
                     return has_numbers(v.row) ? Value(double{difference(v.row, which, generation)})
                                               : Value();
                   },
                   ColumnKind::number});
  for (const Difference& column : kDifferences)
    out.push_back({std::string(column.error), [which = column.which, generation](const RowView& v) {
                     return has_numbers(v.row) ? percentage(v.row, which, generation) : Value();
                   }});
  if (generation != Generation::g1) add_per_side(out, "CSV File", ColumnKind::text, csv_file);
}

std::vector<Column> columns(const Head& head, Generation generation) {
  const bool is_data = head.content == Content::data;
  std::vector<Column> out;
  add_per_side(out, "Name", ColumnKind::text,
               [is_data](const SideFacts& side) { return name_cell(side, is_data); });
  add_per_side(out, "Dtype", ColumnKind::text,
               [is_data](const SideFacts& side) { return dtype_cell(side, is_data); });
  add_per_side(out, "Tensor Shape", ColumnKind::text, [is_data, generation](const SideFacts& side) {
    return shape_cell(side, is_data, generation);
  });
  add_statistics(out, is_data);
  out.push_back(
      {"Accuracy Reached or Not", [](const RowView& v) { return text_or_absent(v.row.verdict.word); }});
  out.push_back({"Err_message", [](const RowView& v) { return text_or_absent(v.row.verdict.reason); }});
  if (is_data)
    add_tensor_metrics(out, head, generation);
  else
    add_differences(out, generation);
  return out;
}

}  // namespace

Profile msprobe_kernel_profile(Generation generation) {
  Profile profile;
  if (generation == Generation::g3) profile.rows_per_csv = kMsprobeRowsPerCsv;
  profile.name = "msprobe_kernel";
  profile.columns = [generation](const Head& head) { return columns(head, generation); };
  profile.keeps = [](const RowView&) { return true; };
  profile.file_stem = [](const Head& head) {
    return fmt::format("compare_result_{}_{}_{}", head.at.rank, head.at.step, local_stamp(head.now));
  };
  profile.row_count = [](const Head& head) { return head.pairs; };
  profile.print = Print::python;
  profile.sheet = "Sheet1";
  profile.file_mode = 0640;
  profile.folder_mode = 0750;
  return profile;
}

}  // namespace assay
