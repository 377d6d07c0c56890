// assay inspect: what a file or folder holds, tensor by tensor.
#pragma once

#include "assay/dump/layout.h"
#include "assay/metric/one_side.h"
#include "assay/run/inspect/slice.h"

#include <array>
#include <functional>

namespace assay {

struct InspectRequest {
  std::vector<fs::path> paths;
  OpenOptions open;
  bool values = false;              // also the elements, as NumPy would print them
  bool names = false;               // no more than names, types and shapes: no data is read
  std::optional<Slice> slice = {};  // of every tensor this part alone, with its values
  int threads = 0;                  // 0: all cores
  bool progress = false;
};

inline constexpr size_t kHistogramBins = 16;

// One tensor, or value beside tensors, as it was found. The views live as long as the call that receives it.
struct InspectedTensor {
  const Item* item = nullptr;
  std::string section = {};  // of a dump of several: "rank 0 token 1"
  fs::path file;
  std::optional<TensorMeta> meta;
  std::optional<OneSide> measured;  // empty for a description without data
  // How many finite components lie in each sixteenth of [min, max]; empty where min == max or nothing is
  // finite.
  std::optional<std::array<int64_t, kHistogramBins>> histogram;
  std::string values;      // with `values` only
  std::string trouble;     // why it could not be read
  bool is_listed = false;  // its data were not asked for
  std::string slice = {};  // which part of it this is: "[0, :, 3]"
};

// No tensor, but a number or text that the file holds beside its tensors: stated has it.
inline bool is_beside_tensors(const Item& item) {
  return item.stated != nullptr && item.stated->given == Given::beside;
}

struct InspectedPath {
  fs::path path;
  std::string kind;  // "npy", "safetensors", or the layout of a folder: "folder"
  int64_t files = 0, tensors = 0, bytes = 0;
  int64_t values = 0;   // numbers and text beside the tensors
  std::string trouble;  // nothing could be read at all
};

// Receives what is found, in order.
class InspectSink {
 public:
  virtual ~InspectSink() = default;
  virtual Result<void> open(const InspectedPath& path) = 0;
  virtual Result<void> add(const InspectedTensor& tensor) = 0;
  virtual Result<void> end() = 0;
};

struct InspectSummary {
  int64_t tensors = 0;
  int64_t troubles = 0;  // paths and tensors that could not be read
};

// A path or tensor that cannot be read is reported to the sink and counted; an error is only what stops
// everything.
Result<InspectSummary> inspect(const InspectRequest& request, InspectSink& sink);

std::string kind_of(const Dump& dump, const OpenOptions& options);  // InspectedPath::kind

// Its numbers, and with `values` its elements.
Result<void> measure_into(InspectedTensor& out, const Operand& operand, bool values);

// ----- the two sinks of the command line
using WriteText = std::function<Result<void>(std::string_view)>;
std::unique_ptr<InspectSink> inspect_as_text(WriteText write);
std::unique_ptr<InspectSink> inspect_as_json(WriteText write);                  // one array; docs/inspect.md
std::string as_json(const InspectedPath& path, const InspectedTensor& tensor);  // one object of it

}  // namespace assay
