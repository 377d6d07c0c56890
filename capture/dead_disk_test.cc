#include "capture/folder_test.h"
#include "capture/writer.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace assay::capture {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class DeadDiskTest : public FolderTest {};

// A disk on which nothing gets done until it is let go.
class DeadDisk {
 public:
  ~DeadDisk() { revive(); }
  Task task(std::string path) const {
    Task out{.path = std::move(path)};
    out.around = [state = state_](const Statistics&, bool) -> std::optional<Parts> {
      while (std::this_thread::get_id() != state->caller && !state->is_alive)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return Parts{};
    };
    return out;
  }
  void revive() { state_->is_alive = true; }

 private:
  struct State {
    std::atomic<bool> is_alive{false};
    std::thread::id caller = std::this_thread::get_id();
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

TEST_F(DeadDiskTest, IsWaitedForOnce) {
  ::testing::internal::CaptureStderr();
  Writer writer({.root = root_, .budget = 100'000, .threads = 1, .patience_ms = 400});
  DeadDisk disk;
  const std::string data(40'000, 'x'), large(80'000, 'y');
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 22; ++i) writer.save(disk.task(at(std::to_string(i))), {as_bytes(data)});  // two fit
  writer.save(disk.task(at("large")), {as_bytes(large)});  // would be written by its owner
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(4 * 400));
  EXPECT_EQ(writer.tally().lost, 21);
  EXPECT_EQ(writer.tally().lost_bytes, 20 * 40'000 + 80'000);
  disk.revive();
  ASSERT_TRUE(writer.flush(10000));
  writer.save(disk.task(at("later")), {as_bytes(data)});
  writer.save(disk.task(at("later_large")), {as_bytes(large)});
  EXPECT_TRUE(writer.close());
  EXPECT_EQ(writer.tally().tensors, 4);
  EXPECT_EQ(writer.tally().lost, 21);
  EXPECT_THAT(names(), UnorderedElementsAre("0", "1", "later", "later_large", "capture.json"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("21 files (859.4 KiB) were lost"));
}

TEST_F(DeadDiskTest, IsToldAtTheEndWithWhatItHasNotTaken) {
  static std::atomic<int> released{0};
  released = 0;
  ::testing::internal::CaptureStderr();
  const std::string data(1000, 'x');
  DeadDisk disk;
  Writer writer({.root = root_, .threads = 2, .patience_ms = 100});
  for (int i = 0; i < 5; ++i)
    writer.save(disk.task(at(std::to_string(i))), {as_bytes(data), [](void*) { ++released; }, nullptr});
  for (int i = 0; i < 7; ++i) writer.append(at("t.csv"), "", "line\n");
  EXPECT_FALSE(writer.close());
  EXPECT_EQ(released, 3);  // those that no thread has in hand
  EXPECT_THAT(text("capture.json"), HasSubstr("\"lost_lines\":7,\"lost\":12,\"lost_bytes\":5"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("5 files and 7 lines of tables ("));
  // What is written after all is not lost.
  disk.revive();
  for (int i = 0; i < 1000 && released < 5; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(released, 5);
  for (int i = 0; i < 1000 && text("capture.json").find("\"lost\":10,") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_THAT(text("capture.json"), HasSubstr("\"tensors\":2,"));
  EXPECT_THAT(text("capture.json"), HasSubstr("\"lost_lines\":7,\"lost\":10,"));
  EXPECT_THAT(names(), UnorderedElementsAre("0", "1", "capture.json"));
}

}  // namespace
}  // namespace assay::capture
