// A matcher says which items belong together and why; it opens no file and measures nothing.
// One file per method in this folder; table.cc lists them and chooses by layout.
#pragma once

#include "assay/base/result.h"
#include "assay/model/pairing.h"

#include <span>

namespace assay {

struct MatchOptions {
  std::string matcher;  // forced by --match; empty: chosen from the two layouts
};

struct Matcher {
  std::string_view name;
  Result<std::vector<Section>> (*sections)(const Dump& mine, const Dump& golden, const MatchOptions& options);
  Result<Pairing> (*match)(const Indexed& frames, const MatchOptions& options);
};

std::span<const Matcher* const> matchers();
Result<const Matcher*> choose_matcher(std::string_view mine_layout, std::string_view golden_layout,
                                      const MatchOptions& options);

}  // namespace assay
