// Inside of Expression: a rule as a list of steps, each of which uses only earlier ones. Evaluating it is one
// loop, so that no rule, however long, can exhaust the stack.
#pragma once

#include "assay/base/result.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Numbers first, conditions from `less` on.
enum class RuleOp : uint8_t {
  number,
  name,
  negate,
  add,
  subtract,
  multiply,
  divide,
  absolute,
  minimum,
  maximum,
  square_root,
  log10,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logic_not,
  logic_and,
  logic_or,
};
inline bool is_condition(RuleOp op) { return op >= RuleOp::less; }
inline bool is_comparison(RuleOp op) { return op >= RuleOp::less && op <= RuleOp::not_equal; }

struct RuleStep {
  RuleOp op = RuleOp::number;
  int32_t left = -1, right = -1;  // earlier steps; right is -1 for operators of one operand
  int32_t name = -1;              // index into RuleProgram::names
  double number = 0;
  int32_t begin = 0, end = 0;  // where it stands in the text
};

struct RuleProgram {
  std::string text;
  std::vector<std::string> names;
  std::vector<RuleStep> steps;  // the last one is the rule itself, a condition
};

Result<std::shared_ptr<const RuleProgram>> compile_rule(std::string_view text);

}  // namespace assay
