// The tables that msprobe 26 makes of two rounds of ATB. Every cell is a text.
#include "assay/base/text.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace assay {
namespace {

constexpr std::string_view kNone = "N/A";

using SideOf = SideFacts Comparison::*;
struct NamedSide {
  std::string_view name;
  SideOf side;
};
constexpr std::array<NamedSide, 2> kSides = {
    {{"Target", &Comparison::mine}, {"Golden", &Comparison::golden}}};

struct Statistic {
  std::string_view name;
  Scalar Stated::*stated;
  Value Stats::*measured;
};
constexpr std::array<Statistic, 4> kStatistics = {{{"Max", &Stated::max, &Stats::max},
                                                   {"Min", &Stated::min, &Stats::min},
                                                   {"Mean", &Stated::mean, &Stats::mean},
                                                   {"Norm", &Stated::norm, &Stats::norm}}};

std::string python_text(double value) {
  std::string out;
  append_python_float(out, value);
  return out;
}

std::string text_of(const Scalar& scalar) { return std::string(scalar.text().value_or(kNone)); }

// ----- what both kinds of table begin with

std::string fact(const SideFacts& side, std::string_view key) {
  if (side.item == nullptr || side.item->facts == nullptr) return {};
  for (const Fact& each : *side.item->facts)
    if (const auto* text = std::get_if<std::string>(&each.value); text != nullptr && each.key == key)
      return *text;
  return {};
}

template <class Cell>
void add_per_side(std::vector<Column>& out, std::string_view title, Cell cell) {
  for (const NamedSide& named : kSides)
    out.push_back(
        {fmt::format("{} {}", named.name, title),
         [side = named.side, cell](const RowView& v) -> Value { return std::string(cell(v.row.*side)); }});
}

void add_descriptions(std::vector<Column>& out) {
  add_per_side(out, "Data Name", [](const SideFacts& side) { return side.name; });
  for (const std::string_view key : {"Device and PID", "Execution Count"})
    add_per_side(out, key, [key](const SideFacts& side) { return fact(side, key); });
  add_per_side(out, "Data Type", [](const SideFacts& side) { return stated_of(side).dtype; });
  add_per_side(out, "Data Shape", [](const SideFacts& side) { return stated_of(side).shape; });
}

// ----- tensors

enum class What : uint8_t { cosine, distance, rounded_number, ratio };

std::string tensor_cell(const Comparison& row, const MsprobeColumns& columns, int column, What what) {
  if (row.status != Status::compared || row.basis != Basis::data ||
      metric(row, columns.kind_mismatch).value_or(0) > 0 || row.mine.meta->shape != row.golden.meta->shape)
    return std::string(kNone);
  if (what == What::cosine && row.mine.meta->shape.count() == 1) return "unsupported";
  const auto value = metric(row, column);
  // Nothing but NaN and infinities in the same places counts as zeros.
  if (!value) return what == What::cosine || what == What::ratio ? "1.0" : "0.0";
  if (std::isnan(*value)) return std::string(kNone);
  if (what == What::cosine) return python_text(printed_cosine(*value, Generation::g3));
  return python_text(what == What::distance ? *value : rounded(*value, 12));
}

// As torch computes them, in the type of the tensor; integers and doubles as floats.
std::string measured_cell(const SideFacts& side, const Statistic& which) {
  if (!side.measured || !side.meta || side.meta->shape.dims.empty()) return std::string(kNone);
  const DType dtype = side.meta->dtype;
  const auto* const number = std::get_if<double>(&(*side.measured.*which.measured));
  if (number == nullptr || std::isnan(*number)) return std::string(kNone);
  if (dtype == DType::boolean) {
    if (which.measured != &Stats::max && which.measured != &Stats::min) return std::string(kNone);
    return *number != 0 ? "tensor(True)" : "tensor(False)";
  }
  double value = *number;
  if (dtype == DType::f16) value = double{f16_to_f32(f32_to_f16(static_cast<float>(value)))};
  if (dtype == DType::bf16) value = double{bf16_to_f32(f32_to_bf16(static_cast<float>(value)))};
  return python_text(value);
}

void add_tensor_columns(std::vector<Column>& out, const Head& head) {
  const MsprobeColumns columns(head, Generation::g3);
  const auto add = [&](std::string title, int column, What what) {
    out.push_back({std::move(title), [columns, column, what](const RowView& v) -> Value {
                     return tensor_cell(v.row, columns, column, what);
                   }});
  };
  add("Cosine", columns.cosine, What::cosine);
  add("Euc Distance", columns.l2, What::distance);
  add("Max Absolute Err", columns.max_abs, What::rounded_number);
  add("Max Relative Err", columns.max_rel, What::rounded_number);
  add("One Thousandth Err Ratio", columns.ratio_1e3, What::ratio);
  add("Five Thousandth Err Ratio", columns.ratio_5e3, What::ratio);
  for (const Statistic& which : kStatistics)
    add_per_side(out, which.name, [which](const SideFacts& side) { return measured_cell(side, which); });
}

// ----- statistics

struct Numbers {
  double target, golden;
};

std::optional<Numbers> numbers_of(const Comparison& row, const Statistic& which) {
  const auto target = number_of(stated_of(row.mine).*which.stated),
             golden = number_of(stated_of(row.golden).*which.stated);
  if (!target || !golden) return std::nullopt;
  return Numbers{*target, *golden};
}

std::string difference(const Comparison& row, const Statistic& which) {
  const auto numbers = numbers_of(row, which);
  return numbers ? python_text(numbers->target - numbers->golden) : std::string(kNone);
}

std::string percentage(const Comparison& row, const Statistic& which) {
  const auto numbers = numbers_of(row, which);
  if (!numbers) return std::string(kNone);
  const double apart = numbers->target - numbers->golden;
  if (apart == 0) return "0.0";
  if (numbers->golden == 0) return std::string(kNone);
  return python_text(std::abs(apart / numbers->golden * 100));
}

void add_statistics_columns(std::vector<Column>& out) {
  for (const Statistic& which : kStatistics)
    out.push_back({fmt::format("{} Diff", which.name),
                   [which](const RowView& v) -> Value { return difference(v.row, which); }});
  for (const Statistic& which : kStatistics)
    out.push_back({fmt::format("Relative Err of {}(%)", which.name),
                   [which](const RowView& v) -> Value { return percentage(v.row, which); }});
  for (const Statistic& which : kStatistics)
    add_per_side(out, which.name,
                 [which](const SideFacts& side) { return text_of(stated_of(side).*which.stated); });
}

}  // namespace

Profile msprobe_atb_profile() {
  Profile profile;
  profile.name = "msprobe_atb";
  profile.columns = [](const Head& head) {
    std::vector<Column> out;
    add_descriptions(out);
    if (head.content == Content::data)
      add_tensor_columns(out, head);
    else
      add_statistics_columns(out);
    return out;
  };
  profile.keeps = [](const RowView& v) { return v.row.pair.why == Why::same_name; };
  profile.file_stem = [](const Head& head) {
    return fmt::format("atb_{}_compare_result_{}", head.content == Content::data ? "tensor" : "stats",
                       local_stamp(head.now));
  };
  profile.print = Print::python;
  profile.sheet = "Sheet1";
  profile.file_mode = 0640;
  profile.folder_mode = 0750;
  return profile;
}

}  // namespace assay
