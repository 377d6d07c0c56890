#include "assay/match/alike/holders.h"

#include <algorithm>
#include <map>

namespace assay {
namespace {

// Ranks hold copies of what they do not share out: norms, biases behind an all-reduce.
bool are_copies(const std::vector<const Sketch*>& sketches) {
  constexpr double kSame = 1e-3;
  return std::ranges::all_of(sketches, [&](const Sketch* each) {
    return relative_distance(*each, *sketches[0]) < kSame && distance(each->sums, sketches[0]->sums) < kSame;
  });
}

bool have_one_shape(const std::vector<const Sketch*>& sketches) {
  return std::ranges::all_of(sketches,
                             [&](const Sketch* each) { return each->meta.shape == sketches[0]->meta.shape; });
}

void finish(Holder& holder) {
  holder.is_copied = holder.sources() > 1 && are_copies(holder.sketches);
  for (const Sketch* sketch : holder.sketches) {
    holder.sums += sketch->sums;
    if (holder.is_copied) break;
  }
}

// Tensors of one name, of as many ranks, are one holder; others stand for themselves.
void add_named(std::vector<Holder> named, std::vector<Holder>& out) {
  std::stable_sort(named.begin(), named.end(),
                   [](const Holder& a, const Holder& b) { return a.form.rank < b.form.rank; });
  bool are_ranks = named.size() > 1 && named[0].form.rank >= 0;
  for (size_t i = 1; i < named.size(); ++i) are_ranks &= named[i].form.rank > named[i - 1].form.rank;
  if (are_ranks) {
    Holder together;
    together.form = named[0].form;
    for (const Holder& each : named) {
      together.positions.push_back(each.positions[0]);
      together.sketches.push_back(each.sketches[0]);
    }
    if (have_one_shape(together.sketches)) {
      finish(together);
      out.push_back(std::move(together));
      return;
    }
  }
  for (Holder& each : named) {
    finish(each);
    out.push_back(std::move(each));
  }
}

}  // namespace

bool is_waiting(const PairingBuilder& builder, Side side, size_t position) {
  if (builder.is_joined(side, position)) return false;
  const Item& item = builder.item(side, position);
  if (!item.data || !item.trouble.empty()) return false;
  const ItemId& id = builder.items(side)[position];
  const Frame& frame = builder.frames(side)[static_cast<size_t>(id.frame)];
  return !frame.files[static_cast<size_t>(item.data->file)].keeps_extremes();
}

Result<Holders> collect_holders(const PairingBuilder& builder, const Contents& contents) {
  Holders holders;
  for (const Side side : {Side::mine, Side::golden}) {
    std::vector<size_t> positions;
    std::vector<PlanSource> sources;
    for (size_t i = 0; i < builder.size(side); ++i)
      if (is_waiting(builder, side, i)) {
        positions.push_back(i);
        sources.push_back({side, builder.items(side)[i]});
      }
    auto& sketches = holders.sketches[static_cast<size_t>(side)];
    ASSAY_TRY(sketches, contents.sketches(sources));
    std::map<std::string, std::vector<Holder>> by_name;
    std::vector<std::string> in_order;
    for (size_t i = 0; i < positions.size(); ++i) {
      if (!sketches[i] || sketches[i]->sums.count == 0) continue;
      Holder holder;
      holder.form = form_of(builder.name(side, positions[i]));
      holder.positions = {positions[i]};
      holder.sketches = {&*sketches[i]};
      auto [found, is_new] = by_name.try_emplace(holder.form.plain);
      if (is_new) in_order.push_back(found->first);
      found->second.push_back(std::move(holder));
    }
    for (const std::string& name : in_order) add_named(std::move(by_name[name]), holders.on(side));
  }
  return holders;
}

}  // namespace assay
