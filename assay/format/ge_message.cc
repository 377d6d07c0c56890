// The only place that sees protobuf.
#include "assay/format/ge_header.h"

#include "schema/dump_data.pb.h"

namespace assay {
namespace {

namespace pb = toolkit::dumpdata;

std::vector<uint64_t> dims_of(const pb::Shape& shape) { return {shape.dim().begin(), shape.dim().end()}; }

template <class Message>  // OpInput or OpOutput
GeTensor tensor_of(Message& message) {
  GeTensor tensor;
  tensor.data_type = message.data_type();
  tensor.format = message.format();
  if (message.has_shape()) tensor.shape = dims_of(message.shape());
  if (message.has_original_shape()) tensor.original_shape = dims_of(message.original_shape());
  tensor.size = message.size();
  tensor.groups = message.sub_format();
  tensor.data = std::move(*message.mutable_data());
  return tensor;
}

GeTensor output_of(pb::OpOutput& message) {
  GeTensor tensor = tensor_of(message);
  const pb::OriginalOp& origin = message.original_op();
  tensor.origin = {origin.name(), origin.output_index(), origin.data_type(), origin.format()};
  for (const pb::DimRange& range : message.dim_range())
    tensor.ranges.emplace_back(range.dim_start(), range.dim_end());
  return tensor;
}

}  // namespace

Result<GeHeader> read_dump_data(Bytes message, int64_t memory, const std::string& file) {
  const auto needed = decoded_size(message);
  if (!needed)
    return fail(ErrorKind::bad_format, "{}: is not a GE dump: no DumpData message can be read", file);
  if (*needed > memory || std::ssize(message) > memory)
    return fail(ErrorKind::limit, "{}: its DumpData message of {} bytes needs more than {} bytes of memory",
                file, message.size(), memory);
  pb::DumpData dump;
  if (!dump.ParseFromArray(message.data(), static_cast<int>(message.size())))
    return fail(ErrorKind::bad_format, "{}: is not a GE dump: no DumpData message can be read", file);
  GeHeader header;
  header.version = dump.version();
  header.op_name = dump.op_name();
  header.dump_time = dump.dump_time();
  for (pb::OpInput& input : *dump.mutable_input()) header.inputs.push_back(tensor_of(input));
  for (pb::OpOutput& output : *dump.mutable_output()) header.outputs.push_back(output_of(output));
  header.has_more = has_dropped_fields(message);
  const auto add_other = [&](const auto& other) {
    header.other_sizes.push_back(other.size());
    header.has_more |= !other.data().empty();
  };
  for (const pb::OpBuffer& buffer : dump.buffer()) add_other(buffer);
  header.buffers = header.other_sizes.size();
  for (const pb::Workspace& space : dump.space()) add_other(space);
  for (const pb::OpAttr& attribute : dump.attr())
    header.attributes.emplace_back(attribute.name(), attribute.value());
  return header;
}

}  // namespace assay
