// A file, a folder or a dump that is open to be read at will: its tensors by number, from any thread.
#pragma once

#include "assay/run/compare/load.h"
#include "assay/run/inspect/inspect.h"

namespace assay {

class Reader {
 public:
  // Of the request: the first path, how it is opened, the threads. A frame (a rank, a step) that is broken is
  // told and left out.
  static Result<std::unique_ptr<Reader>> open(const InspectRequest& request);

  size_t count() const { return items_.size(); }
  const Item& item(size_t number) const { return frames_.item(Side::mine, items_[number]); }
  const Frame& frame(size_t number) const { return frames_.frame(Side::mine, items_[number]); }
  fs::path file(size_t number) const;  // empty: it has none

  // What headers tell of it; the data are not touched.
  struct Found {
    std::optional<TensorMeta> meta = {};
    OperandPtr data = nullptr;  // null: there are none, or there is a trouble
    std::string trouble = {};
    Remarks warnings = {};
  };
  Found find(size_t number);
  // Its elements or, of a slice, those; converted where a type is given. An error: why there are none.
  Result<OperandPtr> find_data(size_t number, const std::optional<Slice>& slice, std::optional<DType> dtype);
  // As `assay inspect --json` shows it. measures: with its numbers, for which the data are read.
  Result<std::string> describe(size_t number, const std::optional<Slice>& slice, bool measures);

 private:
  Reader(const InspectRequest& request, InspectedPath path, Indexed frames);
  const InspectRequest request_;
  const InspectedPath path_;
  const Indexed frames_;
  std::vector<ItemId> items_;
  Loader loader_;
};

// All elements, one after another.
Result<void> read_all(const Operand& operand, std::span<std::byte> out);

}  // namespace assay
