#include "assay/base/text.h"
#include "assay/compat/msit/matchers.h"
#include "assay/match/frames.h"
#include "assay/match/pairing_builder.h"

#include <unordered_map>

namespace assay {
namespace {

// The tensors of one checkpoint by their own names, whichever file holds them. Where there are safetensors
// files, only theirs: a checkpoint is often there in two formats.
class Weights {
 public:
  Weights(const PairingBuilder& builder, Side side) : builder_(builder), side_(side) {
    bool any_safetensors = false;
    for (size_t i = 0; i < builder.size(side); ++i) any_safetensors |= is_safetensors(i);
    for (size_t i = 0; i < builder.size(side); ++i) {
      if (any_safetensors && !is_safetensors(i)) continue;
      if (!places_.try_emplace(key(i), i).second) continue;
      in_order_.push_back(i);
    }
  }

  const std::vector<size_t>& in_order() const { return in_order_; }
  // "model-1.safetensors:layers.0.weight" is layers.0.weight.
  std::string_view key(size_t position) const {
    const std::string_view name = builder_.name(side_, position), file = builder_.node(side_, position).name;
    return name.size() > file.size() ? name.substr(file.size() + 1) : name;
  }
  std::optional<size_t> find(std::string_view key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  bool is_safetensors(size_t position) const {
    return builder_.node(side_, position).name.ends_with(".safetensors");
  }

  const PairingBuilder& builder_;
  const Side side_;
  std::unordered_map<std::string_view, size_t> places_;
  std::vector<size_t> in_order_;
};

std::string with_suffix(std::string key, std::string_view suffix) {
  constexpr std::string_view kWeight = "weight";
  for (size_t at = key.find(kWeight); at != std::string::npos;
       at = key.find(kWeight, at + kWeight.size() + suffix.size()))
    key.insert(at + kWeight.size(), suffix);
  return key;
}

// Weights of golden whose counterpart in mine is int8 and has a scale and an offset; the rest of two
// checkpoints is another comparison.
Result<Pairing> match_weights(const Indexed& frames, const MatchOptions&) {
  const PairingBuilder builder(frames);
  const Weights mine(builder, Side::mine), golden(builder, Side::golden);
  Pairing pairing;
  pairing.flattens = true;
  int64_t left = 0;
  for (const size_t g : golden.in_order()) {
    const std::string key(golden.key(g));
    if (!key.ends_with("weight")) continue;
    const auto m = mine.find(key), offset = mine.find(with_suffix(key, "_offset")),
               scale = mine.find(with_suffix(key, "_scale"));
    const TensorMeta* const meta = m ? builder.item(Side::mine, *m).meta : nullptr;
    if (meta == nullptr || meta->dtype != DType::i8 || !offset || !scale) {
      ++left;
      continue;
    }
    Pair pair;
    pair.mine = builder.items(Side::mine)[*m];
    pair.golden = builder.items(Side::golden)[g];
    pair.why = Why::same_name;
    PairPlans& plans = pairing.plans.emplace_back();
    plans.mine = as_it_stands(Side::mine, *pair.mine);
    plans.mine.add_with(PlanOp::rescale, {{Side::mine, builder.items(Side::mine)[*offset]},
                                          {Side::mine, builder.items(Side::mine)[*scale]}});
    pair.plans = &plans;
    PairedNode node{golden.key(g), std::ssize(pairing.nodes), {}};
    node.pairs.push_back(pair);
    pairing.nodes.push_back(std::move(node));
  }
  for (const Side side : {Side::mine, Side::golden})
    for (size_t i = 0; i < builder.size(side); ++i)
      if (!builder.item(side, i).trouble.empty())
        pairing.warnings.push_back(unreadable(std::string(builder.item(side, i).trouble)));
  pairing.passed_over = left;
  if (left > 0)
    pairing.warnings.push_back(fmt::format(
        "{} weights of golden have no int8 weight with weight_scale and weight_offset in mine; they are "
        "not compared",
        left));
  return pairing;
}

}  // namespace

const Matcher weight_matcher = {"weight", sections_by_at, match_weights};

}  // namespace assay
