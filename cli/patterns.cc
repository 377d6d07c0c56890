#include "cli/patterns.h"

#include "assay/base/text.h"
#include "assay/support/log.h"
#include "cli/commands.h"
#include "cli/run_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace assay::cli {
namespace {

std::string suggested(const std::string& meant) {
  return meant.empty() ? std::string() : fmt::format("; did you mean '{}'?", printable(meant));
}

void warn_of(std::string_view flag, const std::vector<std::string>& patterns,
             const std::vector<std::atomic<bool>>& used, const std::vector<std::string>& meant) {
  for (size_t i = 0; i < patterns.size(); ++i)
    if (!used[i]) log::warn("{}: '{}' fits no tensor{}", flag, printable(patterns[i]), suggested(meant[i]));
}

// Writes nothing: it looks at the rows that go by.
class RuleWatch : public Sink {
 public:
  explicit RuleWatch(const std::vector<Rule>& rules) {
    for (const Rule& rule : rules) waiting_.push_back({rule.pattern, {}});
  }
  Result<void> begin(const Head&) override { return {}; }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view, std::span<const NodeResult> nodes, std::string&&) override {
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows)
        for (const std::string_view name : {row.mine.name, row.golden.name, node.name}) {
          std::erase_if(waiting_, [&](const Waiting& each) { return glob_match(each.pattern, name); });
          for (Waiting& each : waiting_)
            if (each.meant.empty()) each.meant = pattern_meant(each.pattern, name);
        }
    return {};
  }
  Result<void> end(const Summary& summary) override {
    if (summary.rows == 0) return {};  // which is said already
    for (const Waiting& each : waiting_)
      log::warn("the rule for '{}' fits no row{}", printable(each.pattern), suggested(each.meant));
    return {};
  }

 private:
  struct Waiting {
    std::string pattern, meant;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace

Result<void> choose_tensors(const std::vector<std::string>& only, const std::vector<std::string>& skip,
                            OpenOptions& open) {
  ASSAY_TRY(open.only, parse_patterns("--only", only));
  ASSAY_TRY(open.skip, parse_patterns("--skip", skip));
  open.used = std::make_shared<PatternsUsed>(open.only.size(), open.skip.size());
  return {};
}

void warn_of_patterns_in_vain(const OpenOptions& open) {
  if (!open.used) return;
  warn_of("--only", open.only, open.used->only, open.used->only_meant);
  warn_of("--skip", open.skip, open.used->skip, open.used->skip_meant);
}

std::unique_ptr<Sink> watch_rules(const std::vector<Rule>& rules) {
  return std::make_unique<RuleWatch>(rules);
}

std::string selection_text(const std::vector<std::string>& only, const std::vector<std::string>& skip) {
  return given_text({{"--only", only}, {"--skip", skip}});
}

}  // namespace assay::cli
