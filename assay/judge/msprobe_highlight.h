// Colours of the rows of one operator: its outputs are held against its inputs.
#pragma once

#include "assay/model/msprobe_row.h"

namespace assay {

class MsprobeHighlight {
 public:
  MsprobeHighlight(const Head& head, Generation generation);
  // Adds colours and their texts to verdicts that are set already.
  void paint(NodeResult& node) const;

 private:
  struct Row;
  struct Texts;
  Row look_at(const Comparison& row) const;
  void check_alone(const Row& row, Texts& texts) const;
  void check_pair(const Row& in, const Row& out, Texts& texts) const;
  void check_relative(const Row& in, const Row& out, Texts& texts) const;

  const MsprobeColumns columns_;
  const Generation generation_;
  const bool by_statistics_;
};

}  // namespace assay
