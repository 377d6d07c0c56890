#include "assay/report/sentence_parts.h"

#include <fmt/format.h>

namespace assay {

std::string counted(int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string tensors(int64_t count) { return counted(count, "tensor", "tensors"); }

std::string joined(const std::vector<std::string>& clauses) {
  std::string out;
  for (const std::string& clause : clauses) out += (out.empty() ? "" : "; ") + clause;
  return out;
}

std::string statistics_of(const Summary& summary, std::string_view tensors) {
  const auto others = static_cast<StatisticSet>(summary.statistics & ~summary.shared_statistics);
  if (others == 0) return fmt::format("{}{}", names_of(summary.shared_statistics), tensors);
  if (summary.shared_statistics == 0) return fmt::format("{} of some{}", names_of(others), tensors);
  return fmt::format("{}{}; {} of some", names_of(summary.shared_statistics), tensors, names_of(others));
}

void add_selection(std::string_view selection, std::string& rest) {
  if (selection.empty()) return;
  const bool has_brackets = rest.ends_with(").");
  rest.resize(rest.size() - (has_brackets ? 2 : 1));
  rest += fmt::format("{}only what {} leaves).", has_brackets ? "; " : " (", selection);
}

}  // namespace assay
