#include "assay/model/argument.h"

namespace assay {

bool is_argument(const Item& item) {
  if (item.meta != nullptr || item.data || item.stated == nullptr || item.stated->checksum.empty())
    return false;
  const auto same = [](const Scalar& a, const Scalar& b) {
    const auto x = a.real(), y = b.real();
    return a == b || (x && y && *x != *x && *y != *y);  // NaN
  };
  const Stated& stated = *item.stated;
  return same(stated.max, stated.min) && same(stated.max, stated.mean) && same(stated.max, stated.norm);
}

}  // namespace assay
