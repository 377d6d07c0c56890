// Which element types msprobe takes for comparable, by their names in the dumps.
#pragma once

#include "assay/compat/msprobe/metric/generation.h"
#include "assay/match/matcher.h"

namespace assay {

struct TypeRule {
  Generation generation = Generation::g2;
  bool translates = true;  // names of the other framework are understood
};
// Generation 1 translates only where a mapping of APIs or cells is given.
TypeRule type_rule(Generation generation, const Mappings& mappings);

class CompatibleTypes {
 public:
  CompatibleTypes(const Indexed& frames, const TypeRule& rule);
  bool operator()(std::string_view mine, std::string_view golden) const;

 private:
  TypeRule rule_;
  bool cross_;  // names of both frameworks mean the same
};

}  // namespace assay
