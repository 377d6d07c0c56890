#include "assay/run/convert/convert.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Named {
  std::string name;
  DType dtype;
  std::vector<double> values;
};

class ConvertTest : public ::testing::Test {
 protected:
  ConvertTest() {
    std::string pattern = (fs::temp_directory_path() / "assay_convert_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~ConvertTest() override { fs::remove_all(root_); }

  void put(const fs::path& relative, const std::vector<Named>& tensors) {
    const fs::path path = root_ / relative;
    ASSERT_TRUE(make_folder(path.parent_path()));
    std::vector<StoredTensor> stored;
    for (const Named& tensor : tensors) {
      const TensorMeta meta{tensor.dtype, Shape{{std::ssize(tensor.values)}}};
      std::vector<std::byte> bytes(static_cast<size_t>(meta.byte_size()));
      from_f64(tensor.dtype, tensor.values.data(), std::ssize(tensor.values), bytes.data());
      stored.push_back({.name = tensor.name,
                        .data = dense_in_memory(std::move(bytes), meta),
                        .meta = meta,
                        .stats = {},
                        .facts = {}});
    }
    auto writer = FileWriter::create(path, IfExists::refuse);
    ASSERT_TRUE(writer);
    const auto written = find_format_by_suffix(path)->write(*writer, stored);
    ASSERT_TRUE(written) << written.error().message;
    ASSERT_TRUE(writer->publish());
  }

  Result<ConvertOutcome> run(const std::string& in, const std::string& out) {
    request_.in = root_ / in;
    request_.out = root_ / out;
    request_.out_is_folder = out.ends_with('/');
    return convert(request_);
  }

  // "name dtype values…" of every tensor in a file.
  std::vector<std::string> read(const fs::path& relative) const {
    const auto set = open_tensors(root_ / relative);
    if (!set) return {set.error().message};
    std::vector<std::string> out;
    for (const StoredTensor& tensor : set->tensors) {
      const auto bytes = read_whole(**tensor.data, 1 << 20);
      std::vector<double> values(static_cast<size_t>((*tensor.data)->meta.shape.count()));
      to_f64((*tensor.data)->meta.dtype, bytes->data(), std::ssize(values), values.data());
      std::string text = fmt::format("{} {}", tensor.name, name((*tensor.data)->meta.dtype));
      for (const double value : values) text += fmt::format(" {}", value);
      out.push_back(text);
    }
    return out;
  }

  std::vector<std::string> files(const fs::path& relative) const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / relative))
      if (!entry.is_directory())
        out.push_back(entry.path().lexically_relative(root_ / relative).generic_string());
    std::sort(out.begin(), out.end());
    return out;
  }

  fs::path root_;
  ConvertRequest request_;
};

TEST_F(ConvertTest, FileToFileKeepsNamesAndValues) {
  put("in.npz", {{"a", DType::f32, {1, 2}}, {"b", DType::i64, {-3}}});
  const auto outcome = run("in.npz", "deep/er/out.safetensors");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->tensors, 2);
  EXPECT_EQ(outcome->files, 1);
  EXPECT_THAT(read("deep/er/out.safetensors"), ::testing::UnorderedElementsAre("a f32 1 2", "b i64 -3"));
}

TEST_F(ConvertTest, UnnamedTensorsGetTheNameOfTheirFile) {
  put("x.npy", {{"", DType::f32, {1}}});
  ASSERT_TRUE(run("x.npy", "x.npz"));
  EXPECT_THAT(read("x.npz"), ElementsAre("x f32 1"));
}

TEST_F(ConvertTest, CastsWhenAsked) {
  put("x.npy", {{"", DType::f32, {1.00390625, 300}}});
  request_.dtype = DType::f16;
  ASSERT_TRUE(run("x.npy", "y.npy"));
  EXPECT_THAT(read("y.npy"), ElementsAre(" f16 1.00390625 300"));
}

TEST_F(ConvertTest, TypesThatTheTargetLacksAreRefusedWithAHint) {
  put("x.pt", {{"w", DType::bf16, {1}}});
  const auto refused = run("x.pt", "x.npy");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--dtype f32"));
  EXPECT_FALSE(fs::exists(root_ / "x.npy"));
  request_.dtype = DType::f32;
  ASSERT_TRUE(run("x.pt", "x.npy"));
  EXPECT_THAT(read("x.npy"), ElementsAre(" f32 1"));
}

TEST_F(ConvertTest, SeveralTensorsDoNotFitIntoOneNpy) {
  put("in.npz", {{"a", DType::f32, {1}}, {"b", DType::f32, {2}}});
  const auto refused = run("in.npz", "out.npy");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("holds 2 tensors"));
  EXPECT_THAT(refused.error().message, HasSubstr("out/"));
  request_.open.only = {"b"};
  ASSERT_TRUE(run("in.npz", "out.npy"));
  EXPECT_THAT(read("out.npy"), ElementsAre(" f32 2"));
}

TEST_F(ConvertTest, FileToFolderMakesSafeNames) {
  put("in.safetensors", {{"layers/0/w", DType::f32, {1}},
                         {"../../evil", DType::f32, {2}},
                         {"a*b", DType::f32, {3}},
                         {"a?b", DType::f32, {4}}});
  const auto outcome = run("in.safetensors", "out/");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->failures, IsEmpty());
  EXPECT_THAT(files("out"), ElementsAre("_./_./evil.npy", "a_b.npy", "a_b_2.npy", "layers/0/w.npy"));
  EXPECT_THAT(read("out/a_b_2.npy"), ElementsAre(" f32 4"));
}

TEST_F(ConvertTest, NeverReplacesUnlessForced) {
  put("x.npy", {{"", DType::f32, {1}}});
  put("y.npy", {{"", DType::f32, {2}}});
  const auto refused = run("x.npy", "y.npy");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--force"));
  EXPECT_THAT(read("y.npy"), ElementsAre(" f32 2"));
  request_.force = true;
  ASSERT_TRUE(run("x.npy", "y.npy"));
  EXPECT_THAT(read("y.npy"), ElementsAre(" f32 1"));
  request_.dtype = DType::f64;
  ASSERT_TRUE(run("y.npy", "y.npy"));  // in place: read from the old file while the new one is made
  EXPECT_THAT(read("y.npy"), ElementsAre(" f64 1"));
}

TEST_F(ConvertTest, FolderToFolderKeepsTheTree) {
  put("in/a/x.npy", {{"", DType::f32, {1}}});
  put("in/a/x.pt", {{"", DType::f32, {2}}});
  put("in/b.npz", {{"p", DType::f32, {3}}, {"q", DType::f32, {4}}});
  std::ofstream(root_ / "in/notes.txt") << "hello";
  auto outcome = run("in", "npy");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(files("npy"), ElementsAre("a/x.npy", "a/x_2.npy", "b/p.npy", "b/q.npy"));
  request_.to = "pt";
  outcome = run("in", "pt");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(files("pt"), ElementsAre("a/x.pt", "a/x_2.pt", "b.pt"));
  EXPECT_THAT(read("pt/b.pt"), ElementsAre("p f32 3", "q f32 4"));
}

TEST_F(ConvertTest, NoOutputTakesTheNameOfAnotherSource) {
  put("e/x.npy", {{"", DType::f32, {1}}});
  put("e/x.pt", {{"", DType::f32, {2}}});
  put("e/x_2.npy", {{"", DType::f32, {3}}});
  put("e/y.npz", {{"b", DType::f32, {4}}});
  put("e/y/b.npy", {{"", DType::f32, {5}}});
  request_.force = true;
  const auto outcome = run("e", "e");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(outcome->failures, ::testing::IsEmpty());
  EXPECT_THAT(read("e/x.npy"), ElementsAre(" f32 1"));
  EXPECT_THAT(read("e/x_2.npy"), ElementsAre(" f32 3"));
  EXPECT_THAT(read("e/x_3.npy"), ElementsAre(" f32 2"));
  EXPECT_THAT(read("e/y/b.npy"), ElementsAre(" f32 5"));
  EXPECT_THAT(read("e/y/b_2.npy"), ElementsAre(" f32 4"));
}

TEST_F(ConvertTest, SourcesAreKnownByWhatTheirNamesLeadTo) {
  put("in/x.pt", {{"", DType::f32, {2}}});
  put("elsewhere/x.npy", {{"", DType::f32, {1}}});
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "in/z");  // read after x.pt
  request_.force = true;
  ASSERT_TRUE(run("in", "elsewhere"));
  EXPECT_THAT(read("elsewhere/x.npy"), ElementsAre(" f32 1"));
  EXPECT_THAT(read("elsewhere/x_2.npy"), ElementsAre(" f32 2"));
  EXPECT_THAT(read("elsewhere/z/x.npy"), ElementsAre(" f32 1"));
}

TEST_F(ConvertTest, AFileIsNotReplacedByAPartOfItself) {
  put("x.npz", {{"a", DType::f32, {1}}, {"b", DType::f32, {2}}});
  fs::create_hard_link(root_ / "x.npz", root_ / "same.npz");
  request_.force = true;
  request_.open.only = {"a"};
  for (const char* const out : {"x.npz", "same.npz", "./x.npz"}) {
    const auto refused = run("x.npz", out);
    ASSERT_FALSE(refused) << out;
    EXPECT_THAT(refused.error().message, HasSubstr("holds more than would take its place"));
  }
  EXPECT_THAT(read("x.npz"), ElementsAre("a f32 1", "b f32 2"));
}

TEST_F(ConvertTest, OneBadFileDoesNotStopTheOthers) {
  put("in/a.npy", {{"", DType::f32, {1}}});
  put("in/z.npy", {{"", DType::f32, {2}}});
  std::ofstream(root_ / "in/m.npy") << "broken";
  const auto outcome = run("in", "out");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_THAT(files("out"), ElementsAre("a.npy", "z.npy"));
  ASSERT_THAT(outcome->failures, SizeIs(1));
  EXPECT_THAT(outcome->failures[0], HasSubstr("m.npy"));
}

TEST_F(ConvertTest, SaysWhatIsWrongWithTheRequest) {
  put("x.npy", {{"", DType::f32, {1}}});
  put("in/x.npy", {{"", DType::f32, {1}}});
  auto refused = run("x.npy", "x.unknown");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr(".npz"));
  refused = run("in", "all.npz");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("folder"));
  refused = run("missing.npy", "y.npy");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::not_found);
  request_.to = "docx";
  refused = run("in", "out");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--to docx"));
  request_.to = "";
  request_.open.only = {"nothing"};
  refused = run("x.npy", "y.npy");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("--only"));
}

}  // namespace
}  // namespace assay
