// Names of logits files, which say of what question and what token they are.
#include "tests/fuzz/target.h"

#include "assay/dump/logits.h"

#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  const auto name = parse_logits_name({reinterpret_cast<const char*>(data), size});
  check_error(name);
  if (!name) return 0;
  ASSAY_CHECK(name->key.find_first_of("0123456789") != std::string::npos);
  const size_t digits = name->token.starts_with('-') ? 1 : 0;
  ASSAY_CHECK(name->token.size() > digits &&
              name->token.find_first_not_of("0123456789", digits) == std::string::npos);
  return 0;
}
