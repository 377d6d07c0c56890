// Where one projection computes several tensors at once: queries, keys and values; a gate and what it gates;
// those of all experts. Which of them are in which tensor of torch.
#pragma once

#include "assay/match/ops/model_roles.h"
#include "assay/match/ops/op_items.h"
#include "assay/match/ops/torch_partners.h"

namespace assay {

struct PartOfFused {
  PortOfOp source;
  int64_t width;  // on one rank
};

// One projection of torch, which ATB takes apart behind its own.
class FusedFinder {
 public:
  // All outlive this.
  FusedFinder(const OpItems& atb, const Roles& atb_roles, const OpItems& torch, const Roles& torch_roles)
      : atb_(atb), torch_(torch), atb_roles_(atb_roles), torch_roles_(torch_roles) {}

  // Where torch has one projection in front of the activation and ATB splits what it gives, it is gate and
  // up.
  bool is_one_in_torch(const RolePlace& place) const;
  // What ATB takes it apart into, in the order of outputs; none where it does not, or the dump does not say.
  std::vector<PartOfFused> taken_apart(const RolePlace& place, const std::vector<Role>& roles) const;
  std::optional<FusedParts> parts(const RolePlace& place, Role whole, int32_t module) const;
  // Nothing where both sides hold them in the same order.
  std::optional<FusedParts> shares(const RolePlace& place, int32_t module) const;
  // Of the weight or bias of such a module, along the dimension of what it gives.
  std::optional<FusedParts> of_weight(const PortOfOp& source, const std::vector<int32_t>& modules,
                                      int64_t dimension) const;

 private:
  bool is_split(int32_t op) const;
  int64_t heads_of(int32_t layer) const;

  const OpItems &atb_, &torch_;
  const Roles &atb_roles_, &torch_roles_;
};

// Of each role the tensors of all experts; none where an expert lacks one of them. Of an expert that was
// given nothing torch may hold nothing.
Partners experts_of_torch(const OpItems& torch, const Roles& roles, int32_t layer,
                          const std::vector<Role>& which, Direction direction);

}  // namespace assay
