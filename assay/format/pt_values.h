// Numbers, text, True and None among the tensors of a .pt file, and whatever else is no tensor.
#pragma once

#include "assay/format/pt_levels.h"

#include <algorithm>
#include <map>

namespace assay {

// Those that a walk through the objects comes by: kept in the set where the options ask for it, and counted
// in any case.
class PtValues {
  // Containers in containers make names that grow with the square of a file.
  static constexpr int64_t kLeastBudget = int64_t{64} << 20, kBytesPerByte = 256;

 public:
  PtValues(const PickleGraph& graph, const FormatOptions& options, TensorSet& set)
      : graph_(graph),
        budget_(std::min(options.memory / 4, kLeastBudget + kBytesPerByte * graph.size)),
        are_kept_(options.values),
        are_nested_(options.nests),
        set_(set) {}

  bool are_kept() const { return are_kept_; }
  bool are_nested() const { return are_nested_; }
  // Where what is at hand stands, and the next one behind it. Nothing where nobody asks, or where no
  // container can hold it.
  std::optional<Nest> place(std::span<const PtLevel> levels);
  // Where there is no room for them, they are counted alone. container: of which these are the elements.
  void add(std::vector<Value> values, std::optional<PickleRef> container, std::span<const PtLevel> levels,
           const std::string& name);
  // The elements of a list, tuple or set as one value; false: not all of them are plain, or nobody asks.
  // Those of a set are in any order in the file.
  bool add_elements(const PickleValue& list, bool is_set, PickleRef container,
                    std::span<const PtLevel> levels, const std::string& name);
  // What is none of these: a type, bytes, a number beyond 64 bits.
  void add_other(PickleRef ref, std::span<const PtLevel> levels, const std::string& name);
  // A container or object that was met before, at `first`; its parts are told there.
  void add_reference(PickleRef container, std::string_view first, std::span<const PtLevel> levels,
                     const std::string& name);
  // An object, whose parts are told by themselves. The class, of which there is only the name, is a value.
  void add_object(PickleRef call, const std::string& name);
  // What else makes one container another: "default_factory".
  void add_detail(const std::string& of, std::string_view what, std::string text);
  // How many were passed over: given twice, or in an array that holds more than elements.
  void skip(int64_t count = 1) { skipped_ += count; }
  void skip_repeated() { unentered_ += are_kept_ ? 1 : 0; }

  // Containers, keys and tensors that a .pt of ours has in another form.
  void note_container(PickleRef ref, bool is_repeated);
  void note_other_key() { ++other_keys_; }
  void note_tensor(std::string_view kind) { ++other_tensors_[kind]; }

  // Says in the set what the file holds of them.
  void finish(const std::string& file_name) const;

 private:
  void keep(StoredValue value, int64_t count);
  void note_forms() const;

  const PickleGraph& graph_;
  int64_t budget_;
  const bool are_kept_, are_nested_;
  TensorSet& set_;
  int64_t places_ = 0;
  int64_t writable_ = 0, others_ = 0;  // kept
  int64_t skipped_ = 0;
  int64_t unentered_ = 0;    // containers of values that stand in too many places
  int64_t objects_ = 0;      // of classes that are not kept
  int64_t crowded_out_ = 0;  // there was no room for them
  int64_t repeated_ = 0, other_keys_ = 0;
  std::map<std::string_view, int64_t> other_containers_, other_tensors_;
};

}  // namespace assay
