#include "assay/compat/msit/opcheck.h"

#include "assay/compat/msit/answers.h"
#include "assay/compat/msit/metric/opcheck_standard.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/match/ops/golden_op.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

constexpr size_t kDigitsOfDate = 8;
constexpr std::string_view kNothing = "NaN";  // in the cells of what was not measured

std::string_view word_of(Level level, bool is_first) {
  if (is_first)
    return level == Level::pass      ? "execution successful"
           : level == Level::ignored ? "addition failed"
                                     : "execution failed";
  return level == Level::pass ? "PASS" : "FAILED";
}

std::optional<double> figure(const Head& head, const Comparison& row, std::string_view name) {
  const int column = find_column(head, name);
  if (column < 0 || column >= std::ssize(row.metrics)) return std::nullopt;
  const auto* const number = std::get_if<double>(&row.metrics[static_cast<size_t>(column)]);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

// The original calls an output good by its share alone; a shape or an element that no number stands for ends
// its run of the operator, which is said here.
Verdict judge_output(const Head& head, const Comparison& row, bool is_first) {
  if (row.status == Status::no_data && row.is_excused) return {Level::ignored, row.note};
  if (row.status == Status::shape_mismatch)
    return {Level::fail, fmt::format("the output has {} elements where {} are expected",
                                     row.mine.meta ? row.mine.meta->shape.count() : 0,
                                     row.golden.meta ? row.golden.meta->shape.count() : 0)};
  if (row.status != Status::compared) return {Level::error, row.note};
  const auto rate = figure(head, row, "opcheck_rel_rate");
  if (!rate) return {Level::error, "the output has no elements"};
  const OpcheckStandard standard = opcheck_standard(row.mine.meta->dtype, is_first);
  // No share is more than 100 %: truths pass where all are equal.
  if (*rate > standard.rate || (row.mine.meta->dtype == DType::boolean && *rate == 100)) return {};
  std::string share;
  append_python_float(share, *rate);
  return {Level::fail, fmt::format("relative pass rate: {} not met standart: {}.", share, standard.rate)};
}

// "{"transposeA":false}" with blanks, as Python's json writes it.
std::string spaced(std::string_view json) {
  std::string out;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      out += c;
      if (c == '\\' && i + 1 < json.size())
        out += json[++i];
      else
        in_text = c != '"';
      continue;
    }
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
    out += c;
    in_text = c == '"';
    if (c == ',' || c == ':') out += ' ';
  }
  return out;
}

Column figure_column(std::string title, std::string_view name, int decimals) {
  return {std::move(title), [name, decimals](const RowView& v) -> Value {
            const auto number = figure(v.head, v.row, name);
            if (!number) return std::string(kNothing);
            return std::isnan(*number) ? std::string("nan") : fmt::format("{:.{}f}", *number, decimals);
          }};
}

std::string path_of_operator(const RowView& v) {
  // …/1_LinearOperation/after/outtensor0.bin
  return display(fs::absolute(v.row.mine.file).lexically_normal().parent_path().parent_path());
}

std::vector<Column> columns(const OpcheckStyle& style) {
  constexpr int kDigits = 16, kDigitsOfCosine = 10;
  std::vector<Column> out;
  out.push_back({"op_id", [](const RowView& v) -> Value { return op_id(v.node.name); }});
  out.push_back({"op_name", [](const RowView& v) -> Value { return std::string(op_name(v.node.name)); }});
  out.push_back({"op_param", [told = style.params](const RowView& v) -> Value {
                   if (!v.node.params.empty() || told == nullptr) return spaced(v.node.params);
                   const auto found = told->find(op_id(v.node.name));
                   return found == told->end() ? std::string() : spaced(found->second.text);
                 }});
  out.push_back({"tensor_path", [](const RowView& v) -> Value { return path_of_operator(v); }});
  out.push_back(
      {"out_tensor_id",
       [](const RowView& v) -> Value {
         const bool has_none = !figure(v.head, v.row, "opcheck_rel_rate") || v.row.mine.item == nullptr;
         return has_none ? Value(std::string(kNothing)) : Value(int64_t{v.row.mine.item->port.index});
       },
       ColumnKind::number});
  out.push_back({"precision_standard", [style](const RowView& v) -> Value {
                   return v.row.mine.meta
                              ? Value(text(opcheck_standard(v.row.mine.meta->dtype, style.is_first)))
                              : Value();
                 }});
  const auto add = [&](std::string title, std::string_view name, int digits) {
    out.push_back(figure_column(std::move(title), name, digits));
  };
  out.push_back(text_column(style.is_first ? "excuted_information" : "precision_result",
                            [](const RowView& v) { return v.row.verdict.word; }));
  add(style.is_first ? "precision_result(%)" : "rel_precision_rate(%)", "opcheck_rel_rate", kDigits);
  add("max_rel_error", "opcheck_max_rel", kDigits);
  if (style.abs) {
    add(style.is_first ? "abs_precision_result(%)" : "abs_precision_rate(%)", "opcheck_abs_rate", kDigits);
    add("max_abs_error", "opcheck_max_abs", kDigits);
  }
  if (style.cosine) add("cosine_similarity", "opcheck_cosine", kDigitsOfCosine);
  if (style.kl) add("kl_divergence", "opcheck_kl", kDigits);
  for (size_t i = 0; i < style.algorithms.size(); ++i) out.push_back(answer_column(style.algorithms[i], i));
  if (!style.is_first)
    out.push_back({"fail_reason", [names = style.algorithms](const RowView& v) -> Value {
                     std::string reason =
                         join_messages(v.row.verdict.reason, ", ", v.row.answers.get(), names);
                     return reason.empty() ? Value() : Value(std::move(reason));
                   }});
  return out;
}

}  // namespace

RuleSet opcheck_rules(const OpcheckStyle& style) {
  RuleSet rules;
  rules.name = style.is_first ? "ait llm opcheck" : "msit llm opcheck";
  rules.prepare = [is_first = style.is_first](const Head& head, const RuleOptions&) -> Judge {
    return [&head, is_first](NodeResult& node) {
      for (Comparison& row : node.rows) {
        row.verdict = judge_output(head, row, is_first);
        row.verdict.word = word_of(row.verdict.level, is_first);
      }
    };
  };
  return rules;
}

Profile opcheck_profile(const OpcheckStyle& style) {
  Profile profile;
  profile.name = "opcheck";
  profile.columns = [style](const Head&) { return columns(style); };
  profile.keeps = [](const RowView&) { return true; };
  profile.file_stem = [style](const Head& head) {
    std::string stamp = style.is_first ? beijing_stamp(head.now) : utc_stamp(head.now);
    return "opcheck_result_" + stamp.insert(kDigitsOfDate, "_");
  };
  profile.print = Print::python;
  profile.sheet = style.is_first ? "Sheet" : "opcheck_result";
  profile.file_mode = 0640;
  profile.folder_mode = 0750;
  return profile;
}

}  // namespace assay
