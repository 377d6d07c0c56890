// assay convert: tensors from any format that can be read to any that can be written.
#pragma once

#include "assay/dump/layout.h"

#include <map>

namespace assay {

struct ConvertRequest {
  fs::path in;
  fs::path out;                // a file, whose suffix says the format; or a folder
  bool out_is_folder = false;  // the path ended with a slash, or in is a folder
  std::string to;              // format of the files in a folder: npy, npz, pt, safetensors, bin; empty: npy
  std::optional<DType> dtype;  // every tensor becomes this; empty: as it is
  bool all_dtypes = false;     // … also integers and bool become a real type
  bool widen_bf16 = false;     // … and those of bf16 become f32
  bool force = false;          // replace what exists
  OpenOptions open;
  bool progress = false;
};

struct ConvertOutcome {
  int64_t files = 0, tensors = 0, values = 0;          // written; values are no tensors
  std::vector<fs::path> replaced;                      // of those written: there was such a file before
  std::map<std::pair<DType, DType>, int64_t> changed;  // how many tensors became another type, from and to
  std::vector<std::string> overflowed;  // tensors with finite numbers that are not finite in the new type
  int64_t kept_integers = 0;            // tensors that --dtype left as they are
  std::vector<std::string> dropped;     // what the files hold beside tensors, a line each
  std::vector<std::string> failures;    // what could not be converted, a line each; everything else was
};

// Every output file appears whole or not at all. A file is converted or is an error; of a folder, one bad
// tensor is a failure among others and the rest is converted.
Result<ConvertOutcome> convert(const ConvertRequest& request);

}  // namespace assay
