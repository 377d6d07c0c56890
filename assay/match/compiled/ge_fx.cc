#include "assay/match/compiled/ge_fx.h"

#include "assay/match/compiled/torchair.h"
#include "assay/model/fx_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace assay {
namespace {

std::vector<std::optional<size_t>> positions_of(const std::vector<GeFx::Argument>& arguments) {
  std::vector<std::optional<size_t>> list;
  for (const GeFx::Argument& each : arguments) list.push_back(each.position);
  return list;
}

bool has_lost(const std::vector<GeFx::Argument>& arguments) {
  return std::ranges::any_of(arguments, &GeFx::Argument::is_lost);
}

}  // namespace

GeFx::GeFx(GraphOps ge, GraphOps fx, const Graph& graph)
    : ge_(std::move(ge)), fx_(std::move(fx)), graph_(graph) {
  for (const GraphOp& op : graph.ops)
    for (const GraphOutput& output : op.outputs)
      if (!output.fx_name.empty()) computed_.emplace(output.fx_name, output.fx_index);
}

OpPairs GeFx::pairs_of(const GraphOps::Op& op) const {
  OpPairs found{&op};
  const std::vector<int32_t> origins = ge_.origins(op, graph_);
  if (origins.empty()) {
    if (changes_form_only(op)) pair_with_own_inputs(op, found.pairs);
    return found;
  }
  const Why why = origins.size() == 1 ? Why::same_origin : Why::fused_from;
  trace_inputs(op, origins, why, found.pairs);
  pair_outputs(op, OutputOrigins(graph_, op.name, origins), why, found.pairs);
  return found;
}

const GraphOps::Op* GeFx::node_of(const GraphOp& op) const {
  for (const GraphOutput& output : op.outputs)
    if (!output.fx_name.empty())
      if (const GraphOps::Op* const node = fx_.find(output.fx_name)) return node;
  return nullptr;
}

std::vector<std::optional<size_t>> GeFx::arguments(const GraphOps::Op& node) const {
  std::vector<std::optional<size_t>> list;
  int next = 0, gaps_left = 1000;  // numbers are parts of file names, and may be anything
  for (const size_t position : node.inputs) {
    const int index = fx_.item(position).port.index;
    if (index - next > gaps_left) gaps_left = 0;
    for (; next < index && gaps_left > 0; ++next, --gaps_left) list.emplace_back();
    list.emplace_back(position);
    next = index + 1;
  }
  return list;
}

std::vector<GeFx::Argument> GeFx::all_arguments(const GraphOps::Op& node) const {
  std::vector<Argument> list;
  for (const size_t position : node.inputs) {
    for (const char which : arguments_before(fx_.item(position)))
      list.push_back({std::nullopt, which == kLost});
    list.push_back({position});
  }
  return list;
}

std::vector<Outline> GeFx::input_outlines(const GraphOps::Op& op, const InputNumbers& numbers,
                                          const GraphOp& origin) const {
  std::vector<Outline> outlines;
  for (const GraphInput& input : origin.inputs) {
    if (input.output < 0 || input.name.empty()) continue;
    if (const auto found = numbers.find(&input); found != numbers.end()) {
      outlines.push_back(ge_.outline(op.inputs[found->second]));
      continue;
    }
    const auto result = result_of(input);
    outlines.push_back(result ? fx_.outline(*result) : Outline{});
  }
  return outlines;
}

// Which argument of its node each input of an operator is: the one at the same place, if there are as many
// and all fit; else types and numbers of elements tell, in order. That order says nothing where one is lost:
// the others may stand for it.
std::vector<std::optional<size_t>> GeFx::arguments_as_inputs(const GraphOp& origin,
                                                             const std::vector<Outline>& inputs) const {
  const GraphOps::Op* const node = node_of(origin);
  if (node == nullptr) return std::vector<std::optional<size_t>>(inputs.size());
  std::vector<Argument> arguments = all_arguments(*node);
  auto list = positions_of(arguments);
  if (all_fit(list, inputs)) return list;
  std::erase_if(arguments, [](const Argument& each) { return !each.position && !each.is_lost; });
  list = positions_of(arguments);
  if (all_fit(list, inputs)) return list;
  if (has_lost(arguments)) return std::vector<std::optional<size_t>>(inputs.size());
  std::vector<Outline> given;
  for (const auto& each : list) given.push_back(fx_.outline(*each));
  std::vector<std::optional<size_t>> found(inputs.size());
  for (const auto& [input, argument] : align(inputs, given)) found[input] = list[argument];
  return found;
}

bool GeFx::all_fit(const std::vector<std::optional<size_t>>& list, const std::vector<Outline>& inputs) const {
  if (list.size() != inputs.size()) return false;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] && !may_be_same(fx_.outline(*list[i]), inputs[i])) return false;
  return true;
}

// An axis, a size, a flag: the compiler makes its own constants of them, which may count otherwise.
bool GeFx::is_setting(const OuterInput& input, size_t argument) const {
  const int32_t producer = graph_.producer_of(input.from->value);
  if (producer < 0 || !is_ge_constant(graph_.at(producer).type)) return false;
  const TensorMeta* const meta = fx_.item(argument).meta;
  if (meta == nullptr) return true;
  const bool is_python =
      meta->dtype == DType::i64 || meta->dtype == DType::f64 || meta->dtype == DType::boolean;
  return is_python && (meta->shape.dims.size() <= 1 || fx_.is_range(argument));
}

std::optional<size_t> GeFx::result_of(const GraphInput& from) const {
  const int32_t producer = graph_.producer_of(from.value);
  if (producer < 0) return std::nullopt;
  const std::vector<GraphOutput>& outputs = graph_.at(producer).outputs;
  const auto number = static_cast<size_t>(from.output);
  if (number >= outputs.size()) return std::nullopt;
  const GraphOutput& output = outputs[number];
  return result_named(output.fx_name, output.fx_index);
}

std::optional<size_t> GeFx::result_named(std::string_view name, int index) const {
  const GraphOps::Op* const node = name.empty() ? nullptr : fx_.find(name);
  if (node == nullptr) return std::nullopt;
  const auto number = [&](size_t position) { return fx_.item(position).port.index; };
  const auto found = std::ranges::lower_bound(node->outputs, index, {}, number);
  return found != node->outputs.end() && number(*found) == index ? std::optional(*found) : std::nullopt;
}

// An input is what the node was given, where its arguments stand in the same order; else what the graph
// says it comes from.
void GeFx::trace_inputs(const GraphOps::Op& op, const std::vector<int32_t>& origins, Why why,
                        std::vector<TensorPair>& pairs) const {
  const std::vector<OuterInput> outer = outer_inputs(graph_, origins);
  if (outer.size() != op.inputs.size()) {
    const GraphOps::Op* const node = node_of(graph_.at(origins.front()));
    if (node == nullptr) return;
    std::vector<Argument> arguments = all_arguments(*node);
    std::erase_if(arguments, [](const Argument& each) { return !each.position && !each.is_lost; });
    if (has_lost(arguments) && arguments.size() != op.inputs.size()) return;
    std::vector<size_t> list;
    for (const Argument& each : arguments) list.push_back(each.position.value_or(kNotDumped));
    pair_lists(ge_, op.inputs, fx_, list, why, pairs);
    return;
  }
  InputNumbers numbers;
  for (size_t i = 0; i < outer.size(); ++i) numbers.emplace(outer[i].from, i);
  std::unordered_map<int32_t, std::vector<std::optional<size_t>>> given;
  for (const int32_t each : origins) {
    const GraphOp& origin = graph_.at(each);
    if (!given.contains(each))
      given.emplace(each, arguments_as_inputs(origin, input_outlines(op, numbers, origin)));
  }
  for (size_t i = 0; i < outer.size(); ++i) {
    const auto& argument = given.at(outer[i].op)[outer[i].index];
    if (argument && is_setting(outer[i], *argument)) continue;
    if (argument && fits(op.inputs[i], *argument))
      pairs.push_back({op.inputs[i], *argument, why});
    else if (const auto result = result_of(*outer[i].from); result && fits(op.inputs[i], *result))
      pairs.push_back({op.inputs[i], *result, Why::producer});
  }
}

void GeFx::pair_outputs(const GraphOps::Op& op, const OutputOrigins& results, Why why,
                        std::vector<TensorPair>& pairs) const {
  int32_t origin = -1;
  const GraphOps::Op* node = nullptr;
  for (const size_t output : op.outputs) {
    const OutputOrigins::Origin from = results.of(ge_.item(output).port.index);
    if (from.op < 0) continue;
    if (from.op != origin) node = node_of(graph_.at(from.op));
    origin = from.op;
    if (node == nullptr) continue;
    const auto index = static_cast<size_t>(from.index);
    const std::vector<GraphOutput>& outputs = graph_.at(origin).outputs;
    const bool is_named = index < outputs.size() && !outputs[index].fx_name.empty();
    std::optional<size_t> result;
    if (is_named)
      result = result_named(outputs[index].fx_name, outputs[index].fx_index);
    else if (!computed_.contains({node->name, from.index}))
      result = result_named(node->name, from.index);
    if (result) pairs.push_back({output, *result, why});
  }
}

GeFxFrames ge_and_fx(const Indexed& frames, int32_t mine, int32_t golden) {
  const bool is_mine = frames.mine[static_cast<size_t>(mine)].framework == "ge";
  const Side ge_side = is_mine ? Side::mine : Side::golden, fx_side = is_mine ? Side::golden : Side::mine;
  const int32_t ge = is_mine ? mine : golden, fx = is_mine ? golden : mine;
  return {ge_side, fx_side, ge, fx, frames.frames(ge_side)[static_cast<size_t>(ge)].graph.get()};
}

std::string no_graph_of(Side ge_side) {
  return fmt::format(
      "{} has no graph (dynamo_original_graph_*.txt) that says which FX nodes its operators come from; "
      "nothing can be paired",
      name_of(ge_side));
}

namespace {

// `mine` of a pair is the graph engine's until here.
void put_on_sides(std::vector<TensorPair>& pairs, Side ge_side) {
  if (ge_side == Side::mine) return;
  std::erase_if(pairs, [](const TensorPair& pair) { return pair.golden_is_mine; });
  for (TensorPair& pair : pairs) std::swap(pair.mine, pair.golden);
}

Result<Pairing> match_ge_fx(const Indexed& frames, const MatchOptions&) {
  PairingBuilder builder(frames);
  std::vector<std::unique_ptr<GeFx>> tokens;
  std::vector<OpPairs> ops;
  Remarks warnings;
  for (size_t m = 0; m < frames.mine.size(); ++m) {
    const auto golden = partner_of(frames, frames.mine[m], false);
    if (!golden) continue;
    const auto [ge_side, fx_side, ge, fx, graph] = ge_and_fx(frames, static_cast<int32_t>(m), *golden);
    if (graph == nullptr) {
      warnings.push_back(no_graph_of(ge_side));
      continue;
    }
    const GeFx& token = *tokens.emplace_back(
        std::make_unique<GeFx>(GraphOps(builder, ge_side, ge), GraphOps(builder, fx_side, fx), *graph));
    for (const GraphOps::Op& op : token.ge().all()) {
      ops.push_back(token.pairs_of(op));
      put_on_sides(ops.back().pairs, ge_side);
    }
  }
  Pairing pairing = all_pairs(builder, ops);
  pairing.warnings = std::move(warnings);
  return pairing;
}

}  // namespace

const Matcher ge_fx_matcher = {"ge_fx", sections_by_graph, match_ge_fx};

}  // namespace assay
