#include "assay/match/alike/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>

namespace assay {
namespace {

// Ranks hold copies of what they do not share out: norms, biases behind an all-reduce.
bool are_copies(const std::vector<const Sketch*>& sketches) {
  constexpr double kSame = 1e-3;
  return std::ranges::all_of(sketches, [&](const Sketch* each) {
    return relative_distance(*each, *sketches[0]) < kSame && distance(each->sums, sketches[0]->sums) < kSame;
  });
}

void finish(Holder& holder) {
  if (holder.sketches.empty()) {
    holder.sums.count = holder.shape.count() * static_cast<int64_t>(holder.sources());
    return;
  }
  holder.is_copied = holder.sources() > 1 && are_copies(holder.sketches);
  for (const Sketch* sketch : holder.sketches) {
    holder.sums += sketch->sums;
    if (holder.is_copied) break;
  }
}

// Names of one kind in all layers have one role but for the number of the layer: each kind is read once.
class Roles {
 public:
  bool knows(const NameForm& form) { return kind_of(form).role.has_value(); }

  std::optional<KnownName> of(const NameForm& form) {
    const Kind& kind = kind_of(form);
    if (kind.number == std::string::npos) return kind.role ? known_name_of(form.plain) : std::nullopt;
    KnownName role = *kind.role;
    role.place.replace(kind.number, kind.digits, number_in(form));
    return role;
  }

 private:
  struct Kind {
    std::optional<KnownName> role;
    size_t number = std::string::npos, digits = 0;  // of the layer, in its place; npos: each name for itself
  };

  // The first one, as it is written.
  static std::string_view number_in(const NameForm& form) {
    const std::string_view rest = std::string_view(form.plain).substr(form.pattern.find('#'));
    return rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size()));
  }

  const Kind& kind_of(const NameForm& form) {
    key_ = form.pattern;
    for (size_t i = 1; i < form.numbers.size(); ++i) {
      key_ += '#';
      key_ += std::to_string(form.numbers[i]);
    }
    const auto [found, is_new] = kinds_.try_emplace(key_);
    Kind& kind = found->second;
    if (!is_new) return kind;
    constexpr std::string_view kLayers = "layers.";
    kind.role = known_name_of(form.plain);
    if (!kind.role || form.numbers.empty()) return kind;
    const std::string_view place = kind.role->place, number = number_in(form);
    const size_t at = place.find_first_of("0123456789");
    if (at == std::string_view::npos || !place.substr(0, at).ends_with(kLayers) ||
        !place.substr(at).starts_with(fmt::format("{}.", number)))
      return kind;
    kind.number = at;
    kind.digits = number.size();
    return kind;
  }

  std::unordered_map<std::string, Kind> kinds_;
  std::string key_;
};

// One tensor that waits.
struct Waiting {
  size_t position = 0;  // of the builder
  const NameForm* form = nullptr;
  Shape shape;
  const Sketch* sketch = nullptr;
};

Holder holder_of(std::span<const Waiting> named, Roles& roles) {
  Holder holder;
  holder.form = *named[0].form;
  holder.role = roles.of(*named[0].form);
  holder.shape = named[0].shape;
  for (const Waiting& each : named) {
    holder.positions.push_back(each.position);
    holder.ranks.push_back(each.form->rank);
    if (each.sketch != nullptr) holder.sketches.push_back(each.sketch);
  }
  finish(holder);
  return holder;
}

// Tensors of one name, of as many ranks, are one holder; others stand for themselves.
class ByName {
 public:
  // The forms outlive this.
  void add(Waiting waiting) {
    const auto [found, is_new] = by_name_.try_emplace(waiting.form->plain);
    if (is_new) in_order_.push_back(&found->second);
    found->second.push_back(std::move(waiting));
  }

  void move_to(std::vector<Holder>& out, Roles& roles) {
    for (std::vector<Waiting>* const named : in_order_) {
      std::stable_sort(named->begin(), named->end(),
                       [](const Waiting& a, const Waiting& b) { return a.form->rank < b.form->rank; });
      bool are_ranks = named->size() > 1 && named->front().form->rank >= 0;
      for (size_t i = 1; i < named->size() && are_ranks; ++i)
        are_ranks =
            (*named)[i].form->rank > (*named)[i - 1].form->rank && (*named)[i].shape == (*named)[0].shape;
      if (are_ranks)
        out.push_back(holder_of(*named, roles));
      else
        for (const Waiting& each : *named) out.push_back(holder_of({&each, 1}, roles));
    }
  }

 private:
  std::unordered_map<std::string_view, std::vector<Waiting>> by_name_;
  std::vector<std::vector<Waiting>*> in_order_;
};

}  // namespace

bool is_waiting(const PairingBuilder& builder, Side side, size_t position) {
  if (builder.is_joined(side, position)) return false;
  const Item& item = builder.item(side, position);
  if (!item.data || !item.trouble.empty()) return false;
  const ItemId& id = builder.items(side)[position];
  const Frame& frame = builder.frames(side)[static_cast<size_t>(id.frame)];
  return !frame.files[static_cast<size_t>(item.data->file)].keeps_extremes();
}

bool are_of_one_size(const PairingBuilder& builder, size_t mine, size_t golden, const Contents& contents) {
  const auto of_mine = contents.meta({Side::mine, builder.items(Side::mine)[mine]}),
             of_golden = contents.meta({Side::golden, builder.items(Side::golden)[golden]});
  return !of_mine || !of_golden || of_mine->shape.count() == of_golden->shape.count();
}

std::string_view path_of_one_rank(const PairingBuilder& builder, Side side) {
  const auto path_on = [&](Side which) {
    const std::vector<Frame>& frames = builder.frames(which);
    return frames.size() == 1 ? std::string_view(frames[0].given_as) : std::string_view();
  };
  const auto tells = [](std::string_view path) { return form_of({}, path).rank >= 0; };
  if (!tells(path_on(side)) || tells(path_on(other_side(side)))) return {};
  for (size_t i = 0; i < builder.size(side); ++i)
    if (rank_of(builder.name(side, i)) >= 0) return {};
  return path_on(side);
}

const std::vector<NameForm>& forms_of(const PairingBuilder& builder, Side side) {
  std::vector<NameForm>& forms = builder.kept_forms(side);
  if (!forms.empty()) return forms;
  FormReader reader(path_of_one_rank(builder, side));
  forms.reserve(builder.size(side));
  for (size_t i = 0; i < builder.size(side); ++i)
    forms.push_back(reader.form_of(builder.name_as_read(side, i)));
  number_through(forms);
  return forms;
}

UnjoinedForms unjoined_forms(const PairingBuilder& builder, Side side) {
  UnjoinedForms found;
  for (size_t i = 0; i < builder.size(side); ++i)
    if (!builder.is_joined(side, i)) found.emplace_back(i, nullptr);
  if (found.empty()) return found;
  const std::vector<NameForm>& forms = forms_of(builder, side);
  for (auto& [position, form] : found) form = &forms[position];
  return found;
}

Result<Holders> collect_holders(const PairingBuilder& builder, const Contents& contents) {
  Holders holders;
  Roles roles;
  for (const Side side : {Side::mine, Side::golden}) {
    UnjoinedForms waiting = unjoined_forms(builder, side);
    std::erase_if(waiting, [&](const auto& each) { return !is_waiting(builder, side, each.first); });
    std::vector<PlanSource> sources;
    for (const auto& [position, form] : waiting) sources.push_back({side, builder.items(side)[position]});
    auto& sketches = holders.sketches[static_cast<size_t>(side)];
    ASSAY_TRY(sketches, contents.sketches(sources, SketchDepth::some));
    ByName by_name;
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (!sketches[i] || sketches[i]->sums.count == 0) continue;
      by_name.add({waiting[i].first, waiting[i].second, sketches[i]->meta.shape, &*sketches[i]});
    }
    by_name.move_to(holders.on(side), roles);
  }
  return holders;
}

Result<void> sketch_whole(const PairingBuilder& builder, const Contents& contents, Side side,
                          std::span<Holder* const> wanted, Holders& holders) {
  std::vector<PlanSource> sources;
  for (const Holder* holder : wanted)
    for (const size_t position : holder->positions) sources.push_back({side, builder.items(side)[position]});
  ASSAY_TRY(auto sketches, contents.sketches(sources, SketchDepth::all));
  auto next = sketches.begin();
  for (Holder* holder : wanted) {
    holder->is_known_whole = true;
    holder->sums = {};
    for (const Sketch*& sketch : holder->sketches)
      if (auto& found = *next++) sketch = &holders.whole_sketches.emplace_back(std::move(*found));
    finish(*holder);
  }
  return {};
}

Holders collect_named_holders(const PairingBuilder& builder, const Contents& contents) {
  UnjoinedForms waiting[2];
  std::unordered_map<std::string_view, int> sides_of;  // bits, by plain name
  for (const Side side : {Side::mine, Side::golden}) {
    auto& own = waiting[static_cast<size_t>(side)];
    own = unjoined_forms(builder, side);
    for (const auto& [position, form] : own) sides_of[form->plain] |= 1 << static_cast<int>(side);
  }
  Roles roles;
  const auto has_name = [&](const NameForm& form) { return roles.knows(form) || sides_of[form.plain] == 3; };
  std::unordered_map<std::string, int> sides_of_seat;
  for (const Side side : {Side::mine, Side::golden})
    for (const auto& [position, form] : waiting[static_cast<size_t>(side)])
      if (!has_name(*form))
        if (Seat seat = seat_of(form->plain); !seat.name.empty())
          sides_of_seat[std::move(seat.name)] |= 1 << static_cast<int>(side);
  const auto has_seat = [&](const NameForm& form) {
    const auto found = sides_of_seat.find(seat_of(form.plain).name);
    return found != sides_of_seat.end() && found->second == 3;
  };
  Holders holders;
  ByName by_name[2];
  for (const Side side : {Side::mine, Side::golden})
    for (const auto& each : waiting[static_cast<size_t>(side)]) {
      if (!is_waiting(builder, side, each.first)) continue;
      if (!has_name(*each.second) && !has_seat(*each.second)) continue;
      const auto meta = contents.meta({side, builder.items(side)[each.first]});
      if (!meta || meta->shape.count() == 0) continue;
      by_name[static_cast<size_t>(side)].add({each.first, each.second, meta->shape});
    }
  for (const Side side : {Side::mine, Side::golden})
    by_name[static_cast<size_t>(side)].move_to(holders.on(side), roles);
  return holders;
}

}  // namespace assay
