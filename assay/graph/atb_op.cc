#include "assay/graph/atb_op.h"

namespace assay {

GraphOp graph_op_of(const AtbOp& op, StringPool& strings) {
  GraphOp made;
  made.name = strings.keep(op.name);
  made.type = strings.keep(op.type);
  for (const std::string& tensor : op.in_tensors) made.inputs.push_back({strings.keep(tensor)});
  for (const std::string& tensor : op.out_tensors) made.outputs.push_back({.name = strings.keep(tensor)});
  made.has_bias = op.has_bias();
  if (const auto kind = op.elewise_type()) made.elewise_type = static_cast<int>(*kind);
  made.kind = kind_of_atb(op.type, op.elewise_type());
  made.has_rows_out = op.find_flag("transposeB").value_or(true);
  if (const auto scale = op.find_number("quantParam.inputScale"))
    made.quant_step = QuantStep{*scale, op.find_number("quantParam.inputOffset").value_or(0)};
  made.params = op.params;
  return made;
}

}  // namespace assay
