// The files of TorchAir's compaction script: X.npy becomes X_min_max.npy, a GE dump Y becomes Y_min_max.npz.
// They hold the smallest and the largest element of every tensor. docs/formats/stats.md
#pragma once

#include "assay/format/format.h"
#include "assay/tensor/extremes.h"

namespace assay {

inline constexpr std::string_view kMinMaxNpy = "_min_max.npy", kMinMaxNpz = "_min_max.npz";

bool is_min_max_name(std::string_view name);

// The name that the dump had given it: "X.npy" of "X_min_max.npy", "Y" of "Y_min_max.npz"; nothing for
// others.
std::optional<std::string> name_before_min_max(std::string_view name);

// ----- writing
// One array [min, max] in the type of the tensor; in the next wider one where NumPy has no such type.
StoredTensor min_max_array(const Extremes& tensor);

// Members "inputs" and "outputs": a row [min, max] for each, all in the type that NumPy promotes them to.
// A third one, "others", only where the file has buffers or spaces.
std::vector<StoredTensor> min_max_tables(std::span<const Extremes> inputs, std::span<const Extremes> outputs,
                                         std::span<const Extremes> others);

// ----- reading
bool is_min_max_archive(const fs::path& path);  // by its name
// A tensor of two elements for every row, named as those of a dump file: "input.0". What does not look like
// such an archive stays as it is.
Result<TensorSet> split_min_max(TensorSet archive);

// ----- how NumPy joins types
DType numpy_stand_in(DType dtype);  // bf16 → f32, i4 → i8; those that NumPy has are their own
DType numpy_promotion(DType left, DType right);  // of types that NumPy has

}  // namespace assay
