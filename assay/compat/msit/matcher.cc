#include "assay/base/text.h"
#include "assay/compat/msit/matchers.h"
#include "assay/compat/msit/policies.h"
#include "assay/match/frames.h"
#include "assay/match/keyed/position.h"
#include "assay/match/ops/inference.h"
#include "assay/match/ops/op_items.h"
#include "assay/match/ops/op_sections.h"

#include <algorithm>
#include <set>

namespace assay {
namespace {

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

std::string_view file_name(std::string_view name) { return name.substr(name.rfind('/') + 1); }

using Positions = std::vector<size_t>;

class Files {
 public:
  Files(const PairingBuilder& builder, Side side) : items_(builder, side) {}

  std::string_view name(size_t position) const { return items_.item(position).name; }

  Positions of(int32_t op, const MsitLocation& location) const {
    using What = MsitLocation::What;
    if (location.what == What::outputs) return after(items_.every(op, Direction::output));
    if (location.what == What::inputs) {
      Positions inputs = items_.every(op, Direction::input), found = after(inputs);
      for (const size_t each : inputs)
        if (is_before(each)) found.push_back(each);
      return found;
    }
    Positions found;
    for (const Direction direction : {Direction::input, Direction::output})
      for (const size_t each : after(items_.every(op, direction)))
        if (file_name(name(each)) == location.file) found.push_back(each);
    return found;
  }

  Positions last_output(int32_t op) const {
    Positions outputs = items_.every(op, Direction::output);
    if (outputs.size() > 1) outputs = {outputs.back()};
    return outputs;
  }

 private:
  bool is_before(size_t position) const { return items_.item(position).port.phase == Phase::before; }
  Positions after(Positions all) const {
    std::erase_if(all, [&](size_t each) { return is_before(each); });
    return all;
  }

  const OpItems items_;
};

// "output_0_1.pth"
bool is_nested_output(std::string_view file) {
  if (!file.starts_with("output_") || !file.ends_with(".pth")) return false;
  const auto parts = split(file.substr(7, file.size() - 11), '_');
  return parts.size() == 2 && parse_int(parts[0]) && parse_int(parts[1]);
}

class MsitMatcher {
 public:
  MsitMatcher(const Indexed& frames, const MatchOptions& options, bool repeats_batch, int64_t& next_number)
      : builder_(frames),
        options_(options),
        repeats_batch_(repeats_batch),
        next_number_(next_number),
        frames_(frames),
        mine_(builder_, Side::mine),
        golden_(builder_, Side::golden),
        states_statistics_(frames.golden[0].content == Content::statistics &&
                           frames.golden[0].framework == "pytorch") {}

  Pairing run(MsitLevel level) {
    const Frame &mine = frames_.mine[0], &golden = frames_.golden[0];
    Pairing pairing;
    pairing.flattens = true;
    pairing.repeats_batch = repeats_batch_;
    for (const MsitMatch& match : msit_matches(mine, golden, level, options_.op_mapping.get())) {
      PairedNode node{mine.tree().at(match.mine).path, std::ssize(pairing.nodes), {}};
      const FilePairs files = file_pairs(match);
      for (const auto& [m, g] : files.pairs) {
        Pair pair;
        pair.mine = builder_.items(Side::mine)[m];
        pair.golden = builder_.items(Side::golden)[g];
        if (files.length && has(golden_.name(g), "rotary")) {
          PairPlans& plans = pairing.plans.emplace_back();
          plans.mine = as_it_stands(Side::mine, *pair.mine);
          plans.mine.add(PlanOp::single_angles);
          plans.golden = as_it_stands(Side::golden, *pair.golden);
          plans.golden.add_with(PlanOp::last_angles,
                                {{Side::mine, builder_.items(Side::mine)[*files.length]}},
                                {has(mine_.name(m), "intensor3")});
          pair.plans = &plans;
        }
        pair.why = Why::same_role;
        pair.number = static_cast<int32_t>(next_number_++);
        node.pairs.push_back(pair);
        used_mine_.insert(m);
        used_golden_.insert(g);
      }
      if (!node.pairs.empty()) pairing.nodes.push_back(std::move(node));
    }
    add_leftovers(pairing);
    return pairing;
  }

 private:
  struct FilePairs {
    std::vector<std::pair<size_t, size_t>> pairs;
    std::optional<size_t> length;  // of mine: how many positions a rotary embedding has seen
  };

  FilePairs file_pairs(const MsitMatch& match) const {
    Positions mine = mine_.of(match.mine, match.of_mine);
    Positions golden =
        states_statistics_ ? golden_.last_output(match.golden) : golden_.of(match.golden, match.of_golden);
    FilePairs found;
    if (!states_statistics_) {
      mine = choose_projection(golden, std::move(mine));
      std::erase_if(golden, [&](size_t each) { return is_nested_output(file_name(golden_.name(each))); });
      found.length = keep_cos_and_sin(mine);
    }
    auto& pairs = found.pairs;
    if (golden.size() == mine.size()) {
      const auto by_name = [](const Files& files) {
        return [&files](size_t a, size_t b) { return files.name(a) < files.name(b); };
      };
      std::stable_sort(golden.begin(), golden.end(), by_name(golden_));
      std::stable_sort(mine.begin(), mine.end(), by_name(mine_));
      for (size_t i = 0; i < mine.size(); ++i) pairs.emplace_back(mine[i], golden[i]);
    } else {
      for (const size_t g : golden)
        for (const size_t m : mine) pairs.emplace_back(m, g);
    }
    return found;
  }

  // root.model.layers.N.self_attn.{q,k,v}_proj/output.pth has one counterpart among the outputs of a fused
  // one.
  Positions choose_projection(const Positions& golden, Positions mine) const {
    struct Part {
      std::string_view module;
      int output;
    };
    constexpr Part kParts[] = {{"k_proj", 1}, {"v_proj", 2}, {"q_proj", 0}};
    for (const std::string_view folder : {"0_QKVLinearSplitPack", "0_QKVLinearSplitPack/1_SplitOperation"}) {
      Positions kept;
      for (const auto& [module, output] : kParts) {
        const bool is_meant = std::any_of(golden.begin(), golden.end(), [&](size_t each) {
          return is_projection(golden_.name(each), module);
        });
        if (!is_meant) continue;
        const std::string target = fmt::format("0_Attention/{}/after/outtensor{}.bin", folder, output);
        const bool rope_too = module == "q_proj" && folder == "0_QKVLinearSplitPack";
        for (const size_t each : mine)
          if (has(mine_.name(each), target) ||
              (rope_too &&
               has(mine_.name(each), "0_Attention/1_RotaryPositionEmbedding/before/intensor0.bin")))
            kept.push_back(each);
      }
      if (!kept.empty()) mine = std::move(kept);
    }
    return mine;
  }

  static bool is_projection(std::string_view name, std::string_view module) {
    constexpr std::string_view kLayers = "root.model.layers.";
    const size_t begin = name.find(kLayers);
    if (begin == std::string_view::npos) return false;
    const std::string_view rest = name.substr(begin + kLayers.size());
    const size_t digits = rest.find_first_not_of("0123456789");
    return digits != 0 && digits != std::string_view::npos &&
           rest.substr(digits).starts_with(fmt::format(".self_attn.{}/output.pth", module));
  }

  // Of the five inputs of a rotary embedding, those with the angles stay; answers the one with the length.
  std::optional<size_t> keep_cos_and_sin(Positions& mine) const {
    const auto is = [&](size_t each, std::string_view word) { return has(to_lower(mine_.name(each)), word); };
    if (mine.size() != 5 ||
        std::none_of(mine.begin(), mine.end(), [&](size_t each) { return is(each, "ropeoperation"); }))
      return std::nullopt;
    Positions angles;
    std::optional<size_t> length;
    for (const size_t each : mine) {
      if (is(each, "intensor4")) length = each;
      if (is(each, "intensor2") || is(each, "intensor3")) angles.push_back(each);
    }
    if (!length || angles.size() != 2) return std::nullopt;
    mine = std::move(angles);
    return length;
  }

  // What msit leaves out of its report is not lost: other reports have it.
  void add_leftovers(Pairing& pairing) {
    for (const Side side : {Side::mine, Side::golden}) {
      const std::set<size_t>& used = side == Side::mine ? used_mine_ : used_golden_;
      for (size_t i = 0; i < builder_.size(side); ++i) {
        if (used.contains(i)) continue;
        Pair pair;
        (side == Side::mine ? pair.mine : pair.golden) = builder_.items(side)[i];
        PairedNode node{builder_.node(side, i).name, std::ssize(pairing.nodes), {}};
        node.pairs.push_back(pair);
        pairing.nodes.push_back(std::move(node));
      }
    }
  }

  const PairingBuilder builder_;
  const MatchOptions& options_;
  const bool repeats_batch_;
  int64_t& next_number_;
  const Indexed& frames_;
  const Files mine_, golden_;
  const bool states_statistics_;  // golden has one table for a module: what is meant is its last line
  std::set<size_t> used_mine_, used_golden_;
};

MsitLevel level_of(const At& at) {
  return at.level() == "layer"    ? MsitLevel::layer
         : at.level() == "module" ? MsitLevel::module
                                  : MsitLevel::api;
}

std::vector<Section> once_for_each(const std::vector<std::string>& levels,
                                   const std::vector<Section>& sections) {
  std::vector<Section> by_level;
  for (const std::string& level : levels)
    for (Section section : sections) {
      section.at.part += (section.at.part.empty() ? "" : " ") + level;
      by_level.push_back(std::move(section));
    }
  return by_level;
}

}  // namespace

Matcher msit_matcher(const MsitMatching& matching) {
  const auto sections = [levels = matching.levels](
                            const Dump& mine, const Dump& golden,
                            const MatchOptions& options) -> Result<std::vector<Section>> {
    ASSAY_TRY(const std::vector<Section> of_tokens, sections_by_token(mine, golden, options));
    return once_for_each(levels, of_tokens);
  };
  const auto match = [repeats_batch = matching.repeats_batch, next_number = std::make_shared<int64_t>(0)](
                         const Indexed& frames, const MatchOptions& options) -> Result<Pairing> {
    if (frames.mine.empty() || frames.golden.empty()) return PairingBuilder(frames).finish();
    return MsitMatcher(frames, options, repeats_batch, *next_number).run(level_of(frames.at));
  };
  return {"msit", sections, match};
}

Matcher msit_token_matcher() {
  const auto match = [next_number = std::make_shared<int64_t>(0)](
                         const Indexed& frames, const MatchOptions& options) -> Result<Pairing> {
    ASSAY_TRY(Pairing pairing, token_matcher.match(frames, options));
    for (PairedNode& node : pairing.nodes)
      for (Pair& pair : node.pairs) pair.number = static_cast<int32_t>((*next_number)++);
    return pairing;
  };
  return {token_matcher.name, token_matcher.sections, match};
}

const Matcher msit_file_matcher = {"position", sections_by_at,
                                   [](const Indexed& frames, const MatchOptions& options) -> Result<Pairing> {
                                     ASSAY_TRY(Pairing pairing, position_matcher.match(frames, options));
                                     pairing.flattens = true;
                                     return pairing;
                                   }};

}  // namespace assay
