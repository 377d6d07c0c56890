// Entries whose names differ in their call numbers, for the tests of those who pair them.
#pragma once

#include "assay/match/match_test_tools.h"

namespace assay {

inline TestEntry shaped(const std::string& name, const std::string& shape) {
  return entry_of(name, {".input.0", ".output.0"}, shape);
}

// The names and shapes of the fixture "fuzzy".
inline Frame fixture_mine() {
  return make_frame({shaped("Torch.add.0.forward", "[3]"), shaped("Torch.mul.0.forward", "[2, 2]"),
                     shaped("Torch.extra.0.forward", "[2]"), shaped("Torch.add.1.forward", "[4]"),
                     shaped("Functional.relu.0.forward", "[5]"), shaped("Torch.tail.0.forward", "[2]")});
}
inline Frame fixture_golden() {
  return make_frame({shaped("Torch.add.1.forward", "[3]"), shaped("Torch.benchonly.0.forward", "[7]"),
                     shaped("Torch.mul.2.forward", "[2, 2]"), shaped("Torch.add.5.forward", "[4]"),
                     shaped("Functional.relu.3.forward", "[6]"), shaped("Functional.relu.4.forward", "[5]")});
}

inline Texts inputs_of_mine(const Matched& matched) {
  Texts out;
  for (const std::string& pair : pairs_of(matched))
    if (!pair.starts_with("-|") && pair.find("input") != std::string::npos) out.push_back(pair);
  return out;
}

}  // namespace assay
