// What each tensor of a run may be off by, kept in the order in which the run made them: what its operator
// rounds by itself, and what its inputs bring along. It serves dumps that know no graph but name what every
// call was given and what it gave (msprobe): a tensor that was given is known again by its errors, which no
// other has.
#pragma once

#include "assay/judge/error_gain.h"
#include "assay/judge/judge.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace assay {

// What a tensor may be off by, and why.
struct Allowance {
  double relative = 0;   // rel_l2
  double largest = 0;    // max_abs of elements, whatever their size
  int ulps = 0;          // as good as equal
  double own = 0;        // what its operator rounds by itself, relative
  double inherited = 0;  // what its inputs bring along, relative
  enum class Source : uint8_t {
    made,   // by an operator whose inputs were compared
    known,  // a tensor that was judged where it was made
    given,  // nothing says what made it: what the type allows, and the errors seen so far
  } source = Source::given;
  std::string text() const;  // "0.01 allowed: 0.004 of its own, 0.006 of its inputs"
};

class Ledger {
 public:
  // Whether the dumps of a section are of the kind that it serves.
  static bool serves(const Head& head);

  explicit Ledger(const Head& head);

  void begin(const NodeResult& node);
  // Of a row of that node, inputs before outputs; none: rounding has no say in it, or its elements were not
  // compared.
  std::optional<Allowance> of_row(const Comparison& row);
  // Takes note of a row that was judged, so that what follows may inherit from it.
  void enter(const Comparison& row, const std::optional<Allowance>& allowance);

 private:
  struct Value {
    GivenError error;
    double relative, largest;  // allowed
  };

  void look_up();
  std::optional<GivenError> error_of(const Comparison& row) const;
  const Value* find(const GivenError& error) const;
  Allowance of_output(const Comparison& row, const GivenError& error) const;
  Allowance of_given(const Comparison& row, const GivenError& error) const;

  const int error_column_, max_column_, rms_column_;
  std::unordered_map<uint64_t, std::vector<Value>>
      values_;  // by the sizes of their errors and the number of elements
  // By CallName::key: what a call was given and what it gave.
  std::unordered_map<uint64_t, std::vector<GivenError>> forward_;
  double drift_ = 0;  // the largest error so far that was no fault

  std::string_view name_;  // of the call at hand; what follows is looked up when it is asked for
  bool is_looked_up_ = false;
  Operation operation_;
  bool is_composite_ = false;                      // a module of which no more is known than its class
  std::vector<GivenError> given_;                  // to the operator at hand
  std::vector<GivenError>* own_ = nullptr;         // of this call, which runs forwards
  const std::vector<GivenError>* used_ = nullptr;  // of the forward call that it runs backwards
};

}  // namespace assay
