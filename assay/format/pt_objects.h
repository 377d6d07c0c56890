// The tensors in the graph of a .pt pickle: found by walking through its containers, named by the way there.
#pragma once

#include "assay/format/format.h"
#include "assay/format/pickle.h"

#include <utility>

namespace assay {

// What a persistent id of torch says: ('storage', class, key, location, count[, view]).
struct PtStorageId {
  std::string_view key;
  std::optional<DType> dtype;  // empty for an untyped storage, and for quantised ones
  int64_t element_size = 1;
  int64_t count = 0;
  int64_t view_offset = 0;  // elements; only files of torch before 0.4 have views of storages
};
// Nothing if it is not such an id.
std::optional<PtStorageId> storage_id(const PickleGraph& graph, const PickleValue& persistent);

// Where the container keeps the storages that the pickle refers to.
class PtStorages {
 public:
  virtual ~PtStorages() = default;
  virtual Result<int64_t> byte_size(std::string_view key) const = 0;
  // Little-endian elements from byte `offset` of a storage. Precondition: they lie inside byte_size(key).
  virtual Result<OperandPtr> dense(std::string_view key, int64_t offset, TensorMeta meta,
                                   ReadOrder order) const = 0;
  // That the tensors of the file may have together.
  virtual int64_t most_elements() const = 0;
  // Every storage that the container has, wanted or not, with its bytes; in a fixed order.
  virtual std::vector<std::pair<std::string_view, int64_t>> sizes() const = 0;
};

// Views may repeat a storage as often as they like, in a file of a few hundred bytes. Files of this size hold
// at most so many elements honestly: what deflate can make of their bytes, and 2^30 of views.
int64_t most_elements(const File& file, const FormatOptions& options);

// Adds every tensor to `set`, and what the file holds beside them. Objects of classes that we do not know are
// containers of their arguments, elements and attributes. Tensors that no way leads to (a key that was given
// twice) become one tensor with an error. The memory of the options bounds names, tensors and arrays that the
// pickle itself holds. An error if the pickle wants to import what it may not, and no tensor is left.
Result<void> add_tensors(const PickleGraph& graph, const PtStorages& storages, const std::string& file_name,
                         const FormatOptions& options, TensorSet& set);

}  // namespace assay
