// What a run says in the end, in one sentence. A pass says in the same sentence what was compared, and by
// what.
#pragma once

#include "assay/model/outcome.h"

#include <string>

namespace assay {

struct VerdictSentence {
  Answer answer = Answer::pass;
  std::string head;  // "PASS:", "PASS by statistics only", "NOT COMPARED:"
  std::string rest;  // "all 71 tensors agree."
  std::string text() const { return head + ' ' + rest; }
};

VerdictSentence verdict_sentence(const Summary& summary);

// How much was compared, where that is not enough: "NOT COMPARED: 3 of 40 tensors of golden were compared …".
VerdictSentence not_enough_sentence(const Summary& summary);

}  // namespace assay
