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

// Whether what equal names leave on both sides could be paired without the numbers. Names that are
// nothing but numbers say by these what they are.
bool is_shifted(const Files& mine, const Files& golden) {
  const auto is_first = [&](const NumberedFile& file) { return file.rest == mine[0].rest; };
  if (std::ranges::all_of(mine, is_first)) return false;
  std::set<std::string_view> stems[2], left;
  for (const NumberedFile& file : mine) stems[0].insert(file.stem);
  for (const NumberedFile& file : golden) stems[1].insert(file.stem);
  for (const NumberedFile& file : mine)
    if (!stems[1].contains(file.stem)) left.insert(file.rest);
  return std::ranges::any_of(golden, [&](const NumberedFile& file) {
    return !stems[0].contains(file.stem) && left.contains(file.rest);
  });
}

using Pairs = std::vector<std::pair<size_t, size_t>>;

// What both sides have once, among those that are not paired yet: it may stand elsewhere on the other side.
void pair_strays(const Files& mine, const Files& golden, Pairs& pairs) {
  std::vector<bool> paired_mine(mine.size()), paired_golden(golden.size());
  for (const auto& [m, g] : pairs) paired_mine[m] = paired_golden[g] = true;
  std::map<std::string_view, std::pair<std::vector<size_t>, std::vector<size_t>>> left;
  for (size_t m = 0; m < mine.size(); ++m)
    if (!paired_mine[m]) left[mine[m].rest].first.push_back(m);
  for (size_t g = 0; g < golden.size(); ++g)
    if (!paired_golden[g]) left[golden[g].rest].second.push_back(g);
  for (const auto& [rest, both] : left)
    if (both.first.size() == 1 && both.second.size() == 1) pairs.emplace_back(both.first[0], both.second[0]);
}

// Equal numbers mean nothing where the sides count otherwise: what is left stands alone.
void leave_alone(PairingBuilder& builder, const Files& mine, const Files& golden, const Pairs& pairs) {
  std::map<std::string_view, std::vector<std::pair<Side, size_t>>> left;  // by name
  for (const NumberedFile& file : mine) left[file.stem].emplace_back(Side::mine, file.begin);
  for (const NumberedFile& file : golden) left[file.stem].emplace_back(Side::golden, file.begin);
  for (const auto& [m, g] : pairs) {
    std::erase(left[mine[m].stem], std::pair(Side::mine, mine[m].begin));
    std::erase(left[golden[g].stem], std::pair(Side::golden, golden[g].begin));
  }
  for (const auto& [stem, files] : left)
    for (const auto& [side, begin] : files)
      for (size_t i = begin; files.size() > 1 && i < builder.end_of_node(side, begin); ++i)
        builder.set_aside(side, i);
}

// The tensors of two files, by what they are called inside.
void join_items(PairingBuilder& builder, const NumberedFile& mine, const NumberedFile& golden) {
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
      builder.join(m, found->second, why);
      inside.erase(found);
    }
  }
}

}  // namespace

void join_renumbered(PairingBuilder& builder, Remarks& remarks) {
  const auto mine = numbered_folders(builder, Side::mine), golden = numbered_folders(builder, Side::golden);
  for (const auto& [folder, files] : mine) {
    const auto found = golden.find(folder);
    if (found == golden.end() || !is_shifted(files, found->second)) continue;
    const Files& others = found->second;
    constexpr size_t kMostAlone = 2000;
    auto in_order = pair_much_alike(files.size(), others.size(), kMostAlone,
                                    [&](size_t m, size_t g) { return files[m].rest == others[g].rest; });
    if (!in_order) {
      remarks.push_back(
          fmt::format("the sides number their files otherwise, and more than {} have no partner: "
                      "names are paired as they stand",
                      kMostAlone));
      continue;
    }
    Pairs pairs = std::move(*in_order);
    pair_strays(files, others, pairs);
    std::ranges::sort(pairs);
    size_t renumbered = 0;
    std::string first;
    for (const auto& [m, g] : pairs) {
      join_items(builder, files[m], others[g]);
      if (files[m].stem == others[g].stem) continue;
      if (renumbered++ == 0) first = fmt::format("'{}' is '{}'", files[m].name, others[g].name);
    }
    leave_alone(builder, files, others, pairs);
    remarks.push_back(
        fmt::format("the sides number their files otherwise: {} {} paired in order, by names "
                    "without their numbers ({}{}); --match exact pairs equal names only",
                    renumbered, renumbered == 1 ? "was" : "were", first, renumbered == 1 ? "" : ", …"));
  }
}

}  // namespace assay
