#include "cli/msit_compare.h"

namespace assay::cli {

int run_msit_compare(const MsitCompareFlags&, Tool tool, const Context&) {
  end_msit(tool,
           "compare is not served by assay yet; 'assay compare MINE GOLDEN' compares two files or folders");
  return 2;
}

}  // namespace assay::cli
