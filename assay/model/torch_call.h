// Calls of functions of torch, as dumps of msprobe and FX name them and their arguments.
#pragma once

#include "assay/model/dump.h"

#include <string>

namespace assay {

// "linear" of the node "Functional.linear.0.forward" of msprobe, "mm" of the target "aten.mm.default" of FX.
// Empty: it is a module, runs backwards, or works on its input in place.
std::string torch_function(const Frame& frame, const Node& node);

// Which argument of its call an input is.
struct ArgumentPlace {
  int place = -1;              // -1: it was named, or nobody can tell
  int part = -1;               // of a list
  std::string_view name = {};  // where it was named

  bool is_known() const { return place >= 0 || !name.empty(); }
};
ArgumentPlace argument_place(const Frame& frame, const Node& node, const Item& item);

}  // namespace assay
