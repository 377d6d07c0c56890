#include "assay/dump/folder.h"

#include "assay/dump/dump_test_tools.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A .npy file written by hand: version 1.0, f32, one element.
std::string npy_bytes() {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  header.resize(117, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size());
  out += '\0';
  return out + header + std::string("\0\0\x80\x3f", 4);
}

class FolderTest : public DumpFolder {
 protected:
  void put_tensor(const fs::path& relative) { put(relative, npy_bytes()); }

  Result<Frame> index(const OpenOptions& options = {}) const { return index_first(options); }

  static const Item* find(const Frame& frame, std::string_view name) {
    for (const Node& node : frame.nodes)
      for (const Item& item : node.items)
        if (item.name == name) return &item;
    return nullptr;
  }
};

TEST_F(FolderTest, ListsFilesInNaturalOrderWithoutOpeningThem) {
  put_tensor("layer10/out.npy");
  put_tensor("layer2/out.npy");
  put("layer2/broken.npy", "this is not what it claims to be");  // found out when it is measured
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("layer2/broken.npy", "layer2/out.npy", "layer10/out.npy"));
  EXPECT_EQ(frame->nodes[0].items[0].meta, nullptr);
  EXPECT_TRUE(frame->nodes[0].items[0].data.has_value());
  EXPECT_EQ(frame->files[1].path, root_ / "layer2/out.npy");
  EXPECT_EQ(frame->files[1].size, 132);
  EXPECT_EQ(frame->nodes[2].order, 2);
  EXPECT_THAT(frame->warnings, IsEmpty());
}

TEST_F(FolderTest, SkipsOtherFilesWithOneWarning) {
  put_tensor("a.npy");
  put("README.md", "hello");
  put("notes.txt", "hello");
  put("table.csv", "a,b");
  put(".a.npy.host-12-0.assay.tmp", npy_bytes());  // half written by us: not even counted
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("a.npy"));
  ASSERT_EQ(frame->warnings.size(), 1);
  EXPECT_THAT(frame->warnings[0], HasSubstr("3 files that hold no tensors were skipped"));
}

TEST_F(FolderTest, TemporaryFilesOfOthersAreFilesAsAnyOther) {
  put_tensor("a.npy");
  put(".a.npy.12.0.tmp", npy_bytes());
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre(".a.npy.12.0.tmp", "a.npy"));
}

TEST_F(FolderTest, RecognisesTensorsWithoutSuffixByContent) {
  put_tensor("no_suffix");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  ASSERT_THAT(names(*frame), ElementsAre("no_suffix"));
  EXPECT_EQ(frame->nodes[0].items[0].meta->shape, Shape{{1}});
}

TEST_F(FolderTest, EmptyFolderAndFolderWithoutTensorsAreErrors) {
  auto frame = index();
  ASSERT_FALSE(frame);
  EXPECT_THAT(frame.error().message, HasSubstr(root_.string()));
  put("README", "hello");
  put("b.csv", "1");
  frame = index();
  ASSERT_FALSE(frame);
  EXPECT_THAT(frame.error().message, HasSubstr("other files skipped: 2"));
}

TEST_F(FolderTest, FollowsLinksButEntersEachFolderOnce) {
  put_tensor("real/a.npy");
  put_tensor("b.npy");
  fs::create_directory_symlink("..", root_ / "real/loop");
  fs::create_directory_symlink("real",
                               root_ / "again");  // sorts before "real", yet the real path names the files
  fs::create_symlink("b.npy", root_ / "c.npy");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("b.npy", "c.npy", "real/a.npy"));
  EXPECT_THAT(all_warnings(*frame), HasSubstr("again"));
  EXPECT_THAT(all_warnings(*frame), HasSubstr("loop"));
}

TEST_F(FolderTest, FollowsLinksThatLeaveTheFolder) {
  put_tensor("inside/a.npy");
  const fs::path inside = root_ / "inside";
  put_tensor("outside/b.npy");
  fs::create_directory_symlink(root_ / "outside", inside / "link");
  const auto dump = open_dump(inside, {});
  ASSERT_TRUE(dump);
  const auto frame = dump->layout->index(dump->frames[0], {});
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("a.npy", "link/b.npy"));
}

TEST_F(FolderTest, WhatCannotBeReadIsAnItemWithItsReason) {
  put_tensor("a.npy");
  put("empty.npy", "");
  put("empty.npz", "");
  fs::create_symlink("nowhere", root_ / "broken_link.npy");
  ASSERT_EQ(::mkfifo((root_ / "pipe.npy").c_str(), 0600), 0);
  const int listening = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = (root_ / "socket").string();
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const auto frame = index();
  ::close(listening);
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame),
              ElementsAre("a.npy", "broken_link.npy", "empty.npy", "empty.npz", "pipe.npy", "socket"));
  EXPECT_THAT(find(*frame, "broken_link.npy")->trouble, HasSubstr("does not exist"));
  EXPECT_THAT(find(*frame, "empty.npy")->trouble, HasSubstr("is empty"));
  EXPECT_THAT(find(*frame, "empty.npz")->trouble, HasSubstr("is empty"));
  EXPECT_THAT(find(*frame, "pipe.npy")->trouble, HasSubstr("a pipe"));
  EXPECT_THAT(find(*frame, "socket")->trouble, HasSubstr("a socket"));
  EXPECT_FALSE(find(*frame, "pipe.npy")->data.has_value());
}

TEST_F(FolderTest, FilesAndFoldersWithoutPermissionAreItemsToo) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  put_tensor("a.npy");
  put_tensor("secret.npz");
  put_tensor("closed/b.npy");
  ::chmod((root_ / "secret.npz").c_str(), 0);
  ::chmod((root_ / "closed").c_str(), 0);
  const auto frame = index();
  ::chmod((root_ / "closed").c_str(), 0700);
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("a.npy", "closed/", "secret.npz"));
  EXPECT_THAT(find(*frame, "secret.npz")->trouble, HasSubstr("ermission"));
  EXPECT_THAT(find(*frame, "closed/")->trouble, HasSubstr("ermission"));
}

TEST_F(FolderTest, NamesThatAreNotUtf8AreShownEscaped) {
  put_tensor("bad\xff.npy");
  put_tensor("好.npy");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("bad\\xff.npy", "好.npy"));
  EXPECT_TRUE(fs::exists(frame->files[0].path));
}

TEST_F(FolderTest, ManifestGivesTheOrder) {
  for (const char* name : {"a.npy", "b.npy", "c.npy", "sub/d.npy", "e10.npy", "e9.npy"}) put_tensor(name);
  put("manifest.txt", "# in execution order\nsub/d.npy\r\n./b.npy\n\n  a.npy \nmissing.npy\nb.npy\n");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("sub/d.npy", "b.npy", "a.npy", "c.npy", "e9.npy", "e10.npy"));
  EXPECT_THAT(all_warnings(*frame), HasSubstr("1 of the 5 files that it names are not there: missing.npy"));
  EXPECT_THAT(all_warnings(*frame), HasSubstr("more than once"));
}

TEST_F(FolderTest, ExtremesThatTheManifestListsStandForNothingElse) {
  put_tensor("a.npy");
  put_tensor("x_min_max.npy");
  put("manifest.txt", "x.npy\na.npy\n");
  const auto in_its_place = index();
  ASSERT_TRUE(in_its_place) << in_its_place.error().message;
  EXPECT_THAT(names(*in_its_place), ElementsAre("x_min_max.npy", "a.npy"));
  EXPECT_THAT(in_its_place->warnings, IsEmpty());
  put("manifest.txt", "x.npy\na.npy\nx_min_max.npy\n");
  const auto lost = index();
  ASSERT_TRUE(lost) << lost.error().message;
  EXPECT_THAT(names(*lost), ElementsAre("a.npy", "x_min_max.npy"));
  EXPECT_THAT(all_warnings(*lost), HasSubstr("1 of the 3 files that it names are not there: x.npy"));
  ASSERT_EQ(lost->warnings.size(), 1U);
  EXPECT_EQ(lost->warnings[0].kind, Remark::Kind::unreadable);
}

TEST_F(FolderTest, ManifestMayBeJson) {
  for (const char* name : {"a.npy", "b.npy", "c.npy"}) put_tensor(name);
  put("manifest.json", R"(["c.npy", "a.npy"])");
  const auto frame = index();
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame), ElementsAre("c.npy", "a.npy", "b.npy"));
  EXPECT_THAT(all_warnings(*frame), HasSubstr("b.npy"));  // which has no place in the order
}

TEST_F(FolderTest, ForeignManifestIsIgnoredWithAWarning) {
  for (const char* name : {"a.npy", "b.npy"}) put_tensor(name);
  for (const char* text : {R"({"files": ["b.npy"]})", R"([["b.npy"]])", R"(["b.npy")", R"("b.npy")", ""}) {
    put("manifest.json", text);
    const auto frame = index();
    ASSERT_TRUE(frame) << frame.error().message;
    EXPECT_THAT(names(*frame), ElementsAre("a.npy", "b.npy")) << text;
    EXPECT_THAT(all_warnings(*frame), HasSubstr("not a JSON array of paths")) << text;
  }
  put("manifest.json", std::string(200'000, '['));  // deep nesting must not exhaust the stack
  EXPECT_TRUE(index());
}

TEST_F(FolderTest, OnlyAndSkipTryTheWholeNameAndTheBaseName) {
  for (const char* name : {"x/attn.npy", "x/mlp.npy", "y/attn.npy"}) put_tensor(name);
  OpenOptions options;
  options.only = {"attn*"};
  EXPECT_THAT(names(*index(options)), ElementsAre("x/attn.npy", "y/attn.npy"));
  options.skip = {"y/*"};
  EXPECT_THAT(names(*index(options)), ElementsAre("x/attn.npy"));
  options.only = {"nothing*"};
  const auto frame = index(options);
  ASSERT_TRUE(frame);
  EXPECT_THAT(all_warnings(*frame), HasSubstr("leave none"));
}

TEST_F(FolderTest, RawElementTypeMakesEveryFileATensor) {
  put("a", "12345678");
  put("b.dat", "1234");
  put("README.txt", "hello");
  OpenOptions options;
  options.format.raw_dtype = DType::f32;
  EXPECT_THAT(names(*index(options)), ElementsAre("a", "b.dat"));
}

TEST_F(FolderTest, TwentyThousandFilesIndexQuickly) {
  fs::create_directories(root_ / "many");
  for (int i = 0; i < 20'000; ++i)
    ::close(::creat((root_ / "many" / fmt::format("t{}.npy", i)).c_str(), 0600));
  const auto start = std::chrono::steady_clock::now();
  const auto frame = index();
  const auto took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->nodes.size(), 20'000);
  EXPECT_EQ(frame->nodes[10].name, "many/t10.npy");
  EXPECT_LT(took,
            std::chrono::seconds(20));  // well under one without sanitizers; generous for a busy machine
}

TEST(OpenDump, SaysWhatIsWrongWithThePath) {
  const auto missing = open_dump("no/such/place", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("no/such/place: no such file or folder"));
  OpenOptions options;
  options.layout = "nonsense";
  const auto forced = open_dump(fs::temp_directory_path(), options);
  ASSERT_FALSE(forced);
  EXPECT_THAT(forced.error().message, HasSubstr("there are single, folder"));
  options.layout = "folder";
  const auto file = open_dump("/dev/null", options);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("is not a folder"));
}

}  // namespace
}  // namespace assay
