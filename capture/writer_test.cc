#include "capture/writer.h"

#include "capture/around.h"
#include "capture/folder_test.h"
#include "capture/fork_guard.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace assay::capture {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class WriterTest : public FolderTest {
 protected:
  WriterConfig config() const { return {.root = root_}; }
};

Task plain(std::string path) { return {.path = std::move(path)}; }
Source source(std::string_view text) { return {as_bytes(text)}; }

TEST_F(WriterTest, WritesWhatWasHandedInBeforeItCloses) {
  Writer writer(config());
  for (int i = 0; i < 100; ++i) {
    std::string own = "tensor " + std::to_string(i);
    writer.save(plain(at("a/b/" + std::to_string(i))), source(own));
    own.assign(own.size(), 'x');  // the copy was taken
  }
  writer.close();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(text("a/b/" + std::to_string(i)), "tensor " + std::to_string(i));
  EXPECT_EQ(writer.tally().tensors, 100);
  EXPECT_EQ(writer.tally().lost, 0);
}

TEST_F(WriterTest, NumbersASecondFileOfAName) {
  Writer writer(config());
  for (const char* content : {"one", "two", "three"}) {
    writer.save(plain(at("intensor0.bin")), source(content));
    writer.flush(10000);
  }
  EXPECT_EQ(text("intensor0.bin"), "one");
  EXPECT_EQ(text("intensor0.2.bin"), "two");
  EXPECT_EQ(text("intensor0.3.bin"), "three");
}

TEST_F(WriterTest, KeepsTheOrderOfFilesOfOneName) {
  Writer writer(config());
  constexpr int kNames = 500;
  for (int i = 0; i < kNames; ++i) {
    const std::string name = at(std::to_string(i));
    for (const char* content : {"one", "two", "three"}) {
      writer.save(plain(name + ".npy"), source(content));
      writer.replace(name + ".txt", content);
    }
  }
  writer.close();
  for (int i = 0; i < kNames; ++i) {
    const std::string name = std::to_string(i);
    ASSERT_EQ(text(name + ".npy") + text(name + ".2.npy") + text(name + ".3.npy"), "onetwothree") << name;
    ASSERT_EQ(text(name + ".txt"), "three") << name;
  }
}

TEST_F(WriterTest, KeepsTheOrderOfFilesThatAreTooLargeToWait) {
  WriterConfig small = config();
  small.budget = 20000;
  Writer writer(small);
  for (int i = 0; i < 100; ++i) {
    const std::string name = std::to_string(i), large(15000, 'x');
    writer.save(plain(at(name)), source("small"));
    writer.save(plain(at(name)), source(large));
  }
  writer.close();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(text(std::to_string(i)).size(), 5U) << i;
  EXPECT_EQ(writer.tally().tensors, 200);
}

TEST_F(WriterTest, NumbersManyFilesOfANameWithoutAGap) {
  constexpr int kFiles = 300;
  {
    Writer writer(config());
    for (int i = 0; i < kFiles; ++i) writer.save(plain(at("x.bin")), source("x"));
  }
  for (int i = 2; i <= kFiles; ++i) EXPECT_TRUE(fs::exists(at("x." + std::to_string(i) + ".bin"))) << i;
  EXPECT_EQ(names().size(), kFiles + 1);  // and capture.json
  fs::remove(at("x.100.bin"));
  {
    Writer writer(config());
    writer.save(plain(at("x.bin")), source("x"));
  }
  EXPECT_EQ(names().size(), kFiles + 1);
}

TEST_F(WriterTest, CountsTheBytesOfTensorsAlone) {
  Writer writer(config());
  writer.save(plain(at("tensor")), source("1234"));
  Task tiling = plain(at("tiling"));
  tiling.is_tensor = false;
  writer.save(std::move(tiling), source("12345678"));
  writer.close();
  EXPECT_EQ(writer.tally().tensors, 1);
  EXPECT_EQ(writer.tally().bytes, 4);
  EXPECT_EQ(text("tiling"), "12345678");
}

TEST_F(WriterTest, ReplacesATextWhole) {
  Writer writer(config());
  writer.replace(at("x.json"), "a longer one");
  writer.flush(10000);
  writer.replace(at("x.json"), "short");
  writer.flush(10000);
  EXPECT_EQ(text("x.json"), "short");
}

TEST_F(WriterTest, KeepsTheOrderOfLinesAndOneHeader) {
  Writer writer({.root = root_, .threads = 4});
  std::string expected = "header\n";
  for (int i = 0; i < 500; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    if (i % 2 == 0) {
      writer.append(at("t.csv"), "header\n", line);
    } else {  // what the line tells is known later
      Task task = plain(at("f" + std::to_string(i)));
      task.table = at("t.csv");
      task.header = "header\n";
      task.row = [line](const Statistics&, const std::string&) { return line; };
      const std::string data(static_cast<size_t>(i * 37 % 1000), 'd');
      writer.save(std::move(task), source(data));
    }
    expected += line;
  }
  writer.close();
  EXPECT_EQ(text("t.csv"), expected);
  EXPECT_EQ(writer.tally().lines, 500);
}

TEST_F(WriterTest, ReleasesWhatItDidNotCopy) {
  static std::atomic<int> released{0};
  released = 0;
  const std::string data = "borrowed";
  {
    Writer writer(config());
    for (int i = 0; i < 10; ++i)
      writer.save(plain(at(std::to_string(i))), {as_bytes(data), [](void*) { ++released; }, nullptr});
    Task statistics;  // without a file too
    statistics.has_data = false;
    writer.save(std::move(statistics), {as_bytes(data), [](void*) { ++released; }, nullptr});
  }
  EXPECT_EQ(released, 11);
  EXPECT_EQ(text("9"), "borrowed");
}

TEST_F(WriterTest, WaitsWhereTheBudgetIsUsedUpAndLosesNothing) {
  Writer writer({.root = root_, .budget = 1 << 20, .threads = 2});
  const std::string data(200'000, 'x');
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        writer.save(plain(at(std::to_string(t) + "_" + std::to_string(i))), source(data));
    });
  for (std::thread& caller : callers) caller.join();
  writer.close();
  EXPECT_EQ(writer.tally().tensors, 80);
  EXPECT_EQ(writer.tally().bytes, 80 * 200'000);
  EXPECT_EQ(fs::file_size(root_ / "3_19"), 200'000u);
}

TEST_F(WriterTest, WritesWhatIsLargerThanTheBudget) {
  Writer writer({.root = root_, .budget = 1 << 16});
  const std::string data(1 << 20, 'x');
  writer.save(plain(at("large")), source(data));
  EXPECT_EQ(fs::file_size(root_ / "large"), data.size());  // at once: it was not copied
}

TEST_F(WriterTest, DropsDataWhereAskedToAndKeepsStatistics) {
  Writer writer({.root = root_, .budget = 1 << 20, .threads = 1, .drops_data = true});
  // The one thread is kept busy.
  std::atomic<bool> is_let_go{false};
  Task slow = plain(at("slow"));
  slow.around = [&](const Statistics&, bool) -> std::optional<Parts> {
    while (!is_let_go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Parts{};
  };
  writer.save(std::move(slow), source("x"));
  const std::vector<float> values(100'000, 2.0f);
  for (int i = 0; i < 10; ++i) {
    Task task =
        atb_task(at(std::to_string(i) + ".bin"), {"2", "0", "100000"}, AtbContent::statistics, 400'000);
    task.has_data = true;
    writer.save(std::move(task), {std::as_bytes(std::span(values))});
  }
  is_let_go = true;
  writer.close();
  EXPECT_EQ(writer.tally().dropped, 8);  // two fit
  EXPECT_EQ(writer.tally().lost, 0);
  EXPECT_THAT(text("9.bin"), HasSubstr("dims=100000\nmax=2.000000\nmin=2.000000\nmean=2.000000\n"));
  EXPECT_LT(fs::file_size(root_ / "9.bin"), 1000u);
  EXPECT_GT(fs::file_size(root_ / "0.bin"), 400'000u);
}

TEST_F(WriterTest, CountsWhatCannotBeWrittenAndGoesOn) {
  std::ofstream(root_ / "file") << "in the way";
  ::testing::internal::CaptureStderr();
  {
    Writer writer(config());
    writer.save(plain(at("file/x.bin")), source("lost"));
    writer.save(plain(at("file/y.bin")), source("lost too"));
    writer.append(at("file/t.csv"), "", "line\n");
    writer.save(plain(at("kept.bin")), source("kept"));
    writer.close();
    EXPECT_EQ(writer.tally().lost, 3);
    EXPECT_EQ(writer.tally().lost_bytes, 4 + 8 + 5);
    EXPECT_THAT(writer.tally().first_loss, HasSubstr("Not a directory"));
  }
  EXPECT_EQ(text("kept.bin"), "kept");
  EXPECT_THAT(text("capture.json"), HasSubstr("\"lost\":3,\"lost_bytes\":17,\"first_loss\":\""));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2)
      << said;  // the first one, and how much it was in the end
  EXPECT_THAT(said, HasSubstr("2 files and 1 line of tables (17 bytes) were lost; the first: "));
}

TEST_F(WriterTest, CountsEachLineThatIsLost) {
  std::ofstream(root_ / "file") << "in the way";
  ::testing::internal::CaptureStderr();
  Writer writer({.root = root_, .threads = 1});
  for (int i = 0; i < 100; ++i) writer.append(at("file/t.csv"), "", "line\n");
  writer.close();
  EXPECT_EQ(writer.tally().lost, 100);
  EXPECT_EQ(writer.tally().lost_bytes, 100 * 5);
  EXPECT_EQ(writer.tally().lines, 0);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("100 lines of tables (500 bytes) were lost"));
}

TEST_F(WriterTest, CountsTensorsOfWhichStatisticsAloneAreKept) {
  Writer writer(config());
  const std::vector<float> values = {1, 2};
  for (const bool has_file : {true, false, false}) {
    Task task = atb_task(has_file ? at("x.bin") : "", {"2", "0", "2"}, AtbContent::statistics, 8);
    writer.save(std::move(task), {std::as_bytes(std::span(values))});
  }
  writer.close();
  EXPECT_EQ(writer.tally().tensors, 0);
  EXPECT_EQ(writer.tally().statistics, 3);
}

TEST_F(WriterTest, CountsNoStatisticsThatWereLost) {
  std::ofstream(root_ / "file") << "in the way";
  ::testing::internal::CaptureStderr();
  Writer writer(config());
  const std::vector<float> values = {1, 2};
  writer.save(atb_task(at("file/x.bin"), {"2", "0", "2"}, AtbContent::statistics, 8),
              {std::as_bytes(std::span(values))});
  writer.close();
  static_cast<void>(::testing::internal::GetCapturedStderr());
  EXPECT_EQ(writer.tally().statistics, 0);
  EXPECT_EQ(writer.tally().lost, 1);
}

TEST_F(WriterTest, MakesFoldersThatWereRemovedMeanwhile) {
  Writer writer(config());
  writer.save(plain(at("a/x")), source("1"));
  writer.flush(10000);
  fs::remove_all(root_ / "a");
  writer.save(plain(at("a/y")), source("2"));
  writer.flush(10000);
  EXPECT_EQ(text("a/y"), "2");
  EXPECT_EQ(writer.tally().lost, 0);
}

TEST_F(WriterTest, LinksEqualContentsAndOnlyThose) {
  Writer writer({.root = root_, .threads = 4, .links = LinkKind::hard});
  const std::string same(10'000, 's');
  std::string other = same;
  other.back() = 't';
  for (int i = 0; i < 20; ++i) writer.save(plain(at("same" + std::to_string(i))), source(same));
  writer.save(plain(at("other")), source(other));
  writer.close();
  EXPECT_EQ(writer.tally().linked, 19);
  EXPECT_EQ(fs::hard_link_count(root_ / "same0"), 20u);
  EXPECT_EQ(fs::hard_link_count(root_ / "other"), 1u);
  EXPECT_EQ(text("same19"), same);
}

// A reason that grows when it is written as JSON stays within the place of its process.
TEST_F(WriterTest, CountsAtAPlaceOfOneSize) {
  std::ofstream(root_ / "in_the_way") << "a file";
  {
    Writer writer({.root = root_, .threads = 1, .run = "a run"});
    writer.save(plain(at("fine")), source("x"));
    writer.save(plain(at("in_the_way/" + std::string(200, '"') + "/" + std::string(200, '\\') + "/x")),
                source("x"));
  }
  const std::string counts = text("capture.json");
  EXPECT_EQ(counts.size(), 2 + 1024 + 2);
  EXPECT_THAT(counts, HasSubstr("\"lost\":1,"));
  EXPECT_THAT(counts, HasSubstr("\",\"run\":\"a run\",\"ended\":true}"));
}

// Adding the polynomial of the CRC somewhere changes no CRC; twice, eight bytes apart, no XOR of words
// either.
TEST_F(WriterTest, LinksNothingThatHasEqualSumsOnly) {
  constexpr uint64_t kPolynomial = 1 | uint64_t{0xEDB88320} << 1;
  std::string one(64, 'x'), other = one;
  for (const size_t place : {0, 8})
    for (size_t k = 0; k < 5; ++k)
      other[place + k] = static_cast<char>(other[place + k] ^ static_cast<char>(kPolynomial >> (8 * k)));
  const auto sums = [](const std::string& text) {
    return measure(DType::u8, as_bytes(text), static_cast<int64_t>(text.size()), {false, true, true});
  };
  ASSERT_NE(one, other);
  ASSERT_EQ(sums(one).crc32, sums(other).crc32);
  ASSERT_EQ(sums(one).xor64, sums(other).xor64);
  Writer writer({.root = root_, .threads = 1, .links = LinkKind::symbolic});
  writer.save(plain(at("one")), source(one));
  writer.save(plain(at("other")), source(other));
  writer.close();
  EXPECT_FALSE(fs::is_symlink(root_ / "other"));
  EXPECT_EQ(text("other"), other);
}

TEST_F(WriterTest, LinksByNameAreRelative) {
  Writer writer({.root = root_, .threads = 1, .links = LinkKind::symbolic});
  writer.save(plain(at("a")), source("equal"));
  writer.save(plain(at("b")), source("equal"));
  writer.close();
  EXPECT_EQ(fs::read_symlink(root_ / "b"), "a");
}

#if !defined(__SANITIZE_THREAD__)  // which does not follow a fork of a process with threads
TEST_F(WriterTest, AChildStartsItsOwnFiles) {
  Writer writer({.root = root_, .threads = 2});
  for (int i = 0; i < 50; ++i) writer.save(plain(at("parent" + std::to_string(i))), source("p"));
  const pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 50; ++i) writer.save(plain(at("child" + std::to_string(i))), source("c"));
    writer.append(at("child.csv"), "", "line\n");
    writer.close();
    ::_exit(writer.tally().tensors == 50 ? 0 : 1);
  }
  for (int i = 50; i < 100; ++i) writer.save(plain(at("parent" + std::to_string(i))), source("p"));
  int status = 1;
  ::waitpid(child, &status, 0);
  writer.close();
  EXPECT_EQ(status, 0);
  EXPECT_EQ(writer.tally().tensors, 100);
  EXPECT_EQ(text("child49"), "c");
  EXPECT_EQ(text("child.csv"), "line\n");
  EXPECT_THAT(text("capture.json"), HasSubstr("\"" + std::to_string(child) + "\":"));
  EXPECT_THAT(text("capture.json"), HasSubstr("\"" + std::to_string(::getpid()) + "\":"));
}

// Else the child would wait for a thread that only its parent has.
TEST_F(WriterTest, AForkWaitsForWhoeverHandsSomethingToAWriter) {
  static std::mutex outer;
  ForkGuard::covers(outer);
  std::atomic<bool> is_held{false};
  std::thread caller([&] {
    const std::lock_guard lock(outer);
    is_held = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  while (!is_held) std::this_thread::yield();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(outer.try_lock() ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  caller.join();
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(outer.try_lock());
  outer.unlock();
}
#endif

TEST_F(WriterTest, TakesTensorsFromManyThreadsAtOnce) {
  Writer writer({.root = root_, .budget = 1 << 18});
  std::vector<std::thread> callers;
  for (int t = 0; t < 64; ++t)
    callers.emplace_back([&, t] {
      const std::string data(1000, static_cast<char>('a' + t % 26));
      for (int i = 0; i < 20; ++i) {
        writer.save(plain(at(std::to_string(t) + "/" + std::to_string(i))), source(data));
        writer.append(at("t.csv"), "", std::to_string(t) + "," + std::to_string(i) + "\n");
      }
    });
  for (std::thread& caller : callers) caller.join();
  writer.close();
  EXPECT_EQ(writer.tally().tensors, 64 * 20);
  std::istringstream lines(text("t.csv"));
  std::vector<int> next(64, 0);
  std::string line;
  while (std::getline(lines, line)) {  // of each thread in its order
    const size_t comma = line.find(',');
    EXPECT_EQ(std::stoi(line.substr(comma + 1)), next[std::stoul(line.substr(0, comma))]++);
  }
  EXPECT_THAT(next, ::testing::Each(20));
}

TEST_F(WriterTest, WritesAtOnceWhatComesAfterItClosed) {
  Writer writer(config());
  writer.close();
  writer.save(plain(at("late")), source("late"));
  EXPECT_EQ(text("late"), "late");
}

TEST_F(WriterTest, StopsBeforeTheDiskIsFull) {
  ::testing::internal::CaptureStderr();
  Writer writer({.root = root_, .reserve = int64_t{1} << 60});
  writer.save(plain(at("x")), source("x"));
  writer.close();
  EXPECT_EQ(writer.tally().lost, 1);
  EXPECT_FALSE(fs::exists(root_ / "x"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("MiB would stay free on the disk"));
}

}  // namespace
}  // namespace assay::capture
