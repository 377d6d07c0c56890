// What functions of the user's own said of a row, as the tables of msit have it.
#pragma once

#include "assay/report/report.h"

#include <span>

namespace assay {

// A column of the number-th function.
Column answer_column(std::string title, size_t number);

// `first`, then the messages that there are, each behind the name of its function where `names` has one.
std::string join_messages(std::string first, std::string_view between,
                          const std::vector<AlgorithmAnswer>* answers, std::span<const std::string> names);

// As Python prints it.
std::string python_text(const Value& value);

}  // namespace assay
