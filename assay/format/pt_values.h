// Numbers, text, True and None among the tensors of a .pt file.
#pragma once

#include "assay/format/pt_levels.h"

namespace assay {

// Those that a walk through the objects comes by: kept in the set where the options ask for it, and counted
// in any case.
class PtValues {
 public:
  PtValues(const PickleGraph& graph, const FormatOptions& options, TensorSet& set)
      : graph_(graph), budget_(options.memory / 4), are_kept_(options.values), set_(set) {}

  bool are_kept() const { return are_kept_; }
  // Where what is at hand stands, and the next one behind it. Nothing where nobody asks, or where no
  // container can hold it.
  std::optional<Nest> place(std::span<const PtLevel> levels);
  // Where there is no place or no room for it, it is counted alone. container: of which these are the
  // elements.
  void add(std::vector<Value> values, std::optional<NestStep::In> container, std::span<const PtLevel> levels,
           const std::string& name);
  void skip(int64_t count = 1) { skipped_ += count; }  // more than a number or a text, or given twice
  void skip_object() { ++(are_kept_ ? objects_ : skipped_); }
  // The elements of a list or tuple that has none but plain ones, where values are kept.
  std::optional<std::vector<Value>> plain_elements(const PickleValue& list) const;

  // Says in the set what the file holds of them.
  void finish(const std::string& file_name) const;

 private:
  const PickleGraph& graph_;
  int64_t budget_;
  const bool are_kept_;
  TensorSet& set_;
  int64_t places_ = 0;
  int64_t kept_ = 0, skipped_ = 0;
  int64_t objects_ = 0;      // of classes that are not kept
  int64_t crowded_out_ = 0;  // of those that were skipped: there was no room
};

}  // namespace assay
