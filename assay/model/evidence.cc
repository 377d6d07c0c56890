#include "assay/model/evidence.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace assay {

std::string_view text(Evidence evidence) {
  switch (evidence) {
    case Evidence::nothing:
      return "";
    case Evidence::elements:
      return "elements";
    case Evidence::some_elements:
      return "some elements";
    case Evidence::one_rank:
      return "one rank";
    case Evidence::finite_elements:
      return "finite elements";
    case Evidence::checksum:
      return "checksum";
    case Evidence::parity:
      return "xor";
    case Evidence::statistics:
      return "statistics";
    case Evidence::extremes:
      return "extremes";
    case Evidence::value:
      return "value";
    case Evidence::empty:
      return "no elements";
  }
  return "";
}

std::string names_of(StatisticSet set) {
  std::string out;
  for (size_t i = 0; i < kStatistics.size(); ++i)
    if ((set >> i & 1) != 0) out += (out.empty() ? "" : ", ") + std::string(kStatistics[i].name);
  return out;
}

Scalar finite_statistic(const Stated& stated, const StatisticName& which) {
  const Scalar& plain = stated.*which.of;
  const auto number = number_of(plain);
  if (!number && plain.text()) return {};  // no tensor has it
  if (!number || std::isfinite(*number)) return plain;
  return stated.nonfinite == nullptr ? Scalar() : stated.nonfinite->*which.of_finite;
}

bool is_xor(std::string_view checksum) { return checksum.starts_with("0x"); }

bool are_of_one_kind(std::string_view a, std::string_view b) {
  return is_xor(a) == is_xor(b) && (is_xor(a) || a.size() == b.size());
}

bool is_checksum(std::string_view text) {
  constexpr size_t kDigitsOfWord = 16;
  const bool by_xor = is_xor(text);
  if (by_xor) text.remove_prefix(2);
  const size_t digits = text.size();
  if (!std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; })) return false;
  if (by_xor) return digits >= 1 && digits <= kDigitsOfWord;
  return digits == 8 || digits == 32 || digits == 40 || digits == 64;
}

StatisticSet shared_statistics(const Stated& mine, const Stated& golden) {
  StatisticSet set = 0;
  for (size_t i = 0; i < kStatistics.size(); ++i)
    if (!finite_statistic(mine, kStatistics[i]).is_absent() &&
        !finite_statistic(golden, kStatistics[i]).is_absent())
      set |= static_cast<StatisticSet>(1U << i);
  return set;
}

}  // namespace assay
