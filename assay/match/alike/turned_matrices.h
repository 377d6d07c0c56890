// Weights as [in, out] on one side and as [out, in] on the other: shapes say it of all but square ones.
#pragma once

#include "assay/match/alike/meeting.h"

namespace assay {

// Pairs of one name, square and in a layer, that nothing but the data tells to be turned or not. Reads no
// data.
class SquarePairs {
 public:
  explicit SquarePairs(const PairingBuilder& builder) : builder_(builder) {}
  // Takes a pair of one name; true: it is square, and has to wait until all have been seen.
  bool wait(size_t mine, size_t golden);
  // Whether most of the others are turned on one side.
  bool may_be_turned() const { return turned_ > straight_; }
  const std::vector<std::pair<size_t, size_t>>& waiting() const { return waiting_; }

 private:
  const PairingBuilder& builder_;
  size_t turned_ = 0, straight_ = 0;
  std::vector<std::pair<size_t, size_t>> waiting_;
};

// Of a pair of one name: it is turned, and so are most others.
bool is_turned_as_others(const PairingBuilder& builder, const Decision& decision);

// Square ones that stand as they are where the others are turned.
void doubt_unturned(Meeting& meeting);

}  // namespace assay
