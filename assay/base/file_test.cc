#include "assay/base/file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

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

TEST_F(Files, TemporaryNamesDifferAndCanBePublished) {
  const fs::path temporary = temporary_beside(folder_ / "db");
  EXPECT_NE(temporary, temporary_beside(folder_ / "db"));
  EXPECT_EQ(temporary.parent_path(), folder_);
  std::ofstream(temporary) << "content";
  EXPECT_EQ(publish_as(temporary, folder_ / "db", IfExists::refuse).value(), folder_ / "db");
  EXPECT_EQ(content(folder_ / "db"), "content");
  EXPECT_FALSE(fs::exists(temporary));
}

}  // namespace
}  // namespace assay
