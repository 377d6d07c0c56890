#include "assay/match/keyed/running_number.h"

#include "assay/match/in_order.h"
#include "assay/match/keyed/name.h"
#include "assay/model/name_number.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <unordered_map>

namespace assay {
namespace {

struct NumberedFile {
  std::string_view name;
  std::string stem, rest;  // without the suffix; … and without its number
  size_t begin;            // position of its first item
};
using Files = std::vector<NumberedFile>;

// The files of each folder of a side, in their order. Those of a folder whose files are not numbered through
// are left out.
std::map<std::string, Files> numbered_folders(const PairingBuilder& builder, Side side) {
  struct Folder {
    Files files;
    std::optional<int64_t> last = {};
    bool is_numbered = true;
  };
  std::map<std::string, Folder> folders;
  for (size_t begin = 0; begin < builder.size(side); begin = builder.end_of_node(side, begin)) {
    const std::string_view name = builder.node(side, begin).name;
    std::string stem = stem_of(name);
    const size_t base = stem.rfind('/') + 1;
    Folder& folder = folders[stem.substr(0, base)];
    const auto number = first_number(std::string_view(stem).substr(base));
    const std::string_view item = builder.name(side, begin);
    const bool is_file = item.starts_with(name) && (item.size() == name.size() || item[name.size()] == ':');
    folder.is_numbered &= is_file && number && (!folder.last || *number > *folder.last);
    if (!folder.is_numbered) continue;
    folder.last = number;
    std::string rest = stem;
    const size_t digits = rest.find_first_of("0123456789", base);
    rest.replace(digits, rest.find_first_not_of("0123456789", digits) - digits, "#");
    folder.files.push_back({name, std::move(stem), std::move(rest), begin});
  }
  std::map<std::string, Files> numbered;
  for (auto& [path, folder] : folders)
    if (folder.is_numbered) numbered.emplace(path, std::move(folder.files));
  return numbered;
}

// Such names say by their numbers what they are.
bool are_numbers_alone(const Files& files) {
  return std::ranges::all_of(files, [&](const NumberedFile& file) { return file.rest == files[0].rest; });
}

// Whether what equal names leave on both sides could be paired without the numbers.
bool is_shifted(const Files& mine, const Files& golden) {
  std::set<std::string_view> stems[2], left;
  for (const NumberedFile& file : mine) stems[0].insert(file.stem);
  for (const NumberedFile& file : golden) stems[1].insert(file.stem);
  for (const NumberedFile& file : mine)
    if (!stems[1].contains(file.stem)) left.insert(file.rest);
  return std::ranges::any_of(golden, [&](const NumberedFile& file) {
    return !stems[0].contains(file.stem) && left.contains(file.rest);
  });
}

struct FilePair {
  size_t mine, golden;
  std::string doubt = {};  // what else fits as well; empty: nothing
};
using Pairs = std::vector<FilePair>;

// What both sides have as often, and yet not in the same places: the first with the first. One that is there
// but once may stand anywhere; of several, nobody knows which was moved.
void pair_moved(const Files& mine, const Files& golden, Pairs& pairs) {
  struct Places {
    std::vector<size_t> mine, golden;
    size_t paired = 0;
  };
  std::map<std::string_view, Places> by_name;
  for (size_t m = 0; m < mine.size(); ++m) by_name[mine[m].rest].mine.push_back(m);
  for (size_t g = 0; g < golden.size(); ++g) by_name[golden[g].rest].golden.push_back(g);
  for (const FilePair& pair : pairs) ++by_name[mine[pair.mine].rest].paired;
  for (const auto& [rest, places] : by_name) {
    const size_t count = places.mine.size();
    if (count != places.golden.size() || places.paired == count) continue;
    std::erase_if(pairs, [&](const FilePair& pair) { return mine[pair.mine].rest == rest; });
    for (size_t i = 0; i < count; ++i)
      pairs.push_back(
          {places.mine[i], places.golden[i],
           count == 1 ? std::string() : fmt::format("{} files of this name stand in other places", count)});
  }
}

// Neighbours of one name, of which one side has more: any of them may be the one that the other lacks.
void doubt_neighbours(Side side, const Files& files, Pairs& pairs) {
  const auto of = [&](const FilePair& pair) { return side == Side::mine ? pair.mine : pair.golden; };
  std::vector<FilePair*> paired(files.size(), nullptr);
  for (FilePair& pair : pairs) paired[of(pair)] = &pair;
  for (size_t begin = 0; begin < files.size();) {
    size_t end = begin + 1;
    while (end < files.size() && files[end].rest == files[begin].rest) ++end;
    const auto alone = std::find(paired.begin() + static_cast<ptrdiff_t>(begin),
                                 paired.begin() + static_cast<ptrdiff_t>(end), nullptr);
    if (alone != paired.begin() + static_cast<ptrdiff_t>(end))
      for (size_t i = begin; i < end; ++i)
        if (paired[i] != nullptr && paired[i]->doubt.empty())
          paired[i]->doubt =
              fmt::format("'{}' of {} fits as well", files[static_cast<size_t>(alone - paired.begin())].name,
                          name_of(side));
    begin = end;
  }
}

// Equal numbers mean nothing where the sides count otherwise: what is left stands alone.
void leave_alone(PairingBuilder& builder, const Files& mine, const Files& golden, const Pairs& pairs) {
  std::map<std::string_view, std::vector<std::pair<Side, size_t>>> left;  // by name
  for (const NumberedFile& file : mine) left[file.stem].emplace_back(Side::mine, file.begin);
  for (const NumberedFile& file : golden) left[file.stem].emplace_back(Side::golden, file.begin);
  for (const FilePair& pair : pairs) {
    std::erase(left[mine[pair.mine].stem], std::pair(Side::mine, mine[pair.mine].begin));
    std::erase(left[golden[pair.golden].stem], std::pair(Side::golden, golden[pair.golden].begin));
  }
  for (const auto& [stem, files] : left)
    for (const auto& [side, begin] : files)
      for (size_t i = begin; files.size() > 1 && i < builder.end_of_node(side, begin); ++i)
        builder.set_aside(side, i);
}

// The tensors of two files, by what they are called inside.
void join_items(PairingBuilder& builder, const NumberedFile& mine, const NumberedFile& golden,
                const std::string& doubt) {
  std::unordered_map<std::string_view, size_t> inside;
  const auto name_in = [&](Side side, size_t position, const NumberedFile& file) {
    const std::string_view name = builder.name(side, position);
    return name.substr(std::min(name.size(), file.name.size()));
  };
  for (size_t g = golden.begin; g < builder.end_of_node(Side::golden, golden.begin); ++g)
    if (!builder.is_joined(Side::golden, g)) inside.try_emplace(name_in(Side::golden, g, golden), g);
  const Why why = mine.name == golden.name   ? Why::same_name
                  : mine.stem == golden.stem ? Why::same_stem
                                             : Why::renumbered;
  for (size_t m = mine.begin; m < builder.end_of_node(Side::mine, mine.begin); ++m) {
    if (builder.is_joined(Side::mine, m)) continue;
    if (const auto found = inside.find(name_in(Side::mine, m, mine)); found != inside.end()) {
      PairPlans plans;
      plans.is_unsure = !doubt.empty();
      if (plans.is_unsure) plans.note = "unsure: " + doubt;
      builder.join(m, found->second, why, std::move(plans));
      inside.erase(found);
    }
  }
}

// Equal names and numbers, of which some might as well belong to a neighbour. The others are left to those
// who pair by names.
void join_doubtful(PairingBuilder& builder, const Files& mine, const Files& golden) {
  std::map<std::string_view, size_t> places;
  for (size_t g = 0; g < golden.size(); ++g) places.emplace(golden[g].stem, g);
  Pairs pairs;
  for (size_t m = 0; m < mine.size(); ++m)
    if (const auto found = places.find(mine[m].stem); found != places.end())
      pairs.push_back({m, found->second});
  doubt_neighbours(Side::mine, mine, pairs);
  doubt_neighbours(Side::golden, golden, pairs);
  for (const FilePair& pair : pairs)
    if (!pair.doubt.empty()) join_items(builder, mine[pair.mine], golden[pair.golden], pair.doubt);
}

}  // namespace

void join_renumbered(PairingBuilder& builder, Remarks& remarks) {
  const auto mine = numbered_folders(builder, Side::mine), golden = numbered_folders(builder, Side::golden);
  for (const auto& [folder, files] : mine) {
    const auto found = golden.find(folder);
    if (found == golden.end() || are_numbers_alone(files)) continue;
    const Files& others = found->second;
    if (!is_shifted(files, others)) {
      join_doubtful(builder, files, others);
      continue;
    }
    constexpr size_t kMostAlone = 2000;
    const auto in_order = pair_much_alike(files.size(), others.size(), kMostAlone, [&](size_t m, size_t g) {
      return files[m].rest == others[g].rest;
    });
    if (!in_order) {
      remarks.push_back(
          fmt::format("the sides number their files otherwise, and more than {} have no partner: "
                      "names are paired as they stand",
                      kMostAlone));
      continue;
    }
    Pairs pairs;
    for (const auto& [m, g] : *in_order) pairs.push_back({m, g});
    pair_moved(files, others, pairs);
    doubt_neighbours(Side::mine, files, pairs);
    doubt_neighbours(Side::golden, others, pairs);
    std::ranges::sort(pairs, {}, &FilePair::mine);
    size_t renumbered = 0;
    std::string first;
    for (const FilePair& pair : pairs) {
      const NumberedFile &of_mine = files[pair.mine], &of_golden = others[pair.golden];
      join_items(builder, of_mine, of_golden, pair.doubt);
      if (of_mine.stem == of_golden.stem) continue;
      if (renumbered++ == 0) first = fmt::format("'{}' is '{}'", of_mine.name, of_golden.name);
    }
    leave_alone(builder, files, others, pairs);
    remarks.push_back(
        fmt::format("the sides number their files otherwise: {} {} paired in order, by names "
                    "without their numbers ({}{}); --match exact pairs equal names only",
                    renumbered, renumbered == 1 ? "was" : "were", first, renumbered == 1 ? "" : ", …"));
  }
}

}  // namespace assay
