#include "assay/base/text.h"
#include "assay/match/ops/fused_parts.h"
#include "assay/match/ops/inference.h"
#include "assay/match/ops/model_roles.h"
#include "assay/match/ops/op_items.h"
#include "assay/match/ops/op_sections.h"
#include "assay/match/ops/quantised.h"
#include "assay/match/ops/torch_partners.h"

#include <algorithm>
#include <set>

namespace assay {
namespace {

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// "Type_outtensor1" as a type and a file; without a file all outputs are meant.
struct TypedOutput {
  std::string type;
  std::optional<int> index;
};

TypedOutput parse_typed(std::string_view text) {
  const size_t mark = text.find('_');
  if (mark == std::string_view::npos) return {std::string(text), std::nullopt};
  const std::string_view file = text.substr(mark + 1);
  const size_t digits = file.find_last_not_of("0123456789") + 1;
  const auto index = parse_int(file.substr(digits));
  return {std::string(text.substr(0, mark)), index ? static_cast<int>(*index) : 0};
}

class RoleMatch {
 public:
  RoleMatch(const Indexed& frames, const MatchOptions& options)
      : builder_(frames),
        options_(options),
        atb_side_(frames.mine[0].framework == "atb" ? Side::mine : Side::golden),
        torch_side_(atb_side_ == Side::mine ? Side::golden : Side::mine),
        atb_(builder_, atb_side_),
        torch_(builder_, torch_side_),
        atb_roles_(roles_of_atb(builder_.frames(atb_side_)[0])),
        torch_roles_(roles_of_torch(torch_.tree())),
        fused_(atb_, atb_roles_, torch_, torch_roles_),
        dequantiser_(frames),
        known_(atb_.tree().values.size()) {}

  Pairing run() {
    note_layers();
    for (const auto& [place, sources] : torch_roles_)
      if (place.role != Role::angles) pair_role(place, sources.front());
    pair_joined(Role::query_key_value, {Role::query, Role::key, Role::value});
    for (const Branch branch : {Branch::plain, Branch::shared})
      pair_joined(Role::gate_up, {Role::gate, Role::up}, branch);
    pair_parts(Role::query_key_value, {Role::query, Role::key, Role::value});
    pair_parts(Role::gate_up, {Role::gate, Role::up});
    pair_experts();
    pair_ids(Role::embedding);
    pair_ids(Role::position);
    pair_angles();
    pair_embedding(Role::embedding);
    pair_embedding(Role::position);
    if (options_.op_mapping) pair_by_types(*options_.op_mapping);
    pair_same_values();
    Pairing pairing = builder_.finish();
    pairing.dequantises = true;
    pairing.warnings = std::move(warnings_);
    return pairing;
  }

 private:
  struct KnownValue {
    Partners partners;
    const TensorMeta* meta = nullptr;  // of the tensor that told; null where it was not dumped
  };

  // The first that is said of a value counts: it comes from its most direct source.
  void note_value(int32_t op, const Port& port, const Partners& partners) {
    const int32_t value = atb_.tree().value_of(op, port);
    if (value == Graph::kNone) return;
    KnownValue& known = known_[static_cast<size_t>(value)];
    if (!known.partners.positions.empty()) return;
    known.partners = partners;
    if (const auto position = atb_.find(op, port.direction, port.index))
      known.meta = atb_.item(*position).meta;
  }

  // The inputs of an operator are the outputs of others: a tensor has the partners of its value.
  void pair_same_values() {
    const Graph& tree = atb_.tree();
    for (size_t i = 0; i < tree.ops.size(); ++i) {
      const auto op = static_cast<int32_t>(i);
      if (keeps_numbers(tree.at(op)))
        if (const int32_t given = atb_.tree().value_of(op, {Direction::input, 0}); given != Graph::kNone)
          note_value(op, {Direction::output, 0}, known_[static_cast<size_t>(given)].partners);
      for (const Direction direction : {Direction::input, Direction::output})
        for (const size_t position : atb_.all(op, direction)) {
          const Item& item = atb_.item(position);
          const int32_t value = atb_.tree().value_of(op, item.port);
          if (value == Graph::kNone || builder_.is_joined(atb_side_, position)) continue;
          const KnownValue& known = known_[static_cast<size_t>(value)];
          // A graph is drawn once, when there are no keys and values of earlier tokens yet.
          const bool has_grown = item.meta != nullptr && known.meta != nullptr &&
                                 item.meta->shape != known.meta->shape &&
                                 !is_permuted(item.meta->shape, known.meta->shape);
          // Where what told was not dumped, nobody knows.
          const bool is_guess =
              item.meta != nullptr && known.meta == nullptr && direction == Direction::input;
          if (!has_grown) join_all(position, known.partners, is_guess);
        }
    }
  }

  // The same dimensions in another order: no operator stands between, so that one of the two is wrong.
  static bool is_permuted(const Shape& a, const Shape& b) {
    return a.dims.size() == b.dims.size() && std::ranges::is_permutation(a.dims, b.dims);
  }

  // A cast or a quantisation changes the type of a tensor and not, beyond rounding, what is in it.
  static bool keeps_numbers(const GraphOp& op) {
    return op.elewise_type && (op.kind == OpKind::cast || op.kind == OpKind::quantise);
  }

  // One pair, which stands at the first of the partners.
  void join_all(size_t atb, const Partners& partners, bool is_guess = false, Why why = Why::same_role) {
    if (partners.positions.empty()) return;
    // Terms that the other ranks of this section do not hold add up to nothing.
    if (partners.are_terms && atb_.item(atb).shards().size() < 2) return;
    const size_t first = partners.positions.front();
    join(atb, first, why, partners, is_guess || partners.may_not_fit || partners.fused.has_value());
    for (const size_t torch : partners.positions)
      if (torch != first) builder_.cover(torch_side_, torch, torch_side_ == Side::mine ? first : atb);
  }

  // What an embedding is given beside its table.
  void pair_ids(Role role) {
    const auto module = torch_roles_.find({-1, role});
    const auto block = atb_roles_.find({-1, role});
    if (module == torch_roles_.end() || block == atb_roles_.end()) return;
    const auto ids = torch_.find(module->second.front().op, Direction::input, 0);
    if (!ids) return;
    for (const PortOfOp& source : block->second)
      for (const size_t position : atb_.all(source.op, Direction::input)) {
        const TensorMeta* const meta = atb_.item(position).meta;
        if (meta == nullptr || (meta->dtype != DType::i64 && meta->dtype != DType::i32)) continue;
        Partners partners{{*ids}};
        partners.may_not_fit = role == Role::position;
        note_value(source.op, atb_.item(position).port, partners);
        join_all(position, partners);
        break;
      }
  }

  void join(size_t atb, size_t torch, Why why, const Partners& partners, bool is_guess = false) {
    const auto [m, g] = atb_side_ == Side::mine ? std::pair(atb, torch) : std::pair(torch, atb);
    if (!joined_.emplace(m, g).second) return;
    PairPlans plans;
    plans.of(torch_side_) = plan_of_torch(builder_, torch_side_, partners);
    plans.is_guess = is_guess;
    dequantiser_.plan(builder_.items(Side::mine)[m], builder_.items(Side::golden)[g], plans);
    if (partners.are_terms) {
      Plan& plan = plans.of(atb_side_);
      if (plan.is_empty()) plan = as_it_stands(atb_side_, builder_.items(atb_side_)[atb]);
      plan.add(PlanOp::add_ranks);
    }
    builder_.join(m, g, why, std::move(plans));
  }

  void note_layers() {
    const size_t atb = atb_layers(atb_.tree()).size(), torch = torch_layers(torch_.tree()).size();
    if (atb != torch)
      warnings_.push_back(fmt::format("ATB has {} layers, torch {}; the first {} are paired", atb, torch,
                                      std::min(atb, torch)));
  }

  size_t count_of(const Roles& roles, int32_t layer, Role role) const {
    size_t count = 0;
    for (int32_t number = 0; roles.contains({layer, role, number}); ++number) ++count;
    return count;
  }

  void pair_role(const RolePlace& place, const PortOfOp& module) {
    const auto found = atb_roles_.find(place);
    if (found == atb_roles_.end() || place.branch == Branch::experts || fused_.is_one_in_torch(place)) return;
    if (place.role == Role::mlp_linear &&
        count_of(atb_roles_, place.layer, place.role) != count_of(torch_roles_, place.layer, place.role))
      return;
    const bool torch_is_gated = torch_roles_.contains({place.layer, Role::gate, place.number, place.branch});
    for (const PortOfOp& source : found->second) {
      // One projection for gate and up at once, which is paired as such.
      if (place.role == Role::up && torch_is_gated && source.product >= 0 && is_fused(place, source.product))
        continue;
      pair_output(place, source, module);
      if (source.product < 0 && !is_leaf_norm(source.op)) continue;
      pair_input(source, module);
      if (module.port.direction == Direction::output) pair_weights(source, {module.op});
    }
  }

  void pair_output(const RolePlace& place, const PortOfOp& source, const PortOfOp& module) {
    // What chooses the experts may give its choice instead of what it is made by.
    if (place.role == Role::router && torch_.tree().at(module.op).kind != OpKind::product) return;
    const auto output = torch_.find(module.op, module.port.direction, module.port.index);
    if (!output) return;
    Partners partners{{*output}};
    partners.are_terms = source.is_partial;
    partners.may_not_fit = place.role == Role::position;  // torch has them once for all requests
    if (place.role == Role::query_key_value) partners.fused = fused_.shares(place, module.op);
    const auto result = atb_.find(source.op, source.port.direction, source.port.index);
    if (!result || (place.role == Role::gated && builder_.is_joined(atb_side_, *result)))
      return note_value(source.op, source.port, partners);
    if (place.role == Role::final_norm && is_of_last_rows(source.op)) partners.last_rows = rows_of(*result);
    if (place.role == Role::logits && has_last_rows_only()) partners.last_rows = rows_of(*result);
    note_value(source.op, source.port, partners);
    join_all(*result, partners, false, place.role == Role::logits ? Why::last_output : Why::same_role);
  }

  bool is_leaf_of(int32_t op, OpKind kind) const {
    return atb_.tree().is_leaf(op) && atb_.tree().at(op).kind == kind;
  }
  bool is_leaf_norm(int32_t op) const { return atb_.tree().is_leaf(op) && is_norm(atb_.tree().at(op).kind); }

  bool is_fused(const RolePlace& place, int32_t product) const {
    const auto fused = atb_roles_.find({place.layer, Role::gate_up, place.number, place.branch});
    return fused != atb_roles_.end() && fused->second.front().product == product;
  }

  // What is multiplied or normed.
  void pair_input(const PortOfOp& source, const PortOfOp& module) {
    if (module.port.direction != Direction::output) return;
    const int32_t op = source.product >= 0 ? source.product : source.op;
    const auto given = atb_.find(op, Direction::input, 0);
    const auto taken = torch_.find(module.op, Direction::input, 0);
    if (!taken) return;
    Partners partners{{*taken}};
    if (given && is_of_last_rows(op)) partners.last_rows = rows_of(*given);
    note_value(op, {Direction::input, 0}, partners);
    if (given) join_all(*given, partners);
  }

  // In front of the head some rows are picked, those of the last positions.
  bool is_of_last_rows(int32_t op) const {
    const Graph& tree = atb_.tree();
    constexpr int kFarthest = 4;
    for (int steps = 0; steps < kFarthest; ++steps) {
      op = tree.producer_of(tree.value_of(op, {Direction::input, 0}));
      if (op < 0 || !tree.is_leaf(op)) return false;
      if (tree.at(op).kind == OpKind::gather)
        return tree.producer_of(tree.value_of(op, {Direction::input, 0})) >= 0;
      if (!is_norm(tree.at(op).kind) && !keeps_numbers(tree.at(op))) return false;
    }
    return false;
  }

  bool has_last_rows_only() const {
    const auto head = atb_roles_.find({-1, Role::logits});
    return head != atb_roles_.end() && std::ranges::any_of(head->second, [&](const PortOfOp& source) {
             return source.product >= 0 && is_of_last_rows(source.product);
           });
  }

  int64_t rows_of(size_t atb) const {
    const TensorMeta* const meta = atb_.item(atb).meta;
    return meta == nullptr || meta->shape.count() == 0 ? 0 : meta->shape.count() / meta->shape.dims.back();
  }

  // One operator of ATB for several modules of torch.
  void pair_joined(Role whole, const std::vector<Role>& parts, Branch branch = Branch::plain) {
    for (const auto& [place, sources] : atb_roles_) {
      if (place.role != whole || place.branch != branch || torch_roles_.contains(place)) continue;
      std::vector<size_t> positions;
      std::vector<int32_t> modules;
      for (const Role part : parts) {
        const auto module = torch_roles_.find({place.layer, part, place.number, branch});
        if (module == torch_roles_.end()) break;
        const PortOfOp& source = module->second.front();
        const auto position = torch_.find(source.op, source.port.direction, source.port.index);
        modules.push_back(source.op);
        if (!position) continue;
        positions.push_back(*position);
        // They are given the same: once where ATB is mine, but a module of mine without its input is no
        // origin.
        if (part == parts[0] || torch_side_ == Side::mine) pair_input(sources.front(), source);
      }
      if (modules.size() != parts.size()) continue;
      pair_weights(sources.front(), modules);
      if (positions.size() != parts.size()) continue;
      Partners partners{positions};
      const auto result = atb_.find(sources.front().op, Direction::output, 0);
      // Of fewer heads of keys than ranks each may hold one that others hold as well.
      partners.may_not_fit =
          result && whole == Role::query_key_value && atb_.item(*result).shards().size() > 1;
      note_value(sources.front().op, {Direction::output, 0}, partners);
      if (result) join_all(*result, partners);
    }
  }

  // ----- one projection of torch for several at once, which ATB takes apart behind it

  void pair_parts(Role whole, const std::vector<Role>& roles) {
    for (const auto& [place, modules] : torch_roles_) {
      const bool is_whole = place.role == whole || (whole == Role::gate_up && fused_.is_one_in_torch(place));
      if (!is_whole || place.branch == Branch::experts) continue;
      const PortOfOp& module = modules.front();
      const auto output = torch_.find(module.op, Direction::output, 0);
      if (place.role != whole) pair_whole(place, whole, module);
      auto fused = fused_.parts(place, whole, module.op);
      if (!output || !fused) continue;
      const std::vector<PartOfFused> parts = fused_.taken_apart(place, roles);
      for (size_t i = 0; i < parts.size(); ++i) {
        fused->which = static_cast<int>(i);
        Partners partners{{*output}};
        partners.fused = fused;
        note_value(parts[i].source.op, parts[i].source.port, partners);
        if (const auto piece = atb_.find(parts[i].source.op, Direction::output, parts[i].source.port.index))
          join_all(*piece, partners);
      }
    }
  }

  void pair_whole(const RolePlace& place, Role whole, const PortOfOp& module) {
    const auto found = atb_roles_.find({place.layer, whole, place.number, place.branch});
    if (found == atb_roles_.end()) return;
    for (const PortOfOp& source : found->second) {
      const auto output = torch_.find(module.op, Direction::output, 0);
      const auto result = atb_.find(source.op, Direction::output, 0);
      Partners partners{output ? std::vector{*output} : std::vector<size_t>()};
      partners.fused = fused_.shares(place, module.op);
      note_value(source.op, source.port, partners);
      if (result) join_all(*result, partners);
      pair_input(source, module);
      pair_weights(source, {module.op});
    }
  }

  // ----- experts

  // One expert behind the other; of one that was given nothing torch may hold nothing.
  void pair_experts() {
    for (const auto& [place, sources] : atb_roles_) {
      if (place.branch != Branch::experts) continue;
      const std::vector<Role> roles =
          place.role == Role::gate_up ? std::vector{Role::gate, Role::up} : std::vector{place.role};
      Partners partners = experts_of_torch(torch_, torch_roles_, place.layer, roles, Direction::output);
      for (const PortOfOp& source : sources) {
        if (place.role == Role::up && source.product >= 0 && is_fused(place, source.product)) continue;
        partners.are_terms = source.is_partial;
        if (!partners.positions.empty()) note_value(source.op, source.port, partners);
        if (const auto result = atb_.find(source.op, source.port.direction, source.port.index))
          join_all(*result, partners);
        if (source.product < 0) continue;
        const Partners given =
            experts_of_torch(torch_, torch_roles_, place.layer, {roles[0]}, Direction::input);
        if (!given.positions.empty()) note_value(source.product, {Direction::input, 0}, given);
        if (const auto input = atb_.find(source.product, Direction::input, 0)) join_all(*input, given);
      }
    }
  }

  // ----- weights

  // What a projection or a norm multiplies with and adds: those of several modules in one.
  void pair_weights(const PortOfOp& source, const std::vector<int32_t>& modules) {
    const int32_t op = source.product >= 0 ? source.product : source.op;
    const GraphOp& tree_op = atb_.tree().at(op);
    // Conv1D of GPT-2 holds its weight as [in, out].
    const bool has_columns_out = torch_.tree().at(modules[0]).type == "Conv1D";
    const WeightOf share{is_leaf_of(op, OpKind::product), tree_op.has_rows_out == has_columns_out};
    pair_weight(op, 1, modules, kWeightPort, share,
                fused_.of_weight(source, modules, has_columns_out ? 1 : 0));
    // Behind the weight a quantised operator has other things than a bias.
    const bool adds_bias = share.is_projection
                               ? tree_op.has_bias.value_or(false) && tree_op.type == "LinearOperation"
                               : is_leaf_of(op, OpKind::layer_norm);
    if (adds_bias) pair_weight(op, 2, modules, kBiasPort, share, fused_.of_weight(source, modules, 0));
    // … or another operator adds it.
    if (source.product < 0 || source.op == op || !is_leaf_of(source.op, OpKind::sum)) return;
    for (const int input : {0, 1})
      if (atb_.tree().producer_of(atb_.tree().value_of(source.op, {Direction::input, input})) < 0)
        pair_weight(source.op, input, modules, kBiasPort, share, fused_.of_weight(source, modules, 0));
  }

  void pair_weight(int32_t op, int input, const std::vector<int32_t>& modules, int parameter,
                   const WeightOf& share, const std::optional<FusedParts>& fused = {}) {
    const auto given = atb_.find(op, Direction::input, input);
    const TensorMeta* const meta = given ? atb_.item(*given).meta : nullptr;
    if (meta == nullptr || !atb_.item(*given).data || !is_real(meta->dtype)) return;
    Partners partners{{}, {}, share, fused};
    for (const int32_t module : modules) {
      const auto position = torch_.find(module, Direction::parameter, parameter);
      if (!position) return;
      partners.positions.push_back(*position);
    }
    note_value(op, {Direction::input, input}, partners);
    join_all(*given, partners);
  }

  // The table that rows are gathered from.
  void pair_embedding(Role role) {
    const auto module = torch_roles_.find({-1, role});
    const auto block = atb_roles_.find({-1, role});
    if (module == torch_roles_.end() || block == atb_roles_.end()) return;
    for (const PortOfOp& source : block->second) {
      std::vector<int32_t> ops = atb_.tree().leaves(source.op);
      if (ops.empty()) ops.push_back(source.op);
      for (const int32_t op : ops)
        if (is_leaf_of(op, OpKind::gather))
          return pair_weight(op, 0, {module->second.front().op}, kWeightPort, {false, false});
    }
  }

  // The only output, which then holds both kinds of angles. One of several is told by its number.
  std::optional<size_t> table_of_both(int32_t torch_op) const {
    const auto only = torch_.find(torch_op, Direction::output, 0);
    if (!only) return only;
    const std::string_view name = torch_.item(*only).name;
    return name.substr(name.rfind('/') + 1).starts_with("output_") ? std::nullopt : only;
  }

  // Torch computes the angles of all positions, once or in every layer; ATB is given those at hand, and how
  // many positions there are. Both kinds of angles may be in one table.
  void pair_angles() {
    for (const auto& [place, sources] : atb_roles_) {
      if (place.role != Role::angles) continue;
      auto module = torch_roles_.find({place.layer, Role::angles});
      if (module == torch_roles_.end()) module = torch_roles_.find({-1, Role::angles});
      if (module == torch_roles_.end()) continue;
      const int32_t op = sources.front().op, torch_op = module->second.front().op;
      const auto length = atb_.find(op, Direction::input, 4);
      if (!length || !atb_.item(*length).data) continue;
      for (const int kind : {0, 1}) {
        const Port port{Direction::input, 2 + kind};
        const auto given = atb_.find(op, port.direction, port.index);
        auto table = torch_.find(torch_op, Direction::output, kind);
        if (!table) table = table_of_both(torch_op);
        if (!given || !table || !torch_.item(*table).data) continue;
        const TensorMeta* const meta = atb_.item(*given).meta;
        if (meta == nullptr || meta->shape.count() == 0 || meta->shape.dims.size() < 2) continue;
        const RowsOfAngles angles{*length, kind == 1, meta->shape.count() / meta->shape.dims.back()};
        note_value(op, port, {{*table}, angles});
        join_all(*given, {{*table}, angles});
      }
    }
  }

  // As the file says, within every pair of layers; where both have as many of a type.
  void pair_by_types(const OpMapping& mapping) {
    const std::vector<int32_t> atb = atb_layers(atb_.tree()), torch = torch_layers(torch_.tree());
    size_t used = 0;
    for (const auto& [atb_text, torch_texts] : mapping.types)
      for (const std::string& torch_text : torch_texts) {
        const TypedOutput mine = parse_typed(atb_text), theirs = parse_typed(torch_text);
        for (size_t layer = 0; layer < std::min(atb.size(), torch.size()); ++layer)
          used += pair_types(with_type(atb_.tree(), atb[layer], mine.type), mine.index,
                             with_type(torch_.tree(), torch[layer], theirs.type), theirs.index);
      }
    if (used == 0) warnings_.push_back(std::string("the operator mapping fits nothing in any layer"));
  }

  static std::vector<int32_t> with_type(const Graph& tree, int32_t layer, const std::string& type) {
    std::vector<int32_t> ops = tree.below(layer);
    ops.insert(ops.begin(), layer);
    std::erase_if(ops, [&](int32_t op) { return !has(tree.at(op).type, type); });
    return ops;
  }

  size_t pair_types(const std::vector<int32_t>& atb, std::optional<int> atb_index,
                    const std::vector<int32_t>& torch, std::optional<int> torch_index) {
    if (atb.size() != torch.size()) return 0;
    for (size_t i = 0; i < atb.size(); ++i) {
      const auto result = atb_.find(atb[i], Direction::output, atb_index.value_or(0));
      const auto output = torch_.find(torch[i], Direction::output, torch_index.value_or(0));
      if (result && output) join_all(*result, {{*output}}, false, Why::op_mapping);
    }
    return atb.size();
  }

  PairingBuilder builder_;
  const MatchOptions& options_;
  const Side atb_side_, torch_side_;
  const OpItems atb_, torch_;
  const Roles atb_roles_, torch_roles_;
  const FusedFinder fused_;
  const Dequantiser dequantiser_;
  std::vector<KnownValue> known_;  // by value
  std::set<std::pair<size_t, size_t>> joined_;
  Remarks warnings_;
};

Result<Pairing> match_atb_torch(const Indexed& frames, const MatchOptions& options) {
  if (frames.mine.empty() || frames.golden.empty()) return PairingBuilder(frames).finish();
  return RoleMatch(frames, options).run();
}

}  // namespace

const Matcher atb_torch_matcher = {"atb_torch", sections_by_token, match_atb_torch};

}  // namespace assay
