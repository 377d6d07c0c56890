// One tensor of a .pt pickle: the calls that make it, interpreted.
#pragma once

#include "assay/format/pt_coverage.h"
#include "assay/format/pt_names.h"
#include "assay/format/pt_objects.h"

namespace assay {

// Meaning of what a value calls; `refused` if it calls something without a name.
PtName meaning_of(const PickleGraph& graph, const PickleValue& call);

// A tensor may be wrapped: a parameter is made of a tensor, a subclass is rebuilt by a function. The calls,
// from the outermost one to the one that has the elements.
struct PtLink {
  PtName name;
  const PickleValue* arguments;  // a tuple
  PickleRef call;                // 0 where the call before it names the function and the arguments
  bool is_share = false;         // of a rank, found in the state of the link before it
};
struct PtChain {
  std::vector<PtLink> links;     // at least one
  std::optional<Error> trouble;  // why it ends before the elements
};

// Where a call that makes an array of numpy has its bytes; 0 for all others.
PickleRef data_of_array(const PickleGraph& graph, const PtLink& link);

// Where a tensor says that it lies.
struct PtPlacement {
  PtStorageId id;
  DType dtype;
  Shape shape;
  std::vector<int64_t> strides;
  int64_t offset;  // elements, from the beginning of the storage
};

class PtTensorMaker {
 public:
  // Arrays of numpy are copied out of the pickle; their bytes are taken from `budget`. `coverage` is told
  // what of the storages was made into tensors.
  PtTensorMaker(const PickleGraph& graph, const PtStorages& storages, int64_t& budget, PtCoverage& coverage)
      : graph_(graph), storages_(storages), budget_(budget), coverage_(coverage) {}

  // Precondition: a call whose meaning is one of the tensor kinds. Messages do not name the file or the
  // tensor, unless they come from the storages.
  Result<OperandPtr> make(PickleRef call) const;
  PtChain chain(PickleRef call) const;  // precondition as above
  // Nothing for a tensor that lies in no storage. Precondition as above, and it could be made.
  std::optional<PtPlacement> placement(PickleRef call) const;
  bool wants_gradient(PickleRef call) const;  // precondition as above
  bool is_number(PickleRef scalar) const;     // of numpy, and not text or a date; precondition: such a call
  // A storage that was saved as such: its elements in a row, or its bytes where it has no type.
  Result<OperandPtr> whole_storage(const PtStorageId& id) const;

 private:
  Result<PtPlacement> place_in_storage(const PickleValue& arguments, bool typed) const;
  Result<OperandPtr> from_storage(const PickleValue& arguments, bool typed) const;
  Result<OperandPtr> view(const PtStorageId& id, DType dtype, Shape shape, std::vector<int64_t> strides,
                          int64_t offset) const;
  Result<OperandPtr> array(PickleRef state) const;
  Result<OperandPtr> buffer_array(const PickleValue& arguments) const;
  Result<OperandPtr> scalar(const PickleValue& arguments) const;
  Result<OperandPtr> from_bytes(PickleRef data, PickleRef dtype, std::optional<std::vector<int64_t>> dims,
                                bool fortran_order) const;
  std::optional<std::string> numpy_dtype(PickleRef dtype) const;
  std::optional<std::string> bytes_of(PickleRef data) const;
  std::optional<std::vector<int64_t>> integers(PickleRef tuple) const;

  const PickleGraph& graph_;
  const PtStorages& storages_;
  int64_t& budget_;
  mutable int64_t elements_ = 0;  // of all tensors that were made
  PtCoverage& coverage_;
};

}  // namespace assay
