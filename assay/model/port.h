// Which tensor of an operator is meant.
#pragma once

#include <cstdint>

namespace assay {

enum class Direction : uint8_t { none, input, output, parameter, parameter_gradient };

// Numbers of the parameters of a module.
inline constexpr int kWeightPort = 0, kBiasPort = 1;

// When a tensor of an operator was dumped: what it works on in place is another one afterwards.
enum class Phase : uint8_t { not_said, before, after };

struct Port {
  constexpr Port() = default;
  constexpr Port(Direction which, int number, Phase when = Phase::not_said)
      : direction(which), phase(when), index(number) {}

  Direction direction = Direction::none;
  Phase phase = Phase::not_said;
  bool is_again = false;  // saved a second time under the same name: the operator ran more than once
  int index = 0;
};

}  // namespace assay
