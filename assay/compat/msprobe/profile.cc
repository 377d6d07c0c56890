#include "assay/compat/msprobe/profile.h"

#include "assay/base/text.h"
#include "assay/compat/msprobe/consistent_matcher.h"
#include "assay/model/process.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr std::string_view kMissing = "N/A";

Value text(std::string_view words) { return std::string(words); }
bool matched(const RowView& v) { return v.row.golden.item != nullptr; }
bool is_debug(const Head& head) { return head.at.part.find("debug") != std::string::npos; }

// One that loses digits in a spreadsheet. Generations 1 and 2 let it: its cell is a number, as all others
// are.
bool is_long_integer(const Scalar& scalar) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (const auto whole = scalar.integer()) return *whole > kExact || *whole < -kExact;
  return scalar.digits().has_value();
}

// A statistic as a cell: NaN is a word, None too, and so are truth values of tensors; that of an argument is
// itself.
Value statistic(const Stated& stated, Scalar Stated::*member, Generation generation, bool as_real) {
  const Scalar& scalar = stated.*member;
  if (generation != Generation::g3 && is_long_integer(scalar))
    if (const auto number = number_of(scalar); number && std::isfinite(*number)) return *number;
  if (scalar.is_absent()) return text(generation == Generation::g1 ? kMissing : "None");
  if (const auto truth = scalar.boolean(); truth && stated.dtype == "<class 'bool'>") return *truth;
  if (const auto truth = scalar.boolean()) return text(*truth ? "True" : "False");
  if (const auto number = scalar.real(); number && std::isnan(*number)) return text("Nan");
  if (const auto words = scalar.text(); words && to_lower(*words) == "nan") return text("Nan");
  if (const auto whole = scalar.integer(); whole && as_real) return static_cast<double>(*whole);
  return to_value(scalar);
}

// The same as Python prints it. Where nothing fits, generation 1 forgets to make a word of NaN.
Value python_statistic(const Stated& stated, Scalar Stated::*member, const RowView& v) {
  const Scalar& scalar = stated.*member;
  if (scalar.is_absent()) return text("None");
  if (const auto words = scalar.text()) return text(*words);
  const auto real = scalar.real();
  const bool is_raw = !matched(v) || v.row.pair.why == Why::data_mapping;
  if (is_raw && real && std::isnan(*real)) return text("nan");
  return statistic(stated, member, Generation::g1, false);
}

// ----- columns, in groups

void add_names(std::vector<Column>& out, Generation generation) {
  out.push_back(text_column("NPU Name", [](const RowView& v) { return v.row.mine.name; }));
  out.push_back(
      text_column("Bench Name", [](const RowView& v) { return matched(v) ? v.row.golden.name : kMissing; }));
  out.push_back(text_column("NPU Dtype", [](const RowView& v) { return stated_of(v.row.mine).dtype; }));
  out.push_back(text_column(
      "Bench Dtype", [](const RowView& v) { return matched(v) ? stated_of(v.row.golden).dtype : kMissing; }));
  out.push_back(
      text_column("NPU Tensor Shape", [](const RowView& v) { return stated_of(v.row.mine).shape; }));
  out.push_back(text_column("Bench Tensor Shape", [](const RowView& v) {
    return matched(v) ? stated_of(v.row.golden).shape : kMissing;
  }));
  if (generation == Generation::g1) return;
  out.push_back(text_column("NPU Requires_grad", [](const RowView& v) { return requires_grad(v.row.mine); }));
  out.push_back(
      text_column("Bench Requires_grad", [](const RowView& v) { return requires_grad(v.row.golden); }));
}

// A cell of the six metrics of a tensor dump.
class TensorCell {
 public:
  enum class What : uint8_t { cosine, distance, maximum, ratio };
  TensorCell(const Head& head, Generation generation, What what, int MsprobeColumns::*column)
      : columns_(head, generation), generation_(generation), what_(what), column_(columns_.*column) {}

  Value operator()(const RowView& v) const {
    const Comparison& row = v.row;
    if (generation_ == Generation::g1 && row.mine.meta && row.mine.meta->shape.count() == 0 &&
        row.verdict.no_metric == "unsupported" && what_ != What::cosine &&
        tensor_case(row, columns_, generation_) == TensorCase::empty)
      return int64_t{0};
    if (!row.verdict.no_metric.empty()) return text(row.verdict.no_metric);
    const bool is_scalar = tensor_case(row, columns_, generation_) == TensorCase::scalar;
    if (is_scalar && what_ != What::maximum)
      return text(generation_ == Generation::g1 && what_ == What::ratio ? "Nan" : "unsupported");
    if (what_ == What::cosine && row.mine.meta->shape.count() == 1) return text("unsupported");
    if (is_scalar) {
      const bool is_relative = column_ == columns_.max_rel;
      const double largest =
          is_relative ? scalar_max_rel(row, columns_, generation_) : scalar_max_abs(row, columns_);
      return std::isnan(largest) ? text("Nan") : Value(rounded(largest, 12));
    }
    const auto value = metric(row, column_);
    // Nothing but NaN and infinities in the same places counts as zeros; one that stands alone does not.
    if (!value) return what_ == What::cosine || what_ == What::ratio ? 1.0 : 0.0;
    if (std::isnan(*value)) return text("Nan");
    if (what_ == What::distance) return *value;
    return what_ == What::cosine ? printed_cosine(*value, generation_) : rounded(*value, 12);
  }

 private:
  const MsprobeColumns columns_;
  const Generation generation_;
  const What what_;
  const int column_;
};

void add_tensor_metrics(std::vector<Column>& out, const Head& head, Generation generation) {
  using What = TensorCell::What;
  const auto add = [&](std::string title, What what, int MsprobeColumns::*column) {
    out.push_back({std::move(title), TensorCell(head, generation, what, column), ColumnKind::number});
  };
  add("Cosine", What::cosine, &MsprobeColumns::cosine);
  if (generation != Generation::g1) add("EucDist", What::distance, &MsprobeColumns::l2);
  add("MaxAbsErr", What::maximum, &MsprobeColumns::max_abs);
  add("MaxRelativeErr", What::maximum, &MsprobeColumns::max_rel);
  add("One Thousandth Err Ratio", What::ratio, &MsprobeColumns::ratio_1e3);
  add("Five Thousandths Err Ratio", What::ratio, &MsprobeColumns::ratio_5e3);
}

Value metric_value(const RowView& v, int column) {
  return column >= 0 && column < std::ssize(v.row.metrics) ? v.row.metrics[static_cast<size_t>(column)]
                                                           : Value();
}

Value difference_cell(const RowView& v, int column) {
  Value value = matched(v) ? metric_value(v, column) : Value();
  if (std::holds_alternative<std::monostate>(value)) return text(kMissing);
  const auto* number = std::get_if<double>(&value);
  if (number != nullptr && std::isnan(*number)) return text("Nan");
  return value;
}

Value percent_cell(const RowView& v, int column, int difference, bool zero_is_nan) {
  Value value = matched(v) ? metric_value(v, column) : Value();
  if (const auto* number = std::get_if<double>(&value)) {
    const Value apart = metric_value(v, difference);
    const auto* const distance = std::get_if<double>(&apart);
    if (std::isnan(*number) && (distance == nullptr || std::isnan(*distance))) return text("Nan");
    return value;
  }
  if (!std::holds_alternative<std::monostate>(value)) return value;
  // Golden is 0.
  const bool has_difference =
      matched(v) && !std::holds_alternative<std::monostate>(metric_value(v, difference));
  return text(zero_is_nan && has_difference ? "Nan" : kMissing);
}

struct NamedStatistic {
  std::string_view name;
  Scalar Stated::*member;
};
constexpr NamedStatistic kStatistics[] = {
    {"max", &Stated::max}, {"min", &Stated::min}, {"mean", &Stated::mean}, {"l2norm", &Stated::norm}};

// A text that looks like a number is one for all generations but this.
bool are_python_numbers(const RowView& v, Scalar Stated::*member) {
  return is_python_number(stated_of(v.row.mine).*member) && is_python_number(stated_of(v.row.golden).*member);
}

void add_differences(std::vector<Column>& out, const Head& head, const MsprobeStyle& style) {
  const Generation generation = style.generation;
  const MsprobeColumns columns(head, generation);
  const std::string_view names[] = {"Max", "Min", "Mean", "L2norm"};
  const std::string_view errors[] = {"Max", "Min", "Mean", "Norm"};
  // Generation 3 has texts where the others have numbers.
  const ColumnKind kind = generation == Generation::g3 ? ColumnKind::written : ColumnKind::number;
  for (int i = 0; i < 4; ++i)
    out.push_back({fmt::format("{} diff", names[i]),
                   [column = columns.max_diff + i, member = kStatistics[i].member,
                    as_python = style.as_python](const RowView& v) {
                     if (as_python && !are_python_numbers(v, member)) return text(kMissing);
                     return difference_cell(v, column);
                   },
                   kind});
  for (int i = 0; i < 4; ++i)
    out.push_back({fmt::format("{}RelativeErr", errors[i]),
                   [column = columns.max_diff_pct + i, difference = columns.max_diff + i, generation,
                    member = kStatistics[i].member, as_python = style.as_python](const RowView& v) {
                     if (as_python && !are_python_numbers(v, member)) return text(kMissing);
                     return percent_cell(v, column, difference, generation == Generation::g1 && !as_python);
                   },
                   ColumnKind::written, "%"});
}

void add_statistics(std::vector<Column>& out, const MsprobeStyle& style) {
  const RealColumns reals = style.real_columns ? *style.real_columns : RealColumns{};
  const auto cell = [generation = style.generation, as_python = style.as_python](
                        const SideFacts& side, Scalar Stated::*member, const RowView& v, bool as_real) {
    const Stated& stated = stated_of(side);
    return as_python ? python_statistic(stated, member, v) : statistic(stated, member, generation, as_real);
  };
  for (size_t i = 0; i < 4; ++i)
    out.push_back({fmt::format("NPU {}", kStatistics[i].name),
                   [member = kStatistics[i].member, cell, as_real = reals[i]](const RowView& v) {
                     return cell(v.row.mine, member, v, as_real);
                   },
                   ColumnKind::number});
  for (size_t i = 0; i < 4; ++i)
    out.push_back({fmt::format("Bench {}", kStatistics[i].name),
                   [member = kStatistics[i].member, cell, as_real = reals[4 + i]](const RowView& v) {
                     return matched(v) ? cell(v.row.golden, member, v, as_real) : text(kMissing);
                   },
                   ColumnKind::number});
}

// The lines as Python prints a list of them.
std::string stack_text(std::span<const std::string_view> lines) {
  std::string out = "[";
  for (const std::string_view line : lines) out += (out.size() > 1 ? ", " : "") + python_repr(line);
  return out + "]";
}

Value stack_cell(const RowView& v, Generation generation) {
  const bool is_first = v.row.pair.mine && v.row.pair.mine->item == 0 && v.row.mine.name != kNoModule;
  if (!is_first && generation != Generation::g1) return text(kMissing);
  return v.node.stack.empty() ? text(kMissing) : Value(stack_text(v.node.stack));
}

// Generation 1 on PyTorch: in the first row, and not even there where it has a counterpart and is an output.
Value python_stack_cell(const RowView& v, bool row_by_row) {
  const auto first = std::find_if(v.node.rows.begin(), v.node.rows.end(),
                                  [](const Comparison& row) { return is_shown(row, Generation::g1); });
  const bool is_first = first != v.node.rows.end() && &*first == &v.row;
  const bool has_stack = is_first && !(matched(v) && direction_of(v.row) == Direction::output);
  if (v.node.stack.empty() || !(has_stack || row_by_row)) return text("None");
  return stack_text(v.node.stack);
}

std::string file_name(const SideFacts& side) {
  const std::string_view name = stated_of(side).data_name;
  return python_repr(name.empty() ? std::string_view("-1") : name);
}

std::string_view python_checksum(const RowView& v, const SideFacts& side, bool row_by_row) {
  if (!matched(v) && !(row_by_row && side.item != nullptr)) return kMissing;
  const std::string_view checksum = printed_checksum(side);
  return checksum == kMissing ? "None" : checksum;
}

Value data_name(const RowView& v, const MsprobeStyle& style) {
  const std::string_view mine = stated_of(v.row.mine).data_name;
  if (style.as_python && !style.row_by_row && !matched(v)) return text("-1");
  if (style.generation == Generation::g1) return text(mine.empty() ? "-1" : mine);
  return fmt::format("[{}, {}]", file_name(v.row.mine), matched(v) ? file_name(v.row.golden) : "'N/A'");
}

// A 0-d tensor may stand for itself where others have a checksum: then the cell is its number. Eight digits
// are a CRC-32, whatever they look like.
Value checksum_cell(const SideFacts& side) {
  const std::string_view checksum = printed_checksum(side);
  constexpr size_t kCrcDigits = 8;
  const auto number = parse_double(checksum);
  const bool is_number = side.meta && number && std::isfinite(*number) && !checksum.starts_with("0x") &&
                         (checksum.size() != kCrcDigits || checksum.find('.') != std::string_view::npos);
  if (!is_number) return text(checksum);
  if (const auto whole = parse_int(checksum)) return *whole;
  return *number;
}

void add_checksums(std::vector<Column>& out, const MsprobeStyle& style) {
  if (style.as_python) {
    out.push_back({"NPU MD5", [alone = style.row_by_row](const RowView& v) {
                     return text(python_checksum(v, v.row.mine, alone));
                   }});
    out.push_back({"BENCH MD5", [alone = style.row_by_row](const RowView& v) {
                     return text(python_checksum(v, v.row.golden, alone));
                   }});
    return;
  }
  out.push_back({"NPU MD5", [](const RowView& v) { return checksum_cell(v.row.mine); }});
  out.push_back({"BENCH MD5", [](const RowView& v) { return checksum_cell(v.row.golden); }});
}

// Generation 3 leaves out entries whose last two words are neither a direction nor parameters_grad.
bool has_direction(std::string_view name) {
  for (int i = 0; i < 2 && !name.empty(); ++i) {
    const size_t dot = name.rfind('.');
    const std::string_view word = name.substr(dot + 1);
    if (word == "forward" || word == "backward" || word == "parameters_grad" || word == "debug") return true;
    name = dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
  }
  return false;
}

std::vector<Column> columns(const Head& head, const MsprobeStyle& style) {
  const Generation generation = style.generation;
  std::vector<Column> out;
  add_names(out, generation);
  const bool is_data = head.content == Content::data;
  if (head.content == Content::checksums) {
    add_checksums(out, style);
  } else {
    if (is_data)
      add_tensor_metrics(out, head, generation);
    else
      add_differences(out, head, style);
    add_statistics(out, style);
  }
  if (generation != Generation::g1)
    out.push_back({"Requires_grad Consistent", [](const RowView& v) { return grad_consistent(v.row); }});
  out.push_back(text_column(is_data && generation != Generation::g3 ? "Accuracy Reached or Not" : "Result",
                            [](const RowView& v) { return v.row.verdict.word; }));
  if (head.content != Content::checksums || generation == Generation::g3)
    out.push_back(
        text_column("Err_message", [](const RowView& v) { return std::string_view(v.row.verdict.reason); }));
  using Stack = MsprobeStyle::Stack;
  if (style.stack == Stack::shown || (style.stack == Stack::if_found && head.has_stacks))
    out.push_back({"NPU_Stack_Info", [style](const RowView& v) {
                     return style.as_python ? python_stack_cell(v, style.row_by_row)
                                            : stack_cell(v, style.generation);
                   }});
  if (is_data) out.push_back({"Data_name", [style](const RowView& v) { return data_name(v, style); }});
  return out;
}

}  // namespace

std::string msprobe_rank_name(const At& at) {
  if (const int process = process_of(at); process >= 0) return fmt::format("proc{}", process);
  return at.rank < 0 ? "rank" : fmt::format("rank{}", at.rank);
}

std::string msprobe_suffix(const Head& head, bool per_rank, bool both_ranks) {
  if (!per_rank) return {};
  At golden;
  golden.rank = head.golden_rank;
  const std::string step = head.at.step < 0 ? "" : fmt::format("_step{}", head.at.step);
  return fmt::format("{}_{}{}", step, msprobe_rank_name(head.at),
                     both_ranks ? "-" + msprobe_rank_name(golden) : std::string());
}

Profile msprobe_profile(const MsprobeStyle& style) {
  Profile profile;
  if (style.generation == Generation::g3) profile.rows_per_csv = kMsprobeRowsPerCsv;
  profile.name = "msprobe";
  profile.columns = [style](const Head& head) { return columns(head, style); };
  profile.keeps = [style](const RowView& v) {
    if (style.generation == Generation::g3 && !is_debug(v.head) && !has_direction(v.node.name)) return false;
    return is_shown(v.row, style.generation) && (!style.mapped_only || v.row.pair.why == Why::data_mapping);
  };
  profile.file_stem = [style](const Head& head) {
    return fmt::format("{}compare_result{}_{}", is_debug(head) ? "debug_" : "",
                       msprobe_suffix(head, style.per_rank, style.both_ranks), local_stamp(head.now));
  };
  profile.row_count = [style](const Head& head) {
    return style.mapped_only ? head.mapped_pairs : head.pairs_of_mine;
  };
  profile.print = style.coloured ? Print::python_as_text : Print::python;
  profile.sheet = style.coloured ? "Sheet" : "Sheet1";
  profile.file_mode = 0640;
  profile.folder_mode = 0750;
  return profile;
}

}  // namespace assay
