#include "assay/match/ops/golden_op.h"

#include "assay/base/text.h"
#include "assay/match/frames.h"
#include "assay/model/graph.h"
#include "assay/model/op_kind.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

namespace assay {
namespace {

// Its tensors, one of each: inputs as they were before the operator ran, outputs as they were afterwards.
struct Ports {
  std::map<int, int32_t> inputs, outputs;  // items, by number
};

Ports ports_of(const Node& node, ResultsInPlace in_place) {
  Ports ports;
  for (size_t i = 0; i < node.items.size(); ++i) {
    const Port& port = node.items[i].port;
    if (port.is_again) continue;
    const auto item = static_cast<int32_t>(i);
    if (port.direction == Direction::output && port.phase != Phase::before)
      ports.outputs.emplace(port.index, item);
    if (port.direction != Direction::input) continue;
    const auto [found, is_new] = ports.inputs.emplace(port.index, item);
    // A table may tell of one that was never written. A file that cannot be read was: nothing takes its
    // place.
    const auto has_data = [&](int32_t which) {
      const Item& each = node.items[static_cast<size_t>(which)];
      return each.data.has_value() || !each.trouble.empty();
    };
    if (!is_new && (port.phase == Phase::before ? has_data(item) || !has_data(found->second)
                                                : !has_data(found->second) && has_data(item)))
      found->second = item;
  }
  if (!ports.outputs.empty()) return ports;
  const std::span<const int> results = in_place(node.type);
  for (size_t k = 0; k < results.size(); ++k)
    for (size_t i = 0; i < node.items.size(); ++i) {
      const Port& port = node.items[i].port;
      if (port.direction == Direction::input && port.phase != Phase::before && port.index == results[k])
        ports.outputs.emplace(static_cast<int>(k), static_cast<int32_t>(i));
    }
  return ports;
}

bool is_kernel(const Frame& frame, int32_t op) { return is_atb_kernel(frame.graph->at(op).path); }

// An operator that has others inside is no operator: these are checked.
bool is_group(const Frame& frame, size_t node) {
  if (frame.graph == nullptr) return false;
  return std::ranges::any_of(frame.ops_of(node), [&](int32_t op) {
    return !std::ranges::all_of(frame.graph->at(op).children,
                                [&](int32_t child) { return is_kernel(frame, child); });
  });
}

// A kernel whose operator is checked.
bool is_inside_operator(const Frame& frame, size_t node) {
  if (frame.graph == nullptr) return false;
  return std::ranges::any_of(frame.ops_of(node), [&](int32_t op) {
    const int32_t parent = frame.graph->at(op).parent;
    return is_kernel(frame, op) && parent >= 0 && frame.node_of(parent) >= 0;
  });
}

bool is_operator(const Frame& frame, size_t node) {
  return !is_group(frame, node) && !is_inside_operator(frame, node);
}

ItemId id_of(int32_t frame, int32_t node, int32_t item) {
  ItemId made;
  made.frame = static_cast<decltype(made.frame)>(frame);
  made.node = node;
  made.item = item;
  return made;
}

// index: of the output; kNoOutput: `item` stands for an operator that has none.
Plan plan_of(const Ports& ports, const ItemId& item, int index, std::string_view type) {
  Plan plan = as_it_stands(Side::mine, item);
  std::vector<PlanSource> inputs;
  for (const auto& [unused, input] : ports.inputs)
    inputs.push_back({Side::mine, id_of(item.frame, item.node, input)});
  const bool is_first = ports.outputs.empty() || ports.outputs.begin()->first == index;
  plan.add_with(PlanOp::golden, inputs, {index, std::ssize(ports.outputs), is_first});
  plan.name = fmt::format("{}, computed", type);
  return plan;
}

std::string_view path_of(const Frame& frame, size_t node) {
  const auto ops = frame.ops_of(node);
  return ops.empty() || frame.graph == nullptr ? frame.nodes[node].name : frame.graph->at(ops.front()).path;
}

class Planner {
 public:
  Planner(const Indexed& frames, const OpSelection& selection, ResultsInPlace in_place)
      : frames_(frames), selection_(selection), in_place_(in_place) {}

  Pairing plan() {
    for (size_t i = 0; i < frames_.mine.size(); ++i) {
      const Frame& frame = frames_.mine[i];
      for (size_t node = 0; node < frame.nodes.size(); ++node)
        if (is_operator(frame, node) && is_selected(selection_, path_of(frame, node), frame.nodes[node].type))
          add(static_cast<int32_t>(i), static_cast<int32_t>(node));
    }
    pairing_.repeats_batch = pairing_.flattens = selection_.broadcasts;
    if (selection_.in_order_of_text)
      std::ranges::stable_sort(pairing_.nodes, {}, [](const PairedNode& node) { return op_id(node.name); });
    return std::move(pairing_);
  }

 private:
  void add(int32_t frame, int32_t number) {
    const Node& node = frames_.mine[static_cast<size_t>(frame)].nodes[static_cast<size_t>(number)];
    const Ports ports = ports_of(node, in_place_);
    PairedNode out{node.name, node.order, node.stack};
    const auto hold = [&](int32_t item, int index) {
      const ItemId id = id_of(frame, number, item);
      PairPlans plans;
      plans.golden = plan_of(ports, id, index, node.type);
      Pair pair{id, id, Why::own_inputs};
      pair.plans = &pairing_.plans.emplace_back(std::move(plans));
      out.pairs.push_back(pair);
    };
    for (const auto& [index, output] : ports.outputs) hold(output, index);
    // Its row says that there is nothing to check.
    if (ports.outputs.empty() && !ports.inputs.empty()) hold(ports.inputs.begin()->second, kNoOutput);
    const auto again = std::ranges::count_if(node.items, [](const Item& item) { return item.port.is_again; });
    if (again > 0)
      pairing_.warnings.push_back(left_out(
          fmt::format("{}: ran more than once under one name; the first run is checked", node.name), again));
    if (out.pairs.empty())
      pairing_.warnings.push_back(left_out(fmt::format("{}: has no tensor in the dump to check", node.name)));
    else
      pairing_.nodes.push_back(std::move(out));
  }

  const Indexed& frames_;
  const OpSelection& selection_;
  const ResultsInPlace in_place_;
  Pairing pairing_;
};

// "0_6" and all inside of it: "0_6_10", not "0_61".
bool is_below(std::string_view what, std::string_view top, char separator) {
  return what.starts_with(top) && (what.size() == top.size() || what[top.size()] == separator);
}

// What the user asks for, until each was met in a rank or token: operators that a table lists, ids, types.
class Awaited {
 public:
  explicit Awaited(const OpSelection& selection)
      : table_(selection.table),
        dropped_(selection.dropped),
        ids_(selection.exact_ids.begin(), selection.exact_ids.end()),
        tops_(selection.ids),
        types_(selection.types) {}

  void expect(size_t sections) { sections_ = sections; }
  // After each section; the last one says what never came.
  void see(const Indexed& frames, Pairing& pairing) {
    const std::scoped_lock lock(guard_);
    for (const PairedNode& node : pairing.nodes) {
      const std::string id = op_id(node.name);
      ids_.erase(id);
      std::erase_if(tops_, [&](const std::string& top) { return is_below(id, top, '_'); });
    }
    for (const Frame& frame : frames.mine)
      for (const Node& node : frame.nodes)
        std::erase_if(types_, [&](const std::string& type) { return glob_match(type, node.type); });
    if (sections_ == 0 || --sections_ > 0) return;
    for (const std::string& top : tops_)
      pairing.warnings.push_back(left_out(fmt::format("--ids: {} fits no operator that was dumped", top)));
    for (const std::string& type : types_)
      pairing.warnings.push_back(fmt::format("--op: '{}' fits no operator that was dumped", printable(type)));
    if (dropped_ > 0)
      pairing.warnings.push_back(
          left_out(fmt::format("{}: {} without the name of an operator or the types of its outputs", table_,
                               dropped_ == 1 ? std::string("a row") : fmt::format("{} rows", dropped_)),
                   dropped_));
    if (ids_.empty()) return;
    constexpr ptrdiff_t kNamed = 8;
    std::string names;
    for (auto id = ids_.begin(); id != ids_.end() && std::distance(ids_.begin(), id) < kNamed; ++id)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", *id);
    pairing.warnings.push_back(
        left_out(fmt::format("{}: {} of {} operators {} not in the dump: {}{}", table_, ids_.size(), count_,
                             ids_.size() == 1 ? "is" : "are", names, std::ssize(ids_) > kNamed ? ", …" : ""),
                 std::ssize(ids_)));
  }

 private:
  const std::string table_;
  const int64_t dropped_;
  std::mutex guard_;
  std::set<std::string> ids_;
  std::vector<std::string> tops_, types_;
  const size_t count_ = ids_.size();
  size_t sections_ = 0;
};

}  // namespace

std::string op_id(std::string_view path) {
  std::string id;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (!id.empty()) id += '_';
    id += part.substr(0, part.find('_'));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return id;
}

std::string_view op_name(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return path.substr(path.rfind('_') + 1);
}

bool is_selected(const OpSelection& selection, std::string_view path, std::string_view type) {
  if (!selection.below.empty() && !is_below(path, selection.below, '/')) return false;
  const std::string id = op_id(path), name = to_lower(op_name(path));
  const auto is_any = [](const std::vector<std::string>& list, const auto& fits) {
    return list.empty() || std::ranges::any_of(list, fits);
  };
  return is_any(selection.exact_ids, [&](const std::string& each) { return id == each; }) &&
         is_any(selection.ids, [&](const std::string& each) { return is_below(id, each, '_'); }) &&
         is_any(selection.types, [&](const std::string& each) { return glob_match(each, type); }) &&
         is_any(selection.name_parts,
                [&](const std::string& each) { return name.find(each) != std::string::npos; });
}

std::vector<OutputPlan> plans_of_outputs(const Frame& frame, int32_t frame_number, int32_t node,
                                         ResultsInPlace in_place) {
  std::vector<OutputPlan> plans;
  const auto index = static_cast<size_t>(node);
  if (!is_operator(frame, index)) return plans;
  const Node& of = frame.nodes[index];
  const Ports ports = ports_of(of, in_place);
  for (const auto& [number, item] : ports.outputs)
    plans.push_back({item, plan_of(ports, id_of(frame_number, node, item), number, of.type)});
  return plans;
}

std::shared_ptr<const Matcher> golden_op_matcher(OpSelection selection, ResultsInPlace in_place) {
  Matcher matcher;
  matcher.name = "golden_op";
  const auto awaited = std::make_shared<Awaited>(selection);
  matcher.sections = [awaited](const Dump& mine, const Dump& golden, const MatchOptions& options) {
    auto sections = sections_of_one_dump(mine, golden, options);
    if (sections) awaited->expect(sections->size());
    return sections;
  };
  matcher.match = [awaited, in_place, selection = std::move(selection)](
                      const Indexed& frames, const MatchOptions&) -> Result<Pairing> {
    Pairing pairing = Planner(frames, selection, in_place).plan();
    awaited->see(frames, pairing);
    return pairing;
  };
  matcher.needs.params = true;
  return std::make_shared<const Matcher>(std::move(matcher));
}

}  // namespace assay
