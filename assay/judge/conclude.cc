// Findings over all nodes.
#include "assay/judge/judge.h"

#include <fmt/format.h>

namespace assay {
namespace {

std::string one_of(const Comparison& row) {
  return std::string(row.mine.name.empty() ? row.golden.name : row.mine.name);
}

}  // namespace

void Findings::broken(const Error& error) {
  ++summary_.errors;
  if (!summary_.first_error)
    summary_.first_error = section_.empty() ? error.message : fmt::format("{}: {}", section_, error.message);
}

void Findings::add(const NodeResult& node) {
  for (const Comparison& row : node.rows) {
    ++summary_.rows;
    if (row.status == Status::compared) ++summary_.compared;
    if (row.status == Status::only_mine || row.status == Status::only_golden) ++summary_.unmatched;
    switch (row.verdict.level) {
      case Level::pass:
        ++summary_.passed;
        break;
      case Level::ignored:
        ++summary_.ignored;
        break;
      case Level::fail:
        note_failure(node, row);
        break;
      case Level::error:
        ++summary_.errors;
        if (!summary_.first_error)
          summary_.first_error = fmt::format("{}: {}", one_of(row), row.verdict.reason);
        break;
    }
  }
}

void Findings::note_failure(const NodeResult& node, const Comparison& row) {
  ++summary_.failed;
  if (summary_.first_divergence && node.order >= first_order_) return;
  first_order_ = node.order;
  Place& place = summary_.first_divergence.emplace();
  place.section = section_;
  place.node = std::string(node.name);
  place.mine = std::string(row.mine.name);
  place.golden = std::string(row.golden.name);
  place.row = row;
  // The names belong to a frame that is gone when the run concludes.
  place.row.mine.name = {};
  place.row.golden.name = {};
}

}  // namespace assay
