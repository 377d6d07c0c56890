#include "assay/match/compiled/torchair_pairs.h"

#include "assay/match/in_order.h"
#include "assay/model/blocks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace assay {
namespace {

constexpr size_t kMostSteps = 1'000'000;  // of an alignment: lists of a thousand tensors

// Of such a tensor the smallest and the largest element are left.
bool is_range(const PairingBuilder& builder, Side side, size_t position) {
  const Frame& frame = builder.frames(side)[static_cast<size_t>(builder.items(side)[position].frame)];
  const Item& item = builder.item(side, position);
  return item.data && frame.files[static_cast<size_t>(item.data->file)].keeps_extremes();
}

}  // namespace

const fs::path* file_of(const Frame& frame, const Item& item) {
  const int32_t file = item.data ? item.data->file : item.described_in;
  return file < 0 ? nullptr : &frame.files[static_cast<size_t>(file)].path;
}

const PairPlans* plans_of(const PairingBuilder& builder, const TensorPair& pair, Pairing& pairing) {
  const Side golden_side = pair.golden_is_mine ? Side::mine : Side::golden;
  const bool mine = is_range(builder, Side::mine, pair.mine);
  const bool golden = is_range(builder, golden_side, pair.golden);
  PairPlans plans;
  if (pair.golden_is_mine || (mine && !golden))
    plans.golden = as_it_stands(golden_side, builder.items(golden_side)[pair.golden]);
  if (mine && !golden) plans.golden.add(PlanOp::extremes);
  if (golden && !mine) {
    plans.mine = as_it_stands(Side::mine, builder.items(Side::mine)[pair.mine]);
    plans.mine.add(PlanOp::extremes);
  }
  return plans.is_empty() ? nullptr : &pairing.plans.emplace_back(std::move(plans));
}

GraphOps::GraphOps(const PairingBuilder& builder, Side side, int32_t frame)
    : builder_(builder), side_(side), frame_(builder.frames(side)[static_cast<size_t>(frame)]) {
  const std::vector<ItemId>& items = builder.items(side);
  for (size_t position = 0; position < items.size();) {
    const size_t end = builder.end_of_node(side, position);
    if (items[position].frame == frame) {
      const Node& node = builder.node(side, position);
      Op op{node.name, node.type, {}, {}, position, static_cast<size_t>(items[position].node)};
      for (size_t i = position; i < end; ++i) {
        const Direction direction = item(i).port.direction;
        if (direction == Direction::input) op.inputs.push_back(i);
        if (direction == Direction::output) op.outputs.push_back(i);
      }
      by_name_.try_emplace(op.name, ops_.size());
      ops_.push_back(std::move(op));
    }
    position = end;
  }
}

const GraphOps::Op* GraphOps::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &ops_[found->second];
}

const fs::path& GraphOps::file(const Op& op) const { return *file_of(frame_, item(op.first)); }

std::vector<int32_t> GraphOps::origins(const Op& op, const Graph& graph) const {
  if (frame_.graph.get() != &graph) return origins_of(graph, op.name);
  const std::span<const int32_t> found = frame_.ops_of(op.node);
  return {found.begin(), found.end()};
}

bool GraphOps::is_range(size_t position) const { return assay::is_range(builder_, side_, position); }

Outline GraphOps::outline(size_t position) const {
  const TensorMeta* const meta = item(position).meta;
  if (meta == nullptr) return {};
  const bool is_whole = !is_real(meta->dtype) && !is_complex(meta->dtype);
  if (is_range(position)) return {};  // the type is one that all tensors of the file fit into
  const int64_t elements = states_blocks(item(position)) ? -1 : meta->shape.count();
  return {is_whole ? Outline::Kind::whole : Outline::Kind::real, elements};
}

std::optional<int32_t> partner_of(const Indexed& frames, const Frame& mine, bool by_token) {
  const bool is_only_pair = frames.mine.size() == 1 && frames.golden.size() == 1;
  if (is_only_pair && !by_token) return 0;
  for (size_t g = 0; g < frames.golden.size(); ++g)
    if (frames.golden[g].at.token == mine.at.token) return static_cast<int32_t>(g);
  return std::nullopt;
}

void pair_lists(const GraphOps& mine, const std::vector<size_t>& of_mine, const GraphOps& golden,
                const std::vector<size_t>& of_golden, Why why, std::vector<TensorPair>& pairs) {
  if (of_mine.size() == of_golden.size() || of_mine.size() * of_golden.size() > kMostSteps) {
    zip_lists(of_mine, of_golden, why, pairs);
    std::erase_if(pairs, [](const TensorPair& pair) { return pair.golden == kNotDumped; });
    return;
  }
  // What was not dumped is nobody's partner.
  std::vector<size_t> dumped = of_golden;
  std::erase(dumped, kNotDumped);
  std::vector<Outline> a, b;
  for (const size_t position : of_mine) a.push_back(mine.outline(position));
  for (const size_t position : dumped) b.push_back(golden.outline(position));
  for (const auto& [i, j] : align(a, b)) pairs.push_back({of_mine[i], dumped[j], why});
}

bool may_be_same(const Outline& a, const Outline& b) {
  const bool same_kind =
      a.kind == b.kind || a.kind == Outline::Kind::unknown || b.kind == Outline::Kind::unknown;
  return same_kind && (a.elements == b.elements || a.elements < 0 || b.elements < 0);
}

std::vector<std::pair<size_t, size_t>> align(const std::vector<Outline>& a, const std::vector<Outline>& b) {
  if (a.size() * b.size() > kMostSteps) return {};
  return pair_in_order(a.size(), b.size(), [&](size_t i, size_t j) { return may_be_same(a[i], b[j]); });
}

void zip_lists(const std::vector<size_t>& of_mine, const std::vector<size_t>& of_golden, Why why,
               std::vector<TensorPair>& pairs) {
  for (size_t i = 0; i < std::min(of_mine.size(), of_golden.size()); ++i)
    pairs.push_back({of_mine[i], of_golden[i], why});
}

bool changes_form_only(const GraphOps::Op& op) { return changes_form_only(kind_of_ge(op.type)); }

void pair_with_own_inputs(const GraphOps::Op& op, std::vector<TensorPair>& pairs) {
  if (op.name.find('#') != std::string_view::npos) return;  // one more file of an operator: no row counts it
  for (size_t i = 0; i < std::min(op.inputs.size(), op.outputs.size()); ++i)
    pairs.push_back({op.outputs[i], op.inputs[i], Why::own_input, true});
}

Pairing all_pairs(PairingBuilder& builder, const std::vector<OpPairs>& ops) {
  using Key = std::tuple<int32_t, int32_t, int32_t>;
  const auto key_of = [](const ItemId& id) { return Key(id.frame, id.node, id.item); };
  constexpr Key kNone(-1, -1, -1);
  // Those that are more than one tensor against another, by the items of both; of golden none where a tensor
  // of mine stands for it.
  std::map<std::pair<Key, Key>, const TensorPair*> special;
  std::set<Key> shown;  // inputs that have their place in the row of their operator's output
  const std::vector<ItemId>&mine = builder.items(Side::mine), &golden = builder.items(Side::golden);
  for (const OpPairs& op : ops)
    for (const TensorPair& pair : op.pairs) {
      if (pair.golden_is_mine) {
        shown.insert(key_of(mine[pair.golden]));
        special.emplace(std::pair(key_of(mine[pair.mine]), kNone), &pair);
        continue;
      }
      builder.join(pair.mine, pair.golden, pair.why);
      if (is_range(builder, Side::mine, pair.mine) != is_range(builder, Side::golden, pair.golden))
        special.emplace(std::pair(key_of(mine[pair.mine]), key_of(golden[pair.golden])), &pair);
    }
  Pairing pairing = builder.finish();
  // A rank or a token that one side lacks is no matter of compilers.
  pairing.graphs_differ = !mine.empty() && !golden.empty();
  if (special.empty()) return pairing;
  for (PairedNode& node : pairing.nodes) {
    for (Pair& pair : node.pairs) {
      if (!pair.mine) continue;
      const auto found = special.find({key_of(*pair.mine), pair.golden ? key_of(*pair.golden) : kNone});
      if (found == special.end()) continue;
      pair.plans = plans_of(builder, *found->second, pairing);
      if (!found->second->golden_is_mine) continue;
      pair.golden = mine[found->second->golden];
      pair.why = Why::own_input;
    }
    std::erase_if(node.pairs, [&](const Pair& pair) {
      return pair.mine && !pair.golden && shown.contains(key_of(*pair.mine));
    });
  }
  return pairing;
}

}  // namespace assay
