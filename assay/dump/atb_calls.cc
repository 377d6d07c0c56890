#include "assay/dump/atb_calls.h"

#include "assay/dump/op_folders.h"
#include "assay/dump/walk.h"

namespace assay {
namespace {

constexpr int kDeepestOperator = 16;  // operators within operators: links may lead in circles

// "12_LinearOperation": what stands behind the number.
std::string_view type_of(std::string_view folder) {
  const size_t mark = folder.find('_');
  if (mark == std::string_view::npos || !whole_number(folder.substr(0, mark))) return {};
  return folder.substr(mark + 1);
}

void collect(const fs::path& folder, std::string_view type, int depth, std::vector<fs::path>& found) {
  for (const fs::path& each : folders_in(folder)) {
    const std::string name = each.filename().native();
    const std::string_view own = type_of(name);
    if (own == type)
      found.push_back(each);
    else if (!own.empty() && depth < kDeepestOperator)
      collect(each, type, depth + 1, found);
  }
}

}  // namespace

std::vector<fs::path> atb_operators_of(const fs::path& round, std::string_view type) {
  std::vector<fs::path> found;
  collect(round, type, 0, found);
  return found;
}

Result<fs::path> atb_input_file(const fs::path& op, int number) {
  constexpr std::string_view kInput = "intensor";
  for (const char* const moment : {"before", "after"}) {
    Remarks ignored;
    for (const FoundFile& file : list_files(op / moment, ignored)) {
      const std::string_view stem = std::string_view(file.relative).substr(0, file.relative.rfind('.'));
      if (!file.relative.ends_with(".bin") || !stem.starts_with(kInput)) continue;
      Port port;
      read_port_number(stem.substr(kInput.size()), port);
      if (port.index == number && !port.is_again) return op / moment / file.relative;
    }
  }
  return fail(ErrorKind::not_found, "{}: has no input {}", display(op), number);
}

}  // namespace assay
