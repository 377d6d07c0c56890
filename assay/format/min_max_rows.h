// The archives that stand for dump files of the graph engine once they are compacted to extremes:
// members `inputs` and `outputs` with a row [min, max] for every tensor. docs/formats/torchair.md
#pragma once

#include "assay/format/format.h"

namespace assay {

bool is_min_max_archive(const fs::path& path);  // by its name, …_min_max.npz

// A tensor of two elements for every row, named as those of a dump file: "input.0". What does not look like
// such an archive stays as it is.
Result<TensorSet> split_min_max(TensorSet archive);

}  // namespace assay
