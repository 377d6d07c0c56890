#include "assay/golden/elements.h"

#include "assay/base/checked.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

class Patched final : public Operand {
 public:
  Patched(OperandPtr base, OperandPtr values, std::vector<Patch> patches)
      : Operand(base->meta), base_(std::move(base)), values_(std::move(values)), size_(size_of(meta.dtype)) {
    order_.reserve(patches.size());
    for (size_t i = 0; i < patches.size(); ++i) {
      if (patches[i].count == 0) continue;
      longest_ = std::max(longest_, patches[i].count);
      order_.push_back({patches[i], i});
    }
    std::ranges::sort(order_, {}, [](const Ordered& each) { return std::pair(each.patch.at, each.turn); });
  }

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    std::vector<Ordered> hits = overlapping(first, count);
    if (hits.empty()) return base_->block(first, count, scratch.below(0));
    std::byte* const out = scratch.buffer(count * size_);
    ASSAY_TRY_DO(base_->read(first, count, {out, static_cast<size_t>(count * size_)}, scratch.below(0)));
    std::ranges::sort(hits, {}, &Ordered::turn);
    for (const auto& [patch, turn] : hits) {
      const int64_t begin = std::max(first, patch.at), end = std::min(first + count, patch.at + patch.count);
      const std::span<std::byte> to(out + (begin - first) * size_,
                                    static_cast<size_t>((end - begin) * size_));
      ASSAY_TRY_DO(values_->read(patch.from + begin - patch.at, end - begin, to, scratch.below(1)));
    }
    return Block{meta.dtype, out, count};
  }

 private:
  struct Ordered {
    Patch patch;
    size_t turn = 0;
  };

  std::vector<Ordered> overlapping(int64_t first, int64_t count) const {
    std::vector<Ordered> hits;
    auto at =
        std::ranges::upper_bound(order_, first - longest_, {}, [](const Ordered& o) { return o.patch.at; });
    for (; at != order_.end() && at->patch.at < first + count; ++at)
      if (at->patch.at + at->patch.count > first) hits.push_back(*at);
    return hits;
  }

  OperandPtr base_, values_;
  int64_t size_;
  std::vector<Ordered> order_;  // by place
  int64_t longest_ = 0;
};

}  // namespace

Result<Elements> elements_of(const GoldenCall& call, size_t i) {
  if (i >= call.in.size() || call.in[i] == nullptr)
    return fail(ErrorKind::mismatch, "{} has no input {}", call.type, i);
  ASSAY_TRY(std::vector<std::byte> bytes, read_whole(*call.in[i], call.memory / 2));
  return Elements{call.in[i]->meta, std::move(bytes)};
}

Result<Elements> zero_elements(const GoldenCall& call, DType dtype, const Shape& shape) {
  ASSAY_TRY(const int64_t count, count_of(shape));
  if (count > call.memory / 2 / size_of(dtype))
    return fail(ErrorKind::limit, "a tensor of shape {} needs more than the {} MiB that --memory allows",
                shape.text(), call.memory >> 20);
  return Elements{TensorMeta{dtype, shape},
                  std::vector<std::byte>(static_cast<size_t>(count * size_of(dtype)))};
}

OperandPtr operand_of(Elements elements) {
  return dense_in_memory(std::move(elements.bytes), std::move(elements.meta));
}

Expected exactly(Elements elements) { return exactly(operand_of(std::move(elements))); }

Result<OperandPtr> constant(DType dtype, double value, const Shape& shape) {
  ASSAY_TRY_DO(count_of(shape));
  std::vector<std::byte> bytes(static_cast<size_t>(size_of(dtype)));
  from_f64(dtype, &value, 1, bytes.data());
  const OperandPtr one = dense_in_memory(std::move(bytes), TensorMeta{dtype, Shape{{1}}});
  return strided(one, shape, std::vector<int64_t>(shape.dims.size(), 0), 0);
}

Result<void> check_given(const GoldenCall& call, size_t least, size_t most) {
  ASSAY_TRY_DO(check_inputs(call, least, most));
  const auto missing = std::ranges::find(call.in, nullptr);
  if (missing == call.in.end()) return {};
  return fail(ErrorKind::mismatch, "{} has no input {}", call.type, missing - call.in.begin());
}

Result<void> check_rank(const GoldenCall& call, size_t i, size_t rank) {
  if (shape_of(call, i).dims.size() == rank) return {};
  return fail(ErrorKind::mismatch, "input {} of {} has the shape {}, which has not {} dimensions", i,
              call.type, shape_of(call, i).text(), rank);
}

Result<void> check_same_type(const GoldenCall& call, size_t i, size_t j) {
  if (dtype_of(call, i) == dtype_of(call, j)) return {};
  return fail(ErrorKind::mismatch, "inputs {} and {} of {} are of different types, {} and {}", i, j,
              call.type, name(dtype_of(call, i)), name(dtype_of(call, j)));
}

Shape single_shape(const GoldenCall& call, size_t k) {
  const bool is_scalar = k < call.out.size() && call.out[k].shape.dims.empty();
  return is_scalar ? Shape{} : Shape{{1}};
}

std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides(shape.dims.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * shape.dims[i];
  return strides;
}

int64_t extent_between(const Shape& shape, size_t first, size_t last) {
  int64_t product = 1;
  for (size_t i = first; i < last; ++i) product *= shape.dims[i];
  return product;
}

bool is_whole_type(DType dtype) {
  const DTypeKind kind = info(dtype).kind;
  return kind == DTypeKind::integer || kind == DTypeKind::natural || kind == DTypeKind::truth;
}

int64_t wrapped(DType dtype, int64_t value) {
  if (info(dtype).kind == DTypeKind::truth) return value != 0;
  const int bits = static_cast<int>(info(dtype).storage_bits);
  if (bits >= 64) return value;
  const uint64_t low = static_cast<uint64_t>(value) << (64 - bits);
  return info(dtype).kind == DTypeKind::integer ? static_cast<int64_t>(low) >> (64 - bits)
                                                : static_cast<int64_t>(low >> (64 - bits));
}

OperandPtr patched(OperandPtr base, OperandPtr values, std::vector<Patch> patches) {
  return std::make_shared<Patched>(std::move(base), std::move(values), std::move(patches));
}

}  // namespace assay
