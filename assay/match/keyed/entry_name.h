// Names of msprobe entries: "Torch.add.3.forward", "Module.fc.Linear.forward.3", "….parameters_grad.0"; the
// names of their items go on with ".input.0" and the like.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// The call number and the direction, the last two words of an entry.
struct Call {
  size_t begin = 0;  // of ".3.forward" or ".forward.3": the dot
  size_t number_begin = 0, number_end = 0;
  bool is_backward = false;
};
std::optional<Call> find_call(std::string_view entry);

// "Torch.add.forward": the entry without its call number; itself where it has none. `out` is overwritten.
void strip_call(std::string_view entry, std::string& out);

struct SplitKey {
  std::string_view entry, rest;  // "Torch.add.3.forward", ".input.0"; entry is empty where it cannot be told
};
// Splits the key of an item of the entry `own`, whose first words a mapping may have replaced.
SplitKey split_key(std::string_view key, std::string_view own);

// The first `count` words; the whole text if it has no more.
std::string_view first_words(std::string_view name, int count);

}  // namespace assay
