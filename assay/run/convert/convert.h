// assay convert: tensors from any format that can be read to any that can be written.
#pragma once

#include "assay/dump/layout.h"

namespace assay {

struct ConvertRequest {
  fs::path in;
  fs::path out;                // a file, whose suffix says the format; or a folder
  bool out_is_folder = false;  // the path ended with a slash, or in is a folder
  std::string to;              // format of the files in a folder: npy, npz, pt, safetensors, bin; empty: npy
  std::optional<DType> dtype;  // every tensor becomes this; empty: as it is
  bool widen_bf16 = false;     // … and those of bf16 become f32
  bool force = false;          // replace what exists
  OpenOptions open;
  bool progress = false;
};

struct ConvertOutcome {
  int64_t files = 0, tensors = 0;     // written
  std::vector<fs::path> replaced;     // of those written: there was such a file before
  std::vector<std::string> failures;  // what could not be converted, a line each; everything else was
};

// Every output file appears whole or not at all. A file is converted or is an error; of a folder, one bad
// tensor is a failure among others and the rest is converted.
Result<ConvertOutcome> convert(const ConvertRequest& request);

}  // namespace assay
