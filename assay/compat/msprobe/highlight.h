// Colours of the rows of one operator: its outputs are held against its inputs.
#pragma once

#include "assay/compat/msprobe/row.h"

namespace assay {

class MsprobeHighlight {
 public:
  MsprobeHighlight(const Head& head, Generation generation, bool as_python = false);
  // Adds colours and their texts to verdicts that are set already.
  void paint(NodeResult& node) const;

 private:
  struct Numbers;
  struct Row;
  struct Texts;
  class Inputs;
  Row look_at(const Comparison& row) const;
  void look_as_python(const Comparison& row, Row& out) const;
  void check_alone(const Row& row, Texts& texts) const;
  std::optional<double> order_of(std::optional<double> error) const;
  void check_pair(const Numbers& in, const Numbers& out, Texts& texts) const;
  void check_relative(const Numbers& in, const Numbers& out, Texts& texts) const;
  void append_pairs(Verdict& verdict, const Row& output, const Inputs& inputs) const;

  const MsprobeColumns columns_;
  const Generation generation_;
  const bool as_python_;
  const bool by_statistics_;
};

}  // namespace assay
