#include "assay/tensor/summed.h"

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

// Small enough for the stack, large enough that the calls do not count.
constexpr int64_t kSummedAtOnce = 1024;

class Summed : public Operand {
 public:
  Summed(TensorMeta result, std::vector<OperandPtr> terms)
      : Operand(std::move(result)), terms_(std::move(terms)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    constexpr int64_t kSize = sizeof(double);
    std::byte* const out = scratch.buffer(count * kSize);
    std::memset(out, 0, static_cast<size_t>(count * kSize));
    double sum[kSummedAtOnce], term[kSummedAtOnce];
    for (size_t each = 0; each < terms_.size(); ++each) {
      ASSAY_TRY(const Block block, terms_[each]->block(first, count, scratch.below(each)));
      for (int64_t done = 0; done < count; done += kSummedAtOnce) {
        const int64_t n = std::min(kSummedAtOnce, count - done);
        const auto bytes = static_cast<size_t>(n * kSize);
        to_f64(block.dtype, block.data + done * size_of(block.dtype), n, term);
        std::memcpy(sum, out + done * kSize, bytes);
        for (int64_t i = 0; i < n; ++i) sum[i] += term[i];
        std::memcpy(out + done * kSize, sum, bytes);
      }
    }
    return Block{meta.dtype, out, count};
  }

 private:
  const std::vector<OperandPtr> terms_;
};

}  // namespace

Result<OperandPtr> summed(std::vector<OperandPtr> terms) {
  ASSAY_CHECK(!terms.empty());
  TensorMeta meta{DType::f64, terms.front()->meta.shape};
  for (const OperandPtr& term : terms) {
    if (term->meta.shape != meta.shape)
      return fail(ErrorKind::mismatch, "tensors of shapes {} and {} cannot be added up", meta.shape.text(),
                  term->meta.shape.text());
    if (is_complex(term->meta.dtype))
      return fail(ErrorKind::unsupported, "tensors of type {} cannot be added up", name(term->meta.dtype));
  }
  return OperandPtr(std::make_shared<Summed>(std::move(meta), std::move(terms)));
}

}  // namespace assay
