#include "assay/report/terminal_overflow.h"

#include "assay/base/text.h"
#include "assay/report/cells.h"
#include "assay/report/rows.h"
#include "assay/report/terminal_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr size_t kMostBad = 10, kMostAtRisk = 5, kMostUnseen = 3;
constexpr double kWithinFactor2 = 0.5;

std::string type_of(const Comparison& row) {
  return row.mine.meta ? fmt::format("{} {}", name(row.mine.meta->dtype), row.mine.meta->shape.text())
                       : std::string();
}

// "0.4 %"; how many there are of those that are not counted is not said.
std::string percent(int64_t count, int64_t of) {
  if (count < 0 || of <= 0) return "";
  const double share = 100 * static_cast<double>(count) / static_cast<double>(of);
  return count == 0 ? "0" : share < 0.01 ? "<0.01 %" : fmt::format("{:.3g} %", share);
}

// Of a reason, what was found; who made it is said already.
std::string_view first_part(std::string_view reason) { return reason.substr(0, reason.find("; ")); }

// "f16 [4]: 3 NaN of 4 elements"; a number has no type.
std::string what_it_is(const Comparison& row, std::string_view found) {
  const std::string type = type_of(row);
  return type.empty() ? shown(found) : fmt::format("{}: {}", type, shown(found));
}

bool is_minus_inf_alone(const Comparison& row) {
  return row.range != nullptr && row.range->minus_infs != 0 && row.range->plus_infs == 0 &&
         row.range->nans == 0;
}

std::string count_text(int64_t count) { return count < 0 ? "some" : fmt::format("{}", count); }

template <class Kept>
void keep_worst(std::vector<Kept>& list, Kept kept) {
  const auto place = std::ranges::find_if(list, [&](const Kept& each) { return each.weight < kept.weight; });
  list.insert(place, std::move(kept));
  if (list.size() > kMostAtRisk) list.pop_back();
}

}  // namespace

std::string OverflowView::name_of(std::string_view section, const NodeResult& node, const Comparison& row) {
  const std::string_view name = row.mine.name.empty() ? node.name : row.mine.name;
  return (section.empty() ? std::string() : fmt::format("[{}] ", shown(section))) + shown(name);
}

void OverflowView::add(std::string_view section, std::span<const NodeResult> nodes) {
  for (const NodeResult& node : nodes)
    for (const Comparison& row : node.rows) {
      if (row.verdict.level == Level::ignored) {
        if (row.is_excused || row.evidence == Evidence::empty) continue;
        if (++unseen_rows_ == 1) unseen_reason_ = row.verdict.reason;
        if (unseen_.size() < kMostUnseen) unseen_.push_back(name_of(section, node, row));
        continue;
      }
      const auto kept = [&](double weight) {
        return Kept{weight,
                    name_of(section, node, row),
                    row.verdict.level,
                    type_of(row),
                    row.range ? *row.range : NumberRange(),
                    row.verdict.reason};
      };
      if (row.verdict.level != Level::pass && ++bad_rows_ <= int64_t{kMostBad}) bad_.push_back(kept(0));
      if (row.range == nullptr || row.range->type_max == 0) continue;
      ++rows_of_reals_;
      const double of_type_max = row.range->of_type_max();
      near_max_rows_ += of_type_max >= kWithinFactor2;
      if (!std::isnan(of_type_max)) keep_worst(near_max_, kept(of_type_max));
      if (row.range->subnormal <= 0) continue;
      ++subnormal_rows_;
      keep_worst(subnormal_,
                 kept(static_cast<double>(row.range->subnormal) / static_cast<double>(row.range->count)));
    }
}

// Who made it, where that is known; else where it was seen first.
std::string OverflowView::origin(const Summary& summary) const {
  std::string out;
  const auto place_text = [&](const RowPlace& place) {
    return (place.section.empty() ? std::string() : fmt::format("[{}] ", shown(place.section))) +
           shown(place.node);
  };
  if (const auto& made = summary.first_origin) {
    out += fmt::format("\nFirst overflow: {}: {}, {} is not\n", place_text(*made),
                       !made->given.empty()         ? shown(made->given)
                       : made->not_compared.empty() ? "its inputs are finite"
                                                    : "what was looked at of its inputs is finite",
                       made->mine == made->node ? "its output" : "its output " + shown(made->mine));
    out += wrapped(what_it_is(made->row, first_part(made->row.verdict.reason)), text_width(head_), 2);
    if (!made->not_compared.empty()) out += first_few("  not looked at before it: ", made->not_compared);
    if (!made->called_at.empty()) out += fmt::format("  called at {}\n", shown(made->called_at));
    if (is_minus_inf_alone(made->row))
      out += wrapped(
          "-Inf alone is what masks are filled with: --rule 'nans == 0 and plus_infs == 0' looks for the "
          "first "
          "that "
          "is not.",
          text_width(head_), 2);
  }
  const auto& seen = summary.first_divergence;
  const bool is_same = seen && summary.first_origin && seen->section == summary.first_origin->section &&
                       seen->mine == summary.first_origin->mine;
  if (!seen || is_same) return out;
  const bool is_later = summary.first_origin.has_value();
  out += fmt::format("\n{}{}: {}\n", is_later ? "Seen before it" : "First that did not pass",
                     head_.order_is_by_name ? " (order unknown; first by name)" : "",
                     seen->mine.empty() || seen->mine == seen->node
                         ? place_text(*seen)
                         : fmt::format("{}, {}", place_text(*seen), shown(seen->mine)));
  out += wrapped(what_it_is(seen->row, explanation(seen->row)), text_width(head_), 2);
  if (!is_later && seen->row.range != nullptr && !seen->row.range->is_finite())
    out += wrapped(
        "No operator was found whose inputs are finite and whose output is not. If this tensor is meant to "
        "hold "
        "such numbers (a mask), --rule 'NAME=ignore' takes it out.",
        text_width(head_), 2);
  return out;
}

std::string OverflowView::not_finite() const {
  if (bad_rows_ < 2) return {};
  TerminalColumn tensor{.title = "tensor", .flexible = true}, type{.title = "type", .optional = true},
      nans{.title = "NaN", .right_aligned = true}, infs{.title = "Inf", .right_aligned = true};
  for (const Kept& kept : bad_) {
    tensor.cells.push_back(kept.name);
    type.cells.push_back(kept.type);
    nans.cells.push_back(kept.level == Level::error ? "error" : count_text(kept.range.nans));
    infs.cells.push_back(kept.level == Level::error ? "" : count_text(kept.range.infs()));
  }
  std::string out =
      bad_rows_ > std::ssize(bad_)
          ? fmt::format("\nThe first {} of {} tensors that did not pass:\n", bad_.size(), bad_rows_)
          : "\nTensors that did not pass, in order:\n";
  return out + terminal_table({std::move(tensor), std::move(nans), std::move(infs), std::move(type)},
                              text_width(head_));
}

std::string OverflowView::risks() const {
  if (rows_of_reals_ == 0) return {};
  std::string out;
  const auto table = [&](std::string_view title, std::span<const Kept> rows) {
    TerminalColumn tensor{.title = "tensor", .flexible = true}, type{.title = "type", .optional = true},
        share{.title = "of largest", .right_aligned = true},
        near{.title = "within 2x", .right_aligned = true},
        subnormal{.title = "subnormal", .right_aligned = true},
        zeros{.title = "zero", .right_aligned = true, .optional = true};
    for (const Kept& kept : rows) {
      tensor.cells.push_back(kept.name);
      type.cells.push_back(kept.type);
      share.cells.push_back(fmt::format("{:.3g} %", 100 * kept.range.of_type_max()));
      near.cells.push_back(percent(kept.range.near_max, kept.range.count));
      subnormal.cells.push_back(percent(kept.range.subnormal, kept.range.count));
      zeros.cells.push_back(percent(kept.range.zeros, kept.range.count));
    }
    return fmt::format("\n{}\n{}", title,
                       terminal_table({std::move(tensor), std::move(share), std::move(near),
                                       std::move(subnormal), std::move(zeros), std::move(type)},
                                      text_width(head_)));
  };
  if (near_max_rows_ > 0) {
    const auto count = std::min<size_t>(near_max_.size(), static_cast<size_t>(near_max_rows_));
    out += table(
        fmt::format("Close to overflow: {} within a factor of 2 of the largest number of {} type:",
                    near_max_rows_ == 1 ? "1 tensor comes" : fmt::format("{} tensors come", near_max_rows_),
                    near_max_rows_ == 1 ? "its" : "their"),
        std::span(near_max_).first(count));
  } else if (!near_max_.empty()) {
    const Kept& closest = near_max_.front();
    out += "\nNo tensor comes within a factor of 2 of the largest number of its type";
    // What is further away is no news.
    out += closest.weight < 0.001 ? ".\n"
                                  : fmt::format("; the closest is\n  {} with {:.3g} % of it.\n", closest.name,
                                                100 * closest.weight);
  }
  if (!subnormal_.empty())
    out += table(
        fmt::format("Close to underflow: {} subnormal numbers, which some devices take for 0:",
                    subnormal_rows_ == 1 ? "1 tensor has" : fmt::format("{} tensors have", subnormal_rows_)),
        subnormal_);
  return out;
}

std::string OverflowView::not_looked_at() const {
  if (unseen_rows_ == 0) return {};
  std::string out = fmt::format("{}{}: {}", fmt::join(unseen_, ", "),
                                unseen_rows_ > std::ssize(unseen_)
                                    ? fmt::format(" and {} more", unseen_rows_ - std::ssize(unseen_))
                                    : "",
                                shown(unseen_reason_));
  return "\nNot looked at:\n" + wrapped(out, text_width(head_), 2);
}

std::string OverflowView::text(const Summary& summary, std::span<const fs::path> files) const {
  std::string out = sentence_line(summary, head_);
  if (summary.first_error && summary.errors > 0)
    out += fmt::format("First error: {}\n", shown(*summary.first_error));
  out += origin(summary) + not_finite() + risks() + not_looked_at();
  if (!files.empty()) out += '\n';
  for (const fs::path& file : files) out += fmt::format("Report: {}\n", display(file));
  return out;
}

}  // namespace assay
