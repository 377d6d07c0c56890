#include "assay/match/alike/layer_layouts.h"
#include "assay/match/alike/layered_name.h"
#include "assay/match/alike/meeting.h"
#include "assay/match/alike/turned_matrices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

namespace assay {
namespace {

// A part, and where it was found.
struct Found {
  Layered part, whole;
  std::string stretch;  // of the whole
  Decision* decision;

  // Of what lies in no layer: of none.
  int64_t step() const { return whole.layer ? *whole.layer - *part.layer : 0; }
  auto where() const { return std::tuple(whole.rest, whole.layer.has_value(), step(), stretch); }
  // Two of one name that stand in one name: whether their numbers are as far apart, or have nothing to do
  // with those of the other side.
  bool may_be_crossed_with(const Found& other) const {
    return whole.rest != other.whole.rest || stretch != other.stretch ||
           std::abs(*part.layer - *other.part.layer) == std::abs(*whole.layer - *other.whole.layer);
  }
};

void contradict(Decision& decision, std::string text) {
  if (decision.doubts.contradiction.empty()) decision.doubts.contradiction = std::move(text);
}

void doubt(Decision& decision, const std::string& text) {
  if (decision.doubts.is_unsure) return;
  decision.doubts.is_unsure = true;
  decision.note += fmt::format("{}unsure: {}", decision.note.empty() ? "" : "; ", text);
}

// Names of one kind that have the same numbers on both sides, some of them not with their own: layers stand
// in each other's place.
void contradict_crossed(const std::vector<Found*>& layers) {
  std::set<int64_t> parts, wholes;
  for (const Found* each : layers) {
    if (!each->whole.layer || each->whole.rest != layers[0]->whole.rest ||
        each->stretch != layers[0]->stretch)
      return;
    parts.insert(*each->part.layer);
    wholes.insert(*each->whole.layer);
  }
  if (parts != wholes) return;
  for (Found* each : layers)
    if (each->step() != 0)
      contradict(
          *each->decision,
          fmt::format("'{}' agrees with '{}', though '{}' has its number", each->part.at(*each->part.layer),
                      each->whole.at(*each->whole.layer), each->whole.at(*each->part.layer)));
}

// Names whose number counts tensors ("t17"): it tells each of a layer apart, where that of a layer is the
// same for all of it.
using NamesOfSide = std::set<std::pair<Side, std::string>>;
NamesOfSide names_that_count(const std::vector<Found>& found) {
  constexpr size_t kMostFused = 3;  // queries, keys and values are in one tensor of their layer
  using Numbers = std::map<int64_t, std::set<std::string>>;  // and the names that each of them stands for
  std::map<std::tuple<Side, std::string, int64_t>, Numbers> of_layer;
  for (const Found& each : found) {
    if (!each.part.layer || !each.whole.layer) continue;
    const Side parts = each.decision->group.parts_side;
    of_layer[{other_side(parts), each.whole.rest, *each.part.layer}][*each.whole.layer].insert(
        each.part.rest);
    of_layer[{parts, each.part.rest, *each.whole.layer}][*each.part.layer].insert(each.whole.rest);
  }
  NamesOfSide names;
  for (const auto& [place, numbers] : of_layer)
    if (numbers.size() > kMostFused &&
        std::ranges::all_of(numbers, [](const auto& number) { return number.second.size() == 1; }))
      names.insert({std::get<0>(place), std::get<1>(place)});
  return names;
}

// Tensors of one name in all layers belong to those of one name in the other side. Where most do, the others
// are doubtful; where as many do as do not, all of them are.
void hold_against_layers(Meeting& meeting, std::vector<Found>& found) {
  const NamesOfSide counting = names_that_count(found);
  std::map<std::pair<Side, std::string>, std::vector<Found*>> by_name;
  for (Found& each : found) {
    const Side parts = each.decision->group.parts_side;
    if (each.part.layer && !counting.contains({parts, each.part.rest}) &&
        !counting.contains({other_side(parts), each.whole.rest}))
      by_name[{parts, each.part.rest}].push_back(&each);
  }
  std::set<std::string_view> names[2];
  for (const Side side : {Side::mine, Side::golden})
    for (const Holder& holder : meeting.holders().on(side))
      names[static_cast<size_t>(side)].insert(holder.form.plain);
  for (const auto& [name, layers] : by_name) {
    std::map<decltype(layers[0]->where()), std::vector<Found*>> ways;
    for (Found* each : layers) ways[each->where()].push_back(each);
    if (ways.size() < 2) continue;
    contradict_crossed(layers);
    std::vector<const std::vector<Found*>*> common;  // two at most
    for (const auto& [where, others] : ways)
      if (others[0]->whole.layer && others.size() * 2 >= layers.size()) common.push_back(&others);
    for (const std::vector<Found*>* const others : common)
      for (Found* each : layers) {
        const Found& other = *others->front();
        if (other.where() == each->where() || others->size() < ways[each->where()].size()) continue;
        if (layers.size() == 2 && !each->may_be_crossed_with(other)) continue;
        const std::string expected = other.whole.at(*each->part.layer + other.step());
        const Side side = other_side(name.first);
        if (!names[static_cast<size_t>(side)].contains(expected)) continue;
        contradict(*each->decision,
                   fmt::format("{} of {} other layers have '{}' in '{}{}'", others->size(), layers.size() - 1,
                               each->part.rest, other.whole.rest, other.stretch));
      }
  }
}

// Queries before keys before values, gate before up, as far as names tell, in whatever order files list them.
bool stand_in_usual_order(const PartGroup& group, const std::vector<Arrangement>& layout) {
  static constexpr std::pair<std::string_view, std::string_view> kUsual[] = {
      {"query", "key"}, {"key", "value"}, {"query", "value"}, {"gate", "up"}};
  const size_t shares = layout.size() / group.parts.size();
  const auto place_of = [&](size_t part) {
    const Arrangement::Place place = layout[part * shares].place(0);
    return std::pair(place.source, place.index);
  };
  for (size_t a = 0; a < group.parts.size(); ++a)
    for (size_t b = 0; b < group.parts.size(); ++b) {
      const std::pair hints(hint_of(group.parts[a]->form.plain), hint_of(group.parts[b]->form.plain));
      const bool is_usual = std::ranges::find(kUsual, hints) != std::end(kUsual) &&
                            group.parts[a]->form.numbers == group.parts[b]->form.numbers;
      if (is_usual && place_of(b) < place_of(a)) return false;
    }
  return true;
}

// What words say whatever the system: a key is no value.
void hold_against_words(Decision& decision) {
  const std::string_view of_whole = hint_of(decision.group.whole->form.plain);
  for (const Holder* part : decision.group.parts) {
    const std::string_view of_part = hint_of(part->form.plain);
    if (of_whole.empty() || of_part.empty() || of_part == of_whole) continue;
    contradict(decision, fmt::format("'{}' is named as a {}, '{}' as a {}", part->form.plain, of_part,
                                     decision.group.whole->form.plain, of_whole));
  }
  if (!stand_in_usual_order(decision.group, *decision.layout))
    doubt(decision, "the parts of a fused tensor are in another order than that of their names");
  const std::vector<Holder*>& parts = decision.group.parts;
  const bool are_numbered = std::ranges::all_of(parts, [&](const Holder* part) {
    return part->form.pattern == parts[0]->form.pattern && !part->form.numbers.empty();
  });
  if (parts.size() > 1 && are_numbered && !is_in_order(decision.group, *decision.layout))
    doubt(decision, "the parts lie in another order than that of their numbers");
}

// Two pairs whose names would be more alike the other way round.
void hold_against_likeness(std::vector<Found>& found) {
  constexpr double kClearly = 0.2;
  constexpr size_t kMost = 32;
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::vector<Found*>> alike;
  for (Found& each : found)
    if (each.decision->group.parts.size() == 1)
      alike[{each.part.layer.value_or(-1), each.decision->group.parts[0]->shape.dims}].push_back(&each);
  const auto like = [](const Found& a, const Found& b) {
    return likeness(a.decision->group.parts[0]->form.plain, b.decision->group.whole->form.plain);
  };
  for (const auto& [place, pairs] : alike) {
    if (pairs.size() > kMost) continue;
    for (size_t a = 0; a < pairs.size(); ++a)
      for (size_t b = a + 1; b < pairs.size(); ++b) {
        if (pairs[a]->decision->group.parts_side != pairs[b]->decision->group.parts_side) continue;
        const double straight = like(*pairs[a], *pairs[a]) + like(*pairs[b], *pairs[b]);
        const double crossed = like(*pairs[a], *pairs[b]) + like(*pairs[b], *pairs[a]);
        if (crossed <= straight + kClearly) continue;
        for (Found* each : {pairs[a], pairs[b]})
          doubt(*each->decision,
                fmt::format("by its name it would rather be '{}'",
                            (each == pairs[a] ? pairs[b] : pairs[a])->decision->group.whole->form.plain));
      }
  }
}

// The same names but for their layers, of the same sizes: another shape may be what is wrong.
std::string kind_of(const PartGroup& group) {
  std::string kind = group.parts_side == Side::mine ? "mine" : "golden";
  const auto add = [&](const Holder& holder) {
    kind += fmt::format("|{}#{}", layer_pattern(holder.form.plain), holder.shape.count());
  };
  add(*group.whole);
  for (const Holder* part : group.parts) add(*part);
  return kind;
}

bool is_as_it_stands(const Decision& decision) {
  return std::ranges::all_of(*decision.layout, [](const Arrangement& each) { return each.text.empty(); });
}

LaidOutParts laid_out(const Decision& decision) {
  LaidOutParts tensor{decision.layout, {}, decision.group.whole->shape};
  for (const Holder* part : decision.group.parts) tensor.parts.push_back(part->shape);
  return tensor;
}

std::vector<LayoutVote> votes_of(const std::vector<Decision*>& layers) {
  std::vector<LaidOutParts> tensors;
  for (const Decision* each : layers) tensors.push_back(laid_out(*each));
  return hold_against_each_other(tensors);
}

// The names, but for their layers, of tensors of one shape that were joined by equal names: they stand as
// golden has them, and are no decisions.
class Standing {
 public:
  explicit Standing(const PairingBuilder& builder) : builder_(builder) {}

  // How many have the role of one that is still to be joined by its name, and the shape of either side of it.
  size_t like(const Decision& decision) {
    const PartGroup& group = decision.group;
    if (group.parts.size() != 1) return 0;
    const std::string role = layer_pattern(group.whole->form.plain);
    if (layer_pattern(group.parts[0]->form.plain) != role) return 0;
    if (!std::exchange(is_indexed_, true)) index();
    size_t most = 0;
    for (const Holder* const holder : {group.parts[0], group.whole})
      if (const auto found = names_.find({role, holder->shape.dims}); found != names_.end())
        most = std::max(most, found->second.size());
    return most;
  }

 private:
  void index() {
    std::unordered_map<std::string_view, const Shape*> of_mine;
    const auto each_joined = [&](Side side, const auto& use) {
      for (size_t i = 0; i < builder_.size(side); ++i)
        if (const Item& item = builder_.item(side, i);
            item.meta != nullptr && item.data && builder_.is_joined(side, i))
          use(std::string_view(item.name), item.meta->shape);
    };
    each_joined(Side::mine, [&](std::string_view name, const Shape& shape) { of_mine[name] = &shape; });
    each_joined(Side::golden, [&](std::string_view name, const Shape& shape) {
      const auto found = of_mine.find(name);
      if (found == of_mine.end() || *found->second != shape) return;
      const std::string plain = form_of(name).plain;
      names_[{layer_pattern(plain), shape.dims}].insert(plain);
    });
  }

  const PairingBuilder& builder_;
  bool is_indexed_ = false;
  std::map<std::pair<std::string, std::vector<int64_t>>, std::set<std::string>> names_;
};

// Tensors whose names on one side say nothing of a role may have one by those of the other side.
void hold_singles_against_layers(const std::vector<Decision*>& singles) {
  std::map<std::tuple<bool, std::string, std::vector<int64_t>>, std::vector<Decision*>> roles;
  for (Decision* const each : singles) {
    if (each->why != Why::same_content || each->group.parts.size() != 1) continue;
    for (const bool is_whole : {true, false}) {
      const Holder& holder = is_whole ? *each->group.whole : *each->group.parts[0];
      if (std::string role = layer_pattern(holder.form.plain); role.find('#') != std::string::npos)
        roles[{(each->group.parts_side == Side::mine) == is_whole, std::move(role), holder.shape.dims}]
            .push_back(each);
    }
  }
  for (const auto& [role, layers] : roles) {
    const std::vector<LayoutVote> votes = votes_of(layers);
    for (size_t i = 0; i < layers.size(); ++i)
      if (!votes[i].is_common) contradict(*layers[i], votes[i].objection());
  }
}

// Ranks hold a tensor whole, or share it out, in all layers alike: a norm of ones that was cut short on every
// rank looks like shares of it.
void hold_shares_against_layers(std::vector<Decision>& decisions) {
  struct Layers {
    std::vector<Decision*> shared, whole;
  };
  std::map<std::tuple<std::string, std::string, int64_t>, Layers> roles;
  for (Decision& decision : decisions) {
    const PartGroup& group = decision.group;
    if (decision.layout == nullptr || group.parts.size() != 1) continue;
    const Holder &part = *group.parts[0], &whole = *group.whole;
    if (part.sources() == 1 && whole.sources() == 1) continue;
    const bool is_mine = group.parts_side == Side::mine;
    const int64_t of_part = part.shape.count(), of_whole = whole.shape.count();
    Layers& layers = roles[{layer_pattern((is_mine ? part : whole).form.plain),
                            layer_pattern((is_mine ? whole : part).form.plain), std::max(of_part, of_whole)}];
    (of_part == of_whole ? layers.whole : layers.shared).push_back(&decision);
  }
  Layers norms;
  for (const auto& [role, layers] : roles)
    if (is_norm_of_states(std::get<0>(role))) {
      norms.shared.insert(norms.shared.end(), layers.shared.begin(), layers.shared.end());
      norms.whole.insert(norms.whole.end(), layers.whole.begin(), layers.whole.end());
    }
  for (const auto& [role, layers] : roles) {
    const bool has_no_like = layers.shared.size() + layers.whole.size() == 1;
    if (has_no_like && !layers.shared.empty() && is_norm_of_states(std::get<0>(role))) {
      // It is one of the norms itself.
      const size_t of = norms.shared.size() + norms.whole.size() - 1;
      if (norms.whole.size() >= norms.shared.size())
        contradict(*layers.shared[0],
                   fmt::format("a share of it on each rank, though {} of {} other norms are whole",
                               norms.whole.size(), of));
      continue;
    }
    if (layers.shared.empty() || layers.whole.empty()) continue;
    const size_t all = layers.shared.size() + layers.whole.size();
    for (const bool is_shared : {true, false}) {
      const std::vector<Decision*>& some = is_shared ? layers.shared : layers.whole;
      const size_t others = all - some.size();
      if (some.size() > others) continue;
      for (Decision* const each : some) contradict(*each, LayoutVote{others, all - 1}.objection());
    }
  }
}

// In a layer that lies otherwise than the others elements stand where others should, though all of them are
// there. One that has no like is believed where its shape asks for it.
void hold_layouts_against_layers(Meeting& meeting) {
  std::map<std::string, std::vector<Decision*>> kinds;
  for (Decision& decision : meeting.decisions())
    if (decision.layout != nullptr && decision.by_data && decision.shows_layout)
      kinds[kind_of(decision.group)].push_back(&decision);
  Standing standing(meeting.builder());
  std::vector<Decision*> singles;
  for (const auto& [kind, layers] : kinds) {
    const size_t others =
        std::ranges::all_of(layers, [](const Decision* each) { return is_as_it_stands(*each); })
            ? 0
            : standing.like(*layers[0]);
    if (others > 0) {
      for (Decision* const each : layers)
        if (!is_as_it_stands(*each))
          contradict(*each, LayoutVote{others, others + layers.size() - 1}.objection());
      continue;
    }
    if (layers.size() == 1) {
      const PartGroup& group = layers[0]->group;
      const bool needs_none = group.parts.size() == 1 && group.parts[0]->shape == group.whole->shape;
      if (needs_none && layers[0]->why != Why::same_content && !is_as_it_stands(*layers[0]) &&
          !is_turned_as_others(meeting.builder(), *layers[0]))
        doubt(*layers[0], "it lies otherwise than it stands, and no other layer shows that it should");
      singles.push_back(layers[0]);
      continue;
    }
    const std::vector<LayoutVote> votes = votes_of(layers);
    for (size_t i = 0; i < layers.size(); ++i)
      if (!votes[i].is_common) contradict(*layers[i], votes[i].objection());
  }
  hold_singles_against_layers(singles);
}

// What lies group by group in one system is fused: a norm, a vocabulary or a single projection has no parts.
void hold_against_groups(std::vector<Decision>& decisions) {
  const auto may_be_fused = [](const Holder& holder) {
    if (!holder.role) return hint_of(holder.form.plain).empty();
    const std::string_view what = holder.role->what;
    return what == "qkv" || what == "kv" || what == "gate_up" || what == "fc_in" || what == "shared_gate_up";
  };
  for (Decision& decision : decisions) {
    if (decision.layout == nullptr || !decision.by_data) continue;
    const bool is_regrouped = std::ranges::any_of(*decision.layout, &Arrangement::is_regrouped);
    const PartGroup& group = decision.group;
    // Several parts of one whole are what it was fused from; a single one must be fused itself.
    if (is_regrouped &&
        (!may_be_fused(*group.whole) || (group.parts.size() == 1 && !may_be_fused(*group.parts[0]))))
      contradict(decision,
                 fmt::format("'{}' lies in groups, which only fused tensors do", group.whole->form.plain));
  }
}

// What a rotary embedding turns are queries and keys, both in the same way.
void hold_against_rotation(std::vector<Decision>& decisions) {
  const auto may_turn = [](const Holder& holder) {
    if (holder.role) {
      const std::string_view what = holder.role->what;
      return what == "q" || what == "k" || what == "qkv" || what == "kv";
    }
    const std::string_view hint = hint_of(holder.form.plain);
    return hint.empty() || hint == "query" || hint == "key";
  };
  struct Turned {
    Decision* decision;
    int64_t how;
  };
  std::map<std::string, std::map<std::string_view, Turned>> by_layer;
  for (Decision& decision : decisions) {
    if (decision.layout == nullptr || !decision.by_data) continue;
    const size_t shares = decision.layout->size() / decision.group.parts.size();
    for (size_t i = 0; i < decision.group.parts.size(); ++i) {
      const Holder& part = *decision.group.parts[i];
      const std::span<const Arrangement> of_ranks(decision.layout->data() + i * shares, shares);
      const int64_t how = std::ranges::max(of_ranks, {}, [](const Arrangement& share) {
                            return std::abs(share.rotary);
                          }).rotary;
      if (std::ranges::any_of(of_ranks, [&](const Arrangement& share) { return share.rotary != how; }))
        contradict(decision, fmt::format("'{}' is turned on some ranks only", part.form.plain));
      if (how != 0 && (!may_turn(part) || !may_turn(*decision.group.whole)))
        contradict(decision, fmt::format("'{}' lies {}, which only queries and keys do", part.form.plain,
                                         how > 0 ? "with its rotary pairs set apart"
                                                 : "with its rotary halves interleaved"));
      if (part.role && (part.role->what == "q" || part.role->what == "k"))
        by_layer[fmt::format("{}{}", static_cast<int>(decision.group.parts_side), part.role->place)].insert(
            {part.role->what, {&decision, how}});
    }
  }
  for (const auto& [layer, both] : by_layer) {
    if (both.size() != 2 || both.at("q").how == both.at("k").how) continue;
    for (const auto& [what, turned] : both)
      contradict(*turned.decision, "queries and keys of the layer are not turned alike");
  }
}

// By how much the place of an element grows with each index, where shares are turned and not only cut.
std::vector<int64_t> turn_of(const Arrangement& share) {
  if (!share.order) return {};
  std::vector<int64_t> strides;
  for (size_t i = 0; i < share.order->dims.size(); ++i)
    if (share.order->dims[i] != 1) strides.push_back(share.order->strides[i]);
  return std::ranges::is_sorted(strides, std::ranges::greater()) ? std::vector<int64_t>() : strides;
}

// What ranks share out lies on all of them in one order, however it is cut.
void hold_shares_against_each_other(std::vector<Decision>& decisions) {
  for (Decision& decision : decisions) {
    if (decision.layout == nullptr) continue;
    const size_t shares = decision.layout->size() / decision.group.parts.size();
    for (size_t i = 0; i < decision.group.parts.size(); ++i) {
      const std::span<const Arrangement> of_ranks(decision.layout->data() + i * shares, shares);
      const std::vector<int64_t> turn = turn_of(of_ranks[0]);
      if (std::ranges::any_of(of_ranks, [&](const Arrangement& share) { return turn_of(share) != turn; }))
        contradict(decision, fmt::format("'{}' lies otherwise on some ranks than on the others",
                                         decision.group.parts[i]->form.plain));
    }
  }
}

}  // namespace

void find_doubts(Meeting& meeting) {
  hold_shares_against_each_other(meeting.decisions());
  hold_layouts_against_layers(meeting);
  hold_shares_against_layers(meeting.decisions());
  hold_against_groups(meeting.decisions());
  hold_against_rotation(meeting.decisions());
  doubt_unturned(meeting);
  std::vector<Found> found;
  for (Decision& decision : meeting.decisions()) {
    if (!decision.by_data || decision.why != Why::same_content) continue;
    hold_against_words(decision);
    const size_t shares = decision.layout->size() / decision.group.parts.size();
    for (size_t i = 0; i < decision.group.parts.size(); ++i)
      found.push_back({Layered(decision.group.parts[i]->form), Layered(decision.group.whole->form),
                       (*decision.layout)[i * shares].text_of(""), &decision});
  }
  if (found.empty()) return;
  hold_against_layers(meeting, found);
  hold_against_likeness(found);
}

}  // namespace assay
