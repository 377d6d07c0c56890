// The files that make one frame of an msprobe dump.
#pragma once

#include "assay/dump/layout.h"
#include "assay/support/json_tape.h"

#include <unordered_map>
#include <unordered_set>

namespace assay {

// One entry of dump.json (an API call, a module call) becomes one node. Flattening rules:
// docs/formats/msprobe.md
class MsprobeEntries {
 public:
  MsprobeEntries(Frame& frame, const OpenOptions& options, fs::path data_folder);
  void add(std::string_view name, const JsonTape& entry);
  void finish();  // behind the last entry
  const std::unordered_set<std::string_view>& named_files() const { return named_files_; }
  // Items are named after their data files unless this is called.
  void name_by_path() { names_by_data_ = false; }
  bool saw_checksum() const { return saw_checksum_; }

 private:
  std::vector<std::string> merge_repeated();  // their names
  void walk(const JsonTape& tape, size_t place, int depth);
  void add_leaf(const JsonTape& tape, size_t place);
  void add_peer_operation(const JsonTape& tape, size_t place);
  void add_none();
  void note_unknown(std::string_view part);
  void add_trouble(std::string_view why);
  static bool is_described(const JsonTape& tape, size_t place);
  void describe_without_dtype(const JsonTape& tape, size_t place, std::string_view type, Stated& stated);
  void add_item(Stated stated, const TensorMeta* meta, std::vector<Fact> facts = {});
  std::optional<TensorRef> data_file(std::string_view data_name, std::string_view& trouble);
  Scalar scalar(const JsonTape& tape, size_t place);
  std::string_view raw(std::string_view text);
  std::string_view kept(std::string_view text);                   // in the pool, printable
  std::string_view interned(std::string_view text);               // the same, once per text
  std::string_view interned(const JsonTape& tape, size_t place);  // the value as Python prints it
  // What a dtype and a shape are, once per pair of them.
  struct Described {
    std::string_view dtype, shape;  // texts
    std::vector<int64_t> dims;
    const TensorMeta* meta = nullptr;
  };
  const Described& describe(const JsonTape& tape, size_t dtype, size_t shape);

  Frame& frame_;
  const OpenOptions& options_;
  const fs::path data_folder_;
  std::string path_;  // name of what is being walked: "Functional.linear.0.forward.input.0"
  Direction state_ = Direction::none;
  bool keeps_index_ = true;  // false under parameters_grad, whose lists do not number their elements
  bool saw_checksum_ = false;
  std::unordered_set<std::string_view> named_files_;
  int64_t unknown_ = 0;  // parts of entries
  std::string first_unknown_;
  bool names_by_data_ = true;
  std::string scratch_;
  std::vector<Item> found_;  // of the entry
  std::unordered_map<std::string_view, std::string_view> interned_;
  std::unordered_multimap<uint64_t, Described> described_;
  std::vector<int64_t> dims_;  // of the tensor at hand
};

// msprobe 8 writes the gradients of a module's parameters right behind its forward call, long before they
// exist: in execution order they come last, those of the last module first.
void number_in_execution_order(Frame& frame);

// stack.json and construct.json beside the entries; what is missing or odd in them is a warning of the frame.
void add_stacks(Frame& frame, const fs::path& stack_json, int64_t memory);
void add_structure(Frame& frame, const fs::path& construct_json, int64_t memory);
void note_modules(Frame& frame, const fs::path& construct_json, int64_t memory);  // as Node::within

}  // namespace assay
