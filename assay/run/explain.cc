#include "assay/run/explain.h"

#include "assay/base/text.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace assay {
namespace {

constexpr int64_t kLargestRows = int64_t{4} << 30;
constexpr size_t kNamed = 5;   // where nothing has the name, or several things have
constexpr size_t kLinks = 12;  // of a chain that are shown

struct GivenInput {
  std::string name;
  double error = 0, gain = 0;
  bool is_estimate = false;
  double brings() const { return error * gain; }
};

struct ReportedAccount {
  std::string by, from;
  std::optional<double> allowed, own, inherited;
  std::vector<GivenInput> inputs;
  bool lacks_inputs = false;
};

struct ReportedRow {
  std::string section, node, mine, golden, verdict, reason;
  std::optional<double> error;
  std::optional<ReportedAccount> account;
};

std::optional<double> number_of_member(const JsonTape& tape, size_t object, std::string_view key) {
  const size_t at = tape.find(object, key);
  if (at == 0) return std::nullopt;
  if (tape.kind(at) == JsonKind::real) return tape.real(at);
  if (tape.kind(at) == JsonKind::integer) return static_cast<double>(tape.integer(at));
  return std::nullopt;
}

std::string text_of_member(const JsonTape& tape, size_t object, std::string_view key) {
  const size_t at = tape.find(object, key);
  return at != 0 && tape.is_text(at) ? std::string(tape.text(at)) : std::string();
}

bool is_true(const JsonTape& tape, size_t object, std::string_view key) {
  const size_t at = tape.find(object, key);
  return at != 0 && tape.kind(at) == JsonKind::boolean && tape.boolean(at);
}

ReportedAccount read_account(const JsonTape& tape, size_t object) {
  ReportedAccount account{text_of_member(tape, object, "by"),          text_of_member(tape, object, "from"),
                          number_of_member(tape, object, "allowed"),   number_of_member(tape, object, "own"),
                          number_of_member(tape, object, "inherited"), {},
                          is_true(tape, object, "lacks_inputs")};
  if (const size_t inputs = tape.find(object, "inputs"); inputs != 0 && tape.kind(inputs) == JsonKind::array)
    for (size_t at = tape.first(inputs); !tape.is_end(at); at = tape.next(at))
      if (tape.kind(at) == JsonKind::object)
        account.inputs.push_back(
            {text_of_member(tape, at, "name"), number_of_member(tape, at, "error").value_or(0),
             number_of_member(tape, at, "gain").value_or(0), is_true(tape, at, "estimated")});
  return account;
}

class ReportedRows {
 public:
  Result<void> read(const fs::path& report) {
    ASSAY_TRY(const auto file, File::open(report));
    bool has_rows = false;
    const auto use = [&](const JsonMember& member) -> Result<bool> {
      if (member.key != "rows" || member.value.kind(0) != JsonKind::array) return true;
      has_rows = true;
      for (size_t at = member.value.first(0); !member.value.is_end(at); at = member.value.next(at))
        if (member.value.kind(at) == JsonKind::object) add(member.value, at);
      return false;
    };
    ASSAY_TRY_DO(read_json_members(*file, "", kLargestRows, use));
    if (!has_rows)
      return fail(ErrorKind::bad_argument,
                  "{}: no report of rows; 'assay compare … --report json' writes one", display(report));
    return {};
  }

  // The row that a user means: a tensor; or what an operator gave, the one that fails first.
  Result<const ReportedRow*> find(std::string_view name) const {
    const ReportedRow* found = nullptr;
    for (const ReportedRow& row : rows_) {
      const bool is_named = row.mine == name || row.golden == name;
      const bool is_output = row.node == name && row.account && row.account->by == "inputs";
      if (!is_named && !is_output) continue;
      if (found == nullptr || (found->verdict != "fail" && row.verdict == "fail")) found = &row;
    }
    if (found != nullptr) return found;
    std::string alike;
    size_t count = 0;
    for (const ReportedRow& row : rows_) {
      if (row.mine.find(name) == std::string::npos && row.golden.find(name) == std::string::npos) continue;
      if (++count <= kNamed)
        alike += (count > 1 ? ", " : "") + printable(row.mine.empty() ? row.golden : row.mine);
    }
    if (count > kNamed) alike += fmt::format(", and {} more", count - kNamed);
    return fail(ErrorKind::not_found, "no row of the report is called '{}'{}", printable(name),
                alike.empty() ? "" : "; these have it in their names: " + alike);
  }

  const ReportedRow* of(const std::string& section, const std::string& mine) const {
    const auto found = by_name_.find(section + '\n' + mine);
    return found == by_name_.end() ? nullptr : &rows_[found->second];
  }

 private:
  void add(const JsonTape& tape, size_t object) {
    ReportedRow row{text_of_member(tape, object, "section"),  text_of_member(tape, object, "name"),
                    text_of_member(tape, object, "mine"),     text_of_member(tape, object, "golden"),
                    text_of_member(tape, object, "verdict"),  text_of_member(tape, object, "reason"),
                    number_of_member(tape, object, "rel_l2"), {}};
    if (const size_t account = tape.find(object, "account");
        account != 0 && tape.kind(account) == JsonKind::object)
      row.account = read_account(tape, account);
    by_name_.emplace(row.section + '\n' + row.mine, rows_.size());
    rows_.push_back(std::move(row));
  }

  std::vector<ReportedRow> rows_;
  std::unordered_map<std::string, size_t> by_name_;
};

std::string error_text(const std::optional<double>& error) {
  return error ? fmt::format("{:.3g}", *error) : std::string("not known");
}

void append_basis(std::string& out, const ReportedAccount& account) {
  if (account.by == "known")
    out += fmt::format("  it is {}, and judged as that was\n", printable(account.from));
  else if (account.by == "depth")
    out += "  what it was computed from was not compared: the layers before it decide\n";
  else if (account.by == "largest so far")
    out += "  nothing that was compared made it: the errors of the run before it decide\n";
  else if (account.by == "type")
    out += "  nothing computed it, or nothing is known of that: its type decides\n";
  if (account.lacks_inputs) out += "  not all of its inputs were compared: what depth allows is allowed\n";
}

void append_account(std::string& out, const ReportedAccount& account) {
  append_basis(out, account);
  if (account.by != "inputs") return;
  out += fmt::format("  expected: {} of its own rounding, {} of its inputs\n", error_text(account.own),
                     error_text(account.inherited));
  if (account.inputs.empty()) return;
  out += fmt::format("  {:>10}  {:>8}  {:>12}  input\n", "error", "gain", "brings along");
  for (const GivenInput& input : account.inputs)
    out += fmt::format("  {:>10.3g}  {:>8.3g}  {:>12.3g}  {}{}\n", input.error, input.gain, input.brings(),
                       printable(input.name), input.is_estimate ? " (estimated: it was not compared)" : "");
}

// The input that brings along most; null: what the operator rounds by itself is more.
const GivenInput* heaviest(const ReportedAccount& account) {
  const auto most = std::ranges::max_element(account.inputs, {}, &GivenInput::brings);
  if (most == account.inputs.end() || most->brings() <= 0 || most->brings() < account.own.value_or(0))
    return nullptr;
  return &*most;
}

struct Link {
  const ReportedRow* row;
  std::string why_last = {};
};

// From a row back to where the largest part of its error began.
std::vector<Link> chain_of(const ReportedRows& rows, const ReportedRow& start) {
  std::vector<Link> chain;
  std::unordered_set<const ReportedRow*> seen;
  const ReportedRow* row = &start;
  while (true) {
    if (!seen.insert(row).second) {
      chain.back().why_last = "the report leads in a circle";
      return chain;
    }
    chain.push_back({row});
    std::string& why = chain.back().why_last;
    if (!row->account) {
      why = "nothing is known of what made it";
      return chain;
    }
    const ReportedAccount& account = *row->account;
    std::string next = account.from;
    if (account.by == "inputs") {
      const GivenInput* const input = heaviest(account);
      const bool is_made_here =
          row->verdict == "fail" && std::ranges::none_of(account.inputs, [&](const GivenInput& each) {
            const ReportedRow* const given = rows.of(row->section, each.name);
            return given != nullptr && given->verdict == "fail";
          });
      if (is_made_here) {
        why = "it fails and its inputs do not: the error was made here";
        return chain;
      }
      if (input == nullptr) {
        why = "its own rounding is most of it: it begins here";
        return chain;
      }
      next = input->name;
      if (rows.of(row->section, next) == nullptr) {
        why = fmt::format("most of it comes from {}, of which nothing was compared", printable(next));
        return chain;
      }
    } else if (account.by != "known") {
      why = "nothing before it was compared";
      return chain;
    }
    const ReportedRow* const before = rows.of(row->section, next);
    if (before == nullptr || before == row) {
      why = "nothing before it was compared";
      return chain;
    }
    row = before;
  }
}

void append_chain(std::string& out, const std::vector<Link>& chain) {
  if (chain.size() < 2) {
    out += fmt::format("Where it began: {}\n", chain.front().why_last);
    return;
  }
  out += "Where it came from, step by step:\n";
  const size_t left_out = chain.size() > kLinks ? chain.size() - kLinks : 0;
  for (size_t i = 0; i < chain.size(); ++i) {
    if (left_out > 0 && i == kLinks / 2) {
      out += fmt::format("  … {} more\n", left_out);
      i += left_out;
    }
    const ReportedRow& row = *chain[i].row;
    out += fmt::format("  {:>10}  {:<7} {}\n", error_text(row.error), row.verdict,
                       printable(row.mine.empty() ? row.golden : row.mine));
  }
  out += fmt::format("  {}\n", chain.back().why_last);
}

}  // namespace

Result<std::string> explain(const fs::path& report, std::string_view name) {
  ReportedRows rows;
  ASSAY_TRY_DO(rows.read(report));
  ASSAY_TRY(const ReportedRow* const row, rows.find(name));
  std::string out =
      fmt::format("{}{} ({}): {}\n", row->section.empty() ? "" : fmt::format("[{}] ", row->section),
                  printable(row->mine.empty() ? row->golden : row->mine), printable(row->node), row->verdict);
  if (!row->reason.empty()) out += fmt::format("  {}\n", printable(row->reason));
  if (!row->account) {
    out += "  the report has no account of it: its type and the numbers of the row decide (docs/rules.md)\n";
    return out;
  }
  out += fmt::format("  rel_l2 {} measured, {} allowed\n", error_text(row->error),
                     error_text(row->account->allowed));
  if (row->verdict == "pass" && row->error && row->account->allowed && *row->error > *row->account->allowed)
    out += "  it passes by steps: no element is more than a few steps of its type off\n";
  append_account(out, *row->account);
  append_chain(out, chain_of(rows, *row));
  return out;
}

}  // namespace assay
