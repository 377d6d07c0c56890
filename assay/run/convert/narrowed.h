// A tensor on its way to a type that holds less.
#pragma once

#include "assay/tensor/operand.h"

#include <atomic>

namespace assay {

// `narrow` is `wide` in another type. Notices, while it is read, finite numbers that are not finite any more.
class Narrowed : public Operand {
 public:
  Narrowed(OperandPtr wide, OperandPtr narrow)
      : Operand(narrow->meta), wide_(std::move(wide)), narrow_(std::move(narrow)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override;
  void will_need(int64_t first, int64_t count) const override { narrow_->will_need(first, count); }
  bool has_overflowed() const { return has_overflowed_; }

 private:
  Result<void> look(const Block& block, int64_t first) const;

  const OperandPtr wide_, narrow_;
  mutable std::atomic<bool> has_overflowed_ = false;
};

}  // namespace assay
