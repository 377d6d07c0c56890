// The time is an input: read once in main, carried in the request. ASSAY_NOW=2025-01-02T03:04:05Z fixes it
// for tests.
#pragma once

#include "assay/base/result.h"

#include <cstdint>
#include <string>

namespace assay {

struct Moment {
  int64_t seconds = 0;  // since 1970, UTC
};

Result<Moment> read_clock();

std::string local_stamp(Moment moment);    // 20250102030405 in the zone of TZ
std::string local_time(Moment moment);     // 2025-01-02 03:04:05 in the zone of TZ
std::string utc_stamp(Moment moment);      // 20250102030405
std::string beijing_stamp(Moment moment);  // the same eight hours ahead of UTC, whatever the zone
std::string iso_time(Moment moment);       // 2025-01-02T03:04:05Z

}  // namespace assay
