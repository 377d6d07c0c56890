#include "assay/match/alike/lost_copies.h"

#include "assay/base/text.h"
#include "assay/match/alike/name_form.h"

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
  void add(NameForm form) {
    ranks_.insert(form.rank);
    of_name_[form.plain].insert(form.rank);
    names_of_pattern_[form.pattern].insert(std::move(form.plain));
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
  std::vector<NameForm> forms;
  FormReader reader;
  for (size_t i = 0; i < builder.size(side); ++i) {
    const Item& item = builder.item(side, i);
    if (item.stated != nullptr && item.stated->given == Given::beside) continue;
    NameForm form = reader.form_of(item.name);
    if (form.rank >= 0) forms.push_back(std::move(form));
  }
  number_through(forms);
  std::map<int64_t, StageCopies> stages;
  for (NameForm& form : forms) {
    const int64_t stage = form.stage;
    stages[stage].add(std::move(form));
  }
  for (const auto& [number, stage] : stages) stage.note(side == Side::mine ? "mine" : "golden", remarks);
}

}  // namespace assay
