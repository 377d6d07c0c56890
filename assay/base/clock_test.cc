#include "assay/base/clock.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <ctime>

namespace assay {
namespace {

using ::testing::HasSubstr;

class Clock : public ::testing::Test {
 protected:
  ~Clock() override {
    ::unsetenv("ASSAY_NOW");
    ::unsetenv("TZ");
    ::tzset();
  }
};

TEST_F(Clock, CanBeFixed) {
  ::setenv("ASSAY_NOW", "2025-01-02T03:04:05Z", 1);
  const Moment now = read_clock().value();
  EXPECT_EQ(now.seconds, 1735787045);
  EXPECT_EQ(utc_stamp(now), "20250102030405");
  EXPECT_EQ(iso_time(now), "2025-01-02T03:04:05Z");
}

TEST_F(Clock, LocalTimeFollowsTheZone) {
  ::setenv("TZ", "XXX-8", 1);  // eight hours east
  ::tzset();
  EXPECT_EQ(local_stamp(Moment{1735787045}), "20250102110405");
}

TEST_F(Clock, BadTimesAreRefused) {
  for (const char* bad : {"", "yesterday", "2025-01-02", "2025-01-02T03:04:05Z later"}) {
    ::setenv("ASSAY_NOW", bad, 1);
    const auto now = read_clock();
    ASSERT_FALSE(now) << bad;
    EXPECT_EQ(now.error().kind, ErrorKind::bad_argument);
    EXPECT_THAT(now.error().message, HasSubstr("expected a time such as"));
  }
}

TEST_F(Clock, RunsOtherwise) {
  const auto before = std::time(nullptr);
  EXPECT_GE(read_clock().value().seconds, before);
}

}  // namespace
}  // namespace assay
