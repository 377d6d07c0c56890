#include "assay/match/alike/assign.h"

#include <algorithm>
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

}  // namespace

Nearest find_nearest(const std::vector<Holder*>& mine, const std::vector<Holder*>& golden, double limit) {
  std::vector<Best> of_mine(mine.size()), of_golden(golden.size());
  std::vector<std::vector<size_t>> close(mine.size());
  for (size_t m = 0; m < mine.size(); ++m)
    for (size_t g = 0; g < golden.size(); ++g) {
      const double apart = relative_distance(*mine[m]->sketches[0], *golden[g]->sketches[0]);
      of_mine[m].consider(g, apart);
      of_golden[g].consider(m, apart);
      if (apart < limit && close[m].size() < kMostEqual) close[m].push_back(g);
    }
  Nearest found;
  std::map<size_t, size_t> tie_of_golden;  // which tie a tensor of golden belongs to
  for (size_t m = 0; m < mine.size(); ++m) {
    if (of_mine[m].apart >= limit) continue;
    const size_t g = of_mine[m].which;
    if (of_mine[m].is_clear() && of_golden[g].is_clear() && of_golden[g].which == m) {
      found.sure.emplace_back(mine[m], golden[g]);
      continue;
    }
    const auto known = tie_of_golden.find(g);
    const size_t tie = known == tie_of_golden.end() ? found.tied.size() : known->second;
    if (tie == found.tied.size()) found.tied.emplace_back();
    found.tied[tie].mine.push_back(mine[m]);
    for (const size_t each : close[m])
      if (tie_of_golden.emplace(each, tie).second) found.tied[tie].golden.push_back(golden[each]);
  }
  return found;
}

std::vector<std::pair<Holder*, Holder*>> assign_by_name(const std::vector<Holder*>& mine,
                                                        const std::vector<Holder*>& golden) {
  constexpr size_t kMost = 300;  // the time grows with the third power
  std::vector<std::pair<Holder*, Holder*>> pairs;
  if (mine.empty() || golden.empty()) return pairs;
  if (std::max(mine.size(), golden.size()) > kMost) {  // in their order
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
