#include "assay/match/keyed/cell.h"

#include "assay/match/frames.h"
#include "assay/match/keyed/keyed.h"
#include "assay/match/keyed/unused_names.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace assay {
namespace {

// First place of ".forward.", ".backward." or ".parameters_grad."; npos: not the name of a cell's item.
size_t end_of_cell(std::string_view name) {
  constexpr std::array<std::string_view, 3> kWords = {".forward.", ".backward.", ".parameters_grad."};
  size_t first = std::string_view::npos;
  for (const std::string_view word : kWords) first = std::min(first, name.find(word));
  return first;
}

// "fc1.Dense" of "Cell.fc1.Dense.forward.0.input.0"; empty where there is none.
std::string_view cell_of(std::string_view name) {
  const size_t end = end_of_cell(name), dot = name.find('.');
  return end == std::string_view::npos || dot == end ? std::string_view()
                                                     : name.substr(dot + 1, end - dot - 1);
}

// What the cells of mine are called in golden.
class Renames {
 public:
  Renames(const NameMapping& cells, bool by_part) : cells_(cells), by_part_(by_part), is_used_(cells.size()) {
    for (size_t i = 0; i < cells.size(); ++i) {
      place_.emplace(cells[i].first, i);
      lengths_.insert(cells[i].first.size());
    }
  }

  const std::string& find(std::string_view cell) {
    const auto [found, is_new] = known_.try_emplace(std::string(cell), cell);
    if (!is_new) return found->second;
    if (const auto whole = place_.find(cell); whole != place_.end()) {
      found->second = cells_[whole->second].second;
      is_used_[whole->second] = true;
    } else if (by_part_) {
      replace_parts(found->second);
    }
    return found->second;
  }

  // Where parts of names are replaced, a name for golden is a part too, and is not looked for.
  void warn_of_unused(const PairingBuilder& builder) const {
    std::unordered_set<std::string_view> golden;
    for (size_t g = 0; g < builder.size(Side::golden) && !by_part_; ++g)
      golden.insert(cell_of(builder.name(Side::golden, g)));
    UnusedNames unused("cell");
    for (size_t i = 0; i < cells_.size(); ++i) {
      unused.add(Side::mine, cells_[i].first, is_used_[i]);
      if (!by_part_) unused.add(Side::golden, cells_[i].second, golden.count(cells_[i].second) > 0);
    }
    unused.warn();
  }

 private:
  // Each key that the name contains is replaced once, in the order of the file. Only texts as long as a key
  // are looked up, so the cost does not grow with the file.
  void replace_parts(std::string& cell) {
    for (size_t next = 0;;) {
      size_t best = cells_.size(), at = 0;
      for (const size_t length : lengths_)
        for (size_t begin = 0; begin + length <= cell.size(); ++begin) {
          const auto found = place_.find(std::string_view(cell).substr(begin, length));
          if (found == place_.end() || found->second < next || found->second >= best) continue;
          best = found->second;
          at = begin;
        }
      if (best == cells_.size()) return;
      is_used_[best] = true;
      cell.replace(at, cells_[best].first.size(), cells_[best].second);
      next = best + 1;
    }
  }

  const NameMapping& cells_;
  bool by_part_;
  std::vector<bool> is_used_;                           // by place in the file
  std::unordered_map<std::string_view, size_t> place_;  // in the file
  std::set<size_t> lengths_;
  std::unordered_map<std::string, std::string> known_;
};

Result<Pairing> match_by_cell(const Indexed& frames, const MatchOptions& options) {
  const Mappings& mappings = *options.mappings;
  PairingBuilder builder(frames);
  Keys keys(builder);
  Renames renames(mappings.cells, mappings.cells_by_part);
  std::string key;
  for (size_t m = 0; m < builder.size(Side::mine); ++m) {
    const std::string_view name = builder.name(Side::mine, m);
    const size_t end = end_of_cell(name);
    const size_t dot = name.find('.');
    if (end == std::string_view::npos) {
      keys.leave_out(m);
      continue;
    }
    if (dot == end) continue;  // a direction and nothing before it to rename
    const std::string_view kind = name.substr(0, dot);
    key.assign(kind == "Cell" ? "Module" : kind)
        .append(".")
        .append(renames.find(cell_of(name)))
        .append(name.substr(end));
    if (key != name) keys.set(m, key, Why::cell_mapping);
  }
  renames.warn_of_unused(builder);
  return match_keys(frames, builder, keys, options, has_data_mapping(mappings));
}

}  // namespace

const Matcher cell_matcher = {"cell", sections_by_at, match_by_cell};

}  // namespace assay
