#include "assay/report/verdict_sentence.h"

#include "assay/report/sentence_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace assay {
namespace {

bool is_of_operators(const Summary& summary) { return summary.question == Question::operators; }

std::string items(const Summary& summary, int64_t count) {
  return is_of_operators(summary) ? counted(count, "output", "outputs") : tensors(count);
}

// Values fail all together, where the user asks for it: those that differ, and those without a partner.
void add_values(const Summary& summary, std::vector<std::string>& clauses) {
  const int64_t alone = std::min(summary.values_alone, summary.values_failed);
  const int64_t differ = summary.values_failed - alone;
  const auto beside = [](int64_t count) {
    return counted(count, "value", "values") + " beside the tensors ";
  };
  if (differ > 0) clauses.push_back(beside(differ) + (differ == 1 ? "differs" : "differ"));
  if (alone > 0)
    clauses.push_back((differ > 0 ? fmt::format("{} ", alone) : beside(alone)) + (alone == 1 ? "is" : "are") +
                      " on one side only");
}

// What the rows that do not pass have against them: "3 of 120 tensors differ beyond tolerance; 1 unmatched".
std::vector<std::string> faults(const Summary& summary) {
  std::vector<std::string> clauses;
  // The first clause says of how many.
  const std::string all =
      fmt::format("{}{}", items(summary, summary.rows), summary.arguments > 0 ? " and arguments" : "");
  const auto add = [&](int64_t count, std::string_view one, std::string_view many) {
    if (count == 0) return;
    clauses.push_back(clauses.empty() ? fmt::format("{} of {} {}", count, all, count == 1 ? one : many)
                                      : counted(count, one, many));
  };
  add(summary.broken, "could not be compared", "could not be compared");
  if (is_of_operators(summary))
    add(summary.differ, "is not what its operator should have given",
        "are not what their operators should have given");
  else
    add(summary.differ, "differs beyond tolerance", "differ beyond tolerance");
  add(summary.contradicted, "agrees with one that names or other layers deny",
      "agree with one that names or other layers deny");
  add(summary.incomplete, "lacks a share that a rank should hold", "lack a share that a rank should hold");
  add(summary.misshapen, "has another shape", "have another shape");
  add(summary.without_data, "has no data", "have no data");
  add(summary.alone, "unmatched", "unmatched");
  // An error that no row tells of is a section (a rank, a step) that could not be opened.
  if (const int64_t parts = summary.errors - summary.broken; parts > 0)
    clauses.push_back(counted(parts, "part", "parts") + " of the dump could not be read");
  if (summary.values_failed > 0) add_values(summary, clauses);
  return clauses;
}

// An infinite extreme agrees with another one, and shows nothing.
std::string with_infinite_extremes(const Summary& summary, std::string_view text) {
  const int64_t count = summary.by_one_extreme;
  return count == 0 ? std::string(text) : fmt::format("{}, of {} of which only one is finite", text, count);
}

// Rows whose elements were not all compared, by what they were compared by instead.
std::vector<std::string> weaker(const Summary& summary) {
  std::vector<std::string> clauses;
  const auto add = [&](Evidence evidence, std::string_view how) {
    if (const int64_t count = summary.rows_by(evidence); count > 0)
      clauses.push_back(fmt::format("{} by {}", count, how));
  };
  add(Evidence::checksum, "checksum");
  add(Evidence::parity, "XOR only (which does not see the order of elements)");
  add(Evidence::statistics,
      fmt::format("statistics only ({}; elements were not compared)", statistics_of(summary, "")));
  add(Evidence::extremes, with_infinite_extremes(summary, "the smallest and the largest element only"));
  add(Evidence::some_elements, "some positions only");
  add(Evidence::one_rank, "one rank only (what the others hold was not compared)");
  add(Evidence::finite_elements, "finite elements only (others are NaN or infinite)");
  return clauses;
}

std::string not_compared(const Summary& summary) {
  const int64_t empty = summary.rows_by(Evidence::empty);
  const int64_t count = summary.rows - summary.compared - empty + summary.not_dumped;
  std::string out =
      count == 0 ? "" : fmt::format("; {} not {}", count, is_of_operators(summary) ? "checked" : "compared");
  if (empty > 0) out += fmt::format("; {} no elements", counted(empty, "has", "have"));
  return out;
}

// Everything that was compared was compared in the same, weaker way.
struct OneWay {
  Evidence evidence;
  std::string_view how;  // behind "PASS" and "Compared"
  std::string what;
};

std::optional<OneWay> one_way(const Summary& summary) {
  const int64_t compared = summary.compared - summary.rows_by(Evidence::value);
  const OneWay ways[] = {
      {Evidence::statistics, "by statistics only",
       fmt::format("{}; elements were not compared", statistics_of(summary, " of " + tensors(compared)))},
      {Evidence::checksum, "by checksum", fmt::format("of {}; elements were not read", tensors(compared))},
      {Evidence::parity, "by XOR only",
       fmt::format("of {}; their order was not seen, and elements were not read", tensors(compared))},
      {Evidence::extremes, "by extremes only",
       with_infinite_extremes(summary, "max, min of " + tensors(compared)) +
           "; other elements were not compared"},
      {Evidence::some_elements, "by some positions only",
       fmt::format("of {}; other positions were not compared", tensors(compared))},
      {Evidence::one_rank, "by one rank only",
       fmt::format("of {}; what the others hold was not compared", tensors(compared))},
      {Evidence::finite_elements, "by finite elements only",
       fmt::format("of {}; others are NaN or infinite", tensors(compared))}};
  for (const OneWay& way : ways)
    if (compared > 0 && summary.rows_by(way.evidence) == compared) return way;
  return std::nullopt;
}

VerdictSentence pass(const Summary& summary) {
  const int64_t values = summary.rows_by(Evidence::value);
  const std::string arguments =
      values == 0 ? "" : fmt::format("; {} equal", counted(values, "argument is", "arguments are"));
  if (const auto way = one_way(summary))
    return {Answer::pass, fmt::format("PASS {}", way->how),
            fmt::format("({}{}{}).", way->what, arguments, not_compared(summary))};
  const std::vector<std::string> ways = weaker(summary);
  const int64_t agreeing = summary.compared - values;
  if (agreeing == 0) return {Answer::pass, "PASS:", arguments.substr(2) + not_compared(summary) + "."};
  if (is_of_operators(summary)) {
    std::string text =
        agreeing == 1
            ? "the one checked output is what its operator should have given"
            : fmt::format("all {} checked outputs are what their operators should have given", agreeing);
    if (!ways.empty()) text += fmt::format("; {}", joined(ways));
    return {Answer::pass, "PASS:", text + not_compared(summary) + "."};
  }
  std::string text = summary.rows == 1 ? "the tensors agree"
                     : agreeing == 1   ? "the one compared tensor agrees"
                     : summary.compared == summary.rows
                         ? fmt::format("all {} tensors agree", agreeing)
                         : fmt::format("all {} compared tensors agree", agreeing);
  if (!ways.empty()) text += fmt::format("; {}", joined(ways));
  return {Answer::pass, "PASS:", text + arguments + not_compared(summary) + "."};
}

}  // namespace

VerdictSentence not_enough_sentence(const Summary& summary) {
  const std::string_view kHead = is_of_operators(summary) ? "NOT CHECKED:" : "NOT COMPARED:";
  if (summary.rows == 0)
    return {Answer::not_compared, std::string(kHead),
            is_of_operators(summary) ? "there are no operators with outputs." : "there are no tensors."};
  if (is_of_operators(summary) && summary.compared == 0)
    return {Answer::not_compared, std::string(kHead),
            fmt::format("none of {} could be checked; notes say why.", items(summary, summary.rows))};
  const Coverage coverage = coverage_of(summary);
  if (summary.rows_by(Evidence::empty) == summary.rows)
    return {Answer::not_compared, std::string(kHead),
            fmt::format("{} no elements.", summary.rows == 1 ? "the tensors have" : "all tensors have")};
  if (coverage.compared == 0 && summary.unmatched == summary.rows)
    return {Answer::not_compared, std::string(kHead),
            fmt::format("none of {} has a counterpart.", tensors(summary.rows))};
  if (summary.by_own_input > 0 && coverage.compared == 0)
    return {Answer::not_compared, std::string(kHead), "no tensor was held against one of golden."};
  if (coverage.of == 0)
    return {Answer::not_compared, std::string(kHead),
            "no tensor has elements, and no argument has a value to compare."};
  const std::string_view side = summary.of_mine >= summary.of_golden ? "mine" : "golden";
  std::string text = fmt::format("{} of {} of {} {} compared", coverage.compared, tensors(coverage.of), side,
                                 coverage.compared == 1 || coverage.of == 1 ? "was" : "were");
  if (const int64_t empty = summary.rows_by(Evidence::empty); empty > 0)
    text += fmt::format("; {} no elements", counted(empty, "has", "have"));
  if (summary.unmatched > 0)
    text += fmt::format("; {} no counterpart", counted(summary.unmatched, "has", "have"));
  if (coverage.compared > 0)  // the commands of other tools have no such flag
    text += fmt::format(" (a pass needs {:g} %{})", 100 * summary.least_compared,
                        summary.judged_by.empty() ? "; --min-compared sets it" : "");
  return {Answer::not_compared, std::string(kHead), text + "."};
}

namespace {

// Numbers and text that files hold beside their tensors, where they do not decide.
std::string other_values(const Summary& summary) {
  std::vector<std::string> clauses;
  const auto beside = [&](int64_t count, std::string_view is, std::string_view are, std::string_view what) {
    clauses.push_back(fmt::format(
        "{}{} {}", clauses.empty() ? counted(count, "value", "values") : std::to_string(count),
        clauses.empty() ? " beside the tensors" : "", fmt::format("{}{}", count == 1 ? is : are, what)));
  };
  const bool are_told = summary.values_failed > 0;  // those that differ, among what failed
  if (summary.values_differ > 0 && !are_told)
    beside(summary.values_differ, "differs", "differ",
           fmt::format(" ({}{})", fmt::join(summary.other_values, ", "),
                       summary.values_differ > std::ssize(summary.other_values) ? ", …" : ""));
  if (summary.values_alone > 0 && !are_told) beside(summary.values_alone, "is", "are", " on one side only");
  if (summary.values_nonfinite > 0)
    beside(summary.values_nonfinite, "is", "are", " NaN or infinite on both sides, which shows nothing");
  return clauses.empty() ? "" : fmt::format(" {}.", joined(clauses));
}

// Whole rules, as many as a sentence can bear.
std::string the_first_of(const std::string& rules) {
  constexpr size_t kMost = 80;
  if (rules.size() <= kMost) return rules;
  const size_t end = rules.rfind("; ", kMost);
  return end == std::string::npos ? rules.substr(0, rules.find("; ")) + "; …" : rules.substr(0, end) + "; …";
}

}  // namespace

VerdictSentence verdict_sentence(const Summary& summary) {
  if (summary.question == Question::overflow) return overflow_sentence(summary);
  const Answer answer = answer_of(summary);
  VerdictSentence out{answer, {}, {}};
  if (answer == Answer::pass) {
    out = pass(summary);
    if (summary.unsure > 0 && out.head.ends_with(':'))
      out.head = fmt::format("PASS, but unsure of {}:", counted(summary.unsure, "pair", "pairs"));
    if (!summary.rules.empty())
      out.head.insert(out.head.ends_with(':') ? std::string_view("PASS").size() : out.head.size(),
                      fmt::format(" under your rules ({})", the_first_of(summary.rules)));
    add_selection(summary.selection, out.rest);
  } else if (answer == Answer::not_compared) {
    out = not_enough_sentence(summary);
    add_selection(summary.selection, out.rest);
  } else {
    out.head = answer == Answer::error ? "ERROR:" : "FAIL:";
    out.rest = joined(faults(summary)) + ".";
    add_selection(summary.selection, out.rest);
    if (const auto way = one_way(summary))
      out.rest += fmt::format(" Compared {} ({}).", way->how, way->what);
    else if (const std::vector<std::string> ways = weaker(summary); !ways.empty())
      out.rest += fmt::format(" Of {} compared, {}.", summary.compared, joined(ways));
    if (summary.ignored > 0)
      out.rest += fmt::format(" {} not {}.", counted(summary.ignored, "other was", "others were"),
                              is_of_operators(summary) ? "checked" : "compared");
  }
  if (!summary.judged_by.empty() && answer != Answer::not_compared)
    out.rest += fmt::format(" Judged by the rules of {}, not by assay's own.", summary.judged_by);
  if (summary.judged_coarser > 0)
    out.rest += fmt::format(" {} by the tolerance of a coarser type, whose values one side holds.",
                            counted(summary.judged_coarser, "row was judged", "rows were judged"));
  if (summary.flips > 0)
    out.rest += fmt::format(" {} by a flip: candidates were closer to each other than rounding.",
                            counted(summary.flips, "row differs", "rows differ"));
  if (summary.follow_flips > 0)
    out.rest += fmt::format(" {} from a flip and cannot be held against each other.",
                            counted(summary.follow_flips, "row follows", "rows follow"));
  if (summary.within_noise > 0)
    out.rest += fmt::format(" {} only since --noise allows as much.",
                            counted(summary.within_noise, "row passes", "rows pass"));
  if (summary.introduced > 0)
    out.rest +=
        fmt::format(" {} with an error that no rounding of the operator explains{}.",
                    counted(summary.introduced, "row passes", "rows pass"),
                    summary.first_introduced ? fmt::format(" (first: {})", summary.first_introduced->node)
                                             : std::string("; notes say which"));
  if (summary.by_own_input > 0)
    out.rest += fmt::format(
        " {} only, not against golden.",
        counted(summary.by_own_input,
                "tensor was held against what its operator was given, which changes type or layout",
                "tensors were held against what their operators were given, which change type or layout"));
  if (summary.by_content > 0)
    out.rest += fmt::format(
        " {} by content, since no names told{}.",
        counted(summary.by_content, "pair was found", "pairs were found"),
        summary.unsure == 0 ? "" : fmt::format("; {} unsure, as their notes say", summary.unsure));
  else if (summary.unsure > 0)
    out.rest +=
        fmt::format(" {} unsure, as their notes say.", counted(summary.unsure, "pair is", "pairs are"));
  if (summary.cut > 0)
    out.rest +=
        fmt::format(" {} cut from others or joined of them (shares of ranks, fused ones); notes say how.",
                    counted(summary.cut, "tensor is", "tensors are"));
  if (summary.rearranged > 0)
    out.rest +=
        fmt::format(" {} in another shape or order (transposed, ...), which the data told; notes say how.",
                    counted(summary.rearranged, "tensor lies", "tensors lie"));
  if (summary.other_type > 0)
    out.rest += fmt::format(" {} of another type than other ranks hold of the same; notes say which.",
                            counted(summary.other_type, "tensor is", "tensors are"));
  if (summary.other_rank > 0)
    out.rest += fmt::format(" {} ranks of different numbers.",
                            counted(summary.other_rank, "pair is of", "pairs are of"));
  out.rest += other_values(summary);
  if (summary.left_out > 0)
    out.rest += fmt::format(" {} left out; warnings and notes say what.",
                            counted(summary.left_out, "thing in the dumps was", "things in the dumps were"));
  if (summary.stopped_early) out.rest += " Stopped at the first failure; the rest was not compared.";
  return out;
}

}  // namespace assay
