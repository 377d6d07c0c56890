#include "assay/run/inspect/inspect.h"

#include "assay/base/hostile_texts.h"

#include <gmock/gmock.h>
#include <rapidjson/document.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class InspectTest : public ::testing::Test {
 protected:
  InspectTest() {
    std::string pattern = (fs::temp_directory_path() / "assay_inspect_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    request_.open.format.raw_dtype = DType::f32;
    sink_ = [this](std::string_view text) -> Result<void> {
      printed_ += text;
      return {};
    };
  }
  ~InspectTest() override { fs::remove_all(root_); }

  fs::path put(const std::string& name, const std::vector<float>& values) {
    std::ofstream file(root_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * 4));
    return root_ / name;
  }

  InspectSummary run(std::unique_ptr<InspectSink> sink) {
    printed_.clear();
    const auto summary = inspect(request_, *sink);
    EXPECT_TRUE(summary);
    return summary ? *summary : InspectSummary{};
  }

  fs::path root_;
  InspectRequest request_;
  WriteText sink_;
  std::string printed_;
};

TEST_F(InspectTest, TextNamesTheTensorAndItsStatistics) {
  request_.paths = {put("x.raw", {1, 2, 3, 4})};
  EXPECT_EQ(run(inspect_as_text(sink_)).troubles, 0);
  EXPECT_THAT(printed_, HasSubstr("x.raw: raw, 1 tensor, 16 bytes"));
  EXPECT_THAT(printed_, HasSubstr("x.raw  f32 [4]  16 bytes"));
  // mean 2.5, deviation √1.25, norm √30
  EXPECT_THAT(printed_, HasSubstr("min 1  max 4  mean 2.5  std 1.11803  norm 5.47723  nan 0  inf 0  zero 0"));
  EXPECT_THAT(printed_, HasSubstr("█▁▁▁▁█▁▁▁▁█▁▁▁▁█"));
}

TEST_F(InspectTest, CountsWhatIsNotFinite) {
  request_.paths = {put("x.raw", {0, NAN, INFINITY, -INFINITY, 5})};
  run(inspect_as_text(sink_));
  EXPECT_THAT(printed_, HasSubstr("min 0  max 5  mean 2.5"));
  EXPECT_THAT(printed_, HasSubstr("nan 1  inf 2  zero 1"));
  request_.paths = {put("n.raw", {NAN, NAN})};
  run(inspect_as_text(sink_));
  EXPECT_THAT(printed_, HasSubstr("    nan 2  inf 0  zero 0\n"));
  EXPECT_THAT(printed_, Not(HasSubstr("min")));
}

TEST_F(InspectTest, HistogramCoversRangesThatOverflow) {
  request_.open.format.raw_dtype = DType::f64;
  std::ofstream file(root_ / "wide.raw", std::ios::binary);
  const double values[] = {-1.7e308, 1.7e308, 1.7e308};
  file.write(reinterpret_cast<const char*>(values), sizeof(values));
  file.close();
  request_.paths = {root_ / "wide.raw"};
  run(inspect_as_json(sink_));
  EXPECT_THAT(printed_, HasSubstr("\"histogram\":[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,2]"));
}

TEST_F(InspectTest, ConstantTensorsHaveNoHistogram) {
  request_.paths = {put("x.raw", {3, 3, 3})};
  run(inspect_as_json(sink_));
  EXPECT_THAT(printed_, HasSubstr("\"std\":0.0"));
  EXPECT_THAT(printed_, HasSubstr("\"histogram\":null"));
}

TEST_F(InspectTest, JsonIsOneArrayOfObjects) {
  request_.paths = {put("x.raw", {1, 2, NAN}), root_ / "missing", put("odd.raw", {})};
  request_.values = true;
  EXPECT_EQ(run(inspect_as_json(sink_)).troubles, 1);
  rapidjson::Document document;
  ASSERT_FALSE(document.Parse(printed_.c_str()).HasParseError()) << printed_;
  ASSERT_TRUE(document.IsArray());
  ASSERT_EQ(document.Size(), 3);
  EXPECT_STREQ(document[0]["name"].GetString(), "x.raw");
  EXPECT_STREQ(document[0]["dtype"].GetString(), "f32");
  EXPECT_EQ(document[0]["shape"][0].GetInt(), 3);
  EXPECT_EQ(document[0]["nan"].GetInt(), 1);
  EXPECT_EQ(document[0]["max"].GetDouble(), 2);
  EXPECT_STREQ(document[0]["values"].GetString(), "[ 1.  2. nan]");
  EXPECT_THAT(document[1]["error"].GetString(), HasSubstr("no such file"));
  EXPECT_TRUE(document[2]["min"].IsNull());
}

TEST_F(InspectTest, NothingToShowIsStillJson) {
  request_.paths = {};
  run(inspect_as_json(sink_));
  EXPECT_EQ(printed_, "[]\n");
}

TEST_F(InspectTest, UnreadableTensorsAreListedAndCounted) {
  fs::create_directories(root_ / "dump");
  put("dump/a", {1});
  std::ofstream(root_ / "dump/b") << "12345";  // not a whole number of f32
  request_.paths = {root_ / "dump"};
  EXPECT_EQ(run(inspect_as_text(sink_)).troubles, 1);
  EXPECT_THAT(printed_, HasSubstr("folder, 2 files, 2 tensors"));
  EXPECT_THAT(printed_, HasSubstr("  b\n    unreadable: "));
}

TEST_F(InspectTest, HostileNamesAndReasonsStayText) {
  Item item;
  const std::string name = hostile_name() + "\n";
  item.name = name;
  Stated stated;
  stated.checksum = name;
  const std::vector<Fact> facts = {{name, name}};
  item.stated = &stated;
  item.facts = &facts;
  InspectedTensor tensor;
  tensor.item = &item;
  tensor.file = name;
  tensor.trouble = name;
  for (auto* const make : {inspect_as_text, inspect_as_json}) {
    printed_.clear();
    const auto sink = make(sink_);
    InspectedPath path;
    path.path = path.kind = name;
    ASSERT_TRUE(sink->open(path));
    ASSERT_TRUE(sink->add(tensor));
    path.trouble = name;
    ASSERT_TRUE(sink->open(path));
    ASSERT_TRUE(sink->end());
    EXPECT_EQ(hostile_part(printed_), "");
    for (const std::string_view forged : {"n\n\n", "n\n:", "\x1b", "\r"})
      EXPECT_THAT(printed_, Not(HasSubstr(forged)));
    EXPECT_THAT(printed_, HasSubstr("n\\"));
  }
}

TEST_F(InspectTest, ManyFilesComeOutInOrder) {
  fs::create_directories(root_ / "dump");
  for (int i = 0; i < 300; ++i) put(fmt::format("dump/t{}", i), {static_cast<float>(i)});
  request_.paths = {root_ / "dump"};
  EXPECT_EQ(run(inspect_as_text(sink_)).tensors, 300);
  size_t at = 0;
  for (int i = 0; i < 300; ++i) {
    const size_t found = printed_.find(fmt::format("  t{}  f32 [1]", i), at);
    ASSERT_NE(found, std::string::npos) << i;
    EXPECT_EQ(printed_.find(fmt::format("min {}  ", i), found), printed_.find("min ", found));
    at = found;
  }
}

}  // namespace
}  // namespace assay
