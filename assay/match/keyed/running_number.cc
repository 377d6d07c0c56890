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

std::map<std::string_view, std::vector<size_t>> by_rest(const Files& files, size_t begin, size_t end) {
  std::map<std::string_view, std::vector<size_t>> found;
  for (size_t i = begin; i < end; ++i) found[files[i].rest].push_back(i);
  return found;
}

// Whether what equal names leave on both sides could be paired without the numbers. Names that are nothing
// but numbers say by these what they are.
bool is_shifted(const Files& mine, const Files& golden) {
  if (by_rest(mine, 0, mine.size()).size() < 2) return false;
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

class FileAligner {
 public:
  FileAligner(const Files& mine, const Files& golden) : mine_(mine), golden_(golden) {}

  Pairs align() {
    between(0, mine_.size(), 0, golden_.size());
    join_strays();
    return std::move(pairs_);
  }

 private:
  bool is_same(size_t m, size_t g) const { return mine_[m].rest == golden_[g].rest; }

  void between(size_t m, size_t end_m, size_t g, size_t end_g) {
    while (m < end_m && g < end_g && is_same(m, g)) pairs_.emplace_back(m++, g++);
    while (m < end_m && g < end_g && is_same(end_m - 1, end_g - 1)) pairs_.emplace_back(--end_m, --end_g);
    if (m == end_m || g == end_g) return;
    constexpr size_t kMostCells = size_t{1} << 22;
    if ((end_m - m) * (end_g - g) <= kMostCells) {
      for (const auto& [i, j] :
           pair_in_order(end_m - m, end_g - g, [&](size_t i, size_t j) { return is_same(m + i, g + j); }))
        pairs_.emplace_back(m + i, g + j);
      return;
    }
    // Names that either side has once in this stretch cut it into shorter ones.
    const auto of_mine = by_rest(mine_, m, end_m), of_golden = by_rest(golden_, g, end_g);
    Pairs once;
    for (size_t i = m; i < end_m; ++i) {
      const auto found = of_golden.find(mine_[i].rest);
      if (found != of_golden.end() && found->second.size() == 1 && of_mine.at(mine_[i].rest).size() == 1)
        once.emplace_back(i, found->second[0]);
    }
    for (const size_t i : longest_rising(once, &Pairs::value_type::second)) {
      between(m, once[i].first, g, once[i].second);
      pairs_.push_back(once[i]);
      m = once[i].first + 1;
      g = once[i].second + 1;
    }
    if (!once.empty()) between(m, end_m, g, end_g);
  }

  // What stands elsewhere on the other side, where both have it once.
  void join_strays() {
    std::vector<bool> joined_mine(mine_.size()), joined_golden(golden_.size());
    for (const auto& [m, g] : pairs_) joined_mine[m] = joined_golden[g] = true;
    std::map<std::string_view, std::pair<std::vector<size_t>, std::vector<size_t>>> left;
    for (size_t m = 0; m < mine_.size(); ++m)
      if (!joined_mine[m]) left[mine_[m].rest].first.push_back(m);
    for (size_t g = 0; g < golden_.size(); ++g)
      if (!joined_golden[g]) left[golden_[g].rest].second.push_back(g);
    for (const auto& [rest, both] : left)
      if (both.first.size() == 1 && both.second.size() == 1)
        pairs_.emplace_back(both.first[0], both.second[0]);
  }

  const Files &mine_, &golden_;
  Pairs pairs_;
};

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
    Pairs pairs = FileAligner(files, found->second).align();
    std::ranges::sort(pairs);
    size_t renumbered = 0;
    std::string first;
    for (const auto& [m, g] : pairs) {
      join_items(builder, files[m], found->second[g]);
      if (files[m].stem == found->second[g].stem) continue;
      if (renumbered++ == 0) first = fmt::format("'{}' is '{}'", files[m].name, found->second[g].name);
    }
    remarks.push_back(
        fmt::format("the sides number their files otherwise: {} {} paired in order, by names "
                    "without their numbers ({}{}); --match exact pairs equal names only",
                    renumbered, renumbered == 1 ? "was" : "were", first, renumbered == 1 ? "" : ", …"));
  }
}

}  // namespace assay
