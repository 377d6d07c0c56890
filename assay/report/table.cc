#include "assay/report/outputs.h"

namespace assay {

std::span<const Output* const> outputs() {
  static constexpr const Output* kTable[] = {
      &terminal_output, &csv_output,   &xlsx_output,   &json_output,
      &jsonl_output,    &junit_output, &sqlite_output, &html_output,
  };
  return kTable;
}

const Output* find_output(std::string_view name) {
  for (const Output* output : outputs())
    if (output->name == name) return output;
  return nullptr;
}

}  // namespace assay
