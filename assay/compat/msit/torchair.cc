// How msit pairs the tensors of compiled graphs, in the order of its table.
#include "assay/compat/msit/matchers.h"
#include "assay/match/compiled/ge_fx.h"
#include "assay/match/compiled/torchair_sections.h"
#include "assay/support/log.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_set>

namespace assay {
namespace {

struct VisitedOp {
  std::vector<TensorPair> pairs = {};
  int64_t numbers_lost = 0;  // before its own
};
using Visited = std::vector<VisitedOp>;  // of one token

// ----- which operators belong together

// What names tell comes first: msit reads nothing else. Later graphs tell where names do not.
std::vector<int32_t> origins_for(const Graph& graph, std::string_view op_name) {
  std::vector<int32_t> origins = origins_by_name(graph, op_name);
  return origins.empty() ? origins_of(graph, op_name) : origins;
}

// What stands between the first word and the last three of a file name, whatever more there is: with an
// extension, or where threads have numbers of their own, that is no operator of the graph.
std::string_view graph_name_of(std::string_view file) {
  const size_t begin = file.find('.');
  size_t end = file.size();
  for (int words = 0; words < 3 && end != std::string_view::npos; ++words)
    end = end == 0 ? std::string_view::npos : file.rfind('.', end - 1);
  return begin == std::string_view::npos || end == std::string_view::npos || end <= begin
             ? std::string_view()
             : file.substr(begin + 1, end - begin - 1);
}

// Operators that the graph does not have come first, in the order of their paths.
std::vector<const GraphOps::Op*> in_order_of_visits(const GraphOps& mine, const Graph& graph) {
  struct Key {
    int32_t place;  // in the file of the graph; -1: not in it
    const GraphOps::Op* op;
  };
  std::vector<Key> keys;
  for (const GraphOps::Op& op : mine.all()) {
    const std::string file = mine.file(op).filename().native();
    keys.push_back({graph.find(graph_name_of(file)), &op});
  }
  std::stable_sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
    if (a.place != b.place) return a.place < b.place;
    return mine.file(*a.op).native() < mine.file(*b.op).native();
  });
  std::vector<const GraphOps::Op*> ops;
  for (const Key& key : keys) ops.push_back(key.op);
  return ops;
}

void zip_inputs(const GeFx& token, const GraphOps::Op& op, const GraphOp& origin, Why why,
                std::vector<TensorPair>& pairs) {
  const GraphOps::Op* const node = token.node_of(origin);
  if (node == nullptr) return;
  const auto list = token.arguments(*node);
  if (list.size() != op.inputs.size()) return zip_lists(op.inputs, node->inputs, why, pairs);
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i]) pairs.push_back({op.inputs[i], *list[i], why});
}

int64_t dumped_names(const GraphOps& fx, const GraphOp& op) {
  return std::count_if(op.outputs.begin(), op.outputs.end(), [&](const GraphOutput& output) {
    return !output.fx_name.empty() && fx.find(output.fx_name) != nullptr;
  });
}

void warn_missing(const GraphOps& fx, const GraphOps::Op& op, const GraphOp& origin) {
  for (const GraphOutput& output : origin.outputs)
    if (!output.fx_name.empty() && fx.find(output.fx_name) == nullptr) {
      log::warn("FX data missing, GE tensor name: {}, FX tensor name: {}", op.name, output.fx_name);
      return;
    }
}

VisitedOp visit(const GeFx& token, const GraphOps::Op& op) {
  VisitedOp found;
  const Graph& graph = token.graph();
  const std::vector<int32_t> origins = origins_for(graph, op.name);
  if (origins.empty()) {
    if (changes_form_only(op)) pair_with_own_inputs(op, found.pairs);
    return found;
  }
  const Why why = origins.size() == 1 ? Why::same_origin : Why::fused_from;
  const GraphOp& last = graph.at(origins.back());
  zip_inputs(token, op, graph.at(origins.front()), why, found.pairs);
  token.pair_outputs(op, OutputOrigins(origins.back()), why, found.pairs);
  // For every output with a name it pairs all tensors anew, and keeps the last of these lists.
  if (origins.size() == 1)
    found.numbers_lost = std::max<int64_t>(0, dumped_names(token.fx(), last) - 1) * std::ssize(found.pairs);
  if (found.pairs.empty()) warn_missing(token.fx(), op, last);
  return found;
}

// The tensors of the operators of golden that one of mine was fused from.
struct Unfused {
  std::vector<size_t> inputs, outputs;
};

Unfused unfuse(const GraphOps& plain, const Graph& graph, const std::vector<int32_t>& origins) {
  Unfused found;
  for (const OuterInput& input : outer_inputs(graph, origins)) {
    const GraphOps::Op* const op = plain.find(graph.at(input.op).name);
    const bool is_dumped = op != nullptr && input.index < op->inputs.size();
    found.inputs.push_back(is_dumped ? op->inputs[input.index] : kNotDumped);
  }
  for (const int32_t origin : origins)  // of the last one that was dumped, though its result may be another
    if (const GraphOps::Op* const op = plain.find(graph.at(origin).name)) found.outputs = op->outputs;
  return found;
}

VisitedOp visit(const GraphOps& golden, const Graph* graph, const GraphOps::Op& op) {
  VisitedOp found;
  const bool is_fused = op.type.starts_with("AutomaticBufferFusionOp");
  if (const GraphOps::Op* const same = golden.find(op.name); same != nullptr && !is_fused) {
    zip_lists(op.inputs, same->inputs, Why::same_name, found.pairs);
    zip_lists(op.outputs, same->outputs, Why::same_name, found.pairs);
    return found;
  }
  const std::vector<int32_t> origins =
      graph == nullptr ? std::vector<int32_t>() : origins_for(*graph, op.name);
  if (origins.size() > 1) {
    const Unfused unfused = unfuse(golden, *graph, origins);
    zip_lists(op.inputs, unfused.inputs, Why::fused_from, found.pairs);
    zip_lists(op.outputs, unfused.outputs, Why::fused_from, found.pairs);
  }
  if (found.pairs.empty()) log::warn("Golden data missing, My tensor name: {}", op.name);
  return found;
}

// ----- the table

// ",inputs,0" behind the last dot of the path: what msit sorts its rows by, as texts. Statistics that it does
// not know stand where their operator does.
std::string sort_key(const PairingBuilder& builder, size_t mine) {
  const ItemId& id = builder.items(Side::mine)[mine];
  const Frame& frame = builder.frames(Side::mine)[static_cast<size_t>(id.frame)];
  const Item& item = builder.item(Side::mine, mine);
  const fs::path* const file = file_of(frame, item);
  std::string text = file == nullptr ? std::string() : file->native();
  for (const std::string_view ours : {".stats.json", ".csv"})
    if (text.ends_with(ours)) text.resize(text.size() - ours.size());
  text += item.port.direction == Direction::input ? ",inputs," : ",outputs,";
  text += std::to_string(item.port.index);
  return text.substr(text.rfind('.') + 1);
}

// Pairs are numbered in the order in which operators are visited, and sorted by the time at which they were
// dumped. What has no partner stands behind them, without a number.
Pairing numbered_pairs(PairingBuilder& builder, const std::vector<Visited>& tokens, int64_t& next_number) {
  Pairing pairing;
  pairing.flattens = true;
  pairing.graphs_differ = true;
  struct Row {
    std::string key;
    Pair pair;
  };
  std::vector<Row> rows;
  std::unordered_set<size_t> mine_shown, golden_shown;
  for (const Visited& visited : tokens)
    for (const VisitedOp& op : visited) {
      next_number += op.numbers_lost;
      for (const TensorPair& each : op.pairs) {
        const int64_t number = next_number++;
        if (each.golden == kNotDumped) continue;
        Pair pair;
        pair.mine = builder.items(Side::mine)[each.mine];
        pair.golden = builder.items(each.golden_is_mine ? Side::mine : Side::golden)[each.golden];
        pair.why = each.why;
        pair.number = static_cast<int32_t>(number);
        pair.plans = plans_of(builder, each, pairing);
        rows.push_back({sort_key(builder, each.mine), pair});
        mine_shown.insert(each.mine);
        (each.golden_is_mine ? mine_shown : golden_shown).insert(each.golden);
      }
    }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
  const auto add = [&](Side side, const ItemId& id, const Pair& pair) {
    const Node& node = builder.node(side, id);
    const int64_t order = (int64_t{id.frame} << 32) + node.order;
    if (pairing.nodes.empty() || pairing.nodes.back().name != node.name ||
        pairing.nodes.back().order != order)
      pairing.nodes.push_back(PairedNode{node.name, order, {}});
    pairing.nodes.back().pairs.push_back(pair);
  };
  for (const Row& row : rows) add(Side::mine, *row.pair.mine, row.pair);
  for (const Side side : {Side::mine, Side::golden})
    for (size_t i = 0; i < builder.size(side); ++i) {
      if ((side == Side::mine ? mine_shown : golden_shown).contains(i)) continue;
      Pair alone;
      (side == Side::mine ? alone.mine : alone.golden) = builder.items(side)[i];
      add(side, builder.items(side)[i], alone);
    }
  return pairing;
}

// All tokens of a graph that both sides have, for one table. A graph that one side lacks has none.
std::vector<Section> join_tokens(const std::vector<Section>& sections) {
  std::vector<Section> joined;
  for (const Section& section : sections) {
    const auto same = std::find_if(joined.begin(), joined.end(), [&](const Section& other) {
      return std::tie(other.at.rank, other.at.graph, other.at.part) ==
             std::tie(section.at.rank, section.at.graph, section.at.part);
    });
    if (same == joined.end()) {
      joined.push_back(section);
      joined.back().at.token = -1;
      continue;
    }
    same->mine.insert(same->mine.end(), section.mine.begin(), section.mine.end());
    same->golden.insert(same->golden.end(), section.golden.begin(), section.golden.end());
  }
  for (Section& section : joined)
    if (section.mine.empty() || section.golden.empty())
      section.left_out = fmt::format("{}: only {} has this graph; it is not compared", section.at.text(),
                                     section.mine.empty() ? "golden" : "mine");
  return joined;
}

Result<std::vector<Section>> sections_by_table(const Dump& mine, const Dump& golden,
                                               const MatchOptions& options) {
  ASSAY_TRY(const std::vector<Section> sections, sections_by_graph(mine, golden, options));
  return join_tokens(sections);
}

using NumbersByRank = std::map<int, int64_t>;  // of the next pair

std::optional<int32_t> partner_by_token(const Indexed& frames, const Frame& mine) {
  const auto golden = partner_of(frames, mine, true);
  if (!golden) log::warn("My token_id {} not found in golden dump data", mine.at.token);
  return golden;
}

Result<Pairing> match_ge_fx(const Indexed& frames, NumbersByRank& numbers) {
  PairingBuilder builder(frames);
  std::vector<Visited> visited;
  Remarks warnings;
  for (size_t m = 0; m < frames.mine.size(); ++m) {
    const auto golden = partner_by_token(frames, frames.mine[m]);
    if (!golden) continue;
    const auto [ge_side, fx_side, ge, fx, graph] = ge_and_fx(frames, static_cast<int32_t>(m), *golden);
    if (graph == nullptr) {
      warnings.push_back(no_graph_of(ge_side));
      continue;
    }
    const GeFx token(GraphOps(builder, ge_side, ge), GraphOps(builder, fx_side, fx), *graph);
    visited.emplace_back();
    for (const GraphOps::Op* op : in_order_of_visits(token.ge(), *graph))
      visited.back().push_back(visit(token, *op));
  }
  Pairing pairing = numbered_pairs(builder, visited, numbers[frames.at.rank]);
  pairing.warnings = std::move(warnings);
  return pairing;
}

Result<Pairing> match_ge_fusion(const Indexed& frames, NumbersByRank& numbers) {
  PairingBuilder builder(frames);
  std::vector<Visited> visited;
  for (size_t m = 0; m < frames.mine.size(); ++m) {
    const auto golden = partner_by_token(frames, frames.mine[m]);
    if (!golden) continue;
    const Graph* const graph = frames.mine[m].graph.get();
    const GraphOps of_mine(builder, Side::mine, static_cast<int32_t>(m));
    const GraphOps of_golden(builder, Side::golden, *golden);
    const Graph none;
    visited.emplace_back();
    for (const GraphOps::Op* op : in_order_of_visits(of_mine, graph == nullptr ? none : *graph))
      visited.back().push_back(visit(of_golden, graph, *op));
  }
  return numbered_pairs(builder, visited, numbers[frames.at.rank]);
}

Matcher numbering_matcher(std::string_view name,
                          Result<Pairing> (*match)(const Indexed& frames, NumbersByRank& numbers)) {
  return {name, sections_by_table,
          [match, numbers = std::make_shared<NumbersByRank>()](const Indexed& frames, const MatchOptions&) {
            return match(frames, *numbers);
          }};
}

}  // namespace

Matcher msit_ge_fx_matcher() { return numbering_matcher("ge_fx", match_ge_fx); }
Matcher msit_ge_fusion_matcher() { return numbering_matcher("ge_fusion", match_ge_fusion); }

}  // namespace assay
