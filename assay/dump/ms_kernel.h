// Kernel dumps of MindSpore static graphs: folders rank_{R}/{net}/{graph}/{step} of .npy files, whose names
// say which kernel, or with a statistic.csv. One frame per rank and step. Names of files, columns of
// statistic.csv, and what makes the name of an item: docs/formats/ms_kernel.md
#pragma once

#include "assay/dump/layout.h"

namespace assay {
extern const Layout ms_kernel_layout;
}
