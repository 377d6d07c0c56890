#include "assay/match/ops/fused_parts.h"

#include <algorithm>

namespace assay {
namespace {

std::vector<Role> roles_in(Role whole) {
  return whole == Role::gate_up ? std::vector{Role::gate, Role::up}
                                : std::vector{Role::query, Role::key, Role::value};
}

std::optional<size_t> input_of(const OpItems& torch, const Roles& roles,
                               const std::vector<RolePlace>& places) {
  for (const RolePlace& place : places)
    if (const auto module = roles.find(place); module != roles.end())
      if (const auto given = torch.find(module->second.front().op, Direction::input, 0)) return given;
  return std::nullopt;
}

}  // namespace

bool FusedFinder::is_one_in_torch(const RolePlace& place) const {
  const RolePlace gate{place.layer, Role::gate, place.number, place.branch};
  return place.role == Role::up && !torch_roles_.contains(gate) && atb_roles_.contains(gate);
}

bool FusedFinder::is_split(int32_t op) const {
  return atb_.tree().is_leaf(op) && atb_.tree().at(op).kind == OpKind::split;
}

std::vector<PartOfFused> FusedFinder::taken_apart(const RolePlace& place,
                                                  const std::vector<Role>& roles) const {
  std::vector<PartOfFused> parts;
  for (const Role role : roles) {
    const auto found = atb_roles_.find({place.layer, role, place.number, place.branch});
    if (found == atb_roles_.end()) return {};
    const auto split =
        std::ranges::find_if(found->second, [&](const PortOfOp& source) { return is_split(source.op); });
    if (split == found->second.end()) return {};
    const auto item = atb_.find(split->op, Direction::output, split->port.index);
    const TensorMeta* const meta = item ? atb_.item(*item).meta : nullptr;
    if (meta == nullptr || meta->shape.dims.empty()) return {};
    parts.push_back({*split, meta->shape.dims.back()});
  }
  std::ranges::sort(parts, {}, [](const PartOfFused& part) { return part.source.port.index; });
  return parts;
}

std::optional<FusedParts> FusedFinder::parts(const RolePlace& place, Role whole, int32_t module) const {
  const std::vector<PartOfFused> parts = taken_apart(place, roles_in(whole));
  if (parts.empty()) return std::nullopt;
  FusedParts fused;
  for (const PartOfFused& part : parts) fused.widths.push_back(part.width);
  const auto item = atb_.find(parts[0].source.op, Direction::output, parts[0].source.port.index);
  fused.ranks = std::max<int64_t>(1, std::ssize(atb_.item(*item).shards()));
  if (whole == Role::query_key_value && are_by_heads(torch_.tree(), module)) {
    fused.heads = heads_of(place.layer) * fused.ranks;
    if (fused.heads == 0) return std::nullopt;
  }
  return fused;
}

// Of one rank, as the attention of ATB says; 0: it does not.
int64_t FusedFinder::heads_of(int32_t layer) const {
  const auto core = atb_roles_.find({layer, Role::context});
  if (core == atb_roles_.end()) return 0;
  for (const OpParam& param : atb_.tree().at(core->second.front().op).params)
    if (param.key == "headNum" && param.values.size() == 1)
      if (const auto* const heads = std::get_if<int64_t>(&param.values[0]))
        return *heads > 0 && *heads <= INT32_MAX ? *heads : 0;
  return 0;
}

std::optional<FusedParts> FusedFinder::shares(const RolePlace& place, int32_t module) const {
  const Role whole = place.role == Role::up ? Role::gate_up : place.role;
  auto fused = parts(place, whole, module);
  if (!fused || (fused->ranks == 1 && fused->heads == 0)) return std::nullopt;
  // ATB may keep the heads together, and take each apart.
  const auto source = atb_roles_.find({place.layer, whole, place.number, place.branch});
  const auto result =
      source == atb_roles_.end() ? std::nullopt : atb_.find(source->second.front().op, Direction::output, 0);
  const TensorMeta* const meta = result ? atb_.item(*result).meta : nullptr;
  if (meta == nullptr) return fused;
  int64_t left = meta->shape.dims.empty() ? 0 : meta->shape.dims.back();
  for (const int64_t each : fused->widths) {
    if (each > left) return std::nullopt;
    left -= each;
  }
  return left == 0 ? fused : std::nullopt;
}

std::optional<FusedParts> FusedFinder::of_weight(const PortOfOp& source, const std::vector<int32_t>& modules,
                                                 int64_t dimension) const {
  if (modules.size() > 1 || source.product < 0) return std::nullopt;
  for (const auto& [place, sources] : torch_roles_) {
    if (sources.front().op != modules[0]) continue;
    const bool is_whole =
        place.role == Role::query_key_value || place.role == Role::gate_up || is_one_in_torch(place);
    if (!is_whole) continue;
    auto fused = shares(place, modules[0]);
    if (fused) fused->dimension = dimension;
    return fused;
  }
  return std::nullopt;
}

Partners experts_of_torch(const OpItems& torch, const Roles& roles, int32_t layer,
                          const std::vector<Role>& which, Direction direction) {
  Partners partners;
  RowsOfExperts rows;
  for (size_t i = 0; i < which.size(); ++i) {
    rows.experts = 0;
    for (auto each = roles.lower_bound({layer, which[i]});
         each != roles.end() && each->first.layer == layer && each->first.role == which[i]; ++each) {
      const auto& [place, modules] = *each;
      if (place.branch != Branch::experts) continue;
      const PortOfOp& source = modules.front();
      const bool is_input = direction == Direction::input || source.port.direction == Direction::input;
      const auto position = torch.find(source.op, is_input ? Direction::input : Direction::output, 0);
      if (!position) continue;
      partners.positions.push_back(*position);
      ++rows.experts;
      const auto given = input_of(torch, roles,
                                  {{layer, Role::gate, place.number, Branch::experts},
                                   {layer, Role::up, place.number, Branch::experts}});
      if (i == 0 && given) rows.inputs.push_back(*given);
    }
    if (rows.experts == 0 || rows.experts * (i + 1) != partners.positions.size()) return {};
  }
  if (which.empty()) return {};
  if (rows.inputs.size() == rows.experts)
    rows.all = input_of(torch, roles, {{layer, Role::mlp}, {layer, Role::router}});
  partners.experts = std::move(rows);
  return partners;
}

}  // namespace assay
