// Which errors an operator was given. Its own inputs tell, as far as they were compared; in a compiled graph
// also the results they come from, and the other way round: what was not dumped as a result is seen as the
// input of another.
#pragma once

#include "assay/judge/judge.h"

#include <unordered_map>

namespace assay {

struct Heritage {
  // The relative errors of the inputs, added up, since a product or a sum of two may hand on both. Infinite
  // where it is not known, and for a group: between its ends is more than one operator.
  double inherited;
  // What terms that cancel may have made of the errors of inputs, relative like rel_l2, and of single
  // elements, in root mean squares of golden; 0: nothing cancels.
  double amplified = 0, amplified_max = 0;
};

// The source of an input of this number; null where the graph does not say. Sources are in the order of
// numbers.
const InputSource* find_source(std::span<const InputSource> sources, int32_t port);

// Of a result: by the number of its node in the pairing, and its own.
inline int64_t result_key(int32_t node, int32_t output) {
  return int64_t{node} << 32 | static_cast<uint32_t>(output);
}

class Lineage {
 public:
  struct Tensor {
    double error;  // relative
    double max_abs = 0;
    double rms = 0;          // of golden; 0: not known
    RowMeta meta = {};       // of golden
    int32_t port = 0;        // of an input
    bool failed = false;     // it excuses nothing
    bool amplified = false;  // it has errors that rounding alone does not make, since terms cancelled
  };
  struct Inputs {
    std::vector<Tensor> tensors = {};
    bool are_known = false;
  };

  explicit Lineage(const Head& head);

  // Of a node whose inputs were judged. Where the graph is known, after keep() of all nodes before it.
  Inputs inputs_of(const NodeResult& node) const;
  Heritage of_row(const NodeResult& node, const Inputs& inputs, const Comparison& row) const;
  // Remembers a node that was judged, where the graph is known; otherwise nothing.
  void keep(const NodeResult& node, Inputs inputs);

 private:
  std::optional<Tensor> tensor_of(const Comparison& row) const;
  Heritage handed_on(const Inputs& inputs, const ModelPlace& place, const Comparison& output) const;
  const Tensor* find_result(const InputSource& source) const;

  struct Operator {
    Inputs inputs;
    ModelPlace place;
  };
  bool is_amplified(const Tensor& tensor, const NodeResult& node, const Inputs& inputs,
                    const Comparison& row) const;
  const int error_column_, max_column_, rms_column_;
  std::unordered_map<int64_t, Tensor> results_;            // by result_key
  std::unordered_map<int32_t, Operator> without_results_;  // by node: none of its results has a row
};

}  // namespace assay
