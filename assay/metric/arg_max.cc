#include "assay/metric/arg_max.h"

#include "assay/base/cancel.h"
#include "assay/metric/families.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace assay {
namespace {

struct Candidate {
  double value = -std::numeric_limits<double>::infinity();
  int64_t index = -1;
};

// The largest of a row, in order; of equal ones the first.
class Largest {
 public:
  void add(double value, int64_t index) {
    if (std::isnan(value) || (held_ == kArgMaxTop && value <= top_[kArgMaxTop - 1].value)) return;
    size_t at = held_ < kArgMaxTop ? held_++ : kArgMaxTop - 1;
    for (; at > 0 && top_[at - 1].value < value; --at) top_[at] = top_[at - 1];
    top_[at] = {value, index};
  }
  int64_t first() const { return held_ == 0 ? -1 : top_[0].index; }
  double margin() const { return held_ < 2 ? 0 : top_[0].value - top_[1].value; }
  size_t size() const { return held_; }
  bool holds(int64_t index) const {
    return std::any_of(top_.begin(), top_.begin() + static_cast<ptrdiff_t>(held_),
                       [&](const Candidate& each) { return each.index == index; });
  }
  int64_t index(size_t i) const { return top_[i].index; }
  void clear() { held_ = 0; }

 private:
  std::array<Candidate, kArgMaxTop> top_ = {};
  size_t held_ = 0;
};

class Reader {
 public:
  explicit Reader(const Operand& operand) : operand_(operand), values_(static_cast<size_t>(kBlockElements)) {}

  Result<void> read(int64_t first, int64_t width, Largest& largest) {
    largest.clear();
    for (int64_t done = 0; done < width;) {
      const int64_t count = std::min(kBlockElements, width - done);
      ASSAY_TRY(const Block block, operand_.block(first + done, count, scratch_));
      to_f64(block.dtype, block.data, count, values_.data());
      for (int64_t i = 0; i < count; ++i) largest.add(values_[static_cast<size_t>(i)], done + i);
      done += count;
    }
    return {};
  }

 private:
  const Operand& operand_;
  Scratch scratch_;
  std::vector<double> values_;
};

}  // namespace

Result<ArgMax> compare_arg_max(const Operand& mine, const Operand& golden) {
  ArgMax result;
  const Shape& shape = golden.meta.shape;
  const int64_t width = shape.dims.empty() ? 1 : shape.dims.back();
  if (width == 0 || is_complex(mine.meta.dtype) || is_complex(golden.meta.dtype)) return result;
  result.rows = shape.count() / width;
  Reader mine_reader(mine), golden_reader(golden);
  Largest of_mine, of_golden;
  int64_t shared = 0, listed = 0;
  for (int64_t row = 0; row < result.rows; ++row) {
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY_DO(mine_reader.read(row * width, width, of_mine));
    ASSAY_TRY_DO(golden_reader.read(row * width, width, of_golden));
    result.agreeing += of_mine.first() == of_golden.first();
    if (of_mine.first() != of_golden.first() && result.first_other_row < 0) result.first_other_row = row;
    for (size_t i = 0; i < of_golden.size(); ++i) shared += of_mine.holds(of_golden.index(i));
    listed += static_cast<int64_t>(of_golden.size());
  }
  result.shared_top = listed == 0 ? 1 : static_cast<double>(shared) / static_cast<double>(listed);
  // The last row is the one that chooses the next token.
  result.mine = of_mine.first();
  result.golden = of_golden.first();
  result.mine_margin = of_mine.margin();
  result.golden_margin = of_golden.margin();
  return result;
}

const Metric arg_max_metric{
    "arg_max",
    {"argmax_mine", "argmax_golden", "margin_mine", "margin_golden", "top1_agree", "top10_agree"},
    gather::arg_max,
    false,
    "of logits: the token the last row chooses, by how much, and the shares of rows and of the ten largest "
    "that agree",
    [](const Gathered& g, std::span<Value> out) {
      if (g.arg_max == nullptr || g.arg_max->rows == 0) return;
      out[0] = g.arg_max->mine;
      out[1] = g.arg_max->golden;
      out[2] = g.arg_max->mine_margin;
      out[3] = g.arg_max->golden_margin;
      out[4] = static_cast<double>(g.arg_max->agreeing) / static_cast<double>(g.arg_max->rows);
      out[5] = g.arg_max->shared_top;
    }};

}  // namespace assay
