// Self attention before it is told apart where its keys lie: parameters, sequences, masks.
#pragma once

#include "assay/golden/attention_mask.h"
#include "assay/golden/attentions.h"

namespace assay {

enum CalcType : int64_t {
  kEncoderOrDecoder = 0,
  kEncoder = 1,
  kDecoder = 2,
  kPaEncoder = 3,
  kPrefixEncoder = 4
};
enum SelfMask : int64_t {
  kNoMask = 0,
  kNormMask = 1,
  kAlibiMask = 2,
  kNormCompress = 3,
  kAlibiCompress = 4,
  kAlibiSqrt = 5,
  kAlibiLeft = 6,
  kWindowMask = 7,
  kWindowCompress = 8,
  kCausalMask = 9
};
constexpr int64_t kLongestSequence = int64_t{1} << 40;

struct SelfParams {
  Heads heads;
  int64_t calc = kEncoderOrDecoder, mask = kNoMask, value_width = 0, window = 0;
  bool bypasses = false, is_precise = false, has_status = false, has_scale = false;
  double query_scale = 1, scale = 1;
  std::optional<std::pair<double, double>> clamp;
  DType written = DType::f16;            // of the output
  std::optional<WeightSteps> int8 = {};  // of queries, keys, values and weights

  bool has_slopes() const { return mask == kAlibiCompress || mask == kAlibiSqrt || mask == kAlibiLeft; }
  bool is_alibi() const { return mask == kAlibiMask || has_slopes(); }
};
Result<SelfParams> read_self_params(const GoldenCall& call);

// Where the inputs are that depend on parameters.
struct SelfPlaces {
  std::optional<size_t> mask, status, slopes;
  Int8Places int8 = {};
};

// Queries, keys and values of all samples.
struct SelfSequences {
  OperandPtr queries, keys, values;
  int64_t tokens = 0;  // queries
  int64_t depth = 0, width = 0;
  std::vector<int64_t> positions, key_counts, query_starts;  // per sample
  // Elements before the keys and values of the first head.
  std::function<int64_t(int64_t sample, int64_t key)> key_row, value_row;
};

// Tokens of a tensor that may have heads, or samples, as dimensions; and the elements of each.
Result<std::pair<int64_t, int64_t>> self_tokens(const GoldenCall& call, size_t i, bool is_int8 = false);
Result<void> take_queries(const GoldenCall& call, const SelfParams& params, SelfSequences& out);
Result<int64_t> width_of_values(int64_t hidden, int64_t heads);
Result<void> check_key_size(int64_t hidden, int64_t heads, int64_t depth);

// `factor`: on the tensor of a mask.
Result<AttentionMask> self_mask(const GoldenCall& call, const SelfParams& params, const SelfPlaces& places,
                                const SelfSequences& of, double factor);
Result<GoldenOutputs> run_self(const GoldenCall& call, const SelfParams& params, const SelfPlaces& places,
                               const SelfSequences& of, AttentionRule rule);
// By a kernel of its own: rounded once.
Result<GoldenOutputs> run_fused(const GoldenCall& call, const SelfParams& params, const SelfPlaces& places,
                                const SelfSequences& of, double scale);

}  // namespace assay
