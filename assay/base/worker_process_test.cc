#include "assay/base/worker_process.h"

#include <gmock/gmock.h>

#include <span>

namespace assay {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

WorkerProcess::Deadline in(int64_t ms) { return std::chrono::steady_clock::now() + milliseconds(ms); }
Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
Result<WorkerProcess> shell(const std::string& script) { return WorkerProcess::start({"sh", "-c", script}); }

constexpr int64_t kLong = 20'000;

TEST(WorkerProcess, AnswersLineByLine) {
  auto worker = WorkerProcess::start({"cat"});
  ASSERT_TRUE(worker);
  ASSERT_TRUE(worker->send(bytes_of("one\ntwo\nthr"), in(kLong)));
  EXPECT_EQ(worker->receive_line(in(kLong)).value(), "one");
  EXPECT_EQ(worker->receive_line(in(kLong)).value(), "two");
  ASSERT_TRUE(worker->send(bytes_of("ee\n\n"), in(kLong)));
  EXPECT_EQ(worker->receive_line(in(kLong)).value(), "three");
  EXPECT_EQ(worker->receive_line(in(kLong)).value(), "");
  WorkerProcess moved = std::move(*worker);
  ASSERT_TRUE(moved.send(bytes_of("moved\n"), in(kLong)));
  EXPECT_EQ(moved.receive_line(in(kLong)).value(), "moved");
}

TEST(WorkerProcess, TakesMoreThanTheSocketHolds) {
  auto counted = shell("head -c 5000000 | wc -c | tr -d ' '");
  ASSERT_TRUE(counted);
  const std::string data(5'000'000, 'x');
  ASSERT_TRUE(counted->send(bytes_of(data), in(kLong)));
  EXPECT_EQ(counted->receive_line(in(kLong)).value(), "5000000");
}

TEST(WorkerProcess, WhoEndsIsSaid) {
  auto left = shell("exit 3");
  ASSERT_TRUE(left);
  EXPECT_FALSE(left->receive_line(in(kLong)));
  EXPECT_EQ(left->end(), "status 3");
  EXPECT_EQ(left->end(), "");
  auto killed = shell("kill -SEGV $$");
  ASSERT_TRUE(killed);
  EXPECT_FALSE(killed->receive_line(in(kLong)));
  EXPECT_EQ(killed->end(), "signal 11");
}

TEST(WorkerProcess, SendingToOneThatEndedIsAnErrorAndNoSignal) {
  auto worker = shell("exec <&- >&-; exit 0");
  ASSERT_TRUE(worker);
  const std::string data(1 << 20, 'x');
  Result<void> sent;
  for (int i = 0; i < 100 && sent; ++i) sent = worker->send(bytes_of(data), in(kLong));
  EXPECT_FALSE(sent);
}

TEST(WorkerProcess, PatienceEnds) {
  auto worker = shell("exec sleep 60");
  ASSERT_TRUE(worker);
  const auto begin = std::chrono::steady_clock::now();
  const auto line = worker->receive_line(in(150));
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().kind, ErrorKind::limit);
  const std::string data(8 << 20, 'x');  // nobody reads it
  EXPECT_EQ(worker->send(bytes_of(data), in(150)).error().kind, ErrorKind::limit);
  EXPECT_EQ(worker->end(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(kLong));
}

TEST(WorkerProcess, LineWithoutEndIsRefused) {
  auto worker = shell("exec cat /dev/zero");
  ASSERT_TRUE(worker);
  const auto line = worker->receive_line(in(kLong));
  ASSERT_FALSE(line);
  EXPECT_THAT(line.error().message, HasSubstr("length"));
}

TEST(WorkerProcess, ProgramThatIsNotThere) {
  const auto worker = WorkerProcess::start({"no-such-program-here"});
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().kind, ErrorKind::not_found);
  EXPECT_THAT(worker.error().message, HasSubstr("no-such-program-here"));
}

}  // namespace
}  // namespace assay
