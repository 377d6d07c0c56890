// The text that stands before the data of an ATB tensor file, and the numbers in it: docs/formats/atb_bin.md
#pragma once

#include "assay/tensor/dtype.h"

#include <optional>
#include <string>
#include <string_view>

namespace assay {

struct AtbDType {
  int64_t code;
  std::string_view name;       // as the ATB tools write it
  std::optional<DType> dtype;  // empty: not something we compute with
};
const AtbDType* find_atb_dtype(int64_t code);  // null if there is none
const AtbDType* find_atb_dtype(DType dtype);   // null: ATB cannot hold it

std::string atb_format_name(int64_t code);  // "fractal_nz"; "format 77"
std::optional<int64_t> find_atb_format(std::string_view name);

// What ATB says of a tensor, as it says it: decimal codes, dimensions with commas between them.
struct AtbDescription {
  std::string_view format, dtype, dims;
};
// `bytes` of data follow, or, without them, nothing: a description. `more`: further lines, each with its end.
std::string atb_bin_header(const AtbDescription& tensor, std::optional<int64_t> bytes,
                           std::string_view more = {});

}  // namespace assay
