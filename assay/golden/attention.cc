#include "assay/golden/attention.h"

#include "assay/golden/attention_kernel.h"
#include "assay/golden/numbers.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

namespace assay {
namespace {

constexpr int64_t kScoresAtOnce = int64_t{1} << 22;  // elements of one block of scores
constexpr int64_t kQueriesAtOnce = 256;
// Roundings are off by 0.42 units on average. 6.5 standard deviations where each key counts by itself, 4.7
// where the largest value of a set stands for all of it.
constexpr double kUnitsOneByOne = 2.75, kUnitsOfSets = 2;
constexpr double kHalfLeastOfF16 = 0x1p-25;  // what numbers below its normal ones may be rounded by

using kernel::largest_score, kernel::scale_scores, kernel::weigh_scores;

// The same in f64, for tensors that are computed so: one by one.
void scale_scores(double* scores, int64_t n, double factor) {
  for (int64_t i = 0; i < n; ++i) scores[i] *= factor;
}

double largest_score(const double* scores, int64_t n) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i) largest = scores[i] > largest ? scores[i] : largest;
  return largest;
}

double weigh_scores(double* scores, int64_t n, double largest, const double* mask,
                    const kernel::WeightBounds<double>& bounds, double* linear, double* random) {
  double sum = 0;
  for (int64_t first = 0, group = 0; first < n; first += kernel::kBoundKeys, ++group) {
    double weights = 0, sizes = 0, spreads[kernel::kSpreadSets] = {};
    for (int64_t j = first; j < std::min(n, first + kernel::kBoundKeys); ++j) {
      const double s = scores[j], weight = std::exp(s - largest);
      const double added = mask == nullptr ? 0 : mask[j] * bounds.mask_scale;
      // A key that is masked has no weight, and a score that may be infinite.
      const double below = weight > 0 ? s - largest : 0;
      const double score = weight > 0 ? std::max(std::abs(s), std::abs(s - added)) : 0;
      weights += weight;
      sizes += weight * score;
      const double certain = bounds.of_weights + (bounds.of_inputs == nullptr ? 0 : bounds.of_inputs[j]);
      spreads[j % kernel::kSpreadSets] +=
          weight * weight *
          (certain + bounds.of_scores * score * score + bounds.of_distances * below * below);
      scores[j] = weight;
    }
    sum += weights;
    linear[group] = weights * bounds.fixed + sizes * bounds.per_score;
    std::ranges::copy(spreads, random + group * kernel::kSpreadSets);
  }
  return sum;
}

// What errors of weights do, key by key: those that may add up, and squares of those that are independent, of
// numbers that values are multiplied by and of scores, which move the sum of weights as well.
template <class T>
struct KeyErrors {
  T *linear, *of_values, *of_scores;
};

template <class T>
void bound_keys(std::span<const T> scores, const T* weights, T largest, const double* mask,
                const kernel::WeightBounds<T>& bounds, const KeyErrors<T>& out) {
  for (size_t j = 0; j < scores.size(); ++j) {
    const T weight = weights[j], s = scores[j];
    const T added = mask == nullptr ? T{0} : static_cast<T>(mask[j] * bounds.mask_scale);
    // A key that is masked has no weight, and a score that may be infinite.
    const T below = weight > 0 ? s - largest : T{0};
    const T score = weight > 0 ? std::max(std::abs(s), std::abs(s - added)) : T{0};
    const T of_inputs = bounds.of_inputs == nullptr ? T{0} : bounds.of_inputs[j];
    out.linear[j] = weight * (bounds.fixed + bounds.per_score * score);
    out.of_values[j] = weight * weight * bounds.of_weights;
    out.of_scores[j] = weight * weight *
                       (of_inputs + bounds.of_scores * score * score + bounds.of_distances * below * below);
  }
}

template <class T>
Result<void> read_attention_rows(const RowsOf& rows, int64_t first, int64_t count, T* to, Scratch& scratch) {
  const std::span<const int64_t> starts = std::span(rows.starts).subspan(static_cast<size_t>(first));
  for (int64_t i = 0; i < count;) {
    int64_t end = i + 1;  // rows that follow each other are read at once
    while (end < count &&
           starts[static_cast<size_t>(end)] == starts[static_cast<size_t>(end - 1)] + rows.width)
      ++end;
    ASSAY_TRY_DO(read_numbers(*rows.data, starts[static_cast<size_t>(i)], (end - i) * rows.width,
                              to + i * rows.width, scratch));
    i = end;
  }
  if (rows.scales.empty()) return {};
  for (int64_t i = 0; i < count; ++i)
    for (int64_t d = 0; d < rows.width; ++d) {
      const double offset = rows.offsets.empty() ? 0 : rows.offsets[static_cast<size_t>(d)];
      T& each = to[i * rows.width + d];
      each = static_cast<T>((static_cast<double>(each) + offset) * rows.scales[static_cast<size_t>(d)]);
    }
  return {};
}

template <class T>
class JobRunner {
 public:
  JobRunner(const AttentionRule& rule, const AttentionJob& job, ComputedTensor& out)
      : rule_(rule),
        job_(job),
        out_(out),
        keys_(std::ssize(job.keys.starts)),
        depth_(job.keys.width),
        width_(job.values.width),
        sets_(keys_),
        scale_(rule.scale * (rule.scale_of ? rule.scale_of(job.sample) : 1)) {}

  Result<void> run() {
    const int64_t queries = std::ssize(job_.queries.starts);
    if (keys_ == 0) {
      for (const int64_t start : job_.outputs)
        for (int64_t d = 0; d < width_; ++d) out_.set(start + d, 0, 0);
      return {};
    }
    ASSAY_TRY_DO(load());
    const int64_t at_once = std::clamp<int64_t>(kScoresAtOnce / keys_, 1, kQueriesAtOnce);
    return try_in_parallel((queries + at_once - 1) / at_once, at_once * keys_ * (depth_ + width_),
                           [&](int64_t first, int64_t last) -> Result<void> {
                             for (int64_t i = first; i < last; ++i)
                               ASSAY_TRY_DO(run_block(i * at_once, std::min(at_once, queries - i * at_once)));
                             return {};
                           });
  }

 private:
  Result<void> load() {
    Scratch scratch;
    key_.resize(static_cast<size_t>(keys_ * depth_));
    ASSAY_TRY_DO(read_attention_rows(job_.keys, 0, keys_, key_.data(), scratch));
    scratch.forget();
    value_.resize(static_cast<size_t>(keys_ * width_));
    ASSAY_TRY_DO(read_attention_rows(job_.values, 0, keys_, value_.data(), scratch));
    for (int64_t j = 0; j < keys_; ++j) {
      double square = 0;
      for (int64_t d = 0; d < depth_; ++d) {
        const auto each = static_cast<double>(key_[static_cast<size_t>(j * depth_ + d)]);
        square += each * each;
      }
      largest_key_ = std::max(largest_key_, std::sqrt(square));
    }
    largest_.assign(static_cast<size_t>(sets_.groups * width_), T{0});
    of_sets_.assign(static_cast<size_t>(sets_.sets * width_), T{0});
    for (int64_t j = 0; j < keys_; ++j) {
      T* const of_group = largest_.data() + sets_.group_of(j) * width_;
      T* const of_set = of_sets_.data() + sets_.set_of(j) * width_;
      const T* const value = value_.data() + j * width_;
      for (int64_t d = 0; d < width_; ++d) {
        const T size = std::abs(value[d]);
        of_group[d] = std::max(of_group[d], size);
        of_set[d] = std::max(of_set[d], size);
      }
    }
    squares_ = of_sets_;
    for (T& each : squares_) each *= each;
    most_.assign(static_cast<size_t>(width_), T{0});
    for (size_t i = 0; i < largest_.size(); ++i) {
      T& most = most_[i % most_.size()];
      most = std::max(most, largest_[i]);
    }
    return {};
  }

  size_t head_of_row(int64_t query) const {
    return static_cast<size_t>(job_.first_head + query / job_.positions);
  }
  double scale_of_row(int64_t query) const {
    return scale_ * (rule_.int8 ? rule_.int8->of_scores[head_of_row(query)] : 1);
  }

  // Scores of a row, from the products of query and keys.
  Result<void> finish_scores(int64_t query, T* scores, std::vector<double>& mask, Scratch& scratch) const {
    const auto scale = static_cast<T>(scale_of_row(query));
    round_step(scores);
    if (!rule_.scales_last) {
      scale_scores(scores, keys_, scale);
      round_step(scores);
    }
    if (rule_.clamp) {
      const auto low = static_cast<T>(rule_.clamp->first), high = static_cast<T>(rule_.clamp->second);
      for (int64_t j = 0; j < keys_; ++j)
        scores[j] = scores[j] < low ? low : scores[j] > high ? high : scores[j];  // NaN stays
    }
    if (rule_.mask) {
      const MaskRow row{job_.sample, job_.first_head + query / job_.positions, query % job_.positions};
      ASSAY_TRY_DO(rule_.mask(row, mask, scratch));
      for (int64_t j = 0; j < keys_; ++j) scores[j] += static_cast<T>(mask[static_cast<size_t>(j)]);
      round_step(scores);
    }
    if (rule_.scales_last) {
      scale_scores(scores, keys_, scale);
      round_step(scores);
    }
    return {};
  }

  // Where every step is an operator of its own.
  void round_step(T* scores) const {
    if (!rule_.rounds_steps) return;
    std::vector<double> wide(scores, scores + keys_);
    round_to(rule_.dtype, wide);
    std::ranges::transform(wide, scores, [](double each) { return static_cast<T>(each); });
  }

  // What is kept of a row beside its weights, for the bound.
  struct RowBound {
    double score_error = 0;        // of each score, from its sum of products
    double score_size = 0;         // |query| |key| |scale|
    const T* of_inputs = nullptr;  // square of what rounded keys do to each, in units of that rounding
  };

  // What the rows of a block have for their bounds: of each row, what errors of weights do that may add up,
  // by groups of keys; squares of those that are independent, by sets; the same of scores, key by key, and
  // their sum. Where keys are not taken one by one, those of scores are among the others.
  struct BlockBounds {
    BlockBounds(int64_t rows, const kernel::KeySets& sets)
        : linear(static_cast<size_t>(rows * sets.groups)),
          random(static_cast<size_t>(rows * sets.sets)),
          of_scores(sets.is_one_by_one ? random.size() : 0),
          all_scores(sets.is_one_by_one ? static_cast<size_t>(rows) : 0) {}

    std::vector<T> linear, random, of_scores;
    std::vector<double> all_scores;
  };

  // Scores become weights e^(s - max). Returns their sum.
  double finish_weights(T* scores, int64_t i, const RowBound& bound, const std::vector<double>& mask,
                        BlockBounds& out) const {
    const T largest = largest_score(scores, keys_);  // -infinity where all keys are masked: the row is NaN
    const double unit = unit_of_arithmetic(rule_.dtype);
    // After the product, the scale and each of what else comes before the exponential.
    const int of_scores = 2 + (rule_.mask ? 1 : 0) + (rule_.scale_of ? 1 : 0);
    const kernel::WeightBounds<T> bounds{
        .fixed = static_cast<T>(bound.score_error + unit * (std::sqrt(static_cast<double>(keys_)) + 16)),
        .per_score = static_cast<T>(4 * unit),
        // int8 weights have a bound of their own; values that were made of int8 are rounded as weights are.
        .of_weights = rule_.int8            ? T{0}
                      : rule_.rounds_inputs ? T{2}
                                            : T{1},
        .of_scores = rule_.rounds_scores ? static_cast<T>(of_scores) : T{0},
        .of_distances = rule_.rounds_scores ? T{1} : T{0},
        .mask_scale = rule_.scales_last ? scale_ : 1,  // a score was rounded before it was added, too
        .of_inputs = bound.of_inputs};
    const double* const added = mask.empty() ? nullptr : mask.data();
    if (!sets_.is_one_by_one)
      return weigh_scores(scores, keys_, largest, added, bounds, out.linear.data() + i * sets_.groups,
                          out.random.data() + i * sets_.sets);
    constexpr int64_t kGroups = kernel::kKeysOneByOne / kernel::kBoundKeys;
    std::array<T, kGroups> of_groups;
    std::array<T, kGroups * kernel::kSpreadSets> of_sets;
    const std::vector<T> before(scores, scores + keys_);
    const double sum = weigh_scores(scores, keys_, largest, added, bounds, of_groups.data(), of_sets.data());
    const KeyErrors<T> errors{out.linear.data() + i * keys_, out.random.data() + i * keys_,
                              out.of_scores.data() + i * keys_};
    bound_keys<T>(before, scores, largest, added, bounds, errors);
    out.all_scores[static_cast<size_t>(i)] = std::accumulate(errors.of_scores, errors.of_scores + keys_, 0.0);
    return sum;
  }

  // Weights of sum 1 that are below the normal numbers of f16 are rounded by up to half of its smallest step,
  // by 1/√3 of that on average, where other roundings are off by 0.42 units.
  void allow_least_weights(double sum, T* random) const {
    if (rule_.dtype != DType::f16 || rule_.int8) return;
    const double of_key = kHalfLeastOfF16 / std::sqrt(3.0) / (0.42 * unit_roundoff(DType::f16)) * sum;
    constexpr int64_t kKeysOfSet = kernel::kBoundKeys / kernel::kSpreadSets;
    const auto keys = static_cast<double>(sets_.is_one_by_one ? 1 : kKeysOfSet);
    for (int64_t set = 0; set < sets_.sets; ++set) random[set] += static_cast<T>(keys * of_key * of_key);
  }

  // Weights of sum 1, rounded, as a softmax on its own gives them.
  void round_weights(T* row, double& sum, int64_t i, BlockBounds& bounds) const {
    for (int64_t j = 0; j < keys_; ++j) row[j] = static_cast<T>(static_cast<double>(row[j]) / sum);
    round_step(row);
    const auto divide = [i](std::vector<T>& of_rows, int64_t width, double by) {
      const std::span<T> all(of_rows);
      if (all.empty()) return;
      for (T& each : all.subspan(static_cast<size_t>(i * width), static_cast<size_t>(width)))
        each /= static_cast<T>(by);
    };
    divide(bounds.linear, sets_.groups, sum);
    divide(bounds.random, sets_.sets, sum * sum);
    divide(bounds.of_scores, sets_.sets, sum * sum);
    if (sets_.is_one_by_one) bounds.all_scores[static_cast<size_t>(i)] /= sum * sum;
    sum = 1;
  }

  Result<void> run_block(int64_t first, int64_t count) const {
    Scratch scratch, of_mask;
    std::vector<T> query(static_cast<size_t>(count * depth_));
    ASSAY_TRY_DO(read_attention_rows(job_.queries, first, count, query.data(), scratch));
    if (rule_.query_scale != 1) scale_queries(query);
    const auto scores = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(count * keys_));
    multiply(Gemm<T>{false, true, count, keys_, depth_, query.data(), depth_, key_.data(), depth_,
                     scores.get(), keys_});

    std::vector<double> mask(static_cast<size_t>(rule_.mask ? keys_ : 0)), sums(static_cast<size_t>(count));
    BlockBounds bounds(count, sets_);
    const std::vector<T> of_inputs = spread_of_inputs(query, count);
    std::vector<Int8Row> of_int8(static_cast<size_t>(rule_.int8 ? count : 0));
    for (int64_t i = 0; i < count; ++i) {
      T* const row = scores.get() + i * keys_;
      ASSAY_TRY_DO(finish_scores(first + i, row, mask, of_mask));
      double square = 0;
      for (int64_t d = 0; d < depth_; ++d) {
        const auto each = static_cast<double>(query[static_cast<size_t>(i * depth_ + d)]);
        square += each * each;
      }
      RowBound bound;
      bound.score_size = std::sqrt(square) * largest_key_ * std::abs(scale_of_row(first + i));
      bound.score_error = product_error(unit_of_arithmetic(rule_.dtype), depth_, bound.score_size);
      if (!of_inputs.empty()) bound.of_inputs = of_inputs.data() + i * keys_;
      sums[static_cast<size_t>(i)] = finish_weights(row, i, bound, mask, bounds);
      allow_least_weights(sums[static_cast<size_t>(i)], bounds.random.data() + i * sets_.sets);
      if (rule_.rounds_steps) round_weights(row, sums[static_cast<size_t>(i)], i, bounds);
      if (rule_.int8) {
        const size_t head = head_of_row(first + i);
        of_int8[static_cast<size_t>(i)] = bound_int8_weights<T>(
            {row, static_cast<size_t>(keys_)}, rule_.int8->half_steps[head], rule_.int8->most[head], sets_,
            bounds.linear.data() + i * sets_.groups, bounds.random.data() + i * sets_.sets);
      }
    }

    write_rows(first, count, scores.get(), sums, bounds, of_int8);
    return {};
  }

  // A row of the left for each query, of which there are `count`, times values or what bounds have of them.
  std::unique_ptr<T[]> times_values(const T* rows, int64_t count, int64_t keys,
                                    const std::vector<T>& of_keys) const {
    auto out = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(count * width_));
    multiply(
        Gemm<T>{false, false, count, width_, keys, rows, keys, of_keys.data(), width_, out.get(), width_});
    return out;
  }

  void write_rows(int64_t first, int64_t count, const T* weights, const std::vector<double>& sums,
                  const BlockBounds& bounds, const std::vector<Int8Row>& of_int8) const {
    const auto value = times_values(weights, count, keys_, value_),
               errors = times_values(bounds.linear.data(), count, sets_.groups, largest_),
               spreads = times_values(bounds.random.data(), count, sets_.sets, squares_);
    std::unique_ptr<T[]> sizes, of_scores, moved;
    if (rule_.int8) sizes = times_values(bounds.random.data(), count, sets_.sets, of_sets_);
    const bool moves_sum = sets_.is_one_by_one && !rule_.int8 && (rule_.rounds_scores || rule_.rounds_inputs);
    if (moves_sum) {
      of_scores = times_values(bounds.of_scores.data(), count, keys_, squares_);
      moved = times_values(bounds.of_scores.data(), count, keys_, value_);
    }
    const double unit = unit_of_arithmetic(rule_.dtype),
                 rounding = std::max(unit_roundoff(rule_.dtype), unit),
                 units = sets_.is_one_by_one ? kUnitsOneByOne : kUnitsOfSets;
    // n roundings, each of one unit at most, are together no more than √n times the root of their squares.
    const double of_weights =
        std::min(units, std::sqrt((rule_.rounds_inputs ? 2.0 : 1.0) * static_cast<double>(keys_)));
    // Equal weights are rounded alike; many are below the normal numbers of f16.
    const double of_equal = rule_.dtype == DType::f16
                                ? std::max(rounding, kHalfLeastOfF16 * static_cast<double>(keys_))
                                : rounding;
    std::vector<double> results(static_cast<size_t>(width_)), allowed(results.size());
    for (int64_t i = 0; i < count; ++i) {
      const auto row = static_cast<size_t>(i);
      const double share = 1 / sums[row];
      for (int64_t d = 0; d < width_; ++d) {
        const auto at = static_cast<size_t>(i * width_ + d), to = static_cast<size_t>(d);
        const double result = static_cast<double>(value[at]) * share;
        results[to] = result;
        allowed[to] = static_cast<double>(errors[at]) * share;
        if (rule_.int8) {
          allowed[to] += int8_allowance(of_int8[row], static_cast<double>(sizes[at]),
                                        static_cast<double>(spreads[at]), sums[row], result);
        } else {
          double square = of_weights * of_weights * static_cast<double>(spreads[at]);
          if (moves_sum)  // a score moves the sum of weights too: (value - result)²
            square += units * units *
                      std::max(0.0, static_cast<double>(of_scores[at]) +
                                        result * (result * bounds.all_scores[row] -
                                                  2 * static_cast<double>(moved[at])));
          allowed[to] += rounding * std::sqrt(square) * share + of_equal * std::abs(result);
        }
        // Where any mixture of the values would pass, nothing can be told.
        if (allowed[to] > static_cast<double>(most_[to]))
          allowed[to] = std::numeric_limits<double>::infinity();
        if (!rule_.int8) continue;
        const double factor = rule_.int8->of_values[head_of_row(first + i)];
        results[to] *= factor;
        allowed[to] = allowed[to] * std::abs(factor) + 4 * unit * std::abs(results[to]);
      }
      out_.set(job_.outputs[static_cast<size_t>(first + i)], width_, results.data(), allowed.data());
    }
  }

  // Elements of keys that were made of int8 are rounded one by one: Σ (query key scale)² of each query and
  // key.
  std::vector<T> spread_of_inputs(const std::vector<T>& query, int64_t count) const {
    if (!rule_.rounds_inputs) return {};
    std::vector<T> squares = query, of_keys = key_, out(static_cast<size_t>(count * keys_));
    for (T& each : squares) each *= each * static_cast<T>(scale_ * scale_);
    for (T& each : of_keys) each *= each;
    multiply(Gemm<T>{false, true, count, keys_, depth_, squares.data(), depth_, of_keys.data(), depth_,
                     out.data(), keys_});
    return out;
  }

  // As the operator does that scales them on its own, before the attention.
  void scale_queries(std::vector<T>& query) const {
    std::vector<double> wide(query.begin(), query.end());
    for (double& each : wide) each *= rule_.query_scale;
    round_to(rule_.dtype, wide);
    std::ranges::transform(wide, query.begin(), [](double each) { return static_cast<T>(each); });
  }

  const AttentionRule& rule_;
  const AttentionJob& job_;
  ComputedTensor& out_;
  int64_t keys_, depth_, width_;
  kernel::KeySets sets_;
  double scale_;
  std::vector<T> key_, value_;
  double largest_key_ = 0;            // norm
  std::vector<T> largest_;            // |value|, per group of keys and element
  std::vector<T> of_sets_, squares_;  // the same, and its square, per set of them
  std::vector<T> most_;               // the same of all keys
};

template <class T>
Result<void> run_job(const Attention& attention, int64_t number, ComputedTensor& out) {
  ASSAY_TRY(const AttentionJob job, attention.job(number));
  return JobRunner<T>(attention.rule, job, out).run();
}

}  // namespace

Result<void> attend(const Attention& attention, int64_t memory, ComputedTensor& out) {
  ASSAY_TRY_DO(load_blas());
  const DType dtype = attention.rule.dtype;
  const bool is_narrow = dtype == DType::f16 || dtype == DType::bf16;
  const double each = is_narrow ? sizeof(float) : sizeof(double);
  const double row = static_cast<double>(attention.key_width + attention.value_width);
  const double bytes = each * (static_cast<double>(attention.most_keys) * row + 2.0 * kScoresAtOnce);
  if (bytes > static_cast<double>(memory))
    return fail(ErrorKind::limit, "{} keys of one head need more than the {} MiB that --memory allows",
                attention.most_keys, memory >> 20);
  const auto run = [&](int64_t first, int64_t last) -> Result<void> {
    for (int64_t i = first; i < last; ++i)
      ASSAY_TRY_DO(is_narrow ? run_job<float>(attention, i, out) : run_job<double>(attention, i, out));
    return {};
  };
  // Where the keys of a few heads would fill the memory, the heads go one after another.
  if (bytes * static_cast<double>(threads_at_work()) > static_cast<double>(memory))
    return run(0, attention.jobs);
  return try_in_parallel(attention.jobs, attention.most_keys * (attention.key_width + attention.value_width),
                         run);
}

}  // namespace assay
