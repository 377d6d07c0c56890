// The arguments of an FX node that no item stands for, where their dump tells: which of its inputs a tensor
// is, is told by its number among all of them.
#pragma once

#include "assay/model/dump.h"

namespace assay {

// Name of the fact of an item: a letter for each argument, or tensor of a list, between the item before it
// and this one.
inline constexpr std::string_view kArgumentsBefore = "arguments_before";
inline constexpr char kNoTensor = 'n';  // None, a text
inline constexpr char kLost = '?';      // its file is not there, or nobody asked for it
std::string_view arguments_before(const Item& item);

}  // namespace assay
