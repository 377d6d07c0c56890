#include "assay/base/caller.h"

#include "assay/base/caller_test_tools.h"
#include "assay/base/cancel.h"
#include "assay/base/console.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <thread>

namespace assay {
namespace {

using testing::HasSubstr;

TEST(CallerScope, IsOfItsThreadAndEnds) {
  Listener outer, inner;
  EXPECT_EQ(current_caller(), nullptr);
  {
    const CallerScope first(&outer);
    {
      const CallerScope second(&inner);
      EXPECT_EQ(current_caller(), &inner);
      std::thread([] { EXPECT_EQ(current_caller(), nullptr); }).join();
    }
    EXPECT_EQ(current_caller(), &outer);
  }
  EXPECT_EQ(current_caller(), nullptr);
}

struct Count {
  int value = 0;
};
struct OtherCount {
  int value = 0;
};

TEST(OfCaller, KeepsOneForEachCallerAndOneForTheProgram) {
  Listener a, b;
  of_caller<Count>().value = 1;
  {
    const CallerScope scope(&a);
    EXPECT_EQ(of_caller<Count>().value, 0);
    of_caller<Count>().value = 2;
    EXPECT_EQ(of_caller<OtherCount>().value, 0);
  }
  {
    const CallerScope scope(&b);
    EXPECT_EQ(of_caller<Count>().value, 0);
  }
  const CallerScope scope(&a);
  EXPECT_EQ(of_caller<Count>().value, 2);
  const CallerScope of_program(nullptr);
  EXPECT_EQ(of_caller<Count>().value, 1);
}

TEST(Caller, HearsWhatWouldBePrinted) {
  Listener caller;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    const CallerScope scope(&caller);
    console::print("{}\n", "a\x1b[2J");
    ASSERT_TRUE(console::write_line(console::Stream::err, "careful"));
    EXPECT_TRUE(console::flush());
    EXPECT_FALSE(console::is_terminal(console::Stream::out));
    EXPECT_FALSE(console::has_width());
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(caller.output, "a\\x1b[2J\n");  // printable, to whomever
  EXPECT_EQ(caller.messages, "careful\n");
}

TEST(Caller, IsCancelledAlone) {
  Listener a, b;
  a.cancel();
  EXPECT_FALSE(cancelled());
  {
    const CallerScope scope(&a);
    EXPECT_TRUE(cancelled());
    EXPECT_EQ(check_cancelled().error().kind, ErrorKind::cancelled);
  }
  const CallerScope scope(&b);
  EXPECT_FALSE(cancelled());
}

TEST(Caller, OutlivesAFaultOfOurs) {
  Listener caller;
  const CallerScope scope(&caller);
  try {
    ASSAY_CHECK(1 + 1 == 3);
    FAIL();
  } catch (const std::logic_error& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("1 + 1 == 3"));
  }
}

}  // namespace
}  // namespace assay
