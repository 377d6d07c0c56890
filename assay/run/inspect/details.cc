#include "assay/run/inspect/details.h"

#include "assay/report/cells.h"
#include "assay/report/detail_json.h"
#include "assay/report/rows.h"
#include "assay/run/compare/compare.h"

#include <limits>

namespace assay {
namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

class DetailSink : public Sink {
 public:
  DetailSink(const DetailRequest& request, bool as_json, const WriteText& write, DetailSummary& summary)
      : request_(request), as_json_(as_json), write_(write), summary_(summary) {}

  Result<void> begin(const Head&) override { return as_json_ ? write_("[") : Result<void>(); }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    std::string out;
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows)
        if (!is_beside(row))
          as_json_ ? add_object(section, node, row, out) : add_text(section, node, row, out);
    return out;
  }

  Result<void> write(std::string_view, std::span<const NodeResult> nodes, std::string&& rendered) override {
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows) {
        if (is_beside(row)) continue;
        ++summary_.pairs;
        const bool is_broken =
            row.status == Status::unreadable || (row.detail && !row.detail->trouble.empty());
        summary_.troubles += is_broken ? 1 : 0;
      }
    if (rendered.empty()) return {};
    // What separates it from what came before.
    const size_t skipped = std::exchange(any_, true) ? 0 : 1;
    return write_(std::string_view(rendered).substr(skipped));
  }

  Result<void> end(const Summary&) override { return as_json_ ? write_("\n]\n") : Result<void>(); }

 private:
  static std::string state_of(const Comparison& row) {
    if (row.status != Status::compared) return row.note.empty() ? std::string(text(row.status)) : row.note;
    if (row.basis != Basis::data) return "no elements to look at: " + std::string(text(row.evidence));
    return row.near == nullptr && !row.is_nonfinite_apart ? "nothing differs" : "cannot be looked at closely";
  }

  static std::string side_text(const SideFacts& side, std::string_view word) {
    return side.meta ? fmt::format("{} {} {}", word, name(side.meta->dtype), side.meta->shape.text()) : "";
  }

  void add_text(std::string_view section, const NodeResult& node, const Comparison& row,
                std::string& out) const {
    const std::string_view own = row.mine.name.empty() ? row.golden.name : row.mine.name;
    const std::string sides[] = {side_text(row.mine, "mine"), side_text(row.golden, "golden")};
    out += '\n';
    if (!section.empty()) out += fmt::format("[{}] ", shown(section));
    out += shown(own.empty() ? node.name : own);
    if (row.mine.name != row.golden.name && !row.mine.name.empty() && !row.golden.name.empty())
      out += fmt::format(" (golden {})", shown(row.golden.name));
    out += fmt::format("\n  {}{}{}\n", sides[0], sides[0].empty() || sides[1].empty() ? "" : ", ", sides[1]);
    if (row.detail == nullptr) {
      out += fmt::format("  {}\n", shown(state_of(row)));
      return;
    }
    if (request_.slice)
      out += fmt::format("  {} {}\n", request_.slice->text, row.detail->shape.text());
    else if (row.mine.meta && row.detail->shape != row.mine.meta->shape)
      out += fmt::format("  compared as {}\n", row.detail->shape.text());
    out += detail_text(*row.detail, request_.width, request_.shades);
  }

  void add_object(std::string_view section, const NodeResult& node, const Comparison& row,
                  std::string& out) const {
    out += ",\n{";
    const auto add = [&](std::string_view key, std::string_view value) {
      append_json_text(out, key);
      out += ": ";
      append_json_text(out, value);
      out += ", ";
    };
    if (!section.empty()) add("section", section);
    add("name", node.name);
    add("mine", row.mine.name);
    add("golden", row.golden.name);
    if (request_.slice) add("slice", request_.slice->text);
    if (row.detail != nullptr && row.detail->trouble.empty()) {
      out += "\"detail\": ";
      append_detail(out, *row.detail);
    } else {
      const bool is_broken = row.status == Status::unreadable || row.detail != nullptr;
      append_json_text(out, is_broken ? "error" : "state");
      out += ": ";
      append_json_text(out, row.detail != nullptr ? row.detail->trouble : state_of(row));
    }
    out += '}';
  }

  const DetailRequest& request_;
  const bool as_json_;
  const WriteText& write_;
  DetailSummary& summary_;
  bool any_ = false;
};

}  // namespace

Result<DetailSummary> inspect_details(const DetailRequest& request, bool as_json, const WriteText& write) {
  CompareRequest compared;
  compared.mine = request.mine;
  compared.golden = request.golden;
  compared.open = request.open;
  compared.threads = request.threads;
  compared.progress = request.progress;
  ASSAY_TRY(compared.metrics, plan_metrics(std::vector<std::string>{"max_abs"}));
  compared.details = {.rows = kAll, .bytes = kAll, .only_failed = false};
  compared.detail_options = {request.map_rows, request.map_columns};
  if (request.slice)
    compared.detail_options.slice = [&](OperandPtr whole) {
      return sliced(std::move(whole), *request.slice);
    };
  DetailSummary summary;
  ReportSet reports;
  reports.add(std::make_unique<DetailSink>(request, as_json, write, summary));
  ASSAY_TRY_DO(compare(compared, reports));
  return summary;
}

}  // namespace assay
