// YAML files that users write: rules and maps. yaml-cpp builds the tree; what could hurt it is refused
// before.
#pragma once

#include "assay/base/file.h"
#include "assay/base/result.h"

#include <string_view>

namespace YAML {
class Node;  // include <yaml-cpp/yaml.h> where the tree is read
}

namespace assay {

struct YamlLimits {
  int64_t bytes = int64_t{1} << 20;
  int depth = 32;  // lists and maps inside one another; yaml-cpp recurses, and so do its readers
};

// The one document of the file. Refused: larger or deeper than the limits, control characters, anchors
// (&name) and aliases (*name), keys given twice, more than one document. Errors read "FILE:LINE: reason". An
// empty file gives a null node.
Result<YAML::Node> read_yaml(const fs::path& path, const YamlLimits& limits = {});

// The same for text in memory; `name` stands for the file in messages.
Result<YAML::Node> parse_yaml(std::string_view text, std::string_view name, const YamlLimits& limits = {});

}  // namespace assay
