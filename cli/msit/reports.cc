#include "cli/msit/reports.h"

#include "assay/base/text.h"
#include "assay/compat/msit/profile.h"
#include "assay/support/log.h"

#include <fmt/format.h>

namespace assay::cli {

Result<void> Witness::begin(const Head& head) {
  head_ = head;
  return {};
}

Result<void> Witness::write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) {
  // Of three levels the last one looks at everything.
  const bool is_last = !all_levels || section.ends_with("api");
  for (const NodeResult& node : nodes)
    for (const Comparison& row : node.rows) {
      if (row.status == Status::only_mine || row.status == Status::only_golden) {
        alone += is_last;
        continue;
      }
      ++compared;
      const MsitLeftOut why = left_out_by_msit(row);
      other_shape += why == MsitLeftOut::other_shape;
      int8 += why == MsitLeftOut::int8;
      extremes += row.evidence == Evidence::extremes;
      stated += row.basis == Basis::stated && !row.verdict.reason.empty();
      if (row.status == Status::unreadable && trouble.empty()) trouble = row.note;
      text = msit_result_text(head_, row, style);
    }
  return {};
}

std::pair<std::unique_ptr<Sink>, std::shared_ptr<Witness>> make_witness() {
  class Shared : public Sink {
   public:
    explicit Shared(std::shared_ptr<Witness> to) : to_(std::move(to)) {}
    Result<void> begin(const Head& head) override { return to_->begin(head); }
    std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
    Result<void> write(std::string_view section, std::span<const NodeResult> nodes,
                       std::string&& text) override {
      return to_->write(section, nodes, std::move(text));
    }
    Result<void> end(const Summary&) override { return {}; }

   private:
    std::shared_ptr<Witness> to_;
  };
  auto kept = std::make_shared<Witness>();
  return {std::make_unique<Shared>(kept), kept};
}

Result<void> add_native_reports(const std::vector<std::string>& names, const fs::path& output,
                                ReportSet& reports) {
  for (const std::string& name : names) {
    const Output* const found = find_output(name);
    if (found == nullptr || name == "terminal")
      return fail(ErrorKind::bad_argument,
                  "--report: there is no report '{}'; csv, xlsx, json, jsonl, junit and sqlite",
                  printable(name));
    reports.add(found->open({output, &native_profile}));
  }
  return {};
}

void say_where(const CompareOutcome& outcome) {
  for (const fs::path& file : outcome.files) log::info("Saved comparing results: {}", display(file));
}

void say_what_is_left_out(const Witness& seen, bool is_sheets) {
  if (seen.stated > 0)
    log::warn(
        "Of {} of {} pairs only statistics were dumped: this table has their maxima, minima and means; "
        "'assay compare' compares them.",
        seen.stated, seen.compared);
  if (seen.extremes > 0)
    log::warn(
        "Of {} of {} pairs only the smallest and the largest element were kept (_min_max files): this table "
        "compares those two.",
        seen.extremes, seen.compared);
  std::vector<std::string> parts;
  if (!is_sheets && seen.other_shape > 0)
    parts.push_back(fmt::format("{} of other shapes", seen.other_shape));
  if (!is_sheets && seen.int8 > 0) parts.push_back(fmt::format("{} of int8 against another type", seen.int8));
  const int64_t pairs = is_sheets ? 0 : seen.other_shape + seen.int8;
  if (pairs == 0 && seen.alone == 0) return;
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? ": " : ", ") + part;
  log::info(
      "{} of {} pairs are not in this table{}; {} tensors have no partner. 'assay compare' lists them all.",
      pairs, seen.compared, text, seen.alone);
}

}  // namespace assay::cli
