// Which of the possible arrangements it is: some elements are looked at.
#pragma once

#include "assay/match/alike/arrange.h"
#include "assay/match/alike/contents.h"

#include <map>

namespace assay {

// Fewer may be equal by chance.
inline constexpr int64_t kElementsThatTell = 16;

struct Solved {
  size_t which = 0;                  // of the arrangements that were asked for
  size_t rivals = 0;                 // others that fit as well: the data do not tell
  std::vector<size_t> misfits = {};  // parts that hold something else
  bool is_constant = false;          // one number throughout, which lies in any way
  bool is_finite = true;             // some element that was looked at is: NaN fits everywhere
};

enum class PartsThatFit : uint8_t {
  all,
  some,  // the others lie in what these leave
};

// What is looked for: a tensor, or a stretch of its elements.
struct SoughtPart {
  PlanSource from;
  int64_t count = 0;
  int64_t first = 0;  // element of the tensor
};

class Solver {
 public:
  explicit Solver(const Contents& contents) : contents_(contents) {}

  // Whether a few elements lie as this arrangement says, which others of its kind have shown. Fewer do where
  // the names say that they belong together.
  bool is_likely(std::span<const SoughtPart> parts, std::span<const PlanSource> sources,
                 const std::vector<Arrangement>& arrangement, bool by_name = false) const;
  // Each candidate holds an arrangement of every part in the sources. Nothing where none fits.
  std::optional<Solved> solve(std::span<const SoughtPart> parts, std::span<const PlanSource> sources,
                              std::span<const std::vector<Arrangement>> candidates,
                              PartsThatFit wanted = PartsThatFit::all) const;

 private:
  struct Probe {
    std::vector<int64_t> places;
    std::vector<double> values;
    double mean = 0, spread = 0;  // of the finite ones: a norm's weights are all near 1
    bool is_finite = false;       // one at least is
  };
  Probe probe(const SoughtPart& part, size_t elements) const;
  const std::vector<int64_t>& places_of(int64_t count, size_t elements) const;
  // The share of the elements that are where the arrangement says.
  double fit(const Probe& probe, const Arrangement& arrangement, std::span<const PlanSource> sources) const;
  // … of every part; short where one does not fit and all are wanted.
  std::vector<double> fit_all(std::span<const Probe> probes, const std::vector<Arrangement>& candidate,
                              std::span<const PlanSource> sources, double least, PartsThatFit wanted) const;
  bool is_padding_zero(const Arrangement& arrangement, std::span<const PlanSource> sources) const;

  const Contents& contents_;
  mutable std::map<std::pair<int64_t, size_t>, std::vector<int64_t>> places_;  // layers are of one size
};

}  // namespace assay
