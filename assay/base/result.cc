#include "assay/base/result.h"

#include "assay/base/caller.h"
#include "assay/base/console.h"

#include <cstdlib>
#include <stdexcept>

namespace assay {

std::string fit_for_a_message(std::string text) {
  constexpr size_t kLongest = 2000, kEnd = 400;
  if (text.size() <= kLongest) return text;
  const auto begins_letter = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
  };
  size_t cut = kLongest - kEnd, again = text.size() - kEnd;
  while (cut > 0 && !begins_letter(cut)) --cut;
  while (again < text.size() && !begins_letter(again)) ++again;
  return text.substr(0, cut) + " … " + text.substr(again);
}

void check_failed(const char* condition, const char* file, int line) {
  if (current_caller() != nullptr)  // ends the call, and not the program that made it
    throw std::logic_error(fmt::format("internal error at {}:{}: {} does not hold", file, line, condition));
  console::print(console::Stream::err, "assay: internal error at {}:{}: {} does not hold\n", file, line,
                 condition);
  std::abort();
}

}  // namespace assay
