#include "assay/judge/rounded_types.h"

#include "assay/judge/call_name.h"
#include "assay/judge/native_defaults.h"
#include "assay/judge/stated_errors.h"

namespace assay {
void RoundedTypes::begin(const NodeResult& node) {
  const CallName name(node.name);
  own_ = nullptr;
  given_ = DType::f64;
  if (!name.is_backward())
    own_ = &forward_.try_emplace(name.key(), DType::f64).first->second;
  else if (const auto found = forward_.find(name.key()); found != forward_.end())
    given_ = found->second;
}

std::optional<DType> RoundedTypes::of_row(const Comparison& row) {
  if (row.status != Status::compared || row.basis == Basis::nothing || !row.mine.meta || !row.golden.meta)
    return std::nullopt;
  const DType own = deciding_dtype(row.mine.meta->dtype, row.golden.meta->dtype);
  if (!is_real(own)) return std::nullopt;
  const bool is_stated = row.basis == Basis::stated && row.evidence == Evidence::statistics;
  const Direction direction = direction_of(row);
  DType coarsest = direction == Direction::output ? deciding_dtype(own, given_) : own;
  if (const auto key = is_stated ? key_of_statistics(row) : std::nullopt) {
    const auto [value, is_new] = values_.try_emplace(*key, coarsest);
    // What nothing in the dump made may have been computed from anything before it.
    if (direction == Direction::input) coarsest = deciding_dtype(coarsest, is_new ? made_ : value->second);
    value->second = deciding_dtype(coarsest, value->second);
  }
  DType& noted = direction == Direction::output ? made_ : given_;
  noted = deciding_dtype(noted, coarsest);
  if (own_ != nullptr) *own_ = deciding_dtype(*own_, coarsest);
  return is_stated && coarsest != own ? std::optional(coarsest) : std::nullopt;
}

}  // namespace assay
