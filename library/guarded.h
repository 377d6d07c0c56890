// What every function of the interface does: it lets no exception out, and keeps the reason of a refusal for
// the thread that asked.
#pragma once

#include "assay/base/result.h"
#include "include/assay/assay.h"

#include <exception>
#include <string>

namespace assay::library {

std::string& last_error();  // of this thread

inline assay_status refuse(assay_status status, std::string reason) {
  last_error() = std::move(reason);
  return status;
}
assay_status refuse(const Error& error);

template <class Body>
assay_status guarded(Body body) noexcept {
  try {
    last_error().clear();
    return body();
  } catch (const std::exception& trouble) {
    try {
      return refuse(ASSAY_FAILED, trouble.what());
    } catch (...) {
      return ASSAY_FAILED;
    }
  } catch (...) {
    return ASSAY_FAILED;
  }
}

}  // namespace assay::library
