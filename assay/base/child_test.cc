#include "assay/base/child.h"

#include <gtest/gtest.h>

#include <csignal>

namespace assay {
namespace {

using Words = std::vector<std::string>;

TEST(SplitCommand, TakesQuotesAsShellsDo) {
  EXPECT_EQ(split_command("bash run.sh").value(), (Words{"bash", "run.sh"}));
  EXPECT_EQ(split_command("  a\t'b c'  \"d 'e'\" ").value(), (Words{"a", "b c", "d 'e'"}));
  EXPECT_EQ(split_command(R"(a\ b "c\"d" 'e\f' "g\h")").value(), (Words{"a b", "c\"d", "e\\f", "g\\h"}));
  EXPECT_EQ(split_command("--x='1 2'3 ''").value(), (Words{"--x=1 23", ""}));
  EXPECT_EQ(split_command("a '>' \"$HOME\" '*' b;c").value(), (Words{"a", ">", "$HOME", "*", "b;c"}));
}

TEST(SplitCommand, RefusesWhatOnlyAShellUnderstands) {
  for (const std::string_view line :
       {"a > b", "a | b", "a && b", "a $x", "a `b`", "a *", "~/a", "a {b,c}", "(a)", "a; b", "a ;", "a;"}) {
    const auto words = split_command(line);
    ASSERT_FALSE(words) << line;
    EXPECT_NE(words.error().message.find("means something to a shell"), std::string::npos);
  }
}

TEST(SplitCommand, RefusesQuotesLeftOpenAndNothingAtAll) {
  EXPECT_FALSE(split_command("a 'b"));
  EXPECT_FALSE(split_command("a \"b"));
  EXPECT_FALSE(split_command("   "));
}

TEST(RunChild, GivesStatusAndSignal) {
  EXPECT_EQ(run_child({"sh", "-c", "exit 7"}, {}).value().status, 7);
  const ChildEnd killed = run_child({"sh", "-c", "kill -9 $$"}, {}).value();
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_EQ(killed.status, 128 + SIGKILL);
}

TEST(RunChild, ChangesTheEnvironment) {
  ::setenv("ASSAY_TEST_GONE", "1", 1);
  const Words command = {"sh", "-c",
                         "test \"$ASSAY_TEST_NEW\" = 'a b' && test -z \"${ASSAY_TEST_GONE+set}\""};
  EXPECT_EQ(run_child(command, {{"ASSAY_TEST_NEW", "a b"}, {"ASSAY_TEST_GONE", std::nullopt}}).value().status,
            0);
  EXPECT_EQ(run_child({"sh", "-c", "test \"$ASSAY_TEST_GONE\" = 1"}, {}).value().status, 0);
}

// What we ignore for our own sake, a program would not expect.
TEST(RunChild, HandsOnSignalsAsTheyWere) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(run_child({"sh", "-c", "kill -PIPE $$; exit 0"}, {}).value().signal, SIGPIPE);
  std::signal(SIGPIPE, before);
}

TEST(RunChild, SaysThatThereIsNoSuchProgram) {
  EXPECT_EQ(run_child({"./no_such_program"}, {}).error().kind, ErrorKind::not_found);
  EXPECT_EQ(run_child({"/"}, {}).error().kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace assay
