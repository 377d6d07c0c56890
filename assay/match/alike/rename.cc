#include "assay/match/alike/rename.h"

#include "assay/base/text.h"
#include "assay/match/keyed/name.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <atomic>
#include <unordered_map>

namespace assay {

constexpr size_t kLongestName = 1 << 16;

struct NameRules::Rule {
  Rule(Side which, std::string rule, const std::string& pattern, std::string with)
      : side(which), text(std::move(rule)), regex(pattern, RE2::Quiet), replacement(std::move(with)) {}

  Side side;
  std::string text;  // as the user wrote it, with the flag
  RE2 regex;
  std::string replacement;
  mutable std::atomic<bool> is_used{false};
};

struct NameRules::Prefix {
  explicit Prefix(std::string which) : text(std::move(which)) {}
  const std::string text;
  mutable std::atomic<bool> is_used{false};
};

NameRules::NameRules() = default;
NameRules::~NameRules() = default;
NameRules::NameRules(NameRules&&) noexcept = default;

Result<void> NameRules::add(Side side, std::string_view rule, std::string_view flag) {
  const size_t equals = rule.rfind('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(ErrorKind::bad_argument, "{} '{}': should be 'REGEX=TEXT', such as '^encoder\\.=layers.'",
                flag, printable(rule));
  auto made =
      std::make_unique<Rule>(side, fmt::format("{} '{}'", flag, printable(rule)),
                             std::string(rule.substr(0, equals)), std::string(rule.substr(equals + 1)));
  if (!made->regex.ok())
    return fail(ErrorKind::bad_argument, "{} '{}': {}", flag, printable(rule),
                printable(made->regex.error()));
  std::string why;
  if (!made->regex.CheckRewriteString(made->replacement, &why))
    return fail(ErrorKind::bad_argument, "{} '{}': {}", flag, printable(rule), printable(why));
  rules_.push_back(std::move(made));
  return {};
}

void NameRules::strip(std::string prefix) {
  prefixes_.push_back(std::make_unique<Prefix>(std::move(prefix)));
}

namespace {

// ^ is the beginning of the name that a tensor has in its file. What does not fit that may fit all of it.
bool replace_all(std::string& name, const RE2& regex, const std::string& replacement) {
  const size_t begin = begin_in_file(name);
  std::string own = name.substr(begin);
  if (begin > 0 && RE2::GlobalReplace(&own, regex, replacement) > 0) {
    name.replace(begin, std::string::npos, own);
    return true;
  }
  return RE2::GlobalReplace(&name, regex, replacement) > 0;
}

}  // namespace

Result<std::string> NameRules::apply(Side side, std::string_view name) const {
  std::string renamed(name);
  for (const auto& prefix : prefixes_)
    if (renamed.starts_with(prefix->text)) {
      renamed.erase(0, prefix->text.size());
      prefix->is_used = true;
    } else if (const size_t colon = renamed.find(':' + prefix->text); colon != std::string::npos) {
      renamed.erase(colon + 1, prefix->text.size());  // of a tensor in a file
      prefix->is_used = true;
    }
  for (const auto& rule : rules_) {
    if (rule->side != side || !replace_all(renamed, rule->regex, rule->replacement)) continue;
    rule->is_used = true;
    if (renamed.size() > kLongestName)
      return fail(ErrorKind::bad_argument, "{} makes a name of {} characters of '{}'", rule->text,
                  renamed.size(), printable(name));
  }
  return renamed;
}

std::vector<std::string> NameRules::unused() const {
  std::vector<std::string> unused;
  for (const auto& rule : rules_)
    if (!rule->is_used) unused.push_back(rule->text);
  for (const auto& prefix : prefixes_)
    if (!prefix->is_used) unused.push_back(fmt::format("--strip-prefix '{}'", printable(prefix->text)));
  return unused;
}

Result<void> join_renamed(PairingBuilder& builder, const NameRules& renames) {
  struct Named {
    size_t position;
    bool is_changed;
  };
  std::unordered_map<std::string_view, std::vector<Named>> golden;
  for (const Side side : {Side::mine, Side::golden})
    for (size_t i = 0; i < builder.size(side); ++i) {
      const std::string_view name = builder.name(side, i);
      ASSAY_TRY(std::string renamed, renames.apply(side, name));
      const bool is_changed = renamed != name;
      if (is_changed) builder.read_as(side, i, std::move(renamed));
      if (side == Side::golden) golden[builder.name_as_read(side, i)].push_back({i, is_changed});
    }
  for (size_t i = 0; i < builder.size(Side::mine); ++i) {
    const std::string_view renamed = builder.name_as_read(Side::mine, i);
    const auto found = golden.find(renamed);
    if (found == golden.end() || found->second.size() != 1) continue;
    const Named& partner = found->second[0];
    const bool is_changed = partner.is_changed || renamed != builder.name(Side::mine, i);
    if (!is_changed || builder.is_joined(Side::golden, partner.position)) continue;
    PairPlans plans;
    plans.note = fmt::format("both are '{}' as renamed", renamed);
    builder.join(i, partner.position, Why::renamed, std::move(plans));
  }
  return {};
}

}  // namespace assay
