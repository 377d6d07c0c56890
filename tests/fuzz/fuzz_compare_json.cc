// compare.json as people write it, and JSON values as Python prints them.
#include "tests/fuzz/target.h"

#include "assay/support/json_tape.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(python_repr(text));
  const auto tape = parse_json_text(text, "compare.json");
  check_error(tape);
  if (!tape) return 0;
  static_cast<void>(python_str(*tape, 0));
  if (tape->kind(0) != JsonKind::object) return 0;
  for (size_t at = tape->first(0); !tape->is_end(at); at = tape->next(at + 1)) {
    ASSAY_CHECK(tape->kind(at) == JsonKind::key);
    ASSAY_CHECK(tape->find(0, tape->text(at)) != 0);
    static_cast<void>(python_str(*tape, at + 1));
  }
  return 0;
}
