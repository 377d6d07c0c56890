#include "assay/golden/attention.h"

#include "assay/golden/attention_kernel.h"
#include "assay/golden/numbers.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace assay {
namespace {

constexpr int64_t kScoresAtOnce = int64_t{1} << 22;  // elements of one block of scores
constexpr int64_t kQueriesAtOnce = 256;
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
        groups_((keys_ + kernel::kBoundKeys - 1) / kernel::kBoundKeys),
        sets_(groups_ * kernel::kSpreadSets),
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
    largest_.assign(static_cast<size_t>(groups_ * width_), T{0});
    of_sets_.assign(static_cast<size_t>(sets_ * width_), T{0});
    for (int64_t j = 0; j < keys_; ++j) {
      const int64_t group = j / kernel::kBoundKeys;
      T* const of_group = largest_.data() + group * width_;
      T* const of_set = of_sets_.data() + (group * kernel::kSpreadSets + j % kernel::kSpreadSets) * width_;
      const T* const value = value_.data() + j * width_;
      for (int64_t d = 0; d < width_; ++d) {
        const T size = std::abs(value[d]);
        of_group[d] = std::max(of_group[d], size);
        of_set[d] = std::max(of_set[d], size);
      }
    }
    squares_ = of_sets_;
    for (T& each : squares_) each *= each;
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

  // Scores become weights e^(s - max). Returns their sum.
  double finish_weights(T* scores, const RowBound& bound, const std::vector<double>& mask, T* linear,
                        T* random) const {
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
    return weigh_scores(scores, keys_, largest, mask.empty() ? nullptr : mask.data(), bounds, linear, random);
  }

  // Weights of sum 1 that are below the normal numbers of f16 are rounded by up to half of its smallest step,
  // by 1/√3 of that on average, where other roundings are off by 0.42 units.
  void allow_least_weights(double sum, T* random) const {
    if (rule_.dtype != DType::f16 || rule_.int8) return;
    const double of_key = kHalfLeastOfF16 / std::sqrt(3.0) / (0.42 * unit_roundoff(DType::f16)) * sum;
    constexpr int64_t kKeysOfSet = kernel::kBoundKeys / kernel::kSpreadSets;
    for (int64_t set = 0; set < sets_; ++set)
      random[set] += static_cast<T>(static_cast<double>(kKeysOfSet) * of_key * of_key);
  }

  // Weights of sum 1, rounded, as a softmax on its own gives them.
  void round_weights(T* row, double& sum, int64_t i, std::vector<T>& linear, std::vector<T>& random) const {
    for (int64_t j = 0; j < keys_; ++j) row[j] = static_cast<T>(static_cast<double>(row[j]) / sum);
    round_step(row);
    for (int64_t group = i * groups_; group < (i + 1) * groups_; ++group)
      linear[static_cast<size_t>(group)] /= static_cast<T>(sum);
    for (int64_t set = i * sets_; set < (i + 1) * sets_; ++set)
      random[static_cast<size_t>(set)] /= static_cast<T>(sum * sum);
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
    std::vector<T> linear(static_cast<size_t>(count * groups_)), random(static_cast<size_t>(count * sets_));
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
      sums[static_cast<size_t>(i)] =
          finish_weights(row, bound, mask, linear.data() + i * groups_, random.data() + i * sets_);
      allow_least_weights(sums[static_cast<size_t>(i)], random.data() + i * sets_);
      if (rule_.rounds_steps) round_weights(row, sums[static_cast<size_t>(i)], i, linear, random);
      if (rule_.int8) {
        const size_t head = head_of_row(first + i);
        of_int8[static_cast<size_t>(i)] = bound_int8_weights<T>(
            {row, static_cast<size_t>(keys_)}, rule_.int8->half_steps[head], rule_.int8->most[head],
            linear.data() + i * groups_, random.data() + i * sets_);
      }
    }

    const auto size = static_cast<size_t>(count * width_);
    const auto value = std::make_unique_for_overwrite<T[]>(size);
    const auto errors = std::make_unique_for_overwrite<T[]>(size),
               spreads = std::make_unique_for_overwrite<T[]>(size);
    multiply(Gemm<T>{false, false, count, width_, keys_, scores.get(), keys_, value_.data(), width_,
                     value.get(), width_});
    multiply(Gemm<T>{false, false, count, width_, groups_, linear.data(), groups_, largest_.data(), width_,
                     errors.get(), width_});
    multiply(Gemm<T>{false, false, count, width_, sets_, random.data(), sets_, squares_.data(), width_,
                     spreads.get(), width_});
    const auto sizes = std::make_unique_for_overwrite<T[]>(rule_.int8 ? size : 0);
    if (rule_.int8)
      multiply(Gemm<T>{false, false, count, width_, sets_, random.data(), sets_, of_sets_.data(), width_,
                       sizes.get(), width_});
    const double unit = unit_of_arithmetic(rule_.dtype),
                 rounding = std::max(unit_roundoff(rule_.dtype), unit);
    // Equal weights are rounded alike; many are below the normal numbers of f16.
    const double of_equal = rule_.dtype == DType::f16
                                ? std::max(rounding, kHalfLeastOfF16 * static_cast<double>(keys_))
                                : rounding;
    std::vector<double> results(static_cast<size_t>(width_)), allowed(results.size());
    for (int64_t i = 0; i < count; ++i) {
      const double share = 1 / sums[static_cast<size_t>(i)];
      for (int64_t d = 0; d < width_; ++d) {
        const auto at = static_cast<size_t>(i * width_ + d), to = static_cast<size_t>(d);
        results[to] = static_cast<double>(value[at]) * share;
        allowed[to] = static_cast<double>(errors[at]) * share;
        if (rule_.int8) {
          const double factor = rule_.int8->of_values[head_of_row(first + i)];
          allowed[to] +=
              int8_allowance(of_int8[static_cast<size_t>(i)], static_cast<double>(sizes[at]),
                             static_cast<double>(spreads[at]), sums[static_cast<size_t>(i)], results[to]);
          results[to] *= factor;
          allowed[to] = allowed[to] * std::abs(factor) + 4 * unit * std::abs(results[to]);
        } else {
          allowed[to] += 2 * rounding * std::sqrt(static_cast<double>(spreads[at])) * share +
                         of_equal * std::abs(results[to]);
        }
      }
      out_.set(job_.outputs[static_cast<size_t>(first + i)], width_, results.data(), allowed.data());
    }
    return {};
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
  int64_t keys_, depth_, width_, groups_, sets_;
  double scale_;
  std::vector<T> key_, value_;
  double largest_key_ = 0;            // norm
  std::vector<T> largest_;            // |value|, per group of keys and element
  std::vector<T> of_sets_, squares_;  // the same, and its square, per set of them
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
