#include "assay/golden/elements.h"
#include "assay/golden/families.h"
#include "assay/golden/glibc_random.h"
#include "assay/golden/top_p.h"

#include <algorithm>

namespace assay {
namespace {

constexpr uint32_t kSeedOfClock = 0xffffffff;  // ATB takes the time instead

Result<uint32_t> seed_of(int64_t number, std::string_view param) {
  if (number >= 0 && number <= UINT32_MAX) return static_cast<uint32_t>(number);
  return fail(ErrorKind::bad_argument, "the parameter {} holds {}, which is no seed", param, number);
}

// The first index whose sum is beyond a draw; 0 where none is.
int64_t first_beyond(std::span<const double> sums, double draw) {
  const auto found = std::ranges::find_if(sums, [&](double sum) { return sum > draw; });
  return found == sums.end() ? 0 : found - sums.begin();
}

// in: probabilities […, classes]
Result<GoldenOutputs> compute_multinomial(const GoldenCall& call) {
  constexpr int64_t kMostSamples = 64;
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const int64_t samples, call.params.integer({"numSamples"}));
  ASSAY_TRY(const int64_t number, call.params.integer({"randSeed"}));
  ASSAY_TRY(const uint32_t seed, seed_of(number, "randSeed"));
  if (samples < 1 || samples > kMostSamples)
    return fail(ErrorKind::bad_argument, "the parameter numSamples is {}, which is not between 1 and {}",
                samples, kMostSamples);
  ASSAY_TRY(Numbers data, numbers_of(call, 0));
  if (data.shape.dims.empty()) return fail(ErrorKind::mismatch, "a scalar holds no probabilities");
  std::vector<double> draws;
  GlibcRandom random(seed);
  for (int64_t z = 0; z < samples; ++z) draws.push_back(random.draw());

  const DType dtype = dtype_of(call, 0);
  const auto width = static_cast<size_t>(data.shape.dims.back());
  const size_t rows = width == 0 ? 0 : data.values.size() / width;
  // The sums are rounded one by one, as the operator has it; in f32 their order is nobody's business.
  const bool is_wide = dtype == DType::f32 || dtype == DType::f64;
  const double slack =
      kDrawError + (is_wide ? 4 * unit_roundoff(dtype) * std::sqrt(static_cast<double>(width)) : 0);
  Shape shape = data.shape;
  shape.dims.back() = samples;
  ASSAY_TRY(Elements known, zero_elements(call, DType::u8, shape));
  Integers picks{shape, std::vector<int64_t>(known.bytes.size(), 0)};
  bool is_all_known = seed != kSeedOfClock;
  for (size_t row = 0; row < rows; ++row) {
    const std::span<double> sums = std::span(data.values).subspan(row * width, width);
    for (size_t i = 1; i < width; ++i) sums[i] = rounded_to(dtype, sums[i - 1] + sums[i]);
    for (size_t z = 0; z < draws.size(); ++z) {
      const size_t at = row * draws.size() + z;
      picks.values[at] = first_beyond(sums, draws[z]);
      const bool is_clear = first_beyond(sums, draws[z] - slack) == first_beyond(sums, draws[z] + slack);
      known.bytes[at] = std::byte{is_clear && seed != kSeedOfClock};
      is_all_known = is_all_known && is_clear;
    }
  }
  GoldenOutputs outputs{expected(DType::i32, picks)};
  if (!is_all_known) {
    outputs[0].known = operand_of(std::move(known));
    outputs[0].note =
        seed == kSeedOfClock ? "the seed was the time" : "a draw falls on the border of two classes";
  }
  return outputs;
}

// ----- the most probable words

enum SamplingType : int64_t {
  kSingle = 0,
  kMultinomial = 1,
  kExponential = 2,
  kMultinomialLogs = 3,
  kExponentialLogs = 4,
};

struct Draws {
  std::vector<double> of_row;
  std::vector<bool> is_known;
};

// The draws of each row: of one seed in turn, or the first one of a seed for each row.
Result<Draws> seeded_draws(const GoldenCall& call, int64_t type, size_t rows) {
  std::vector<int64_t> seeds;
  if (type == kSingle) {
    ASSAY_TRY(const int64_t seed, call.params.integer_or({"randSeed"}, 0));
    seeds = {seed};
  } else {
    ASSAY_TRY(seeds, call.params.integers_or({"randSeeds"}, {}));
    if (seeds.empty()) seeds = {0};
  }
  Draws draws;
  if (seeds.size() == 1) {
    ASSAY_TRY(const uint32_t seed, seed_of(seeds[0], "randSeed"));
    GlibcRandom random(seed);
    for (size_t row = 0; row < rows; ++row) draws.of_row.push_back(random.draw());
    draws.is_known.assign(rows, seed != kSeedOfClock);
    return draws;
  }
  for (size_t row = 0; row < rows; ++row) {
    ASSAY_TRY(const uint32_t seed, seed_of(row < seeds.size() ? seeds[row] : 0, "randSeeds"));
    draws.of_row.push_back(GlibcRandom(seed).draw());
    draws.is_known.push_back(seed != kSeedOfClock);
  }
  return draws;
}

// One number for each row, or one for all.
Result<std::vector<double>> per_row(const GoldenCall& call, size_t i, size_t rows) {
  ASSAY_TRY(const Numbers numbers, numbers_of(call, i));
  if (numbers.values.size() == rows) return numbers.values;
  if (numbers.values.size() == 1) return std::vector<double>(rows, numbers.values[0]);
  return fail(ErrorKind::mismatch, "input {} of {} has the shape {} for {} rows", i, call.type,
              numbers.shape.text(), rows);
}

struct SamplingInputs {
  Numbers probabilities, divisors;
  std::vector<double> top_k, top_p;
  Draws draws;
  int64_t logs = 0;  // logarithms that are wanted of each row
};

Result<SamplingInputs> sampling_inputs(const GoldenCall& call, int64_t type) {
  SamplingInputs in;
  const size_t inputs = type == kSingle ? 2 : type == kMultinomial ? 3 : 4;
  ASSAY_TRY_DO(check_given(call, inputs, inputs));
  ASSAY_TRY_DO(check_rank(call, 0, 2));
  ASSAY_TRY(in.probabilities, numbers_of(call, 0));
  const int64_t words = in.probabilities.shape.dims[1];
  const auto rows = static_cast<size_t>(in.probabilities.shape.dims[0]);
  if (type == kSingle) {
    ASSAY_TRY(const int64_t top_k, call.params.integer_or({"topk"}, 100));
    if (top_k < 1 || top_k > words)
      return fail(ErrorKind::bad_argument, "the parameter topk is {}, which is not between 1 and {}", top_k,
                  words);
    in.top_k.assign(rows, static_cast<double>(top_k));
  } else {
    ASSAY_TRY(in.top_k, per_row(call, 1, rows));
    for (const double top_k : in.top_k)
      if (!(top_k >= 0 && top_k < static_cast<double>(words)))
        return fail(ErrorKind::mismatch, "the top {} of {} words", top_k, words);
  }
  ASSAY_TRY(in.top_p, per_row(call, type == kSingle ? 1 : 2, rows));
  if (type == kExponential || type == kExponentialLogs) {
    ASSAY_TRY(in.divisors, numbers_of(call, 3));
    if (in.divisors.shape != in.probabilities.shape)
      return fail(ErrorKind::mismatch, "input 3 of {} has the shape {}, not {}", call.type,
                  in.divisors.shape.text(), in.probabilities.shape.text());
  } else if (type == kMultinomialLogs) {
    ASSAY_TRY(in.draws.of_row, per_row(call, 3, rows));
    in.draws.is_known.assign(rows, true);
  } else {
    ASSAY_TRY(in.draws, seeded_draws(call, type, rows));
  }
  if (type == kMultinomialLogs || type == kExponentialLogs) {
    ASSAY_TRY(in.logs, call.params.integer({"logProbsSize"}));
    if (in.logs < 0 || in.logs > words)
      return fail(ErrorKind::bad_argument, "the parameter logProbsSize is {}, which is not between 0 and {}",
                  in.logs, words);
  }
  return in;
}

Result<GoldenOutputs> compute_topk_topp(const GoldenCall& call) {
  constexpr int64_t kTypes[] = {kSingle, kMultinomial, kExponential, kMultinomialLogs, kExponentialLogs};
  ASSAY_TRY(
      const int64_t type,
      call.params.choice({"topkToppSamplingType", "tokkToppSamplingType", "topktopp_sampling_type"}, kTypes));
  ASSAY_TRY(const SamplingInputs in, sampling_inputs(call, type));
  const auto words = static_cast<size_t>(in.probabilities.shape.dims[1]);
  const int64_t rows = in.probabilities.shape.dims[0];
  const bool is_exponential = type == kExponential || type == kExponentialLogs;
  const Shape shape{{rows, 1}}, logs_shape{{rows, in.logs}};
  ASSAY_TRY(Elements known, zero_elements(call, DType::u8, shape));
  ASSAY_TRY(Elements logs_known, zero_elements(call, DType::u8, logs_shape));
  Integers places{shape, {}};
  Numbers chosen{shape, {}}, logs{logs_shape, {}};
  std::vector<float> logs_allowed;
  const DType dtype = dtype_of(call, 0);
  bool is_all_known = true, is_seeded = true;
  for (int64_t row = 0; row < rows; ++row) {
    const auto r = static_cast<size_t>(row);
    TopP words_of_row(std::span(in.probabilities.values).subspan(r * words, words), dtype,
                      type == kSingle ? TopP::first(in.top_k[r]) : TopP::beyond(in.top_k[r]), in.top_p[r]);
    const TopP::Pick pick =
        is_exponential
            ? words_of_row.best_of(std::span(in.divisors.values).subspan(r * words, words), dtype_of(call, 3))
            : words_of_row.drawn(in.draws.of_row[r], type == kSingle);
    const bool is_drawn = is_exponential || in.draws.is_known[r];
    is_seeded = is_seeded && is_drawn;
    is_all_known = is_all_known && is_drawn && pick.is_clear;
    known.bytes[r] = std::byte{is_drawn && pick.is_clear};
    places.values.push_back(words_of_row.place(pick.rank));
    chosen.values.push_back(words_of_row.probability(pick.rank));
    for (int64_t j = 0; j < in.logs; ++j) {
      const TopP::Log log = words_of_row.log(j, is_exponential);
      logs.values.push_back(log.value);
      logs_allowed.push_back(log.allowed);
      logs_known.bytes[r * static_cast<size_t>(in.logs) + static_cast<size_t>(j)] = std::byte{log.is_clear};
    }
  }
  const bool says_type = call.out.size() > 1 && is_real(call.out[1].dtype);
  GoldenOutputs outputs{expected(DType::i32, places),
                        expected(says_type ? call.out[1].dtype : dtype, std::move(chosen))};
  if (!is_all_known)
    for (Expected& output : outputs) {
      output.known = operand_of(known);
      output.note = is_seeded ? "a choice hangs on how a sum was rounded" : "the seed was the time";
    }
  if (type == kMultinomialLogs || type == kExponentialLogs) {
    outputs.push_back(expected(DType::f32, std::move(logs), std::move(logs_allowed)));
    if (std::ranges::find(logs_known.bytes, std::byte{0}) != logs_known.bytes.end()) {
      outputs.back().known = operand_of(std::move(logs_known));
      outputs.back().note = "where the top p ends hangs on how a sum was rounded";
    }
  }
  return outputs;
}

constexpr GoldenOp kSamplings[] = {
    {"MultinomialOperation", compute_multinomial, "classes drawn by their probabilities"},
    {"TopkToppSamplingOperation", compute_topk_topp, "a word drawn from the most probable ones"},
};

}  // namespace

GoldenFamily golden_samplings() { return kSamplings; }

}  // namespace assay
