#include "assay/match/alike/lost_copies.h"

#include "assay/base/text.h"
#include "assay/match/alike/holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace assay {
namespace {

using RankSet = std::set<int64_t>;

// The tensors of one stage of a pipeline: which ranks have each.
class StageCopies {
 public:
  void add(const NameForm& form) {
    ranks_.insert(form.rank);
    const auto [named, is_new] = of_name_.try_emplace(form.plain);
    named->second.insert(form.rank);
    if (is_new) names_of_pattern_[form.pattern].insert(form.plain);
  }

  void note(std::string_view side, Remarks& remarks) const {
    if (ranks_.size() < 2) return;
    // Where ranks hold other things, as those of a pipeline without a word for it do, nobody knows what each
    // should hold, unless all have the same tensor of another layer.
    int64_t copied = 0, all = 0;
    for (const auto& [pattern, names] : names_of_pattern_) {
      if (are_shared_out(names)) continue;
      copied += std::ranges::count_if(names, [&](const std::string& name) { return is_everywhere(name); });
      all += std::ssize(names);
    }
    std::map<int64_t, std::vector<std::string>> lacking;
    for (const auto& [pattern, names] : names_of_pattern_) {
      const bool is_copied_elsewhere =
          std::ranges::any_of(names, [&](const std::string& name) { return is_everywhere(name); });
      if (are_shared_out(names) || (!is_copied_elsewhere && 2 * copied < all)) continue;
      for (const std::string& name : names)
        for (const int64_t rank : ranks_)
          if (!of_name_.at(name).contains(rank)) lacking[rank].push_back(name);
    }
    for (const auto& [rank, names] : lacking)
      remarks.push_back(
          left_out(fmt::format("rank {} of {} lacks {} that other ranks have: {}{}", rank, side,
                               names.size() == 1 ? "1 tensor" : fmt::format("{} tensors", names.size()),
                               printable(names.front()), names.size() == 1 ? "" : ", …"),
                   std::ssize(names)));
  }

 private:
  // Experts: each lies on one rank, and not all on the same.
  bool are_shared_out(const std::set<std::string>& names) const {
    RankSet together;
    for (const std::string& name : names) {
      const RankSet& ranks = of_name_.at(name);
      if (ranks.size() > 1) return false;
      together.insert(*ranks.begin());
    }
    return together.size() > 1;
  }

  bool is_everywhere(const std::string& name) const { return of_name_.at(name).size() == ranks_.size(); }

  RankSet ranks_;
  std::map<std::string, RankSet> of_name_;
  std::map<std::string, std::set<std::string>> names_of_pattern_;
};

}  // namespace

void note_lost_copies(const PairingBuilder& builder, Side side, Remarks& remarks) {
  const std::vector<NameForm>& forms = forms_of(builder, side);
  std::map<int64_t, StageCopies> stages;
  for (size_t i = 0; i < forms.size(); ++i) {
    const Item& item = builder.item(side, i);
    const bool is_beside = item.stated != nullptr && item.stated->given == Given::beside;
    if (!is_beside && forms[i].rank >= 0) stages[forms[i].stage].add(forms[i]);
  }
  for (const auto& [number, stage] : stages) stage.note(side == Side::mine ? "mine" : "golden", remarks);
}

}  // namespace assay
