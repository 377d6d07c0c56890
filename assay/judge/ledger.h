// The account of errors of a run: what each tensor may be off by, kept in the order in which the run made
// them. An output may have what its operator rounds by itself and what the measured errors of its inputs
// become in it; only where nothing is known of the inputs does the depth of the model decide.
//
// Which tensor an input is, is told by the graph where there is one (Pairing::sources), and by its errors
// otherwise, which no other tensor has.
#pragma once

#include "assay/judge/error_gain.h"
#include "assay/judge/judge.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace assay {

// What a tensor may be off by, and why.
struct Allowance {
  double relative = 0;   // rel_l2
  double largest = 0;    // max_abs of elements, whatever their size
  int ulps = 0;          // as good as equal
  double own = 0;        // what its operator rounds by itself, relative
  double inherited = 0;  // what its inputs bring along, relative
  Account account = {};
  std::string text() const;  // "0.01 of its own and 0.006 of its inputs are expected"
};

class Ledger {
 public:
  // Whether an account is kept of a node; of any in a section, so that verdicts depend on those before.
  static bool keeps(const Head& head, const NodeResult& node);
  static bool keeps_order(const Head& head, const Pairing& pairing);

  explicit Ledger(const Head& head);

  // The rows of a node are asked for and entered one after the other, what it was given before what it gave.
  void begin(const NodeResult& node);
  void end_of_inputs();
  void end();

  // place: of the row, which may be judged by a coarser type than its own. None: rounding has no say in it,
  // or nothing is known but its type and its depth.
  std::optional<Allowance> of_row(const Comparison& row, const ModelPlace& place);
  // Takes note of a row that was judged, so that what follows may inherit from it.
  void enter(const Comparison& row, const std::optional<Allowance>& allowance, const ModelPlace& place);

  // The relative errors of what the node at hand was given, added up; infinite where they are not known.
  double sum_of_inputs() const;

  // Of a row that fails: the choice that it follows from, where runs that differ in it differ in this by
  // nature; empty: none.
  std::string_view flip_behind(const Comparison& row) const;
  // The last choice that differs; empty: none so far.
  std::string_view last_flip() const { return flip_; }

 private:
  struct Value {
    GivenError error;          // measured
    double relative, largest;  // allowed
    GivenError handed_on;      // of what fails, no more than was expected of it
  };
  // An operator of which no result was compared.
  struct Maker {
    Operation operation;
    ModelPlace place;
    std::vector<GivenError> given;
    bool lacks_inputs = false;
    GivenError estimate;
  };

  void look_up();
  bool is_asked(const Comparison& row) const;
  std::optional<GivenError> error_of(const Comparison& row) const;
  const Value* find(const GivenError& error) const;
  const Value* find_result(const InputSource& source) const;
  const Maker* find_maker(const InputSource& source) const;
  Allowance of_made(const Comparison& row, const GivenError& error, const Operation& operation,
                    const ModelPlace& place, std::span<const GivenError> given, bool lacks_inputs) const;
  Allowance of_given(const Comparison& row, const GivenError& error, const ModelPlace& place) const;
  Allowance of_known(const Comparison& row, const Value& value, const ModelPlace& place) const;
  std::optional<Allowance> of_bias_gradient(const Comparison& row, const GivenError& error,
                                            const ModelPlace& place) const;

  const bool names_calls_;  // msprobe: backward calls, modules of a class
  const int error_column_, max_column_, rms_column_;
  std::vector<Value> values_;
  std::unordered_map<uint64_t, std::vector<int32_t>> by_error_;  // by their size and the number of elements
  std::unordered_map<int64_t, int32_t> by_result_;               // by result_key
  std::unordered_map<int32_t, Maker> makers_;                    // by node
  // By CallName::key: what a call was given and what it gave.
  std::unordered_map<uint64_t, std::vector<GivenError>> forward_;
  double drift_ = 0;            // the largest error so far that was no fault
  std::string_view flip_ = {};  // the last choice that differs
  // Whole numbers that differ since a choice did, known again by how far they are apart.
  std::unordered_set<uint64_t> flipped_;
  std::optional<uint64_t> choice_key(const Comparison& row) const;

  const NodeResult* node_ = nullptr;  // at hand; what follows is looked up when it is asked for
  bool is_looked_up_ = false;
  Operation operation_;
  bool is_composite_ = false;               // of which no more is known than its class
  std::vector<GivenError> given_;           // to the operator at hand
  bool has_input_ = false;                  // and not weights alone
  bool lacks_inputs_ = false;               // nothing is known of some of them
  bool has_flipped_input_ = false;          // one that cannot be measured, since a choice differs
  bool has_result_ = false;                 // one of its results was compared
  std::vector<GivenError>* own_ = nullptr;  // of this call, which runs forwards
  // Of the forward call that it runs backwards, or whose weights these are gradients of.
  const std::vector<GivenError>* used_ = nullptr;
};

}  // namespace assay
