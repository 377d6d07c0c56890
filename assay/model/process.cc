#include "assay/model/process.h"

#include "assay/base/text.h"

#include <fmt/format.h>

namespace assay {
namespace {

constexpr std::string_view kWord = "process ";

}  // namespace

std::string process_part(int number, std::string_view rest) {
  return fmt::format("{}{}{}{}", kWord, number, rest.empty() ? "" : " ", rest);
}

int process_of(const At& at) {
  if (!at.part.starts_with(kWord)) return -1;
  const std::string_view behind = std::string_view(at.part).substr(kWord.size());
  return static_cast<int>(parse_int(behind.substr(0, behind.find(' '))).value_or(-1));
}

std::string_view part_within_process(const At& at) {
  const std::string_view part = at.part;
  if (process_of(at) < 0) return part;
  const size_t space = part.find(' ', kWord.size());
  return space == std::string_view::npos ? std::string_view() : part.substr(space + 1);
}

}  // namespace assay
