#include "assay/format/pt_sharing.h"

#include <algorithm>

namespace assay {
namespace {

// Behind the last element. No overflow: the tensor was made, so that it lies in its storage.
int64_t end_of(const PtPlacement& placement) {
  int64_t last = placement.offset;
  for (size_t i = 0; i < placement.strides.size(); ++i)
    last += (placement.shape.dims[i] - 1) * placement.strides[i];
  return last + 1;
}

}  // namespace

void PtSharing::add(size_t slot, PtPlacement placement) {
  if (placement.shape.count() > 0) members_[placement.id.key].push_back({slot, std::move(placement)});
}

int64_t PtSharing::tell(const PtStorages& storages, TensorSet& set) const {
  int64_t which = 0, untold = 0;
  for (const auto& [key, members] : members_) {
    if (members.size() < 2) continue;
    const DType dtype = members.front().placement.dtype;
    const auto is_other = [&](const Member& member) { return member.placement.dtype != dtype; };
    int64_t first = members.front().placement.offset, end = first;
    for (const Member& member : members) {
      first = std::min(first, member.placement.offset);
      end = std::max(end, end_of(member.placement));
    }
    auto data =
        std::ranges::any_of(members, is_other)
            ? fail(ErrorKind::unsupported, "tensors of several types")
            : storages.dense(key, first * size_of(dtype), {dtype, Shape{{end - first}}}, ReadOrder::any);
    if (!data) {
      ++untold;
      continue;
    }
    for (const Member& member : members)
      set.tensors[member.slot].shared =
          SharedStorage{which, *data, member.placement.offset - first, member.placement.strides};
    ++which;
  }
  return untold;
}

}  // namespace assay
