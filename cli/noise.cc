#include "cli/noise.h"

#include "assay/base/text.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace assay::cli {
namespace {

// How far the tensors of one run are off from those of another, by section and name in the first.
struct Apart {
  std::string other;  // its name there
  NoiseFloor by;
};
using ApartByName = std::map<std::pair<std::string, std::string>, Apart>;

// Writes nothing: it keeps how far each tensor is off.
class NoiseSink : public Sink {
 public:
  explicit NoiseSink(ApartByName& found) : found_(found) {}
  Result<void> begin(const Head& head) override {
    rel_l2_ = find_column(head, "rel_l2");
    max_abs_ = find_column(head, "max_abs");
    return {};
  }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) override {
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows) {
        if (row.basis != Basis::data) continue;
        Apart& apart = found_[std::pair(std::string(section), std::string(row.mine.name))];
        apart.other = row.golden.name;
        apart.by.rel_l2 = std::max(apart.by.rel_l2, number(row, rel_l2_));
        apart.by.max_abs = std::max(apart.by.max_abs, number(row, max_abs_));
      }
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
  ApartByName& found_;
  int rel_l2_ = -1, max_abs_ = -1;
};

Result<ApartByName> hold_against(const std::string& run, const fs::path& other, const MatchOptions& matching,
                                 const CompareRequest& request) {
  CompareRequest of_runs;
  of_runs.mine = run;
  of_runs.golden = other;
  of_runs.matching = matching;
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
  ApartByName found;
  ReportSet reports;
  reports.add(std::make_unique<NoiseSink>(found));
  auto outcome = compare(of_runs, reports);
  if (!outcome) return fail(outcome.error().kind, "--noise: {}", outcome.error().message);
  return found;
}

// Two runs of one thing are about as far from golden. Where mine alone is far off, it is so from the other
// run as well, and that is no noise.
NoiseFloor floor_of(const NoiseFloor& between, const NoiseFloor* from_golden) {
  constexpr double kAsFar = 2, kLeast = 1e-7;  // where the other run is golden's equal
  if (from_golden == nullptr) return between;
  const auto at_most = [](double apart, double as_far, double least) {
    return std::min(apart, std::max(as_far, least));
  };
  return {at_most(between.rel_l2, kAsFar * from_golden->rel_l2, kLeast),
          at_most(between.max_abs, kAsFar * from_golden->max_abs, kLeast * between.max_abs)};
}

}  // namespace

Result<std::shared_ptr<const NoiseTable>> measure_noise(const std::vector<std::string>& further_runs,
                                                        const CompareRequest& request) {
  auto table = std::make_shared<NoiseTable>();
  for (const std::string& path : further_runs) {
    std::error_code ignored;
    if (fs::equivalent(path, request.golden, ignored))
      return fail(ErrorKind::bad_argument, "--noise: {} is golden itself; a second run of mine is wanted",
                  printable(path));
    ASSAY_TRY(const ApartByName between, hold_against(path, request.mine, {}, request));
    ASSAY_TRY(const ApartByName from_golden, hold_against(path, request.golden, request.matching, request));
    for (const auto& [tensor, apart] : between) {
      const auto found = from_golden.find(tensor);
      table->add(tensor.first, apart.other,
                 floor_of(apart.by, found == from_golden.end() ? nullptr : &found->second.by));
    }
  }
  if (!further_runs.empty() && table->empty())
    return fail(ErrorKind::bad_argument, "--noise: {} has no tensor in common with {}, or no data",
                printable(further_runs.front()), display(request.mine));
  return table;
}

}  // namespace assay::cli
