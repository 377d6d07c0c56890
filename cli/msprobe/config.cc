#include "cli/msprobe/config.h"

#include "assay/base/text.h"
#include "assay/format/format.h"
#include "assay/support/log.h"
#include "assay/support/yaml.h"
#include "assay/tensor/matrix_product.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>

namespace assay::cli {
namespace {

struct Step {
  std::string_view group, key;  // where it stands in the file
  Side side = Side::mine;
  bool is_left = false;
  std::map<std::string, fs::path> matrices = {};  // by data file
};

// In the order in which they are applied.
std::vector<Step> all_steps() {
  return {{"right_matmul", "target_tensor_map", Side::mine, false},
          {"right_matmul", "golden_tensor_map", Side::golden, false},
          {"left_matmul", "target_tensor_map", Side::mine, true},
          {"left_matmul", "golden_tensor_map", Side::golden, true},
          {"left_right_matmul", "left_target_tensor_map", Side::mine, true},
          {"left_right_matmul", "right_target_tensor_map", Side::mine, false},
          {"left_right_matmul", "left_golden_tensor_map", Side::golden, true},
          {"left_right_matmul", "right_golden_tensor_map", Side::golden, false}};
}

class ConfigReader {
 public:
  explicit ConfigReader(const fs::path& path) : path_(path) {}

  Result<std::vector<Step>> read() try {
    ASSAY_TRY(const YAML::Node root, read_yaml(path_));
    if (root.IsNull()) return std::vector<Step>();
    if (!root.IsMap()) return wrong(root, "expected right_matmul, left_matmul or left_right_matmul");
    std::vector<Step> steps = all_steps();
    for (const auto& group : root) {
      const auto name = group.first.as<std::string>();
      if (group.second.IsNull()) continue;
      if (std::ranges::none_of(steps, [&](const Step& each) { return each.group == name; })) {
        log::warn("{}: {} is not known and is passed over", display(path_), printable(name));
        continue;
      }
      if (!group.second.IsMap()) return wrong(group.second, "{} needs maps of tensors", printable(name));
      for (const auto& map : group.second) {
        ASSAY_TRY_DO(read_map(name, map.first.as<std::string>(), map.second, steps));
      }
    }
    return steps;
  } catch (const YAML::Exception& e) {
    return fail(ErrorKind::bad_format, "{}:{}: {}", display(path_), e.mark.line + 1, printable(e.msg));
  }

 private:
  template <class... Args>
  tl::unexpected<Error> wrong(const YAML::Node& node, fmt::format_string<Args...> text,
                              Args&&... args) const {
    return fail(ErrorKind::bad_format, "{}:{}: {}", display(path_), node.Mark().line + 1,
                fmt::format(text, std::forward<Args>(args)...));
  }

  Result<void> read_map(const std::string& group, const std::string& key, const YAML::Node& map,
                        std::vector<Step>& steps) const {
    const auto step =
        std::ranges::find_if(steps, [&](const Step& each) { return each.group == group && each.key == key; });
    if (step == steps.end()) {
      log::warn("{}: {} of {} is not known and is passed over", display(path_), printable(key),
                printable(group));
      return {};
    }
    if (map.IsNull()) return {};
    if (!map.IsMap()) return wrong(map, "{} needs the file of a matrix and a list of tensors", key);
    for (const auto& entry : map) {
      const auto matrix = entry.first.as<std::string>();
      if (!entry.second.IsSequence())
        return wrong(entry.second, "{} needs a list of data files", printable(matrix));
      for (const YAML::Node& name : entry.second) step->matrices[name.as<std::string>()] = matrix;
    }
    return {};
  }

  const fs::path path_;
};

Result<OperandPtr> read_matrix(const fs::path& path, const FormatOptions& options) {
  ASSAY_TRY(const TensorSet set, open_tensors(path, options));
  if (set.tensors.size() != 1)
    return fail(ErrorKind::mismatch, "{}: holds {} tensors, a matrix is wanted", display(path),
                set.tensors.size());
  return set.tensors[0].data;
}

}  // namespace

Result<Prepare> read_msprobe_config(const fs::path& path, const FormatOptions& options) {
  ASSAY_TRY(std::vector<Step> steps, ConfigReader(path).read());
  return [steps = std::move(steps), options](Side side, const fs::path& file,
                                             OperandPtr data) -> Result<OperandPtr> {
    const std::string name = file.filename().native();
    bool is_squeezed = false;
    for (const Step& step : steps) {
      const auto found = step.matrices.find(name);
      if (step.side != side || found == step.matrices.end()) continue;
      // Generation 3 drops dimensions of size 1 when it reads a tensor.
      if (!std::exchange(is_squeezed, true)) data = squeezed(std::move(data));
      ASSAY_TRY(const OperandPtr matrix, read_matrix(found->second, options));
      auto product =
          matrix_product(step.is_left ? matrix : data, step.is_left ? data : matrix, options.memory);
      if (!product)
        return fail(product.error().kind, "{}: cannot be multiplied by {}: {}", display(file),
                    display(found->second), product.error().message);
      data = std::move(*product);
    }
    return data;
  };
}

}  // namespace assay::cli
