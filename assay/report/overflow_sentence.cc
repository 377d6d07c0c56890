#include "assay/report/sentence_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace assay {
namespace {

// "; 3 were not looked at; 1 has no elements"
std::string what_is_left(const Summary& summary) {
  const int64_t empty = summary.rows_by(Evidence::empty);
  const int64_t not_looked_at = summary.of_mine - summary.compared - summary.broken;
  const int64_t set_aside = summary.rows - summary.arguments - summary.of_mine - empty;
  std::string out;
  if (not_looked_at > 0) out += fmt::format("; {} not looked at", counted(not_looked_at, "was", "were"));
  if (empty > 0) out += fmt::format("; {} no elements", counted(empty, "has", "have"));
  if (set_aside > 0)
    out += fmt::format("; {} left aside (by a rule, or dumped before anything was written to {})",
                       counted(set_aside, "was", "were"), set_aside == 1 ? "it" : "them");
  return out;
}

// What was seen of those that were looked at, where it was not every element; empty: it was.
std::string what_was_seen(const Summary& summary) {
  std::vector<std::string> ways;
  if (const int64_t count = summary.rows_by(Evidence::statistics); count > 0)
    ways.push_back(
        fmt::format("of {} only statistics were seen ({}), which do not tell how many elements, nor which",
                    count, statistics_of(summary, "")));
  if (const int64_t count = summary.rows_by(Evidence::extremes); count > 0)
    ways.push_back(fmt::format("of {} only the smallest and the largest element were seen", count));
  return joined(ways);
}

VerdictSentence all_finite(const Summary& summary) {
  std::string left = what_is_left(summary);
  const int64_t allowed = summary.nonfinite_allowed;
  const std::string_view are = allowed > 0 ? "pass" : "are finite", is = allowed > 0 ? "passes" : "is finite";
  const std::string finite =
      summary.compared == 1 ? fmt::format("the tensor {}", is)
      : left.empty()        ? fmt::format("all {} {}", tensors(summary.compared), are)
                            : fmt::format("all {} that were looked at {}", tensors(summary.compared), are);
  if (allowed > 0)
    left =
        fmt::format("; {} NaN or infinities, which a rule allows{}", counted(allowed, "holds", "hold"), left);
  if (summary.rows_by(Evidence::statistics) == summary.compared)
    return {Answer::pass, "PASS by statistics only:",
            fmt::format("{} as far as they tell ({}); elements were not looked at{}.", finite,
                        statistics_of(summary, ""), left)};
  const std::string seen = what_was_seen(summary);
  return {Answer::pass, "PASS:", fmt::format("{}{}{}.", finite, seen.empty() ? "" : "; " + seen, left)};
}

VerdictSentence too_little(const Summary& summary) {
  VerdictSentence out{Answer::not_compared, "NOT LOOKED AT:", ""};
  if (summary.of_mine == 0) {
    out.rest = summary.rows == 0 ? "there are no tensors." : "no tensor has elements that were written.";
  } else if (summary.compared == 0) {
    out.rest =
        fmt::format("the dump has neither the data of {} nor statistics that tell.",
                    summary.of_mine == 1 ? "its tensor" : fmt::format("any of {}", tensors(summary.of_mine)));
  } else {
    out.rest = fmt::format("{} of {} {} looked at, which {} finite (a pass needs {:g} %).", summary.compared,
                           tensors(summary.of_mine), summary.compared == 1 ? "was" : "were",
                           summary.compared == 1 ? "is" : "are", 100 * summary.least_compared);
  }
  return out;
}

VerdictSentence not_all_finite(const Summary& summary, Answer answer) {
  std::vector<std::string> clauses;
  const auto add = [&](int64_t count, std::string_view one, std::string_view many) {
    if (count == 0) return;
    clauses.push_back(
        clauses.empty() ? fmt::format("{} of {} {}", count, tensors(summary.of_mine), count == 1 ? one : many)
                        : counted(count, one, many));
  };
  add(summary.nonfinite, "holds NaN or infinities", "hold NaN or infinities");
  add(summary.differ - summary.nonfinite - summary.nonfinite_made, "breaks a rule", "break a rule");
  add(summary.broken, "could not be looked at", "could not be looked at");
  if (summary.nonfinite_made > 0)
    clauses.push_back(fmt::format(
        "{} NaN or infinite",
        counted(summary.nonfinite_made, "result that is a number is", "results that are numbers are")));
  if (const int64_t parts = summary.errors - summary.broken; parts > 0)
    clauses.push_back(counted(parts, "part", "parts") + " of the dump could not be read");
  const std::string seen = what_was_seen(summary);
  return {answer, answer == Answer::error ? "ERROR:" : "FAIL:",
          fmt::format("{}{}{}.", joined(clauses), seen.empty() ? "" : "; " + seen, what_is_left(summary))};
}

}  // namespace

VerdictSentence overflow_sentence(const Summary& summary) {
  const Answer answer = answer_of(summary);
  VerdictSentence out = answer == Answer::pass           ? all_finite(summary)
                        : answer == Answer::not_compared ? too_little(summary)
                                                         : not_all_finite(summary, answer);
  add_selection(summary.selection, out.rest);
  if (summary.nonfinite_given > 0)
    out.rest += fmt::format(
        " {} NaN or infinite.",
        counted(summary.nonfinite_given, "argument that is a number is", "arguments that are numbers are"));
  if (summary.values_nonfinite > 0)
    out.rest +=
        fmt::format(" {} beside the tensors {} NaN or infinite ({}{}).",
                    counted(summary.values_nonfinite, "value", "values"),
                    summary.values_nonfinite == 1 ? "is" : "are", fmt::join(summary.other_values, ", "),
                    summary.values_nonfinite > std::ssize(summary.other_values) ? ", …" : "");
  if (summary.left_out > 0)
    out.rest += fmt::format(" {} left out; warnings and notes say what.",
                            counted(summary.left_out, "thing in the dump was", "things in the dump were"));
  return out;
}

}  // namespace assay
