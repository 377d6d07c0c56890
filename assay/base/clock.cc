#include "assay/base/clock.h"

#include <cstdlib>
#include <ctime>

namespace assay {
namespace {

std::string format_time(const std::tm& time, const char* pattern) {
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, pattern, &time));
}

}  // namespace

Result<Moment> read_clock() {
  const char* fixed = std::getenv("ASSAY_NOW");
  if (fixed == nullptr) return Moment{std::time(nullptr)};
  std::tm time{};
  const char* end = ::strptime(fixed, "%Y-%m-%dT%H:%M:%SZ", &time);
  if (end == nullptr || *end != '\0')
    return fail(ErrorKind::bad_argument, "ASSAY_NOW is '{}'; expected a time such as 2025-01-02T03:04:05Z",
                fixed);
  return Moment{::timegm(&time)};
}

namespace {

std::string format_local(Moment moment, const char* format) {
  const std::time_t seconds = moment.seconds;
  std::tm time{};
  ::localtime_r(&seconds, &time);
  return format_time(time, format);
}

}  // namespace

std::string local_stamp(Moment moment) { return format_local(moment, "%Y%m%d%H%M%S"); }
std::string local_time(Moment moment) { return format_local(moment, "%Y-%m-%d %H:%M:%S"); }

std::string utc_stamp(Moment moment) {
  const std::time_t seconds = moment.seconds;
  std::tm time{};
  ::gmtime_r(&seconds, &time);
  return format_time(time, "%Y%m%d%H%M%S");
}

std::string beijing_stamp(Moment moment) { return utc_stamp({moment.seconds + 8 * 3600}); }

std::string iso_time(Moment moment) {
  const std::time_t seconds = moment.seconds;
  std::tm time{};
  ::gmtime_r(&seconds, &time);
  return format_time(time, "%Y-%m-%dT%H:%M:%SZ");
}

}  // namespace assay
