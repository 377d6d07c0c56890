#include "assay/compat/msit/answers.h"

#include "assay/compat/msprobe/profile.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

namespace assay {

Column answer_column(std::string title, size_t number) {
  return {std::move(title), [number](const RowView& v) -> Value {
            if (v.row.answers == nullptr || number >= v.row.answers->size()) return {};
            return (*v.row.answers)[number].value;
          }};
}

std::string join_messages(std::string first, std::string_view between,
                          const std::vector<AlgorithmAnswer>* answers, std::span<const std::string> names) {
  if (answers == nullptr) return first;
  for (size_t i = 0; i < answers->size(); ++i) {
    const std::string& message = (*answers)[i].message;
    if (message.empty()) continue;
    if (!first.empty()) first += between;
    if (i < names.size()) first += names[i] + ": ";
    first += message;
  }
  return first;
}

std::string python_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return python_repr(*text);
  if (const auto* whole = std::get_if<int64_t>(&value)) return fmt::format("{}", *whole);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
  std::string out;
  if (const auto* real = std::get_if<double>(&value)) append_python_float(out, *real);
  return out.empty() ? "None" : out;
}

}  // namespace assay
