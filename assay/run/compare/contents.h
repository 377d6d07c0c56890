// What tensors hold, for matchers and for shapes that differ.
#pragma once

#include "assay/dump/layout.h"
#include "assay/match/alike/arrange.h"
#include "assay/match/alike/contents.h"
#include "assay/run/compare/align.h"
#include "assay/run/compare/load.h"
#include "assay/support/progress.h"

namespace assay {

class LoadedContents : public Contents {
 public:
  // Frames outlive this.
  LoadedContents(const Indexed& frames, const OpenOptions& options, bool shows_progress);

  Result<std::vector<std::optional<Sketch>>> sketches(std::span<const PlanSource> items,
                                                      SketchDepth depth) const override;
  std::optional<TensorMeta> meta(const PlanSource& item) const override;
  std::vector<double> elements(const PlanSource& item, std::span<const int64_t> places) const override;

 private:
  struct Opened {
    PlanSource item = {};
    OperandPtr data = nullptr;
    Scratch scratch = {};
    std::optional<Block> all = {};  // its elements, once they are worth reading at once; may lie in scratch
    std::vector<std::byte> kept = {};  // … those of more than a block
    int asked = 0;                     // how many times
    int64_t looked = 0;                // elements that were asked for
  };
  Opened* open(const PlanSource& item) const;  // null: it cannot be read

  const Indexed& frames_;
  const bool shows_progress_;
  mutable Loader loader_;
  // The last few that single elements were asked of; the next one takes the place of the oldest.
  mutable std::vector<std::unique_ptr<Opened>> opened_;
  mutable size_t oldest_ = 0;
};

// Two tensors of shapes that differ, as the data show that they fit.
struct Rearranged {
  Arrangement arrangement = {};  // of the smaller side in the other
  bool golden_is_whole = true;
  bool is_constant = false;  // one number throughout, which lies in any way
};

// Transposed, in another order of dimensions, padded with zeros. Nothing where they do not fit, or where
// several ways fit as well.
std::optional<Rearranged> find_arrangement(const OperandPtr& mine, const OperandPtr& golden);
// Nothing where what should be padding is not zero.
Result<std::optional<Aligned>> rearrange(const OperandPtr& mine, const OperandPtr& golden,
                                         const Rearranged& how);

}  // namespace assay
