// What the environment and the configuration file ask for. The environment is read once; the file is looked
// at again while the program runs. Every question that ATB asks is answered from a finished Settings, without
// a lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::probe {

// Whose dump is written. One and two: ait and msit, three: msprobe.
enum class Generation : uint8_t { one_a, one_b, one_c, two, three };

enum class Content : uint8_t { data, description, statistics };

struct Rounds {
  bool all = false;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  bool has(int64_t round) const;
};

// `l,r` pairs, "all", "none" or nothing.
Rounds parse_rounds(std::string_view text);

// Whether the operator of these ids ("2_1") is meant: one of them, or, with its children, one below.
bool is_listed(std::string_view ids, std::span<const std::string> listed, bool with_children);

struct Settings {
  Generation generation = Generation::two;
  bool is_active = false;  // something asks for something
  bool has_file = false;   // answers come from a configuration file
  bool saves_tensors = false;
  Content content = Content::data;
  bool writes_table = false;  // statistic.csv of generation three
  bool has_statistics = false;
  bool has_files = true;  // tensors get files; else statistic.csv alone tells of them
  Rounds rounds;
  std::vector<std::string> ids, ops, devices;
  bool with_children = true;
  bool before = true, after = true, inputs = true, outputs = true;
  bool only_in_before_out_after = true;
  bool tiling = false, graphs = false, models = false, times = false, operation_tables = false,
       kernel_tables = false;
  bool onnx = false, overflow = false, overflow_stop = false;
  bool scans = false;  // nothing is saved, outputs are searched for NaN and infinities
  bool links = false;
  int filter_level = 0;
  std::string root;        // folder of the dump, absolute
  std::string shown_root;  // as the environment spells it
  std::string output_dir;  // absolute
  std::string onnx_list;   // file that the topologies are listed in
  // Variables, or members of the file, whose values were not understood, each with what is the matter.
  std::vector<std::string> not_understood;

  bool saves(std::span<const int64_t> op, std::string_view op_type) const;
  bool saves_in(std::string_view folder) const;
  bool has_device(std::string_view path) const;
};

// The number that a text begins with, as std::stoi reads it; `otherwise` where there is none or it is too
// large.
int number_or(const char* text, int otherwise);

class Environment {
 public:
  virtual ~Environment() = default;
  virtual const char* get(const char* name) const = 0;  // null: not set
};

Settings settings_from(const Environment& environment);
// With what the configuration file says now. `trouble`: why it says nothing, so that nothing is saved.
Settings with_file(const Settings& base, const std::string& path, std::string& trouble);

}  // namespace assay::probe
