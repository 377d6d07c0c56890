// The account of one row: what a tensor may be off by, and what that was made of.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace assay {

struct Account {
  // What the bound was made of.
  enum class Basis : uint8_t {
    made,     // what its operator rounds by itself, and what its inputs bring along
    known,    // it is the tensor of another row, and judged as that was
    depth,    // nothing is known of what it was computed from but how much of the model lies before it
    largest,  // … but the errors of the run so far
    type,     // nothing computed it, or nothing is known
  };
  struct Input {
    std::string_view name;     // of its row, or of the row where it was made; empty: none was compared
    float error = 0;           // relative
    float gain = 0;            // what of it becomes a relative error of the output
    bool is_estimate = false;  // nothing of it was compared: what its own operator may have made
  };
  Basis basis = Basis::type;
  std::string_view from = {};  // the row where it was made; empty: this one, or not known
  std::vector<Input> inputs = {};
  bool lacks_inputs = false;  // nothing is known of some of what its operator was given
};

constexpr std::string_view text(Account::Basis basis) {
  switch (basis) {
    case Account::Basis::made:
      return "inputs";
    case Account::Basis::known:
      return "known";
    case Account::Basis::depth:
      return "depth";
    case Account::Basis::largest:
      return "largest so far";
    case Account::Basis::type:
      break;
  }
  return "type";
}

}  // namespace assay
