// Tables of results of a data set. The input is cut at a line "--" into golden and test; without one it is
// both.
#include "tests/fuzz/target.h"

#include "assay/compat/msit/bad_cases.h"

#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile golden("golden.csv"), test("test.csv");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kCut = "\n--\n";
  const size_t cut = text.find(kCut);
  const bool is_one = cut == std::string_view::npos;
  golden.fill(data, is_one ? size : cut);
  const size_t second = is_one ? 0 : cut + kCut.size();
  test.fill(data + second, size - second);
  for (const BadCaseJoin join : {BadCaseJoin::queries, BadCaseJoin::key}) {
    const auto cases = find_bad_cases(golden.path(), test.path(), join);
    check_error(cases);
    if (!cases) continue;
    for (const auto& row : cases->rows) ASSAY_CHECK(row.size() == cases->columns.size());
    ASSAY_CHECK(static_cast<int64_t>(cases->some_unmatched.size()) <= cases->unmatched);
  }
  return 0;
}
