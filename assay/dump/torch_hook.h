// Dumps of msit's hooks on torch modules: torch_tensors/{device}_{pid}/ with model_tree.json and
// {token}/{module}/{input,output}*.pth. One frame per rank and token. docs/formats/torch_hook.md
#pragma once

#include "assay/dump/layout.h"

namespace assay {

extern const Layout torch_hook_layout;

}  // namespace assay
