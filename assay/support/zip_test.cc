#include "assay/support/zip.h"
#include "assay/support/zip_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::HasSubstr;

template <class T>
std::string le(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// One entry as a directory may describe it, truly or not.
struct Made {
  std::string name = "a";
  std::string data = "hello";
  uint16_t method = 0, flags = 0;
  std::optional<uint32_t> size = {}, compressed_size = {}, offset = {};  // lies
  std::string extra = {};                                                // of the directory
  std::optional<std::string> local_name = {};
};

struct Lies {
  std::optional<uint16_t> count = {};
  std::optional<uint32_t> directory_size = {}, directory_offset = {};
  std::string comment = {};
};

std::string make_zip(const std::vector<Made>& entries, const Lies& lies = {}) {
  std::string file, directory;
  for (const Made& e : entries) {
    const auto offset = static_cast<uint32_t>(file.size());
    const auto size = static_cast<uint32_t>(e.data.size());
    const auto crc = static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(e.data.data()), size));
    const std::string local = e.local_name.value_or(e.name);
    file += "PK\3\4" + le<uint16_t>(20) + le(e.flags) + le(e.method) + le<uint32_t>(0) + le(crc) + le(size) +
            le(size) + le(static_cast<uint16_t>(local.size())) + le<uint16_t>(0) + local + e.data;
    directory += "PK\1\2" + le<uint16_t>(20) + le<uint16_t>(20) + le(e.flags) + le(e.method) +
                 le<uint32_t>(0) + le(crc) + le(e.compressed_size.value_or(size)) +
                 le(e.size.value_or(size)) + le(static_cast<uint16_t>(e.name.size())) +
                 le(static_cast<uint16_t>(e.extra.size())) + le<uint16_t>(0) + le<uint16_t>(0) +
                 le<uint16_t>(0) + le<uint32_t>(0) + le(e.offset.value_or(offset)) + e.name + e.extra;
  }
  const auto count = lies.count.value_or(static_cast<uint16_t>(entries.size()));
  return file + directory + "PK\5\6" + le<uint32_t>(0) + le(count) + le(count) +
         le(lies.directory_size.value_or(static_cast<uint32_t>(directory.size()))) +
         le(lies.directory_offset.value_or(static_cast<uint32_t>(file.size()))) +
         le(static_cast<uint16_t>(lies.comment.size())) + lies.comment;
}

class ZipTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }

  Result<ZipDirectory> read(std::string_view bytes, int64_t memory = 1 << 20) {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto file = File::open(path_);
    EXPECT_TRUE(file);
    return read_zip_directory(**file, memory);
  }
  std::string error_of(std::string_view bytes) {
    const auto directory = read(bytes);
    if (directory) return "opened";
    EXPECT_THAT(directory.error().message, HasSubstr("test.zip"));
    return directory.error().message;
  }
  // Trouble of the last entry.
  std::string trouble_of(const std::vector<Made>& entries) {
    const auto directory = read(make_zip(entries));
    if (!directory) return directory.error().message;
    if (!directory->entries.back().trouble) return "none";
    EXPECT_THAT(directory->entries.back().trouble->message, HasSubstr("test.zip"));
    return directory->entries.back().trouble->message;
  }

  fs::path path_ = fs::temp_directory_path() / fmt::format("assay_{}_test.zip", ::getpid());
};

TEST_F(ZipTest, ListsEntriesWithTheirPlaces) {
  const auto directory = read(make_zip({{.name = "folder/"}, {.name = "x"}, {.name = "y/z", .data = "123"}}));
  ASSERT_TRUE(directory) << directory.error().message;
  ASSERT_EQ(directory->entries.size(), 2U);
  EXPECT_EQ(directory->entries[1].name, "y/z");
  EXPECT_EQ(directory->entries[1].size, 3);
  EXPECT_EQ(directory->entries[1].crc, 0x884863D2U);  // CRC-32 of "123"
  // "folder/": 30 + 7 + 5 bytes; "x": 30 + 1 + 5; then 30 + 3 of the header.
  EXPECT_EQ(directory->entries[1].data_offset, 42 + 36 + 33);
  EXPECT_FALSE(directory->entries[1].trouble);
  EXPECT_EQ(find_entry(*directory, "x"), &directory->entries[0]);
  EXPECT_EQ(find_entry(*directory, "none"), nullptr);
}

TEST_F(ZipTest, FindsTheEndBeforeACommentAndTrailingBytes) {
  const std::string zip = make_zip({{}}, {.comment = "a comment"});
  const auto directory = read(zip + "tail");
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(directory->extent, std::ssize(zip));
}

TEST_F(ZipTest, RefusesADirectoryThatLiesAboutItself) {
  EXPECT_THAT(error_of("PK"), HasSubstr("too short"));
  EXPECT_THAT(error_of(std::string(100, 'x')), HasSubstr("without its end record"));
  EXPECT_THAT(error_of(make_zip({{}}, {.count = 2})), HasSubstr("cannot hold 2"));
  EXPECT_THAT(error_of(make_zip({{}, {.name = "b"}}, {.count = 1})), HasSubstr("follow the 1 entries"));
  EXPECT_THAT(error_of(make_zip({{}}, {.count = 60000})), HasSubstr("cannot hold 60000"));
  EXPECT_THAT(error_of(make_zip({{}}, {.directory_size = 0xFFFFFFF0})), HasSubstr("is said to take"));
  EXPECT_THAT(error_of(make_zip({{}}, {.directory_offset = 0xFFFFFFF0})), HasSubstr("is said to take"));
  EXPECT_THAT(error_of(make_zip({{}}, {.directory_offset = 0})), HasSubstr("no signature"));
}

TEST_F(ZipTest, HarmsOnlyTheEntryThatLies) {
  EXPECT_THAT(trouble_of({{}}), "none");
  EXPECT_THAT(trouble_of({{.offset = 0xFFFFFF}}), HasSubstr("is said to start at byte"));
  EXPECT_THAT(trouble_of({{.offset = 3}}), HasSubstr("has no header at byte 3"));
  EXPECT_THAT(trouble_of({{.size = 5000000, .compressed_size = 5000000}}),
              HasSubstr("is said to take 5000000 bytes"));
  EXPECT_THAT(trouble_of({{.size = 6}}), HasSubstr("stored, but"));
  EXPECT_THAT(trouble_of({{.method = 8, .size = 0x7FFFFFFF}}), HasSubstr("more than deflate can hold"));
  EXPECT_THAT(trouble_of({{.method = 12}}), HasSubstr("method 12"));
  EXPECT_THAT(trouble_of({{.flags = 1}}), HasSubstr("encrypted"));
  EXPECT_THAT(trouble_of({{.name = "../../etc/passwd"}}), HasSubstr("leads out"));
  EXPECT_THAT(trouble_of({{.name = "a/../b"}}), HasSubstr("leads out"));
  EXPECT_THAT(trouble_of({{.local_name = "b"}}), HasSubstr("another name"));
  EXPECT_THAT(trouble_of({{.size = 0xFFFFFFFF}}), HasSubstr("ZIP64"));
  EXPECT_THAT(trouble_of({{.name = "twin"}, {.name = "twin"}}), HasSubstr("more than once"));
  const auto directory = read(make_zip({{.name = "good"}, {.name = "bad", .flags = 1}}));
  ASSERT_TRUE(directory);
  EXPECT_FALSE(directory->entries[0].trouble);
}

TEST_F(ZipTest, RefusesEntriesThatOverlap) {
  // The second one claims to be the first: the trick of zip bombs.
  const auto directory = read(make_zip({{.name = "a", .data = "hello"},
                                        {.name = "a2", .data = "x", .local_name = "a2"},
                                        {.name = "a", .offset = 0}}));
  ASSERT_TRUE(directory);
  EXPECT_TRUE(directory->entries[0].trouble);
  EXPECT_FALSE(directory->entries[1].trouble);
  ASSERT_TRUE(directory->entries[2].trouble);
  EXPECT_THAT(directory->entries[2].trouble->message, HasSubstr("overlaps"));
}

TEST_F(ZipTest, ReadsZip64SizesAndEnd) {
  const std::string extra = le<uint16_t>(1) + le<uint16_t>(16) + le<int64_t>(5) + le<int64_t>(5);
  std::string zip = make_zip({{.size = 0xFFFFFFFF, .compressed_size = 0xFFFFFFFF, .extra = extra}});
  auto directory = read(zip);
  ASSERT_TRUE(directory) << directory.error().message;
  ASSERT_FALSE(directory->entries[0].trouble) << directory->entries[0].trouble->message;
  EXPECT_EQ(directory->entries[0].size, 5);

  const size_t end = zip.size() - 22;
  const auto directory_offset = load_le<uint32_t>(as_bytes(zip).subspan(end + 16));
  const auto directory_size = load_le<uint32_t>(as_bytes(zip).subspan(end + 12));
  const auto with_end64 = [&](int64_t count, int64_t offset_of_end64) {
    return zip.substr(0, end) + "PK\6\6" + le<int64_t>(44) + le<uint32_t>(0) + le<uint32_t>(0) +
           le<uint32_t>(0) + le(count) + le(count) + le<int64_t>(directory_size) +
           le<int64_t>(directory_offset) + "PK\6\7" + le<uint32_t>(0) + le(offset_of_end64) +
           le<uint32_t>(1) + "PK\5\6" + le<uint32_t>(0) + le<uint32_t>(0xFFFFFFFF) +
           le<uint32_t>(0xFFFFFFFF) + le<uint32_t>(0xFFFFFFFF) + le<uint16_t>(0);
  };
  directory = read(with_end64(1, static_cast<int64_t>(end)));
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(directory->entries.size(), 1U);
  EXPECT_THAT(error_of(with_end64(int64_t{1} << 60, static_cast<int64_t>(end))), HasSubstr("cannot hold"));
  EXPECT_THAT(error_of(with_end64(-1, static_cast<int64_t>(end))), HasSubstr("cannot hold"));
  EXPECT_THAT(error_of(with_end64(1, -5)), HasSubstr("ZIP64 end record"));
  EXPECT_THAT(error_of(with_end64(1, 0)), HasSubstr("no ZIP64 end record"));
}

TEST_F(ZipTest, RefusesADirectoryBeyondTheMemoryLimit) {
  std::vector<Made> many;
  for (int i = 0; i < 1000; ++i) many.push_back({.name = std::to_string(i)});
  const auto directory = read(make_zip(many), 10000);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().kind, ErrorKind::limit);
}

TEST_F(ZipTest, SurvivesTruncationAndDamage) {
  const std::string zip = make_zip({{.name = "x"}, {.name = "y", .data = "123"}}, {.comment = "c"});
  for (size_t length = 0; length < zip.size(); ++length)
    static_cast<void>(read(std::string_view(zip).substr(0, length)));
  for (size_t at = 0; at < zip.size(); ++at) {
    std::string damaged = zip;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xFF);
    static_cast<void>(read(damaged));
  }
}

TEST_F(ZipTest, WritesAlignedEntriesThatItReads) {
  {
    auto out = FileWriter::create(path_, IfExists::replace);
    ASSERT_TRUE(out);
    ZipWriter zip(*out);
    ASSERT_TRUE(zip.add("first", as_bytes("abc")));
    ASSERT_TRUE(zip.begin("second/long name", 6));
    ASSERT_TRUE(zip.append(as_bytes("12")));
    ASSERT_TRUE(zip.append(as_bytes("3123")));
    ASSERT_TRUE(zip.end());
    EXPECT_FALSE(zip.begin("a/../../b", 0));
    ASSERT_TRUE(zip.finish());
    ASSERT_TRUE(out->publish());
  }
  const auto file = File::open(path_);
  ASSERT_TRUE(file);
  const auto directory = read_zip_directory(**file, 1 << 20);
  ASSERT_TRUE(directory) << directory.error().message;
  ASSERT_EQ(directory->entries.size(), 2U);
  for (const ZipEntry& entry : directory->entries) {
    ASSERT_FALSE(entry.trouble) << entry.trouble->message;
    EXPECT_EQ(entry.data_offset % 64, 0);
    std::string data(static_cast<size_t>(entry.size), '\0');
    ASSERT_TRUE((*file)->read(entry.data_offset, std::as_writable_bytes(std::span(data))));
    EXPECT_EQ(data, entry.name == "first" ? "abc" : "123123");
    EXPECT_EQ(entry.crc,
              crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
    // The header of the entry itself holds the CRC-32 too, for readers that stream.
    std::byte local[4];
    const int64_t header = entry.name == "first" ? 0 : 67;
    ASSERT_TRUE((*file)->read(header + 14, local));
    EXPECT_EQ(load_le<uint32_t>(local), entry.crc);
  }
}

TEST_F(ZipTest, WritesMoreEntriesThanAPlainZipCounts) {
  {
    auto out = FileWriter::create(path_, IfExists::replace);
    ASSERT_TRUE(out);
    ZipWriter zip(*out);
    for (int i = 0; i < 70000; ++i) ASSERT_TRUE(zip.add(std::to_string(i), {}));
    ASSERT_TRUE(zip.finish());
    ASSERT_TRUE(out->publish());
  }
  const auto file = File::open(path_);
  const auto directory = read_zip_directory(**file, 1 << 28);
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(directory->entries.size(), 70000U);
  EXPECT_FALSE(directory->entries.back().trouble);
}

}  // namespace
}  // namespace assay
