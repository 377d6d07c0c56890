#include "assay/match/alike/assign.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>

namespace assay {
namespace {

constexpr size_t kMostEqual = 1000;  // that are remembered of one tensor
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The nearest of the other side, and how near the next one is.
struct Best {
  size_t which = 0;
  double apart = kInfinity, next = kInfinity;

  void consider(size_t candidate, double distance) {
    if (distance < apart) {
      next = apart;
      apart = distance;
      which = candidate;
    } else {
      next = std::min(next, distance);
    }
  }
  bool is_clear() const { return next > 3 * apart + 0.05; }
};

// The least total cost of an assignment of rows to columns, rows <= columns (Kuhn and Munkres, by shortest
// augmenting paths): the column of every row.
std::vector<size_t> assign_least(const std::vector<std::vector<double>>& cost) {
  const size_t rows = cost.size(), columns = cost[0].size();
  std::vector<double> of_row(rows + 1), of_column(columns + 1);
  std::vector<size_t> row_at(columns + 1), way(columns + 1);
  for (size_t row = 1; row <= rows; ++row) {
    row_at[0] = row;
    size_t column = 0;
    std::vector<double> least(columns + 1, kInfinity);
    std::vector<bool> used(columns + 1);
    do {
      used[column] = true;
      const size_t at = row_at[column];
      double delta = kInfinity;
      size_t next = 0;
      for (size_t j = 1; j <= columns; ++j) {
        if (used[j]) continue;
        const double reduced = cost[at - 1][j - 1] - of_row[at] - of_column[j];
        if (reduced < least[j]) {
          least[j] = reduced;
          way[j] = column;
        }
        if (least[j] < delta) {
          delta = least[j];
          next = j;
        }
      }
      for (size_t j = 0; j <= columns; ++j) {
        if (used[j]) {
          of_row[row_at[j]] += delta;
          of_column[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = next;
    } while (row_at[column] != 0);
    for (; column != 0; column = way[column]) row_at[column] = row_at[way[column]];
  }
  std::vector<size_t> columns_of(rows);
  for (size_t j = 1; j <= columns; ++j)
    if (row_at[j] != 0) columns_of[row_at[j] - 1] = j - 1;
  return columns_of;
}

// Tensors of one side that hold the same to the last bit: tied weights, the tables of every layer.
struct Class {
  std::vector<Holder*> members;
  bool is_taken = false;

  const Sketch& sketch() const { return *members[0]->sketches[0]; }
};

std::vector<Class> classes_of(const std::vector<Holder*>& holders) {
  std::map<std::array<uint64_t, Sketch::kLanes>, size_t> known;
  std::vector<Class> classes;
  for (Holder* holder : holders) {
    const auto bits = std::bit_cast<std::array<uint64_t, Sketch::kLanes>>(holder->sketches[0]->lanes);
    const auto [found, is_new] = known.try_emplace(bits, classes.size());
    if (is_new) classes.emplace_back();
    classes[found->second].members.push_back(holder);
  }
  return classes;
}

void take(Class& mine, Class& golden, Nearest& found) {
  mine.is_taken = golden.is_taken = true;
  if (mine.members.size() == 1 && golden.members.size() == 1)
    found.sure.emplace_back(mine.members[0], golden.members[0]);
  else
    found.tied.push_back({mine.members, golden.members});
}

// The first lanes of a sketch cut space into cells: what is nearly equal lies in one, or in the next.
class Cells {
 public:
  static constexpr size_t kDimensions = 4;
  static constexpr double kWidth = 0.2;  // of the deviation of a lane
  using Cell = std::array<int32_t, kDimensions>;

  explicit Cells(const std::vector<Class>& classes) {
    for (size_t i = 0; i < classes.size(); ++i) cells_[cell_of(place_of(classes[i].sketch()))].push_back(i);
  }

  // Those nearer than half a cell, and more.
  std::vector<size_t> near(const Sketch& sketch) const {
    const Place place = place_of(sketch);
    const Cell own = cell_of(place);
    std::vector<size_t> found;
    for (size_t corner = 0; corner < size_t{1} << kDimensions; ++corner) {
      Cell cell = own;
      for (size_t i = 0; i < kDimensions; ++i)
        if ((corner >> i & 1) != 0) cell[i] += place[i] - std::floor(place[i]) < 0.5 ? -1 : 1;
      if (const auto at = cells_.find(cell); at != cells_.end())
        found.insert(found.end(), at->second.begin(), at->second.end());
    }
    return found;
  }

 private:
  using Place = std::array<double, kDimensions>;

  static Place place_of(const Sketch& sketch) {
    double squares = 0;
    for (const double lane : sketch.lanes) squares += lane * lane;
    const double width = kWidth * std::sqrt(squares / static_cast<double>(Sketch::kLanes));
    Place place{};
    for (size_t i = 0; i < kDimensions; ++i)
      if (const double at = sketch.lanes[i] / width; std::isfinite(at)) place[i] = std::clamp(at, -1e6, 1e6);
    return place;
  }
  static Cell cell_of(const Place& place) {
    Cell cell{};
    for (size_t i = 0; i < kDimensions; ++i) cell[i] = static_cast<int32_t>(std::floor(place[i]));
    return cell;
  }

  std::map<Cell, std::vector<size_t>> cells_;
};

// What is all but equal: rounded to another type at most. False, here and below: the effort ended.
bool join_by_cells(std::vector<Class>& mine, std::vector<Class>& golden, Nearest& found, Effort& effort) {
  constexpr double kAllButEqual = 0.02;
  const Cells cells(golden);
  std::vector<Best> of_mine(mine.size()), of_golden(golden.size());
  for (size_t m = 0; m < mine.size(); ++m) {
    // Tensors that are nearly alike throughout lie in one cell.
    const std::vector<size_t> near = cells.near(mine[m].sketch());
    if (!effort.allows(std::ssize(near))) return false;
    for (const size_t g : near) {
      const double apart = relative_distance(mine[m].sketch(), golden[g].sketch());
      of_mine[m].consider(g, apart);
      of_golden[g].consider(m, apart);
    }
  }
  for (size_t m = 0; m < mine.size(); ++m) {
    const Best& best = of_mine[m];
    if (best.apart > kAllButEqual) continue;
    const Best& back = of_golden[best.which];
    if (best.is_clear() && back.is_clear() && back.which == m) take(mine[m], golden[best.which], found);
  }
  return true;
}

bool join_by_distance(std::vector<Class>& mine, std::vector<Class>& golden, double limit, Nearest& found,
                      Effort& effort) {
  std::vector<Best> of_mine(mine.size()), of_golden(golden.size());
  std::vector<std::vector<size_t>> close(mine.size());
  for (size_t m = 0; m < mine.size(); ++m) {
    if (!effort.allows(std::ssize(golden))) return false;
    for (size_t g = 0; g < golden.size(); ++g) {
      const double apart = relative_distance(mine[m].sketch(), golden[g].sketch());
      of_mine[m].consider(g, apart);
      of_golden[g].consider(m, apart);
      if (apart < limit && close[m].size() < kMostEqual) close[m].push_back(g);
    }
  }
  std::map<size_t, size_t> tie_of_golden;  // which tie a class of golden belongs to
  const auto add = [](std::vector<Holder*>& to, const Class& from) {
    to.insert(to.end(), from.members.begin(), from.members.end());
  };
  for (size_t m = 0; m < mine.size(); ++m) {
    if (of_mine[m].apart >= limit) continue;
    const size_t g = of_mine[m].which;
    if (of_mine[m].is_clear() && of_golden[g].is_clear() && of_golden[g].which == m) {
      take(mine[m], golden[g], found);
      continue;
    }
    const auto known = tie_of_golden.find(g);
    const size_t tie = known == tie_of_golden.end() ? found.tied.size() : known->second;
    if (tie == found.tied.size()) found.tied.emplace_back();
    add(found.tied[tie].mine, mine[m]);
    for (const size_t each : close[m])
      if (tie_of_golden.emplace(each, tie).second) add(found.tied[tie].golden, golden[each]);
  }
  return true;
}

}  // namespace

Nearest find_nearest(const std::vector<Holder*>& mine, const std::vector<Holder*>& golden, double limit,
                     int64_t most, Effort& effort) {
  Nearest found;
  std::vector<Class> of_mine = classes_of(mine), of_golden = classes_of(golden);
  if (!join_by_cells(of_mine, of_golden, found, effort)) return {};
  const auto is_taken = [](const Class& each) { return each.is_taken; };
  std::erase_if(of_mine, is_taken);
  std::erase_if(of_golden, is_taken);
  found.spent = std::ssize(of_mine) * std::ssize(of_golden);
  found.was_cut_short = found.spent > most;
  if (found.was_cut_short)
    found.spent = 0;
  else if (!join_by_distance(of_mine, of_golden, limit, found, effort))
    return {};
  return found;
}

std::vector<std::pair<Holder*, Holder*>> assign_by_name(const std::vector<Holder*>& mine,
                                                        const std::vector<Holder*>& golden) {
  std::vector<std::pair<Holder*, Holder*>> pairs;
  if (mine.empty() || golden.empty()) return pairs;
  if (std::max(std::ssize(mine), std::ssize(golden)) > kMostAssigned) {  // in their order
    for (size_t i = 0; i < std::min(mine.size(), golden.size()); ++i) pairs.emplace_back(mine[i], golden[i]);
    return pairs;
  }
  const bool mine_is_shorter = mine.size() <= golden.size();
  const std::vector<Holder*>&rows = mine_is_shorter ? mine : golden,
        &columns = mine_is_shorter ? golden : mine;
  std::vector<std::vector<double>> cost(rows.size(), std::vector<double>(columns.size()));
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < columns.size(); ++j)
      // The order breaks ties of names.
      cost[i][j] = -likeness(rows[i]->form.plain, columns[j]->form.plain) +
                   1e-6 * std::abs(static_cast<double>(i) - static_cast<double>(j));
  const std::vector<size_t> column_of = assign_least(cost);
  for (size_t i = 0; i < rows.size(); ++i)
    pairs.emplace_back(mine_is_shorter ? rows[i] : columns[column_of[i]],
                       mine_is_shorter ? columns[column_of[i]] : rows[i]);
  return pairs;
}

}  // namespace assay
