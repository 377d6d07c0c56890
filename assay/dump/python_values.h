// What Python makes of a value of JSON, where the original's rows show it.
#pragma once

#include "assay/support/json_tape.h"

#include <string>
#include <string_view>

namespace assay {

bool is_falsy(const JsonTape& tape, size_t place);

// A number or a text where an object should say what it is.
bool is_bare(const JsonTape& tape, size_t place);

// "<class 'float'>"; of place 0, where nothing stands, that of None.
std::string_view python_class(const JsonTape& tape, size_t place);

// The shape NumPy gives a list, as its text: "(3,)", "(2, 2)". A list of unequal lists counts as flat.
std::string numpy_shape(const JsonTape& tape, size_t place);

}  // namespace assay
