#include "assay/compat/msit/profile.h"

#include "assay/compat/msit/answers.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

namespace assay {
namespace {

constexpr std::string_view kOtherShape = "data shape doesn't match.";

bool is_fx(const SideFacts& side) {
  const std::string& path = side.file.native();
  return path.ends_with(".npy") || path.ends_with(".npy.stats.json");
}

// "torch.float16"
std::string torch_name(DType dtype) {
  const std::string_view known = info(dtype).long_name;
  return fmt::format("torch.{}", known.empty() ? name(dtype) : known);
}

// The original widens what torch has no type for before it looks at the type.
DType widened(const SideFacts& side, const MsitStyle& style) {
  const DType dtype = side.meta->dtype;
  if (!style.is_torchair) return dtype;
  if (side.meta->shape.count() == 0 && !is_fx(side)) return DType::f64;
  switch (dtype) {
    case DType::bf16:
      return DType::f32;
    case DType::hif8:
    case DType::f8e5m2:
    case DType::f8e4m3fn:
      return DType::f64;
    case DType::u16:
      return style.is_msprobe ? DType::i32 : DType::f64;
    case DType::u32:
      return style.is_msprobe ? DType::i64 : DType::f64;
    default:
      return dtype;
  }
}

// What is computed in f32 is printed as that number.
Value as_float(double value) {
  const double narrow = static_cast<double>(static_cast<float>(value));
  return std::isnan(narrow) ? Value() : Value(narrow);
}

Value number_cell(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return as_float(*real);
  if (const auto* whole = std::get_if<int64_t>(&value)) return as_float(static_cast<double>(*whole));
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1.0 : 0.0;
  return {};
}

Value number_cell(const Scalar& value) {
  if (const auto real = value.real()) return as_float(*real);
  if (const auto whole = value.integer()) return as_float(static_cast<double>(*whole));
  if (const auto truth = value.boolean()) return *truth ? 1.0 : 0.0;
  return {};
}

Value metric_cell(const RowView& v, int column) {
  if (column < 0 || column >= std::ssize(v.row.metrics) || !v.row.verdict.reason.empty()) return {};
  const Value& value = v.row.metrics[static_cast<size_t>(column)];
  const auto* const number = std::get_if<double>(&value);
  return number == nullptr ? Value() : as_float(*number);
}

// With the digits that tell one float from the next: 0.1, where the double of that float is
// 0.10000000149011612.
Value short_cell(const RowView& v, int column) {
  const Value value = metric_cell(v, column);
  const auto* const number = std::get_if<double>(&value);
  if (number == nullptr) return value;
  return std::strtod(fmt::format("{}", static_cast<float>(*number)).c_str(), nullptr);
}

Value cosine_cell(const RowView& v, int column) {
  if (column < 0 || column >= std::ssize(v.row.metrics) || !v.row.verdict.reason.empty()) return {};
  const auto* const number = std::get_if<double>(&v.row.metrics[static_cast<size_t>(column)]);
  if (number == nullptr || std::isnan(*number)) return {};
  constexpr int kDecimals = 10;
  return std::strtod(fmt::format("{:.{}f}", *number, kDecimals).c_str(), nullptr);
}

struct NamedMetric {
  std::string_view title, column;
};
constexpr std::array<NamedMetric, 7> kMetrics = {{{"cosine_similarity", "cosine_msit"},
                                                  {"max_relative_error", "max_rel_msit"},
                                                  {"mean_relative_error", "mean_rel_msit"},
                                                  {"max_absolute_error", "max_abs_msit"},
                                                  {"mean_absolute_error", "mean_abs_msit"},
                                                  {"kl_divergence", "kl"},
                                                  {"relative_euclidean_distance", "rel_l2_msit"}}};

Value measured_cell(const RowView& v, int column, std::string_view name, bool is_ait) {
  if (name == "cosine_msit") return cosine_cell(v, column);
  Value value = metric_cell(v, column);
  // Before June 2024 no root was taken.
  const auto* const number = std::get_if<double>(&value);
  return is_ait && name == "rel_l2_msit" && number != nullptr ? as_float(*number * *number) : value;
}

// Without links. What the folders above are need not be found out for each of their files.
fs::path real_path_of(const fs::path& path) {
  constexpr size_t kMostFolders = 100'000;
  thread_local std::unordered_map<std::string, fs::path> known;
  std::error_code error;
  if (!path.has_filename() || !path.has_parent_path() || path.filename() == ".." || path.filename() == "." ||
      fs::is_symlink(path, error)) {
    fs::path real = fs::weakly_canonical(path, error);
    return error ? fs::absolute(path) : real;
  }
  const fs::path parent = path.parent_path();
  auto above = known.find(parent.native());
  if (above == known.end()) {
    fs::path real = real_path_of(parent);
    if (known.size() > kMostFolders) known.clear();
    above = known.emplace(parent.native(), std::move(real)).first;
  }
  return above->second / path.filename();
}

// A file that cannot be read has a row even where it has no partner: then one side is missing.
fs::path real_path(const SideFacts& side) { return side.file.empty() ? fs::path() : real_path_of(side.file); }

using FactsOf = const SideFacts& (*)(const RowView&);
const SideFacts& mine_of(const RowView& v) { return v.row.mine; }
const SideFacts& golden_of(const RowView& v) { return v.row.golden; }

// ",inputs,0" behind the path: which of the tensors of the file.
std::string tensor_number(const SideFacts& side) {
  if (side.item == nullptr || side.item->port.direction == Direction::none) return {};
  return fmt::format(",{},{}", side.item->port.direction == Direction::input ? "inputs" : "outputs",
                     side.item->port.index);
}

// The original appends to one text as it goes from tensor to tensor: of an operator that was not fused
// nothing for inputs, and for outputs what stood there before.
std::string golden_number(const RowView& v) {
  const SideFacts& golden = v.row.golden;
  if (golden.item == nullptr || is_fx(golden)) return {};
  const bool is_input = golden.item->port.direction == Direction::input;
  if (v.row.pair.why == Why::own_input || (is_input && v.row.pair.why == Why::fused_from))
    return tensor_number(golden);
  if (is_input) return {};
  std::string text;
  if (std::any_of(v.node.rows.begin(), v.node.rows.end(), [](const Comparison& row) {
        return row.golden.item != nullptr && row.golden.item->port.direction == Direction::input;
      }))
    text = ",inputs,0";
  for (int i = 0; i <= golden.item->port.index; ++i) text += fmt::format(",outputs,{}", i);
  return text;
}

void add_numbered_paths(std::vector<Column>& out, bool is_mine) {
  if (is_mine)
    out.push_back({"my_data_path", [](const RowView& v) -> Value {
                     return display(real_path(v.row.mine)) + tensor_number(v.row.mine);
                   }});
  else
    out.push_back({"golden_data_path", [](const RowView& v) -> Value {
                     return display(real_path(v.row.golden)) + golden_number(v);
                   }});
}

void add_path(std::vector<Column>& out, std::string_view prefix, FactsOf side) {
  out.push_back({fmt::format("{}_data_path", prefix),
                 [side](const RowView& v) -> Value { return display(real_path(side(v))); }});
}

void add_type(std::vector<Column>& out, std::string_view prefix, FactsOf side) {
  out.push_back({fmt::format("{}_op_type", prefix),
                 [side](const RowView& v) -> Value { return std::string(side(v).op_type); }});
}

void add_description(std::vector<Column>& out, std::string_view prefix, FactsOf side,
                     const MsitStyle& style) {
  out.push_back({fmt::format("{}_dtype", prefix), [side, style](const RowView& v) -> Value {
                   return side(v).meta ? Value(torch_name(widened(side(v), style))) : Value();
                 }});
  out.push_back({fmt::format("{}_shape", prefix), [side](const RowView& v) -> Value {
                   return side(v).meta ? Value(side(v).meta->shape.text()) : Value();
                 }});
  struct Statistic {
    std::string_view word;
    Value Stats::*measured;
    Scalar Stated::*stated;
  };
  for (const Statistic& statistic :
       {Statistic{"max", &Stats::max, &Stated::max}, Statistic{"min", &Stats::min, &Stated::min},
        Statistic{"mean", &Stats::mean, &Stated::mean}})
    out.push_back({fmt::format("{}_{}_value", prefix, statistic.word),
                   [side, statistic](const RowView& v) -> Value {
                     const SideFacts& facts = side(v);
                     if (facts.measured) return number_cell((*facts.measured).*statistic.measured);
                     return facts.stated() ? number_cell(facts.stated()->*statistic.stated) : Value();
                   },
                   ColumnKind::number});
}

void add_metrics(std::vector<Column>& out, const Head& head, bool is_ait) {
  for (const NamedMetric& metric : kMetrics)
    out.push_back({std::string(metric.title),
                   [at = find_column(head, metric.column), name = metric.column, is_ait](const RowView& v) {
                     return measured_cell(v, at, name, is_ait);
                   },
                   ColumnKind::number});
}

void add_algorithms(std::vector<Column>& out, const MsitStyle& style) {
  for (size_t i = 0; i < style.algorithms.size(); ++i) out.push_back(answer_column(style.algorithms[i], i));
}

// The reason of the row, then what the functions of the user say.
Value fail_reason(const RowView& v) {
  return join_messages(v.row.verdict.reason, " ", v.row.answers.get(), {});
}

std::vector<Column> weight_columns(const Head& head, const MsitStyle& style) {
  std::vector<Column> out;
  out.push_back({"weight_name", [](const RowView& v) -> Value { return std::string(v.node.name); }});
  add_description(out, "golden", golden_of, style);
  add_description(out, "my", mine_of, style);
  add_metrics(out, head, style.is_ait);
  add_algorithms(out, style);
  return out;
}

// The types of operators are columns that stay empty.
std::vector<Column> torchair_columns(const Head& head, const MsitStyle& style) {
  std::vector<Column> out;
  out.push_back({"token_id", [](const RowView& v) -> Value {
                   return int64_t{v.row.pair.mine ? v.row.mine.token : v.row.golden.token};
                 }});
  out.push_back({"data_id", [](const RowView& v) -> Value {
                   return v.row.pair.number < 0 ? Value() : Value(int64_t{v.row.pair.number});
                 }});
  for (const bool is_mine : {false, true}) {
    const std::string_view prefix = is_mine ? "my" : "golden";
    add_numbered_paths(out, is_mine);
    out.push_back({fmt::format("{}_op_type", prefix), [](const RowView&) -> Value { return {}; }});
    add_description(out, prefix, is_mine ? mine_of : golden_of, style);
  }
  add_metrics(out, head, false);
  add_algorithms(out, style);
  out.push_back({"cmp_fail_reason", fail_reason});
  return out;
}

std::string torchair_stem(const Head& head, const MsitStyle& style) {
  std::string stem = fmt::format("{}_cmp_report", style.is_msprobe ? "msprobe"
                                                  : style.is_ait   ? "ait"
                                                                   : "msit");
  if (head.at.rank >= 0) stem += fmt::format("_rank{}", head.at.rank);
  if (head.has_more_graphs) stem += fmt::format("_graph{}", head.at.graph);
  return fmt::format("{}_{}", stem, style.is_ait ? local_stamp(head.now) : utc_stamp(head.now));
}

// "3" of "rank 0 token 3 api", "warmup" of "warmup layer"; "0" where the dump has no tokens.
std::string_view token_of(std::string_view section) {
  constexpr std::string_view kToken = "token ", kRank = "rank ";
  if (const size_t at = section.find(kToken); at != std::string_view::npos) {
    section.remove_prefix(at + kToken.size());
    return section.substr(0, section.find(' '));
  }
  if (section.starts_with(kRank)) {
    section.remove_prefix(kRank.size());
    section.remove_prefix(std::min(section.find(' '), section.size() - 1) + 1);
  }
  for (const std::string_view level : {"layer", "module", "api"})
    if (section.ends_with(level)) {
      section.remove_suffix(level.size());
      if (section.ends_with(' ')) section.remove_suffix(1);
      break;
    }
  return section.empty() ? "0" : section;
}

std::vector<Column> columns(const Head& head, const MsitStyle& style) {
  if (style.is_weight) return weight_columns(head, style);
  if (style.is_torchair) return torchair_columns(head, style);
  std::vector<Column> out;
  out.push_back({"token_id", [](const RowView& v) -> Value { return std::string(token_of(v.section)); }});
  out.push_back({"data_id", [](const RowView& v) -> Value {
                   return fmt::format("{}", std::max<int64_t>(0, v.row.pair.number));
                 }});
  add_path(out, "golden", golden_of);
  if (!style.is_ait) add_type(out, "golden", golden_of);
  if (!style.is_stats) add_description(out, "golden", golden_of, style);
  add_path(out, "my", mine_of);
  if (!style.is_ait) add_type(out, "my", mine_of);
  if (style.is_stats) {
    for (const auto& [title, column] : {std::pair{"max", "max_stat"}, std::pair{"min", "min_stat"},
                                        std::pair{"mean", "mean_stat"}, std::pair{"l2norm", "norm_stat"}})
      for (const auto& [word, kind] : {std::pair{"absolute", "abs"}, std::pair{"relative", "rel"}})
        out.push_back({fmt::format("{}_stat_{}_error", title, word),
                       [at = find_column(head, fmt::format("{}_{}", column, kind))](const RowView& v) {
                         return short_cell(v, at);
                       },
                       ColumnKind::number});
    return out;
  }
  add_description(out, "my", mine_of, style);
  add_metrics(out, head, style.is_ait);
  add_algorithms(out, style);
  out.push_back({"cmp_fail_reason", fail_reason});
  return out;
}

}  // namespace

MsitLeftOut left_out_by_msit(const Comparison& row) {
  if (row.verdict.reason == kOtherShape) return MsitLeftOut::other_shape;
  const bool mine = row.mine.meta && row.mine.meta->dtype == DType::i8;
  const bool golden = row.golden.meta && row.golden.meta->dtype == DType::i8;
  return mine != golden && row.mine.meta && row.golden.meta ? MsitLeftOut::int8 : MsitLeftOut::no;
}

Profile msit_profile(const MsitStyle& style) {
  Profile profile;
  profile.name = "msit";
  profile.columns = [style](const Head& head) { return columns(head, style); };
  profile.keeps = [style](const RowView& v) {
    if (v.row.status == Status::only_mine || v.row.status == Status::only_golden) return false;
    if (style.is_stats) return v.row.verdict.reason.empty();
    return style.is_sheets || style.is_weight || left_out_by_msit(v.row) == MsitLeftOut::no;
  };
  profile.file_stem = [style](const Head& head) {
    if (style.is_torchair) return torchair_stem(head, style);
    if (style.is_stats) return fmt::format("statstics_cmp_report_{}", utc_stamp(head.now));
    return style.is_ait ? fmt::format("ait_cmp_report_{}", local_stamp(head.now))
                        : fmt::format("msit_cmp_report_{}", utc_stamp(head.now));
  };
  profile.print = Print::python;
  if (style.is_sheets) {
    profile.sheet = "Sheet1";
    profile.section_sheet = [](const Head& head) { return std::string(head.at.level()); };
    profile.sheets = {"layer", "module", "api"};
  }
  if (style.is_torchair && style.is_msprobe) profile.rows_per_csv = kMsprobeRowsPerCsv;
  profile.file_mode = 0640;
  profile.folder_mode = 0750;
  return profile;
}

std::string msit_result_text(const Head& head, const Comparison& row, const MsitStyle& style) {
  std::string out = "{";
  const NodeResult node{};
  const RowView view{head, "", node, row};
  if (row.verdict.reason.empty())
    for (const NamedMetric& metric : kMetrics) {
      const Value value = measured_cell(view, find_column(head, metric.column), metric.column, style.is_ait);
      out += fmt::format("'{}': ", metric.title);
      const auto* const number = std::get_if<double>(&value);
      append_python_float(out, number == nullptr ? std::nan("") : *number);
      out += ", ";
    }
  if (row.verdict.reason.empty() && row.answers != nullptr)
    for (size_t i = 0; i < style.algorithms.size(); ++i)
      out += fmt::format("'{}': {}, ", style.algorithms[i], python_text((*row.answers)[i].value));
  return out + fmt::format("'cmp_fail_reason': {}}}",
                           python_repr(join_messages(row.verdict.reason, " ", row.answers.get(), {})));
}

}  // namespace assay
