#include "assay/support/inflated_entry.h"

#include "assay/support/zip_test_tools.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace assay {
namespace {

using ::testing::HasSubstr;
using testing_tools::deflated_zip;
using testing_tools::ToDeflate;

constexpr int64_t kSize = 1'000'000;

// Bytes that tell where they lie.
std::string ramp(int64_t size, int salt = 0) {
  std::string bytes(static_cast<size_t>(size), '\0');
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(i * 7 + (i >> 9) * 31 + static_cast<size_t>(salt));
  return bytes;
}

class InflatedEntryTest : public ::testing::Test {
 protected:
  InflatedEntryTest() { ::setenv("TMPDIR", folder_.c_str(), 1); }
  ~InflatedEntryTest() override {
    ::unsetenv("TMPDIR");
    fs::remove_all(folder_);
  }

  // The entries of a zip, each with one tensor that is all of it.
  std::vector<std::unique_ptr<InflatedEntry>> open(const std::vector<ToDeflate>& entries,
                                                   const InflatedLimits& limits = {}) {
    const std::string zip = deflated_zip(entries);
    std::ofstream(path_, std::ios::binary).write(zip.data(), static_cast<std::streamsize>(zip.size()));
    const auto file = File::open(path_);
    EXPECT_TRUE(file);
    const auto directory = read_zip_directory(**file, 1 << 20);
    EXPECT_TRUE(directory) << directory.error().message;
    room_ = std::make_shared<InflatedRoom>(limits);
    std::vector<std::unique_ptr<InflatedEntry>> opened;
    for (const ZipEntry& entry : directory->entries) {
      opened.push_back(std::make_unique<InflatedEntry>(*file, entry, room_));
      opened.back()->add_tensor(entry.size);
    }
    return opened;
  }

  static std::string read(InflatedEntry::Reader& reader, int64_t offset, int64_t count) {
    std::string out(static_cast<size_t>(count), '\0');
    const auto done = reader.read(offset, std::as_writable_bytes(std::span(out)));
    return done ? out : done.error().message;
  }
  static std::string read(InflatedEntry& entry, int64_t offset, int64_t count) {
    InflatedEntry::Reader reader(entry);
    return read(reader, offset, count);
  }

  fs::path folder_ = [] {
    std::string name = (fs::temp_directory_path() / "assay_inflated_XXXXXX").string();
    return fs::path(::mkdtemp(name.data()));
  }();
  fs::path path_ = folder_ / "test.zip";
  std::shared_ptr<InflatedRoom> room_;
};

TEST_F(InflatedEntryTest, InflatesOnceWhateverTheOrder) {
  const std::string data = ramp(kSize);
  for (const int64_t memory : {int64_t{1} << 30, int64_t{1000}}) {
    const auto entries = open({{"a", data}}, {.memory = memory});
    InflatedEntry::Reader reader(*entries[0]);
    constexpr int64_t kStep = 10'007;
    for (int64_t at = kSize - kStep; at >= 0; at -= kStep)
      ASSERT_EQ(read(reader, at, kStep), data.substr(static_cast<size_t>(at), kStep)) << at;
    EXPECT_EQ(room_->inflated(), kSize);
    EXPECT_EQ(room_->in_memory(), memory > kSize ? kSize : 0);
    EXPECT_EQ(room_->on_disk(), memory > kSize ? 0 : kSize);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);  // only the zip has a name
}

TEST_F(InflatedEntryTest, InflatesNoFurtherThanItsTensorsReach) {
  const std::string data = ramp(kSize);
  const auto all = open({{"a", data}});
  InflatedEntry entry(File::open(path_).value(), all[0]->entry(), room_);
  entry.add_tensor(100'000);
  EXPECT_FALSE(entry.has_several_tensors());
  entry.add_tensor(50'000);
  EXPECT_TRUE(entry.has_several_tensors());
  EXPECT_EQ(read(entry, 0, 100'000), data.substr(0, 100'000));
  EXPECT_EQ(room_->inflated(), 100'000);
  EXPECT_EQ(room_->in_memory(), 100'000);
}

TEST_F(InflatedEntryTest, ManyThreadsShareOneInflation) {
  const std::string data = ramp(kSize);
  for (const int64_t memory : {int64_t{1} << 30, int64_t{1000}}) {
    const auto entries = open({{"a", data}}, {.memory = memory});
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        InflatedEntry::Reader reader(*entries[0]);
        for (int64_t i = 0; i < 200; ++i) {
          const int64_t at = (i * 7919 + t * 104'729) * 4099 % (kSize - 5000);
          if (read(reader, at, 5000) != data.substr(static_cast<size_t>(at), 5000)) ++wrong;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(room_->inflated(), kSize);
  }
}

TEST_F(InflatedEntryTest, WhatNobodyReadsMakesRoom) {
  const std::string a_data = ramp(kSize), b_data = ramp(kSize, 1);
  const auto entries = open({{"a", a_data}, {"b", b_data}}, {.memory = kSize * 3 / 2});
  EXPECT_EQ(read(*entries[0], 5, 10), a_data.substr(5, 10));
  EXPECT_EQ(read(*entries[1], kSize - 1, 1), b_data.substr(kSize - 1));
  EXPECT_EQ(room_->in_memory(), kSize);  // of b
  EXPECT_EQ(room_->on_disk(), 0);
  // Wanted again: kept beside the other from now on.
  EXPECT_EQ(read(*entries[0], kSize - 1, 1), a_data.substr(kSize - 1));
  EXPECT_EQ(room_->in_memory(), kSize);
  EXPECT_EQ(room_->on_disk(), kSize);
  const int64_t inflated = room_->inflated();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(read(*entries[0], i, 1), a_data.substr(static_cast<size_t>(i), 1));
    EXPECT_EQ(read(*entries[1], i, 1), b_data.substr(static_cast<size_t>(i), 1));
  }
  EXPECT_EQ(room_->inflated(), inflated);
}

TEST_F(InflatedEntryTest, WhatIsReadStays) {
  const std::string a_data = ramp(kSize), b_data = ramp(kSize, 1);
  const auto entries = open({{"a", a_data}, {"b", b_data}}, {.memory = kSize});
  InflatedEntry::Reader a(*entries[0]), b(*entries[1]);
  for (int64_t at = kSize - 1; at > 0; at -= 100'003) {
    EXPECT_EQ(read(a, at, 1), a_data.substr(static_cast<size_t>(at), 1));
    EXPECT_EQ(read(b, at, 1), b_data.substr(static_cast<size_t>(at), 1));
  }
  EXPECT_EQ(room_->inflated(), 2 * kSize);
  EXPECT_EQ(room_->on_disk(), kSize);
}

TEST_F(InflatedEntryTest, GivesTheRoomBackWithTheFile) {
  auto entries = open({{"a", ramp(kSize)}, {"b", ramp(kSize, 1)}}, {.memory = kSize});
  {
    InflatedEntry::Reader a(*entries[0]), b(*entries[1]);
    EXPECT_EQ(read(a, 0, 1), ramp(1));
    EXPECT_EQ(read(b, 0, 1), ramp(1, 1));
  }
  entries.clear();
  EXPECT_EQ(room_->in_memory(), 0);
  EXPECT_EQ(room_->on_disk(), 0);
}

TEST_F(InflatedEntryTest, TurnsWithoutEndAreRefused) {
  const auto entries = open({{"a", ramp(kSize)}, {"b", ramp(kSize, 1)}}, {.memory = 0, .disk = kSize});
  std::string last;
  for (int turn = 0; turn < 20; ++turn) {
    last = read(*entries[0], kSize - 1, 1);
    read(*entries[1], kSize - 1, 1);
  }
  EXPECT_THAT(last, HasSubstr("was inflated 16 times"));
  EXPECT_THAT(last, HasSubstr("--memory"));
  EXPECT_LE(room_->inflated(), 32 * kSize);
}

TEST_F(InflatedEntryTest, RefusesWhatInflatesBeyondTheLimit) {
  const auto entries = open({{"a", std::string(kSize, 'x')}}, {.memory = 1000, .disk = kSize - 1});
  const std::string message = read(*entries[0], 0, 1);
  EXPECT_THAT(message, HasSubstr("test.zip: entry \"a\" inflates from"));
  EXPECT_THAT(message, HasSubstr("--trusted"));
  EXPECT_EQ(room_->inflated(), 0);
  EXPECT_EQ(room_->on_disk(), 0);
}

TEST_F(InflatedEntryTest, SaysWhereATemporaryFileCannotBe) {
  ::setenv("TMPDIR", (folder_ / "nowhere").c_str(), 1);
  const auto entries = open({{"a", ramp(kSize)}}, {.memory = 1000});
  const std::string message = read(*entries[0], 0, 1);
  EXPECT_THAT(message, HasSubstr("test.zip: entry \"a\" must be kept"));
  EXPECT_THAT(message, HasSubstr("nowhere cannot be made: No such file"));
  EXPECT_THAT(message, HasSubstr("set TMPDIR"));
  EXPECT_EQ(room_->on_disk(), 0);
}

TEST_F(InflatedEntryTest, AFullDiskIsAnErrorOfAllWhoRead) {
  const auto entries = open({{"a", ramp(kSize)}}, {.memory = 1000});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{600'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  InflatedEntry::Reader reader(*entries[0]), other(*entries[0]);
  const std::string early = read(reader, 0, 10), late = read(other, kSize - 1, 1),
                    again = read(reader, 0, 10);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(early, ramp(10));
  EXPECT_THAT(late, HasSubstr("cannot be written"));
  EXPECT_EQ(again, late);
  EXPECT_EQ(room_->on_disk(), 0);
}

TEST_F(InflatedEntryTest, ABrokenStreamBreaksTheSamePartInAnyOrder) {
  const std::string data = ramp(kSize);
  const auto result = [&](bool backwards) {
    const auto entries = open({{"a", data, {}, 1}});  // claims a byte that never comes
    InflatedEntry::Reader reader(*entries[0]);
    const std::string end = backwards ? read(reader, kSize - 1, 2) : "";
    const std::string start = read(reader, 0, 500'000);
    return std::pair(start, backwards ? end : read(reader, kSize - 1, 2));
  };
  EXPECT_EQ(result(true), result(false));
  EXPECT_EQ(result(true).first, data.substr(0, 500'000));
  EXPECT_THAT(result(true).second, HasSubstr("inflates to 1000000 bytes instead of 1000001"));
}

TEST_F(InflatedEntryTest, BytesBehindTheDeflateStreamAreRefused) {
  const auto entries = open({{"a", ramp(1000), "more"}});
  std::string out(1000, '\0');
  const auto streamed = entries[0]->stream()->read(std::as_writable_bytes(std::span(out)));
  ASSERT_FALSE(streamed);
  EXPECT_THAT(streamed.error().message,
              HasSubstr("entry \"a\" has 4 bytes behind the end of its deflate stream"));
  EXPECT_EQ(read(*entries[0], 0, 1000), streamed.error().message);
}

}  // namespace
}  // namespace assay
