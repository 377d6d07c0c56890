// What tensors hold, for a matcher that cannot tell by their names. Matchers open no files themselves.
#pragma once

#include "assay/base/result.h"
#include "assay/model/plan.h"
#include "assay/model/sketch.h"

#include <optional>
#include <span>

namespace assay {

class Contents {
 public:
  virtual ~Contents() = default;
  // Of each; nothing for one without data or that cannot be read, which its row will say.
  virtual Result<std::vector<std::optional<Sketch>>> sketches(std::span<const PlanSource> items,
                                                              SketchDepth depth) const = 0;
  // Type and shape; nothing where it cannot be read.
  virtual std::optional<TensorMeta> meta(const PlanSource& item) const = 0;
  // Single elements, by their place in row-major order; fewer where one cannot be read.
  virtual std::vector<double> elements(const PlanSource& item, std::span<const int64_t> places) const = 0;
};

}  // namespace assay
