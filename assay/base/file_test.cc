#include "assay/base/file.h"

#include "assay/base/temporary_name.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <limits>

namespace assay {
namespace {

using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  Files() {
    std::string name = (fs::temp_directory_path() / "file_test_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Files() override { fs::remove_all(folder_); }

  fs::path put(const fs::path& name, std::string_view content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  static std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  int64_t files_here() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  fs::path folder_;
};

TEST_F(Files, ReadAtAnOffset) {
  const auto file = File::open(put("a", "hello")).value();
  EXPECT_EQ(file->size(), 5);
  std::byte out[3];
  ASSERT_TRUE(file->read(2, out));
  EXPECT_EQ(as_text(out), "llo");
  EXPECT_EQ(file->read_some(4, out).value(), 1);
  EXPECT_EQ(file->read_some(99, out).value(), 0);
  file->will_need(0, 5);
}

// The ends of a file are kept in memory: whichever way a piece is read, it is the same piece.
TEST_F(Files, EveryPieceIsTheOneThatWasAskedFor) {
  for (const int64_t size : {1, 4095, 4096, 4097, 8191, 8192, 8193, 16384, 16385, 20000}) {
    std::string whole(static_cast<size_t>(size), ' ');
    for (size_t i = 0; i < whole.size(); ++i) whole[i] = static_cast<char>('a' + i * 7 % 23);
    const auto file = File::open(put(std::to_string(size), whole)).value();
    for (const int64_t offset : {int64_t{0}, int64_t{1}, int64_t{4000}, int64_t{4096}, size / 2, size - 4097,
                                 size - 4096, size - 1, size, size + 1}) {
      for (const size_t wanted : {0U, 1U, 96U, 97U, 4096U, 4097U, 9000U}) {
        if (offset < 0) continue;
        std::vector<std::byte> out(wanted);
        const int64_t got = file->read_some(offset, out).value();
        const std::string expected = offset > size ? "" : whole.substr(static_cast<size_t>(offset), wanted);
        EXPECT_EQ(as_text(std::span(out).first(static_cast<size_t>(got))), expected)
            << size << " bytes, " << wanted << " from " << offset;
      }
    }
  }
}

TEST_F(Files, AnOffsetAtTheEdgeOfNumbersHasNothing) {
  const auto file = File::open(put("a", "hello")).value();
  std::byte out[3];
  for (const int64_t before : {0, 1, 2, 3, 4}) {
    const auto got = file->read_some(std::numeric_limits<int64_t>::max() - before, out);
    EXPECT_TRUE(!got || *got == 0) << before;
  }
}

TEST_F(Files, ReadingPastTheEndSaysWhereItEnds) {
  const auto file = File::open(put("a", "hello")).value();
  std::byte out[3];
  const auto result = file->read(3, out);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::bad_format);
  EXPECT_THAT(result.error().message, HasSubstr("a: ends at byte 5, but 3 bytes are wanted from byte 3"));
}

TEST_F(Files, WhatIsNotAFileIsRefused) {
  EXPECT_EQ(File::open(folder_ / "none").error().kind, ErrorKind::not_found);
  EXPECT_THAT(File::open(folder_).error().message, HasSubstr("is a folder, not a file"));
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(File::open(folder_ / "pipe").error().message, HasSubstr("is a pipe, not a file"));
  EXPECT_THAT(File::open("/dev/null").error().message, HasSubstr("is a device, not a file"));
}

TEST_F(Files, NamesAreShownWithoutControlCharacters) {
  EXPECT_THAT(File::open(folder_ / "a\nb").error().message, HasSubstr("a\\x0ab"));
}

TEST_F(Files, OutputAppearsWholeOrNotAtAll) {
  {
    auto out = FileWriter::create(folder_ / "a", IfExists::refuse).value();
    ASSERT_TRUE(out.append("half"));
    EXPECT_FALSE(fs::exists(folder_ / "a"));
  }
  EXPECT_EQ(files_here(), 0);
  auto out = FileWriter::create(folder_ / "a", IfExists::refuse).value();
  ASSERT_TRUE(out.append("hello "));
  ASSERT_TRUE(out.append("world"));
  ASSERT_TRUE(out.write_at(0, as_bytes("J")));
  EXPECT_EQ(out.size(), 11);
  EXPECT_EQ(out.publish().value(), folder_ / "a");
  EXPECT_EQ(content(folder_ / "a"), "Jello world");
  EXPECT_EQ(files_here(), 1);
}

TEST_F(Files, LargeAppendsKeepTheirOrder) {
  auto out = FileWriter::create(folder_ / "a", IfExists::refuse).value();
  const std::string small(1000, 's'), large(3 << 20, 'l');
  ASSERT_TRUE(out.append(small) && out.append(large) && out.append(small));
  ASSERT_TRUE(out.publish());
  EXPECT_EQ(content(folder_ / "a"), small + large + small);
}

TEST_F(Files, ExistingFilesAreRefusedNumberedOrReplaced) {
  put("r.csv", "old");
  const auto write = [&](IfExists policy) -> Result<fs::path> {
    ASSAY_TRY(FileWriter out, FileWriter::create(folder_ / "r.csv", policy));
    ASSAY_TRY_DO(out.append("new"));
    return out.publish();
  };
  EXPECT_THAT(write(IfExists::refuse).error().message, HasSubstr("exists already"));
  EXPECT_EQ(write(IfExists::number).value(), folder_ / "r_2.csv");
  EXPECT_EQ(write(IfExists::number).value(), folder_ / "r_3.csv");
  EXPECT_EQ(content(folder_ / "r.csv"), "old");
  EXPECT_EQ(write(IfExists::replace).value(), folder_ / "r.csv");
  EXPECT_EQ(content(folder_ / "r.csv"), "new");
  EXPECT_EQ(files_here(), 3);
}

TEST_F(Files, AFileThatAppearsMeanwhileIsNotOverwritten) {
  auto out = FileWriter::create(folder_ / "a", IfExists::refuse).value();
  ASSERT_TRUE(out.append("mine"));
  put("a", "theirs");
  EXPECT_FALSE(out.publish());
  EXPECT_EQ(content(folder_ / "a"), "theirs");
}

TEST_F(Files, TheModeIsAsAsked) {
  auto out = FileWriter::create(folder_ / "a", IfExists::refuse, 0600).value();
  ASSERT_TRUE(out.publish());
  EXPECT_EQ(fs::status(folder_ / "a").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, CannotWriteWhereThereIsNoFolder) {
  const auto out = FileWriter::create(folder_ / "none/a", IfExists::refuse);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().kind, ErrorKind::not_found);
}

TEST_F(Files, FoldersAreMadeWithThoseAbove) {
  ASSERT_TRUE(make_folder(folder_ / "a/b/c"));
  EXPECT_TRUE(fs::is_directory(folder_ / "a/b/c"));
  ASSERT_TRUE(make_folder(folder_ / "a/b/c"));
  put("file", "");
  EXPECT_THAT(make_folder(folder_ / "file/x").error().message,
              HasSubstr("file: is in the way: not a folder"));
}

TEST_F(Files, WritesAnywhereAndReadsBack) {
  auto out = FileWriter::create(folder_ / "a", IfExists::refuse).value();
  ASSERT_TRUE(out.append("abc"));
  ASSERT_TRUE(out.write_at(5, as_bytes("f")));
  EXPECT_EQ(out.size(), 6);
  std::byte read[8];
  EXPECT_EQ(out.read_some(2, read).value(), 4);
  EXPECT_EQ(as_text(std::span(read).first(4)), std::string_view("c\0\0f", 4));
  ASSERT_TRUE(out.resize(1));
  ASSERT_TRUE(out.append("z"));
  ASSERT_TRUE(out.publish());
  EXPECT_EQ(content(folder_ / "a"), "az");
}

TEST_F(Files, ReplacingLeavesNothingWhereItCannotBe) {
  fs::create_directories(folder_ / "a/inside");
  {
    auto out = FileWriter::create(folder_ / "a", IfExists::replace).value();
    ASSERT_TRUE(out.append("new"));
    EXPECT_THAT(out.publish().error().message, HasSubstr("a: cannot be written: "));
  }
  EXPECT_EQ(files_here(), 1);
  auto fresh = FileWriter::create(folder_ / "b", IfExists::replace).value();
  ASSERT_TRUE(fresh.append("new"));
  EXPECT_EQ(fresh.publish().value(), folder_ / "b");
  EXPECT_EQ(files_here(), 2);
}

TEST_F(Files, ReplacingSweepsWhatAKilledProcessLeft) {
  const fs::path left = put(temporary_beside(folder_ / "a").filename(), "half");
  put("a", "old");
  auto out = FileWriter::create(folder_ / "a", IfExists::replace).value();
  ASSERT_TRUE(out.append("new"));
  ASSERT_TRUE(out.publish());
  EXPECT_EQ(content(folder_ / "a"), "new");
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(Files, AFolderThatGoesMeanwhileIsAnError) {
  fs::create_directory(folder_ / "gone");
  auto out = FileWriter::create(folder_ / "gone/a", IfExists::number).value();
  ASSERT_TRUE(out.append("x"));
  fs::remove_all(folder_ / "gone");
  EXPECT_THAT(out.publish().error().message, HasSubstr("a: cannot be written: No such file or directory"));
}

// What the program does with this signal, so that a limit of file sizes is an ordinary error.
TEST_F(Files, AFileSizeLimitIsAnErrorOfTheWrite) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{4096, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto out = FileWriter::create(folder_ / "a", IfExists::refuse).value();
  const auto written = out.append(std::string(2 << 20, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("a: cannot be written: File too large"));
}

}  // namespace
}  // namespace assay
