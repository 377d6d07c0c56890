// What an operator was told beside its tensors.
#pragma once

#include "assay/model/value.h"

#include <string>
#include <vector>

namespace assay {

// One parameter. An object inside the parameters is taken apart: {"norm": {"eps": 1e-5}} is the key norm.eps;
// so is a list of lists or objects: norm.0, norm.1.
struct OpParam {
  std::string key;
  std::vector<Value> values;  // one, unless it is a list; null is an absent value, NaN and Infinity are texts
  bool is_list = false;
};

}  // namespace assay
