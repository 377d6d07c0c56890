// Frames that several sections of a comparison ask for, as where a dump is compared at several levels:
// indexed once, and kept in between.
#pragma once

#include "assay/model/pairing.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace assay {

class KeptFrames {
 public:
  // most_items: of all frames that are kept at once; whatever goes beyond it is indexed again.
  KeptFrames(const std::vector<Section>& sections, int64_t most_items);
  // What an earlier section gave back; nothing where none did.
  std::optional<Indexed> take(const Section& section);
  // Whether a later section has the same frames on both sides.
  bool will_be_wanted(const Section& section) const;
  // The section is done with its frames: kept if a later one wants them.
  void give_back(const Section& section, Indexed&& frames);
  bool is_empty() const { return kept_.empty(); }

 private:
  struct Kept {
    Indexed frames;
    int64_t items = 0;
  };
  const int64_t most_items_;
  int64_t items_ = 0;                             // of all that are kept
  std::unordered_map<std::string, int> to_come_;  // sections that have not given these frames back, by frames
  std::unordered_map<std::string, Kept> kept_;
};

}  // namespace assay
