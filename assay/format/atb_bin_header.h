// The text header of an ATB tensor file.
#pragma once

#include "assay/base/file.h"
#include "assay/base/remark.h"
#include "assay/model/value.h"
#include "assay/tensor/operand.h"

#include <optional>
#include <string>
#include <vector>

namespace assay {

struct AtbHeader {
  std::optional<int64_t> count;        // $Object.Count
  std::optional<int64_t> length;       // $Object.Length
  int64_t data_offset = 0;             // $Object.data, from the end of the header
  std::optional<int64_t> data_length;  // … and the number behind it
  std::optional<int64_t> format_code;  // format
  int64_t dtype_code = 0;              // dtype
  Shape shape;                         // dims; the product of them with the element size is known to fit
  std::string alias;                   // data: the file that holds the data instead
  std::optional<Stats> stats;          // max, min, mean, l2norm
  bool has_more = false;  // lines that are not known, or stand there twice, or say what is not known
  int64_t size = 0;       // bytes up to the data
  Remarks warnings;       // each names the file
};

Result<AtbHeader> read_atb_header(const File& file);

// Do these first bytes of a file look like a header?
bool looks_like_atb_header(std::string_view head);

}  // namespace assay
