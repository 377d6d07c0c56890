#include "assay/compat/msit/policies.h"

#include "assay/base/text.h"
#include "assay/model/graph.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

namespace assay {
namespace {

using Ops = std::vector<int32_t>;
constexpr size_t kFewestBlocks = 10;

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

const OpMapping& built_in_mapping() {
  static const OpMapping mapping{{{"CommonLayer_outtensor0", {"GLMBlock_output_0", "BloomBlock_output_0"}},
                                  {"MlpGateLayerV2", {"BloomMLP", "MLP"}},
                                  {"RmsNormOperation", {"RMSNorm"}},
                                  {"SelfAttentionOperation", {"CoreAttention"}}}};
  return mapping;
}

// One model: a root and what is below it.
class Model {
 public:
  Model(const Graph& tree, int32_t root) : tree_(tree), root_(root), all_(tree.below(root)) {
    all_.insert(all_.begin(), root);
    find_layers();
  }
  const Graph& tree() const { return tree_; }
  int32_t root() const { return root_; }
  const Ops& all() const { return all_; }
  const Ops& layers() const { return layers_; }
  std::string_view type(int32_t op) const { return tree_.at(op).type; }
  std::string_view path(int32_t op) const { return tree_.at(op).path; }

 private:
  // The first op, depth first, with more than ten children, if most of them are of one type.
  void find_layers() {
    std::string_view type;
    Ops waiting = {root_};
    while (!waiting.empty() && type.empty()) {
      const int32_t op = waiting.back();
      waiting.pop_back();
      const Ops& children = tree_.at(op).children;
      if (children.size() <= kFewestBlocks) {
        waiting.insert(waiting.end(), children.rbegin(), children.rend());
        continue;
      }
      std::unordered_map<std::string_view, size_t> counts;
      size_t most = 0;
      for (const int32_t child : children) most = std::max(most, ++counts[tree_.at(child).type]);
      if (most <= kFewestBlocks / 2) continue;
      for (const int32_t child : children)
        if (counts[tree_.at(child).type] == most) {
          type = tree_.at(child).type;
          break;
        }
    }
    if (type.empty()) return;
    waiting.assign(tree_.at(root_).children.rbegin(), tree_.at(root_).children.rend());
    while (!waiting.empty()) {
      const int32_t op = waiting.back();
      waiting.pop_back();
      if (tree_.at(op).type == type)
        layers_.push_back(op);
      else
        waiting.insert(waiting.end(), tree_.at(op).children.rbegin(), tree_.at(op).children.rend());
    }
  }

  const Graph& tree_;
  const int32_t root_;
  Ops all_, layers_;
};

class Policies {
 public:
  Policies(const Frame& mine, const Frame& golden, const OpMapping* added) : mine_(mine), golden_(golden) {
    mapping_ = built_in_mapping();
    if (added == nullptr) return;
    for (const auto& entry : added->types) {
      const auto known = std::find_if(mapping_.types.begin(), mapping_.types.end(),
                                      [&](const auto& each) { return each.first == entry.first; });
      if (known == mapping_.types.end())
        mapping_.types.push_back(entry);
      else
        known->second = entry.second;
    }
  }

  std::vector<MsitMatch> run(MsitLevel level) {
    Ops mine = mine_.tree().roots(), golden = golden_.tree().roots();
    if (mine.empty() || golden.empty()) return {};
    const size_t models = std::max(mine.size(), golden.size());
    for (size_t i = 0; i < models; ++i)
      match_models(Model(mine_.tree(), mine[i % mine.size()]),
                   Model(golden_.tree(), golden[i % golden.size()]), level);
    if (mine_.framework == "atb")
      std::stable_sort(found_.begin(), found_.end(),
                       [](const MsitMatch& a, const MsitMatch& b) { return a.mine < b.mine; });
    return std::move(found_);
  }

 private:
  using Location = MsitLocation;

  void add(int32_t mine, int32_t golden, Location of_mine = {}, Location of_golden = {}) {
    MsitMatch match{mine, golden, std::move(of_mine), std::move(of_golden)};
    if (known_.insert(match).second) found_.push_back(std::move(match));
  }
  static Location file(std::string name) { return {Location::What::file, std::move(name)}; }

  void match_models(const Model& mine, const Model& golden, MsitLevel level) {
    switch (level) {
      case MsitLevel::layer:
        match_layers(mine, golden);
        match_special_names(mine, golden);
        break;
      case MsitLevel::module:
        match_modules(mine, golden);
        break;
      case MsitLevel::api:
        match_last(mine, golden);
        match_same_names(mine, golden);
        match_type_counts(mine, golden);
        match_layers(mine, golden);
        for_layers(mine, golden, [&](int32_t m, int32_t g) { match_built_in(mine, m, golden, g); });
        for_layers(mine, golden, [&](int32_t m, int32_t g) { match_mapping(mine, m, golden, g); });
        for_layers(mine, golden, [&](int32_t m, int32_t g) { match_rope(mine, m, golden, g); });
        for_layers(mine, golden, [&](int32_t m, int32_t g) { match_words(mine, m, golden, g); });
        match_special_names(mine, golden);
        for_layers(mine, golden, [&](int32_t m, int32_t g) { match_projections(mine, m, golden, g); });
        break;
    }
  }

  template <class Use>
  static void for_layers(const Model& mine, const Model& golden, Use&& use) {
    for (size_t i = 0; i < std::min(mine.layers().size(), golden.layers().size()); ++i)
      use(mine.layers()[i], golden.layers()[i]);
  }

  void match_layers(const Model& mine, const Model& golden) {
    for_layers(mine, golden, [&](int32_t m, int32_t g) { add(m, g); });
  }

  static Ops last_children(const Model& model) {
    Ops ops;
    for (int32_t op = model.root(); !model.tree().is_leaf(op);)
      ops.push_back(op = model.tree().at(op).children.back());
    return ops;
  }

  void match_last(const Model& mine, const Model& golden) {
    for (const int32_t g : last_children(golden))
      for (const int32_t m : last_children(mine)) add(m, g);
  }

  void match_same_names(const Model& mine, const Model& golden) {
    std::unordered_map<std::string_view, int32_t> by_name;  // of several the last
    for (const int32_t op : golden.all()) by_name[golden.tree().at(op).name] = op;
    std::unordered_map<std::string_view, int32_t> last;
    for (const int32_t op : mine.all()) last[mine.tree().at(op).name] = op;
    for (const int32_t op : mine.all()) {
      const std::string_view name = mine.tree().at(op).name;
      const auto other = by_name.find(name);
      if (name != "root" && last[name] == op && other != by_name.end()) add(op, other->second);
    }
  }

  // As far as msit knows them.
  static std::string_view known_float_type(std::string_view type) {
    return type == "W8A8Operation" ? type : float_type(type);
  }

  void match_type_counts(const Model& mine, const Model& golden) {
    const auto by_type = [](const Model& model, int32_t op) {
      std::vector<std::pair<std::string_view, Ops>> groups;
      for (const int32_t child : model.tree().at(op).children) {
        const std::string_view type = known_float_type(model.type(child));
        auto group =
            std::find_if(groups.begin(), groups.end(), [&](const auto& each) { return each.first == type; });
        if (group == groups.end()) group = groups.insert(groups.end(), {type, {}});
        group->second.push_back(child);
      }
      return groups;
    };
    std::vector<std::pair<int32_t, int32_t>> pairs = {{mine.root(), golden.root()}};
    for (size_t next = 0; next < pairs.size(); ++next) {
      const auto theirs = by_type(golden, pairs[next].second);
      for (const auto& [type, ops] : by_type(mine, pairs[next].first))
        for (const auto& [other_type, others] : theirs)
          if (other_type == type && others.size() == ops.size())
            for (size_t i = 0; i < ops.size(); ++i) pairs.emplace_back(ops[i], others[i]);
    }
    for (const auto& [m, g] : pairs) add(m, g);
  }

  static Ops of_type(const Model& model, Ops ops, std::string_view type, bool whole) {
    std::erase_if(ops,
                  [&](int32_t op) { return whole ? model.type(op) != type : !has(model.type(op), type); });
    return ops;
  }

  void match_built_in(const Model& mine, int32_t m, const Model& golden, int32_t g) {
    constexpr std::pair<std::string_view, std::string_view> kTypes[] = {{"LayerNormOperation", "LayerNorm"},
                                                                        {"LinearOperation", "Linear"}};
    const Ops mine_leaves = mine.tree().leaves(m), golden_leaves = golden.tree().leaves(g);
    for (const auto& [type, module] : kTypes) {
      const Ops ops = of_type(mine, mine_leaves, type, true),
                modules = of_type(golden, golden_leaves, module, true);
      if (ops.size() != modules.size()) continue;
      for (size_t i = 0; i < ops.size(); ++i)
        add(with_bias(mine, ops[i]), modules[i], file("outtensor0.bin"), file("output.pth"));
    }
  }

  static int32_t with_bias(const Model& model, int32_t op) {
    const GraphOp& linear = model.tree().at(op);
    if (linear.type != "LinearOperation" || linear.has_bias.value_or(false) || linear.parent < 0) return op;
    const Ops& siblings = model.tree().at(linear.parent).children;
    const auto next = std::find(siblings.begin(), siblings.end(), op) + 1;
    return next != siblings.end() && model.type(*next) == "ElewiseOperation" &&
                   model.tree().at(*next).elewise_type == atb_elewise::kAdd
               ? *next
               : op;
  }

  void match_mapping(const Model& mine, int32_t m, const Model& golden, int32_t g) {
    const auto with_itself = [](const Model& model, int32_t op) {
      Ops ops = model.tree().below(op);
      ops.insert(ops.begin(), op);
      return ops;
    };
    const auto parsed = [](std::string_view text, std::string_view suffix) {
      const size_t mark = text.find('_');
      if (mark == std::string_view::npos) return std::pair(text, Location{});
      return std::pair(text.substr(0, mark), file(fmt::format("{}{}", text.substr(mark + 1), suffix)));
    };
    const Ops all_mine = with_itself(mine, m), all_golden = with_itself(golden, g);
    for (const auto& [atb, modules] : mapping_.types)
      for (const std::string& module : modules) {
        const auto [mine_type, of_mine] = parsed(atb, ".bin");
        const auto [golden_type, of_golden] = parsed(module, ".pth");
        const Ops ops = of_type(mine, all_mine, mine_type, false);
        const Ops others = of_type(golden, all_golden, golden_type, false);
        if (ops.size() != others.size()) continue;
        for (size_t i = 0; i < ops.size(); ++i) add(ops[i], others[i], of_mine, of_golden);
      }
  }

  void match_rope(const Model& mine, int32_t m, const Model& golden, int32_t g) {
    Ops ropes = mine.tree().leaves(m), rotaries = golden.tree().leaves(g);
    std::erase_if(ropes,
                  [&](int32_t op) { return !has(to_lower(mine.tree().at(op).name), "ropeoperation"); });
    std::erase_if(rotaries, [&](int32_t op) { return !has(golden.tree().at(op).name, "rotary"); });
    for (size_t i = 0; i < std::min(ropes.size(), rotaries.size()); ++i)
      add(ropes[i], rotaries[i], {Location::What::inputs, {}});
  }

  void match_words(const Model& mine, int32_t m, const Model& golden, int32_t g) {
    struct Words {
      std::string_view first, second, module;
    };
    constexpr Words kWords[] = {{"qkv", "linearoperation", "self_attn.w_pack"},
                                {"qkv", "splitoperation", "self_attn.v_proj"},
                                {"qkvlinear", "splitoperation", "self_attn.k_proj"},
                                {"qkvlinearsplit", "splitoperation", "self_attn.q_proj"},
                                {"attention", "linearoperation", "self_attn.o_proj"},
                                {"mlp", "rmsnormoperation", "mlp.post_attention_layernorm"},
                                {"mlp", "splitoperation", "mlp.gate_proj"},
                                {"mlp", "activationoperation", "mlp.act_fn"},
                                {"mlp", "elewiseoperation", "mlp.down_proj"},
                                {"mlp", "linearoperation", "mlp.down_proj"}};
    const Ops ops = mine.tree().leaves(m);
    for (const int32_t module : golden.tree().leaves(g)) {
      const std::string name = to_lower(golden.path(module));
      for (const int32_t op : ops) {
        const std::string path = to_lower(mine.path(op));
        for (const Words& words : kWords) {
          if (!has(path, words.first) || !has(path, words.second) || !has(name, words.module)) continue;
          if (words.module == "self_attn.o_proj" && has(path, "qkv")) continue;
          const bool takes_input = words.first == "mlp" && words.second == "elewiseoperation";
          const bool takes_first = words.first == "mlp" && words.second == "splitoperation";
          add(op, module, takes_first ? file("outtensor0.bin") : Location{},
              takes_input ? file("input_0.pth") : Location{});
        }
      }
    }
  }

  static Ops named(const Model& model, bool (*fits)(std::string_view name)) {
    std::set<std::string_view> seen;
    Ops ops;
    for (const int32_t op : model.all())
      if (fits(model.tree().at(op).name) && seen.insert(model.tree().at(op).name).second) ops.push_back(op);
    return ops;
  }

  void match_special_names(const Model& mine, const Model& golden) {
    struct Special {
      bool (*mine)(std::string_view);
      bool (*golden)(std::string_view);
    };
    static constexpr Special kSpecial[] = {
        {[](std::string_view name) { return has(to_lower(name), "wordembedding"); },
         [](std::string_view name) {
           return (has(name, "embed_tokens") || has(name, "word_embeddings")) &&
                  !has(name, "word_embeddings_layernorm");
         }},
        {[](std::string_view name) {
           constexpr std::string_view kNorm = "RmsNormOperation_";
           return name.starts_with(kNorm) && name.size() > kNorm.size() &&
                  name.find_first_not_of("0123456789", kNorm.size()) == std::string_view::npos;
         },
         [](std::string_view name) { return has(to_lower(name), "root.model.norm"); }},
        {[](std::string_view name) { return has(to_lower(name), "lmhead"); },
         [](std::string_view name) { return has(to_lower(name), "lm_head"); }},
        {[](std::string_view name) { return has(to_lower(name), "layernormoperation_35"); },
         [](std::string_view name) { return has(to_lower(name), "embeddings_layernorm"); }},
        {[](std::string_view name) { return has(to_lower(name), "layernormoperation_66"); },
         [](std::string_view name) { return has(to_lower(name), "ln_f"); }},
    };
    for (const Special& special : kSpecial) {
      const Ops ops = named(mine, special.mine), modules = named(golden, special.golden);
      for (size_t i = 0; i < std::min(ops.size(), modules.size()); ++i) add(ops[i], modules[i]);
    }
  }

  // The children of the children of a layer.
  static Ops grandchildren(const Model& model, int32_t layer) {
    Ops ops;
    for (const int32_t child : model.tree().at(layer).children)
      ops.insert(ops.end(), model.tree().at(child).children.begin(), model.tree().at(child).children.end());
    return ops;
  }

  void match_projections(const Model& mine, int32_t m, const Model& golden, int32_t g) {
    for (const int32_t op : grandchildren(mine, m)) {
      if (!has(to_lower(mine.path(op)), "qkv")) continue;
      for (const std::string_view module : {"self_attn.v_proj", "self_attn.k_proj", "self_attn.q_proj"})
        for (const int32_t other : grandchildren(golden, g))
          if (has(to_lower(golden.path(other)), module)) add(op, other);
    }
  }

  void match_modules(const Model& mine, const Model& golden) {
    struct Names {
      std::string_view mine;
      std::array<std::string_view, 3> golden;
    };
    static constexpr Names kNames[] = {
        {"Attention", {"self_attn", "self_attention", "Attention"}},
        {"Mlp", {"mlp", "Mlp", "Mlp"}},
        {"mlp", {"mlp", "mlp", "mlp"}},
        {"self_attn", {"self_attn", "self_attn", "self_attn"}},
        {"self_attention", {"self_attention", "self_attention", "self_attention"}}};
    for_layers(mine, golden, [&](int32_t m, int32_t g) {
      for (const Names& names : kNames) {
        Ops ops = mine.tree().at(m).children, modules = golden.tree().at(g).children;
        std::erase_if(ops, [&](int32_t op) { return !has(mine.path(op), names.mine); });
        std::erase_if(modules, [&](int32_t op) {
          return std::none_of(names.golden.begin(), names.golden.end(),
                              [&](std::string_view word) { return has(golden.path(op), word); });
        });
        for (size_t i = 0; i < std::min(ops.size(), modules.size()); ++i) add(ops[i], modules[i]);
      }
    });
  }

  const Frame &mine_, &golden_;
  OpMapping mapping_;
  std::vector<MsitMatch> found_;
  std::set<MsitMatch> known_;
};

}  // namespace

std::vector<MsitMatch> msit_matches(const Frame& mine, const Frame& golden, MsitLevel level,
                                    const OpMapping* added) {
  return Policies(mine, golden, added).run(level);
}

}  // namespace assay
