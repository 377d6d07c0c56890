#include "assay/run/compare/shared_bands.h"

namespace assay {
namespace {

thread_local SharedBands* of_thread = nullptr;

}  // namespace

SharedBands* current_shared_bands() { return of_thread; }

SharedBandsScope::SharedBandsScope(SharedBands* shared) { of_thread = shared; }
SharedBandsScope::~SharedBandsScope() { of_thread = nullptr; }

}  // namespace assay
