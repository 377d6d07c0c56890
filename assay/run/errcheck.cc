#include "assay/run/errcheck.h"

#include "assay/match/by_itself.h"
#include "assay/metric/number_range.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace assay {

Result<void> check_numbers(CompareRequest& request) {
  request.golden.clear();
  request.question = Question::overflow;
  request.matching.given = by_itself_matcher();
  request.rule_set = &overflow_rules;
  request.add_stated_columns = false;
  request.open.format.values = true;
  const std::vector<std::string> all = {"range"};
  ASSAY_TRY(request.metrics, plan_metrics(all, range_metrics()));
  request.shown_columns = request.metrics.columns;
  for (const Rule& rule : request.rules.rules)
    if (rule.expression)
      for (const std::string& name : rule.expression->names())
        if (name != "count" &&
            std::ranges::find(request.metrics.columns, name) == request.metrics.columns.end())
          return fail(ErrorKind::bad_argument, "in a rule: '{}' is no column; there are count, {}", name,
                      fmt::join(request.metrics.columns, ", "));
  return {};
}

}  // namespace assay
