// How far two runs of one side are apart, tensor by tensor.
#include "assay/judge/judge.h"

#include <algorithm>

namespace assay {
namespace {

std::string noise_key(std::string_view section, std::string_view tensor) {
  std::string key(section);
  key += '\0';  // in no name of a section
  key += tensor;
  return key;
}

}  // namespace

void NoiseTable::add(std::string_view section, std::string_view tensor, const NoiseFloor& floor) {
  NoiseFloor& kept = floors_[noise_key(section, tensor)];
  kept.rel_l2 = std::max(kept.rel_l2, floor.rel_l2);
  kept.max_abs = std::max(kept.max_abs, floor.max_abs);
}

const NoiseFloor* NoiseTable::find(std::string_view section, std::string_view tensor) const {
  const auto found = floors_.find(noise_key(section, tensor));
  return found == floors_.end() ? nullptr : &found->second;
}

}  // namespace assay
