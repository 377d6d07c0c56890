#include "cli/noise.h"

#include "assay/base/text.h"

#include <cmath>

namespace assay::cli {
namespace {

// Writes nothing: it keeps how far each tensor is off.
class NoiseSink : public Sink {
 public:
  explicit NoiseSink(NoiseTable& table) : table_(table) {}
  Result<void> begin(const Head& head) override {
    rel_l2_ = find_column(head, "rel_l2");
    max_abs_ = find_column(head, "max_abs");
    return {};
  }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) override {
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows)
        if (row.basis == Basis::data)
          table_.add(section, row.golden.name, {number(row, rel_l2_), number(row, max_abs_)});
    return {};
  }
  Result<void> end(const Summary&) override { return {}; }

 private:
  // Of tensors of zeros there is no relative error: none is known then.
  static double number(const Comparison& row, int column) {
    if (column < 0 || column >= std::ssize(row.metrics)) return 0;
    const auto* const value = std::get_if<double>(&row.metrics[static_cast<size_t>(column)]);
    return value != nullptr && std::isfinite(*value) ? *value : 0;
  }
  NoiseTable& table_;
  int rel_l2_ = -1, max_abs_ = -1;
};

}  // namespace

Result<std::shared_ptr<const NoiseTable>> measure_noise(const std::vector<std::string>& further_runs,
                                                        const CompareRequest& request) {
  auto table = std::make_shared<NoiseTable>();
  for (const std::string& path : further_runs) {
    std::error_code ignored;
    if (fs::equivalent(path, request.golden, ignored))
      return fail(ErrorKind::bad_argument, "--noise: {} is golden itself; a second run of mine is wanted",
                  printable(path));
    CompareRequest of_runs;
    of_runs.mine = path;
    of_runs.golden = request.mine;
    of_runs.open = request.open;
    of_runs.open.used = nullptr;  // patterns are watched where golden is there too
    of_runs.alone = true;         // every process needs all of it
    of_runs.threads = request.threads;
    of_runs.progress = request.progress;
    of_runs.now = request.now;
    of_runs.add_stated_columns = false;
    ASSAY_TRY(of_runs.metrics, plan_metrics(std::vector<std::string>{"rel_l2", "max_abs"}));
    ASSAY_TRY(Rule anything, parse_rule("*=ignore"));  // nothing is judged here
    of_runs.rules.rules = {std::move(anything)};
    of_runs.rules.unmatched_fails = false;
    ReportSet reports;
    reports.add(std::make_unique<NoiseSink>(*table));
    auto outcome = compare(of_runs, reports);
    if (!outcome) return fail(outcome.error().kind, "--noise: {}", outcome.error().message);
  }
  if (!further_runs.empty() && table->empty())
    return fail(ErrorKind::bad_argument, "--noise: {} has no tensor in common with {}, or no data",
                printable(further_runs.front()), display(request.mine));
  return table;
}

}  // namespace assay::cli
