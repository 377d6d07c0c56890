// assay view: the page, served to a browser on this machine, with tensors read when they are asked for.
// What it answers: docs/page.md, "The REST interface".
#pragma once

#include "assay/run/compare/compare.h"

#include <functional>

namespace assay {

struct ViewRequest {
  fs::path report;         // a database, a page, or a folder that holds one; empty: dumps are compared
  CompareRequest compare;  // the dumps, and how tensors are looked at
  // How the command line of a report read its dumps and paired tensors; null: nobody knows.
  std::function<Result<void>(std::string_view command, CompareRequest&)> pair_as = {};
  int port = 0;  // 0: any that is free
  bool opens_browser = true;
};

Result<void> view(const ViewRequest& request);  // until Ctrl-C

}  // namespace assay
