#include "assay/base/text.h"
#include "assay/match/matcher.h"
#include "assay/match/name.h"
#include "assay/match/position.h"

namespace assay {

std::span<const Matcher* const> matchers() {
  static const Matcher* const kTable[] = {&name_matcher, &position_matcher};
  return kTable;
}

// Files and folders are matched by name; layouts that need more will have their line here.
Result<const Matcher*> choose_matcher(std::string_view, std::string_view, const MatchOptions& options) {
  if (options.matcher.empty()) return &name_matcher;
  std::string known;
  for (const Matcher* matcher : matchers()) {
    if (matcher->name == options.matcher) return matcher;
    known += (known.empty() ? "" : ", ") + std::string(matcher->name);
  }
  return fail(ErrorKind::bad_argument, "--match {}: no such method; there are {}", printable(options.matcher),
              known);
}

}  // namespace assay
