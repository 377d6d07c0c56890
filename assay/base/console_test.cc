#include "assay/base/console.h"

#include "assay/base/hostile_texts.h"

#include <gmock/gmock.h>

namespace assay::console {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::CaptureStdout;
using ::testing::internal::GetCapturedStderr;
using ::testing::internal::GetCapturedStdout;

template <class Write>
std::string written(Write write) {
  CaptureStdout();
  write();
  EXPECT_TRUE(flush());
  return GetCapturedStdout();
}

TEST(Console, ALineIsOneLineWhateverItHolds) {
  CaptureStderr();
  EXPECT_TRUE(write_line(Stream::err, "a\nassay: all is well\x1b[1A"));
  EXPECT_EQ(GetCapturedStderr(), "a\\x0aassay: all is well\\x1b[1A\n");
  const std::string line = written([] { EXPECT_TRUE(write_line(Stream::out, hostile_name())); });
  EXPECT_EQ(hostile_part(line), "");
}

TEST(Console, TextKeepsItsLinesAndNothingElse) {
  const std::string text =
      written([] { EXPECT_TRUE(write_text(Stream::out, "層\n\x1b[31m" + hostile_name() + "\n\n")); });
  EXPECT_TRUE(text.starts_with("層\n\\x1b[31mn"));
  EXPECT_TRUE(text.ends_with("\n\n"));
  EXPECT_EQ(hostile_part(text), "");
}

TEST(Console, ColoursAreKeptWhereTheyAreWanted) {
  const std::string text = written([] {
    EXPECT_TRUE(
        write_text(Stream::out, "\x1b[1;31mFAIL\x1b[0m \x1b[2J\x1b]0;x\x07\x1b[31\n\x1b", Colours::kept));
  });
  EXPECT_EQ(text, "\x1b[1;31mFAIL\x1b[0m \\x1b[2J\\x1b]0;x\\x07\\x1b[31\n\\x1b");
}

TEST(Console, PrintTrustsItsTextAndNotItsArguments) {
  const std::string hostile = hostile_name();
  EXPECT_EQ(written([] { print("{}:\n{:>4} {}\n", "a\nb", 7, std::string_view("\x9b")); }),
            "a\\x0ab:\n   7 \\x9b\n");
  EXPECT_EQ(hostile_part(written([&] { print("{}\n", hostile); })), "");
  EXPECT_EQ(format_shown("{:<6}|", "\xc2\x85"), "\\xc2\\x85|");
}

TEST(Console, ReportsAreWrittenAsTheyAre) {
  EXPECT_EQ(written([] { EXPECT_TRUE(write_report("a\tb\r\n")); }), "a\tb\r\n");
}

TEST(Console, AProgressLineTakesThePlaceOfTheLastOne) {
  CaptureStderr();
  redraw_line("comparing \x1b[2J\n");
  redraw_line("");
  EXPECT_EQ(GetCapturedStderr(), "\r\x1b[Kcomparing \\x1b[2J\\x0a\r\x1b[K");
}

}  // namespace
}  // namespace assay::console
