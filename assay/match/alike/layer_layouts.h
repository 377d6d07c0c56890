// A system lays out its layers alike: how a tensor lies in that of the other side is held against those of
// the same role in other layers, on other ranks, among other experts.
#pragma once

#include "assay/match/alike/arrange.h"

namespace assay {

// What the names of one tensor in all layers have in common: a plain name (name_form.h) with the numbers of
// layers, blocks and experts as '#'. Those that tell things of one layer apart stay ("fc1", "output_0").
std::string layer_pattern(std::string_view plain);

// What speaks against the layout of one tensor among others of its role.
struct LayoutVote {
  size_t otherwise = 0;   // how many of them lie otherwise than this one
  size_t of = 0;          // … of how many others
  bool is_common = true;  // no other layout has as many

  std::string objection() const;  // "3 of 3 other layers lie otherwise"
};

// How the parts of one tensor lie in it.
struct LaidOutParts {
  const std::vector<Arrangement>* layout = nullptr;  // an arrangement for every part
  std::vector<Shape> parts = {};
  Shape whole = {};
};

// Of each, in their order.
std::vector<LayoutVote> hold_against_each_other(std::span<const LaidOutParts> tensors);

}  // namespace assay
