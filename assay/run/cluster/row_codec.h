// Measured rows as bytes. Both ends have indexed and matched the same section, so names, items and plans go
// as places in it; numbers go as they are, bit for bit. What judging adds to a row does not travel: that
// happens where the rows are gathered.
#pragma once

#include "assay/model/outcome.h"
#include "assay/model/string_pool.h"
#include "assay/run/cluster/bytes_codec.h"

#include <span>

namespace assay {

using NodeRows = std::vector<NodeResult>;  // of one PairedNode

void encode_node(const NodeRows& results, const Matched& matched, Encoder& out);

class RowDecoder {
 public:
  // texts: what no frame holds; it lives as long as the rows, and what was found of them.
  RowDecoder(const Matched& matched, StringPool& texts) : matched_(matched), texts_(texts) {}

  // blank: a result of the node without rows.
  NodeRows node(const NodeResult& blank, Decoder& in);

 private:
  Comparison row(const PairedNode& node, Decoder& in);
  Pair pair(const PairedNode& node, Decoder& in);
  void side(Side side, const Pair& pair, Decoder& in, SideFacts& facts);
  std::string_view view(std::span<const std::string_view> known, Decoder& in);

  const Matched& matched_;
  StringPool& texts_;
};

}  // namespace assay
