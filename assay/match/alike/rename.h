// Names as the user wants them read: --rename, --rename-golden, --strip-prefix.
#pragma once

#include "assay/base/result.h"
#include "assay/match/pairing_builder.h"

#include <memory>
#include <string>
#include <vector>

namespace assay {

class NameRules {
 public:
  NameRules();
  ~NameRules();
  NameRules(NameRules&&) noexcept;

  // "REGEX=TEXT" (RE2; \1 is the first group), for one side; all that match are applied in their order, to
  // the name that a tensor has in its file, or else to that with the file.
  Result<void> add(Side side, std::string_view rule, std::string_view flag);
  void strip(std::string prefix);  // of both sides

  // An error where a rule makes a name far longer than any is.
  Result<std::string> apply(Side side, std::string_view name) const;
  // Flags that have matched no name of these so far, as the user gave them: a slip of the pen.
  std::vector<std::string> unused() const;

 private:
  struct Rule;
  struct Prefix;
  std::vector<std::unique_ptr<Rule>> rules_;
  std::vector<std::unique_ptr<Prefix>> prefixes_;
};

// Pairs names that are equal once they are renamed, where that changed one of them. Later steps read them so,
// too.
Result<void> join_renamed(PairingBuilder& builder, const NameRules& renames);

}  // namespace assay
