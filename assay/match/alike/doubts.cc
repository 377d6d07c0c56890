#include "assay/match/alike/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assay {
namespace {

// A name with the number of its layer taken out of it.
struct Layered {
  std::string rest;  // "layers.#.attn.k"
  std::optional<int64_t> layer;

  explicit Layered(const NameForm& form) : rest(form.plain) {
    const size_t at = form.pattern.find('#');
    if (at == std::string::npos) return;
    layer = form.numbers[0];
    size_t end = at;
    while (end < rest.size() && rest[end] >= '0' && rest[end] <= '9') ++end;
    rest.replace(at, end - at, "#");
  }
  std::string at(int64_t number) const {
    const size_t place = rest.find('#');
    return rest.substr(0, place) + std::to_string(number) + rest.substr(place + 1);
  }
};

// A part, and where it was found.
struct Found {
  Layered part, whole;
  std::string stretch;  // of the whole
  Decision* decision;

  int64_t step() const { return *whole.layer - *part.layer; }
  auto where() const { return std::tuple(whole.rest, step(), stretch); }
};

void contradict(Decision& decision, std::string text) {
  if (decision.doubts.contradiction.empty()) decision.doubts.contradiction = std::move(text);
}

void doubt(Decision& decision, const std::string& text) {
  if (decision.doubts.is_unsure) return;
  decision.doubts.is_unsure = true;
  decision.note += fmt::format("{}unsure: {}", decision.note.empty() ? "" : "; ", text);
}

// Tensors of one name in all layers belong to those of one name in the other side. Where most do, the others
// are doubtful; where as many do as do not, all of them are.
void hold_against_layers(Meeting& meeting, std::vector<Found>& found) {
  std::map<std::pair<Side, std::string>, std::vector<Found*>> by_name;
  for (Found& each : found)
    if (each.part.layer && each.whole.layer)
      by_name[{each.decision->group.parts_side, each.part.rest}].push_back(&each);
  std::set<std::string_view> names[2];
  for (const Side side : {Side::mine, Side::golden})
    for (const Holder& holder : meeting.holders().on(side))
      names[static_cast<size_t>(side)].insert(holder.form.plain);
  for (const auto& [name, layers] : by_name) {
    std::map<decltype(layers[0]->where()), std::vector<Found*>> ways;
    for (Found* each : layers) ways[each->where()].push_back(each);
    if (ways.size() < 2) continue;
    std::vector<const std::vector<Found*>*> common;  // two at most
    for (const auto& [where, others] : ways)
      if (others.size() * 2 >= layers.size()) common.push_back(&others);
    for (const std::vector<Found*>* const others : common)
      for (Found* each : layers) {
        const Found& other = *others->front();
        if (other.where() == each->where() || others->size() < ways[each->where()].size()) continue;
        const std::string expected = other.whole.at(*each->part.layer + other.step());
        const Side side = other_side(name.first);
        if (!names[static_cast<size_t>(side)].contains(expected)) continue;
        contradict(*each->decision,
                   fmt::format("{} of {} other layers have '{}' in '{}{}'", others->size(), layers.size() - 1,
                               each->part.rest, other.whole.rest, other.stretch));
      }
  }
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
  const bool are_named = std::ranges::all_of(
      decision.group.parts, [](const Holder* part) { return !hint_of(part->form.plain).empty(); });
  if (are_named && !is_in_order(decision.group, *decision.layout))
    doubt(decision, "the parts of a fused tensor are in another order than that of their names");
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

}  // namespace

void find_doubts(Meeting& meeting) {
  std::vector<Found> found;
  for (Decision& decision : meeting.decisions()) {
    if (!decision.by_data || decision.why != Why::same_content) continue;
    hold_against_words(decision);
    const size_t shares = decision.layout->size() / decision.group.parts.size();
    for (size_t i = 0; i < decision.group.parts.size(); ++i)
      found.push_back({Layered(decision.group.parts[i]->form), Layered(decision.group.whole->form),
                       (*decision.layout)[i * shares].text_of(""), &decision});
  }
  hold_against_layers(meeting, found);
  hold_against_likeness(found);
}

}  // namespace assay
