// statistic.csv of an ATB dump, as both of its readers take it.
#include "tests/fuzz/target.h"

#include "assay/dump/atb_round.h"
#include "assay/dump/atb_statistics.h"

#include <algorithm>

namespace assay {
namespace {

void check_lines(const Remarks& warnings) {
  for (const std::string& warning : warnings) ASSAY_CHECK(warning.find('\n') == std::string::npos);
}

void check_shape(const TensorMeta& meta) {
  ASSAY_CHECK(
      std::all_of(meta.shape.dims.begin(), meta.shape.dims.end(), [](int64_t dim) { return dim >= 0; }));
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile table("statistic.csv");
  table.fill(data, size);
  static_cast<void>(is_atb_statistics(table.path()));
  Remarks warnings;
  const auto stated = read_atb_statistics(table.path(), warnings);
  check_error(stated);
  check_lines(warnings);
  if (stated)
    for (const StatedTensor& tensor : *stated) {
      ASSAY_CHECK(!tensor.op.empty() && tensor.file.relative.starts_with(tensor.op));
      if (tensor.file.draft.meta) check_shape(*tensor.file.draft.meta);
    }
  const auto frame = atb_statistic_layout.index(FrameInfo{At{}, {table.path().parent_path()}}, {});
  check_error(frame);
  if (!frame) return 0;
  check_lines(frame->warnings);
  for (const Node& node : frame->nodes)
    for (const Item& item : node.items) {
      ASSAY_CHECK(item.trouble.find('\n') == std::string_view::npos);
      if (item.data) ASSAY_CHECK(item.data->file < std::ssize(frame->files));
      if (item.meta != nullptr) check_shape(*item.meta);
    }
  return 0;
}
