#include "assay/tensor/dtype.h"
#include "cli/commands.h"
#include "library/guarded.h"

namespace assay::library {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

assay_status refuse(const Error& error) {
  const auto status = [&] {
    switch (error.kind) {
      case ErrorKind::bad_argument:
      case ErrorKind::mismatch:
        return ASSAY_BAD_ARGUMENT;
      case ErrorKind::unsupported:
        return ASSAY_UNSUPPORTED;
      case ErrorKind::not_found:
        return ASSAY_NOT_FOUND;
      case ErrorKind::bad_format:
      case ErrorKind::limit:
        return ASSAY_BAD_FILE;
      case ErrorKind::cancelled:
        return ASSAY_CANCELLED;
      case ErrorKind::io:
      case ErrorKind::not_compared:
        break;
    }
    return ASSAY_FAILED;
  };
  return refuse(status(), error.message);
}

}  // namespace assay::library

using namespace assay::library;

int assay_abi_version(void) { return ASSAY_ABI_VERSION; }
const char* assay_version(void) { return assay::cli::kVersion; }
const char* assay_last_error(void) { return last_error().c_str(); }

int assay_dtype_from_name(const char* name) {
  int found = -1;
  guarded([&] {
    if (const auto dtype = assay::find_dtype(name == nullptr ? "" : name)) found = static_cast<int>(*dtype);
    return ASSAY_OK;
  });
  return found;
}

const char* assay_dtype_name(int dtype) {
  if (dtype < 0 || dtype >= assay::kDTypeCount) return nullptr;
  return assay::name(static_cast<assay::DType>(dtype)).data();  // a literal: it ends with a zero
}

int assay_dtype_size(int dtype) {
  if (dtype < 0 || dtype >= assay::kDTypeCount) return 0;
  return static_cast<int>(assay::size_of(static_cast<assay::DType>(dtype)));
}
