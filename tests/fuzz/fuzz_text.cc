// The small text functions that see names and flags. The input is cut at its line ends into the arguments.
#include "tests/fuzz/target.h"

#include "assay/base/text.h"
#include "assay/tensor/dtype.h"

namespace assay {
namespace {

void check_order(std::string_view a, std::string_view b, std::string_view c) {
  ASSAY_CHECK(natural_compare(a, a) == 0);
  ASSAY_CHECK(natural_compare(a, b) == -natural_compare(b, a));
  if (natural_less(a, b) && natural_less(b, c)) ASSAY_CHECK(natural_less(a, c));
}

void check_single(std::string_view text) {
  ASSAY_CHECK(printable(text).find('\n') == std::string::npos);
  ASSAY_CHECK(to_lower(text).size() == text.size());
  ASSAY_CHECK(trim(text).size() <= text.size());
  ASSAY_CHECK(glob_match("*", text));
  if (const auto bytes = parse_size(text)) {
    ASSAY_CHECK(*bytes >= 0);
    ASSAY_CHECK(!format_size(*bytes).empty());
  }
  static_cast<void>(parse_int(text));
  static_cast<void>(parse_double(text));
  static_cast<void>(find_dtype(text));
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> parts = split(text, '\n');
  parts.resize(std::max<size_t>(parts.size(), 3));
  check_order(parts[0], parts[1], parts[2]);
  static_cast<void>(glob_match(parts[0], parts[1]));
  static_cast<void>(glob_match(parts[1], text));
  for (const std::string_view part : parts) check_single(part);
  return 0;
}
