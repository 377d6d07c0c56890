#include "assay/run/cluster/row_codec.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

void put_value(const Value& value, Encoder& out) {
  out.put(static_cast<uint8_t>(value.index()));
  if (const auto* const truth = std::get_if<bool>(&value)) out.put(*truth);
  if (const auto* const whole = std::get_if<int64_t>(&value)) out.put(*whole);
  if (const auto* const real = std::get_if<double>(&value)) out.put(*real);
  if (const auto* const text = std::get_if<std::string>(&value)) out.text(*text);
}

Value get_value(Decoder& in) {
  switch (in.get<uint8_t>()) {
    case 1:
      return in.get<bool>();
    case 2:
      return in.get<int64_t>();
    case 3:
      return in.get<double>();
    case 4:
      return std::string(in.text());
    default:
      return {};
  }
}

enum class ScalarKind : uint8_t { absent, boolean, integer, real, text, digits };

void put_scalar(const Scalar& scalar, Encoder& out) {
  if (const auto truth = scalar.boolean()) {
    out.put(ScalarKind::boolean);
    out.put(*truth);
  } else if (const auto whole = scalar.integer()) {
    out.put(ScalarKind::integer);
    out.put(*whole);
  } else if (const auto real = scalar.real()) {
    out.put(ScalarKind::real);
    out.put(*real);
  } else if (const auto text = scalar.text()) {
    out.put(ScalarKind::text);
    out.text(*text);
  } else if (const auto digits = scalar.digits()) {
    out.put(ScalarKind::digits);
    out.text(*digits);
  } else {
    out.put(ScalarKind::absent);
  }
}

Scalar get_scalar(Decoder& in, StringPool& texts) {
  switch (in.get<ScalarKind>()) {
    case ScalarKind::boolean:
      return in.get<bool>();
    case ScalarKind::integer:
      return in.get<int64_t>();
    case ScalarKind::real:
      return in.get<double>();
    case ScalarKind::text:
      return texts.keep(in.text());
    case ScalarKind::digits:
      return Scalar::big(texts.keep(in.text()));
    case ScalarKind::absent:
      break;
  }
  return {};
}

template <class Of>
constexpr std::array<Scalar Of::*, 4> kFour = {&Of::max, &Of::min, &Of::mean, &Of::norm};

void put_nonfinite(const Nonfinite& counts, Encoder& out) {
  out.put(std::array{counts.nans, counts.infs, counts.minus_infs});
  for (const auto each : kFour<Nonfinite>) put_scalar(counts.*each, out);
}

Nonfinite get_nonfinite(Decoder& in, StringPool& texts) {
  const auto [nans, infs, minus_infs] = in.get<std::array<int64_t, 3>>();
  Nonfinite counts{nans, infs, minus_infs};
  for (const auto each : kFour<Nonfinite>) counts.*each = get_scalar(in, texts);
  return counts;
}

constexpr std::array<Value Stats::*, 4> kValues = {&Stats::max, &Stats::min, &Stats::mean, &Stats::norm};

void put_stats(const Stats& stats, Encoder& out) {
  for (const auto each : kValues) put_value(stats.*each, out);
  out.text(stats.checksum);
  put_nonfinite(stats.nonfinite, out);
  out.put(stats.decimals);
}

Stats get_stats(Decoder& in, StringPool& texts) {
  Stats stats;
  for (const auto each : kValues) stats.*each = get_value(in);
  stats.checksum = in.text();
  stats.nonfinite = get_nonfinite(in, texts);
  stats.decimals = in.get<int8_t>();
  return stats;
}

constexpr std::array<std::string_view Stated::*, 5> kStatedTexts = {
    &Stated::checksum, &Stated::dtype, &Stated::shape, &Stated::data_name, &Stated::requires_grad};

void put_stated(const Stated& stated, Encoder& out) {
  for (const auto each : kFour<Stated>) put_scalar(stated.*each, out);
  for (const auto each : kStatedTexts) out.text(stated.*each);
  out.put(stated.nonfinite != nullptr);
  if (stated.nonfinite != nullptr) put_nonfinite(*stated.nonfinite, out);
  out.put(stated.given);
  out.put(stated.decimals);
}

std::shared_ptr<const Stated> get_stated(Decoder& in) {
  struct Kept {
    StringPool texts;
    Nonfinite nonfinite;
    Stated stated;
  };
  const auto kept = std::make_shared<Kept>();
  Stated& stated = kept->stated;
  for (const auto each : kFour<Stated>) stated.*each = get_scalar(in, kept->texts);
  for (const auto each : kStatedTexts) stated.*each = kept->texts.keep(in.text());
  if (in.get<bool>()) {
    kept->nonfinite = get_nonfinite(in, kept->texts);
    stated.nonfinite = &kept->nonfinite;
  }
  stated.given = in.get<Given>();
  stated.decimals = in.get<int8_t>();
  return {kept, &kept->stated};
}

void put_plan(const Plan& plan, Encoder& out) {
  out.list(plan.from);
  out.put(static_cast<uint64_t>(plan.steps.size()));
  for (const PlanStep& step : plan.steps) {
    out.put(step.op);
    out.list(step.in);
    out.list(step.args);
    out.list(step.numbers);
  }
  out.text(plan.name);
}

Plan get_plan(Decoder& in) {
  Plan plan;
  plan.from = in.list<PlanSource>();
  for (auto steps = in.get<uint64_t>(); steps > 0; --steps) {
    PlanStep& step = plan.steps.emplace_back();
    step.op = in.get<PlanOp>();
    step.in = in.list<int32_t>();
    step.args = in.list<int64_t>();
    step.numbers = in.list<double>();
  }
  plan.name = in.text();
  return plan;
}

// … that a row was given while it was measured: it has no ranks.
void put_plans(const PairPlans& plans, Encoder& out) {
  put_plan(plans.mine, out);
  put_plan(plans.golden, out);
  out.put(std::array{plans.is_guess, plans.is_unsure, plans.is_one_rank, plans.is_other_rank});
  for (const std::string* text : {&plans.note, &plans.lacks, &plans.contradiction}) out.text(*text);
}

PairPlans get_plans(Decoder& in) {
  PairPlans plans;
  plans.mine = get_plan(in);
  plans.golden = get_plan(in);
  const auto flags = in.get<std::array<bool, 4>>();
  plans.is_guess = flags[0];
  plans.is_unsure = flags[1];
  plans.is_one_rank = flags[2];
  plans.is_other_rank = flags[3];
  for (std::string* text : {&plans.note, &plans.lacks, &plans.contradiction}) *text = in.text();
  return plans;
}

constexpr int32_t kElsewhere = -1;

void put_pair(const PairedNode& node, const Pair& pair, Encoder& out) {
  out.put(pair.mine);
  out.put(pair.golden);
  out.put(pair.why);
  out.put(pair.is_constant);
  out.put(pair.number);
  out.put(pair.plans != nullptr);
  if (pair.plans == nullptr) return;
  const auto own = std::ranges::find(node.pairs, pair.plans, &Pair::plans);
  out.put(own == node.pairs.end() ? kElsewhere : static_cast<int32_t>(own - node.pairs.begin()));
  if (own == node.pairs.end()) put_plans(*pair.plans, out);
}

// The item a side of the row describes: that of the pair, or of one of the ranks that share it.
std::vector<std::pair<Side, ItemId>> items_of(Side side, const Pair& pair) {
  std::vector<std::pair<Side, ItemId>> items;
  if (side == Side::mine && pair.mine) items.emplace_back(side, *pair.mine);
  if (side == Side::golden && pair.golden) items.emplace_back(pair.golden_side(), *pair.golden);
  if (const RankShares* const ranks = pair.ranks(); ranks != nullptr && ranks->side == side)
    for (const ItemId& id : ranks->items) items.emplace_back(side, id);
  return items;
}

// Texts of a side that both ends have.
std::array<std::string_view, 4> known_texts(Side side, const Pair& pair, const Item* item, const Node* node) {
  const Plan* const plan = pair.plans == nullptr ? nullptr : &pair.plans->of(side);
  return {item == nullptr ? std::string_view() : item->name,
          plan == nullptr ? std::string_view() : std::string_view(plan->name),
          node == nullptr ? std::string_view() : node->type,
          node == nullptr ? std::string_view() : node->within};
}

constexpr uint8_t kNoText = 255, kOtherText = 254;

void put_view(std::string_view text, std::span<const std::string_view> known, Encoder& out) {
  if (text.empty()) return out.put(kNoText);
  const auto found = std::ranges::find(known, text);
  if (found != known.end()) return out.put(static_cast<uint8_t>(found - known.begin()));
  out.put(kOtherText);
  out.text(text);
}

const fs::path* file_of(const Matched& matched, Side side, const ItemId& id) {
  const Item& item = matched.item(side, id);
  if (!item.data) return nullptr;
  return &matched.frames.frame(side, id).files[static_cast<size_t>(item.data->file)].path;
}

void put_side(Side side, const Pair& pair, const SideFacts& facts, const Matched& matched, Encoder& out) {
  const auto items = items_of(side, pair);
  const auto of = std::ranges::find_if(
      items, [&](const auto& each) { return &matched.item(each.first, each.second) == facts.item; });
  ASSAY_CHECK(facts.item == nullptr || of != items.end());
  const bool has_item = facts.item != nullptr;
  out.put(has_item ? static_cast<int32_t>(of - items.begin()) : kElsewhere);
  const Node* const node = has_item ? &matched.frames.node(of->first, of->second) : nullptr;
  const auto known = known_texts(side, pair, facts.item, node);
  for (const std::string_view text : {facts.name, facts.op_type, facts.within}) put_view(text, known, out);
  const bool is_borrowed =
      has_item && facts.item->meta != nullptr && facts.meta && *facts.meta == *facts.item->meta;
  out.put(is_borrowed);
  out.put(!is_borrowed && facts.meta);
  if (!is_borrowed && facts.meta) {
    out.put(facts.meta->dtype);
    out.list(facts.meta->shape.dims);
  }
  const fs::path* const file = has_item ? file_of(matched, of->first, of->second) : nullptr;
  const bool is_known_file = file != nullptr && facts.file == *file;
  out.put(is_known_file);
  if (!is_known_file) out.text(facts.file.native());
  out.put(facts.token);
  out.put(facts.measured.has_value());
  if (facts.measured) put_stats(*facts.measured, out);
  out.put(facts.computed != nullptr);
  if (facts.computed) put_stated(*facts.computed, out);
}

// What is null, or one of these.
template <class T>
void put_shared(const std::shared_ptr<const T>& value, Encoder& out) {
  out.put(value != nullptr);
  if (value) out.put(*value);
}
template <class T>
std::shared_ptr<const T> get_shared(Decoder& in) {
  return in.get<bool>() ? std::make_shared<const T>(in.get<T>()) : nullptr;
}

// Fields that go as they are.
template <class Row, class Visit>
void visit_plain(Row& row, const Visit& visit) {
  visit(row.status);
  visit(row.basis);
  visit(row.is_rearranged);
  visit(row.is_cut);
  visit(row.is_other_type);
  visit(row.is_excused);
  visit(row.is_unprepared);
  visit(row.evidence);
  visit(row.statistics);
  visit(row.nothing_finite);
  visit(row.is_nonfinite_apart);
  visit(row.judged_as);
  visit(row.left_out);
  visit(row.not_dumped);
}

void put_row(const PairedNode& node, const Comparison& row, const Matched& matched, Encoder& out) {
  put_pair(node, row.pair, out);
  put_side(Side::mine, row.pair, row.mine, matched, out);
  put_side(Side::golden, row.pair, row.golden, matched, out);
  visit_plain(row, [&](const auto& field) { out.put(field); });
  out.put(static_cast<uint64_t>(row.metrics.size()));
  for (const Value& value : row.metrics) put_value(value, out);
  put_shared(row.arg_max, out);
  put_shared(row.near, out);
  put_shared(row.bounded, out);
  put_shared(row.range, out);
  out.put(row.answers != nullptr);
  if (row.answers) {
    out.put(static_cast<uint64_t>(row.answers->size()));
    for (const AlgorithmAnswer& answer : *row.answers) {
      put_value(answer.value, out);
      out.text(answer.message);
    }
  }
  out.text(row.contradiction);
  out.text(row.note);
}

}  // namespace

void encode_node(const NodeRows& results, const Matched& matched, Encoder& out) {
  out.put(static_cast<uint64_t>(results.size()));
  for (const NodeResult& result : results) {
    const PairedNode& node = matched.pairing.nodes[static_cast<size_t>(result.index)];
    out.put(static_cast<uint64_t>(result.rows.size()));
    for (const Comparison& row : result.rows) put_row(node, row, matched, out);
    std::vector<std::string_view> known = {node.name};
    if (!result.rows.empty() && result.rows.front().pair.mine)
      known.push_back(matched.frames.node(Side::mine, *result.rows.front().pair.mine).name);
    put_view(result.name, known, out);
  }
}

std::string_view RowDecoder::view(std::span<const std::string_view> known, Decoder& in) {
  const auto which = in.get<uint8_t>();
  if (which == kNoText) return {};
  return which == kOtherText ? texts_.keep(in.text()) : known[which];
}

Pair RowDecoder::pair(const PairedNode& node, Decoder& in) {
  Pair pair;
  pair.mine = in.get<std::optional<ItemId>>();
  pair.golden = in.get<std::optional<ItemId>>();
  pair.why = in.get<Why>();
  pair.is_constant = in.get<bool>();
  pair.number = in.get<int32_t>();
  if (!in.get<bool>()) return pair;
  const auto own = in.get<int32_t>();
  pair.plans = own == kElsewhere ? matched_.pairing.late_plans->keep(get_plans(in))
                                 : node.pairs[static_cast<size_t>(own)].plans;
  return pair;
}

void RowDecoder::side(Side side, const Pair& pair, Decoder& in, SideFacts& facts) {
  const auto items = items_of(side, pair);
  const auto of = in.get<int32_t>();
  const Node* node = nullptr;
  const fs::path* file = nullptr;
  if (of != kElsewhere) {
    const auto& [whose, id] = items[static_cast<size_t>(of)];
    facts.item = &matched_.item(whose, id);
    node = &matched_.frames.node(whose, id);
    file = file_of(matched_, whose, id);
  }
  const auto known = known_texts(side, pair, facts.item, node);
  for (std::string_view* text : {&facts.name, &facts.op_type, &facts.within}) *text = view(known, in);
  if (in.get<bool>()) facts.meta = RowMeta(facts.item->meta);
  if (in.get<bool>()) {
    TensorMeta meta;
    meta.dtype = in.get<DType>();
    meta.shape.dims = in.list<int64_t>();
    facts.meta = RowMeta(std::move(meta));
  }
  facts.file = in.get<bool>() ? *file : fs::path(in.text());
  facts.token = in.get<int>();
  if (in.get<bool>()) facts.measured = get_stats(in, texts_);
  if (in.get<bool>()) facts.computed = get_stated(in);
}

Comparison RowDecoder::row(const PairedNode& node, Decoder& in) {
  Comparison row;
  row.pair = pair(node, in);
  side(Side::mine, row.pair, in, row.mine);
  side(Side::golden, row.pair, in, row.golden);
  visit_plain(row, [&](auto& field) { field = in.get<std::remove_reference_t<decltype(field)>>(); });
  for (auto count = in.get<uint64_t>(); count > 0; --count) row.metrics.push_back(get_value(in));
  row.arg_max = get_shared<ArgMax>(in);
  row.near = get_shared<Neighbours>(in);
  row.bounded = get_shared<Bounded>(in);
  row.range = get_shared<NumberRange>(in);
  if (in.get<bool>()) {
    auto answers = std::make_shared<std::vector<AlgorithmAnswer>>(in.get<uint64_t>());
    for (AlgorithmAnswer& answer : *answers) {
      answer.value = get_value(in);
      answer.message = in.text();
    }
    row.answers = std::move(answers);
  }
  row.contradiction = in.text();
  row.note = in.text();
  return row;
}

NodeRows RowDecoder::node(const NodeResult& blank, Decoder& in) {
  NodeRows results(in.get<uint64_t>(), blank);
  const PairedNode& node = matched_.pairing.nodes[static_cast<size_t>(blank.index)];
  for (NodeResult& result : results) {
    for (auto rows = in.get<uint64_t>(); rows > 0; --rows) result.rows.push_back(row(node, in));
    std::vector<std::string_view> known = {node.name};
    if (!result.rows.empty() && result.rows.front().pair.mine)
      known.push_back(matched_.frames.node(Side::mine, *result.rows.front().pair.mine).name);
    result.name = view(known, in);
  }
  return results;
}

}  // namespace assay
