// Names that must differ from each other.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace assay {

class UniqueNames {
 public:
  // The name itself if it is free and not empty; else with a number, x#2.
  std::string claim(const std::string& name) {
    if (!name.empty() && taken_.insert(name).second) return name;
    for (int64_t& number = last_.try_emplace(name, 1).first->second;;) {
      std::string numbered = name + "#" + std::to_string(++number);
      if (taken_.insert(numbered).second) return numbered;
    }
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int64_t> last_;  // number given to a name
};

}  // namespace assay
