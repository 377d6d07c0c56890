#include "assay/format/safetensors.h"

#include "assay/format/format_test_tools.h"
#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using testing::file_content;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::open_as;
using testing::TestFolder;
using testing::values_in;
using testing::write_as;

const fs::path kData = fs::path(ASSAY_TEST_DATA) / "safetensors";

std::string with_header(std::string_view json, std::string_view data = "") {
  const uint64_t length = json.size();
  std::string out(reinterpret_cast<const char*>(&length), sizeof length);
  return out.append(json).append(data);
}

const StoredTensor& find(const TensorSet& set, std::string_view name) {
  return *std::find_if(set.tensors.begin(), set.tensors.end(),
                       [&](const StoredTensor& t) { return t.name == name; });
}

TEST(Safetensors, ReadsTheFilesOfTheReference) {
  const auto set = open_as(safetensors_format, kData / "mixed.safetensors").value();
  EXPECT_THAT(set.warnings, IsEmpty());
  EXPECT_EQ(set.tensors.size(), 11u);
  EXPECT_EQ(find(set, "layers.0.weight").meta, (TensorMeta{DType::f32, Shape{{2, 3}}}));
  EXPECT_THAT(values_in(find(set, "layers.0.weight")), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(values_in(find(set, "half")), ElementsAre(1, -2, 0.5));
  EXPECT_THAT(values_in(find(set, "brain")), ElementsAre(1.5, 2));
  EXPECT_THAT(values_in(find(set, "ids")), ElementsAre(1, -2, 3));
  EXPECT_THAT(values_in(find(set, "mask")), ElementsAre(1, 0));
  EXPECT_THAT(values_in(find(set, "scalar")), ElementsAre(7));
  EXPECT_THAT(values_in(find(set, "empty")), IsEmpty());
  EXPECT_THAT(values_in(find(set, "wide")), ElementsAre(1.25));
  EXPECT_THAT(values_in(find(set, "byte")), ElementsAre(200));
  EXPECT_THAT(values_in(find(set, "pair")), ElementsAre(1, 2));
  EXPECT_THAT(values_in(find(set, "größe")), ElementsAre(1));
  const auto f8 = open_as(safetensors_format, kData / "f8.safetensors").value();
  EXPECT_THAT(values_in(find(f8, "e4m3")), ElementsAre(1, 448));
  EXPECT_THAT(values_in(find(f8, "e5m2")), ElementsAre(1, 57344));
}

TEST(Safetensors, SaysWhatItsTensorsDoNotShow) {
  const TestFolder folder;
  const auto beside = [&](std::string_view metadata, std::string_view field) {
    const std::string json =
        fmt::format(R"({{{}"a":{{"dtype":"U8","shape":[1]{},"data_offsets":[0,1]}}}})", metadata, field);
    std::vector<std::string> out;
    const auto set =
        open_as(safetensors_format, folder.put("x.safetensors", with_header(json, "\5"))).value();
    EXPECT_TRUE(set.tensors.at(0).data);
    for (const Beside& part : set.beside) out.push_back(part.what);
    return out;
  };
  EXPECT_THAT(beside("", ""), IsEmpty());
  EXPECT_THAT(beside(R"("__metadata__":{},)", ""), IsEmpty());
  EXPECT_THAT(beside("", R"(,"scale":0.5)"), ElementsAre("a field of its tensors that is not known"));
  EXPECT_THAT(beside("", R"(,"by":{"dtype":"me"},"at":[7])"),
              ElementsAre("2 fields of its tensors that are not known"));
  for (const std::string_view bare : {R"("seven")", "7", "0.5", "null", "[7]"})
    EXPECT_THAT(beside(fmt::format(R"("__metadata__":{},)", bare), ""), ElementsAre("an entry of metadata"))
        << bare;
}

TEST(Safetensors, IsRecognisedByItsFirstBytes) {
  const std::string head = file_content(kData / "mixed.safetensors");
  EXPECT_TRUE(safetensors_format.sniff(as_bytes(head), std::ssize(head)));
  EXPECT_FALSE(safetensors_format.sniff(as_bytes("PK\3\4 and more"), 13));
  EXPECT_FALSE(safetensors_format.sniff(as_bytes(with_header("[1,2]")), 13));
  EXPECT_FALSE(safetensors_format.sniff({}, 0));
}

TEST(Safetensors, TruncationAtEveryByteIsAnError) {
  const TestFolder folder;
  const std::string whole = file_content(kData / "mixed.safetensors");
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto set = open_as(safetensors_format, folder.put("t.safetensors", whole.substr(0, size)));
    EXPECT_FALSE(set && set->tensors[0].data && find(*set, "mask").data) << size;
  }
}

class SafetensorsLies : public ::testing::Test {
 protected:
  Result<TensorSet> open(std::string_view json, std::string_view data = "",
                         const FormatOptions& options = {}) {
    return open_as(safetensors_format, folder_.put("t.safetensors", with_header(json, data)), options);
  }
  std::string error_of(std::string_view json, std::string_view data = "", size_t tensor = 0) {
    const auto set = open(json, data);
    if (!set) return set.error().message;
    return set->tensors.at(tensor).data ? "none" : set->tensors[tensor].data.error().message;
  }
  TestFolder folder_;
};

TEST_F(SafetensorsLies, OfOneTensorDoNotHurtTheOthers) {
  const auto set = open(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"X9","shape":[1],"data_offsets":[2,3]}})",
      "\1\2\3");
  ASSERT_TRUE(set);
  EXPECT_THAT(values_in(set->tensors[0]), ElementsAre(1, 2));
  EXPECT_EQ(set->tensors[1].data.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(set->tensors[1].data.error().message, HasSubstr("tensor 'b' has the unknown dtype X9"));
}

TEST_F(SafetensorsLies, AboutOffsetsAndShapes) {
  const auto entry = [](std::string_view dtype, std::string_view shape, std::string_view offsets) {
    return fmt::format(R"({{"a":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets);
  };
  EXPECT_EQ(error_of(entry("U8", "[2]", "[0,2]"), "ab"), "none");
  EXPECT_THAT(error_of(entry("U8", "[2]", "[0,3]"), "abc"),
              HasSubstr("has 3 bytes, but U8 of shape [2] needs 2"));
  EXPECT_THAT(error_of(entry("U8", "[2]", "[2,0]"), "ab"), HasSubstr("not a range"));
  EXPECT_THAT(error_of(entry("U8", "[2]", "[-2,0]"), "ab"), HasSubstr("not a range"));
  EXPECT_THAT(error_of(entry("U8", "[9]", "[0,9]"), "ab"),
              HasSubstr("ends at byte 9 of the data, but the file has 2"));
  EXPECT_THAT(error_of(entry("F64", "[2305843009213693952]", "[0,2]"), "ab"), HasSubstr("too large"));
  EXPECT_THAT(error_of(entry("U8", "[-1]", "[0,2]"), "ab"), HasSubstr("negative dimension"));
  EXPECT_THAT(error_of(entry("U8", "[2.5]", "[0,2]"), "ab"),
              HasSubstr("something else where a number should be"));
  EXPECT_THAT(error_of(entry("U8", "[18446744073709551615]", "[0,2]"), "ab"), HasSubstr("something else"));
  EXPECT_THAT(error_of(entry("U8", "[[2]]", "[0,2]"), "ab"), HasSubstr("a list where a number should be"));
  EXPECT_THAT(error_of(entry("U8", "2", "[0,2]"), "ab"), HasSubstr("lacks dtype, shape or two data_offsets"));
  EXPECT_THAT(error_of(entry("U8", "[2]", "[0]"), "ab"), HasSubstr("lacks"));
  EXPECT_THAT(error_of(R"({"a":3})"), HasSubstr("tensor 'a' is not an object"));
  EXPECT_THAT(error_of(R"({"a":[]})"), HasSubstr("tensor 'a' is not an object"));
  EXPECT_THAT(error_of(R"({"a":{}})"), HasSubstr("lacks"));
}

TEST_F(SafetensorsLies, AboutTheHeader) {
  EXPECT_THAT(error_of("[1]"), HasSubstr("starts with '[' and not with '{'"));
  EXPECT_THAT(error_of(R"({"a":)"), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(error_of("{} x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("{\"\xFF\":{}}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error_of("{\"a\":" + std::string(100000, '[') + "}"), HasSubstr("nested too deeply"));
  const std::string huge = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}";
  const auto set = open_as(safetensors_format, folder_.put("h.safetensors", huge));
  EXPECT_THAT(set.error().message, HasSubstr("runs past the end of the file of 10 bytes"));
}

TEST_F(SafetensorsLies, NothingButBlanksFollowsTheJson) {
  const std::string json = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  EXPECT_EQ(error_of(json + "    ", "ab"), "none");
  EXPECT_EQ(error_of(json + " \n\t", "ab"), "none");  // as the reference
  using namespace std::string_view_literals;
  for (const std::string_view more : {"\0"sv, " \0 "sv, "\0{\"b\":1}"sv, " \0text"sv})
    EXPECT_THAT(error_of(json + std::string(more), "ab"),
                HasSubstr("follow the JSON of the header; only blanks may"));
  EXPECT_THAT(error_of(json + " text", "ab"), HasSubstr("not valid JSON"));
}

TEST_F(SafetensorsLies, AFieldTwiceIsAnErrorOfItsTensor) {
  const std::string fields = R"("dtype":"U8","shape":[2],"data_offsets":[0,2])";
  const auto twice = [&](std::string_view field) {
    return error_of(fmt::format(R"({{"a":{{{},{}}},"b":{{"dtype":"U8","shape":[0],"data_offsets":[2,2]}}}})",
                                field, fields),
                    "ab");
  };
  EXPECT_THAT(twice(R"("shape":[2])"), HasSubstr("tensor 'a' has shape twice"));
  EXPECT_THAT(twice(R"("shape":null)"), HasSubstr("tensor 'a' has shape twice"));
  EXPECT_THAT(twice(R"("dtype":"U8")"), HasSubstr("tensor 'a' has dtype twice"));
  EXPECT_THAT(twice(R"("data_offsets":[0,2])"), HasSubstr("tensor 'a' has data_offsets twice"));
  EXPECT_EQ(twice(R"("other":1,"other":2)"), "none");  // ignored, as by the reference
}

TEST_F(SafetensorsLies, AboutTooManyNumbers) {
  const auto of_dims = [&](size_t ones) {
    std::string dims;
    for (size_t i = 0; i < ones; ++i) dims += "1,";
    return error_of(fmt::format(R"({{"a":{{"dtype":"U8","shape":[{}2],"data_offsets":[0,2]}}}})", dims),
                    "ab");
  };
  EXPECT_EQ(of_dims(63), "none");
  EXPECT_THAT(of_dims(64), HasSubstr("tensor 'a' has more than 64 dimensions"));
  EXPECT_THAT(of_dims(5000), HasSubstr("tensor 'a' has more than 64 dimensions"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2,2]}})", "ab"),
              HasSubstr("more than two data_offsets"));
}

TEST_F(SafetensorsLies, MemoryIsLimited) {
  const auto long_header =
      open("{" + std::string(2000, ' ') + "}", "", {.raw_dtype = {}, .raw_shape = {}, .memory = 1000});
  EXPECT_EQ(long_header.error().kind, ErrorKind::limit);
  const auto many =
      open(R"({"a":{},"b":{},"c":{},"d":{}})", "", {.raw_dtype = {}, .raw_shape = {}, .memory = 1024});
  EXPECT_THAT(many.error().message, HasSubstr("too many entries"));
}

TEST_F(SafetensorsLies, DoubleNamesAndOverlapsAreNotRead) {
  const std::string_view twice =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})";
  EXPECT_THAT(error_of(twice, "ab", 0), HasSubstr("tensor 'a' appears twice"));
  EXPECT_THAT(error_of(twice, "ab", 1), HasSubstr("tensor 'a' appears twice"));
  const std::string_view overlap =
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
      R"("c":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})";
  EXPECT_THAT(error_of(overlap, "abcd", 0), HasSubstr("tensor 'a' overlaps"));
  EXPECT_THAT(error_of(overlap, "abcd", 1), HasSubstr("tensor 'b' overlaps"));
  EXPECT_EQ(error_of(overlap, "abcd", 2), "none");
}

TEST_F(SafetensorsLies, HolesAreAWarning) {
  const auto set = open(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "abc").value();
  EXPECT_THAT(set.warnings, ElementsAre(HasSubstr("2 bytes belong to no tensor")));
  EXPECT_THAT(values_in(set.tensors[0]), ElementsAre('b'));
}

TEST_F(SafetensorsLies, UnknownFieldsAndMetadataAreIgnored) {
  const auto set = open(
      R"({"__metadata__":{"x":"y","shape":"[3]"},"a":{"extra":{"dtype":"F32"},"dtype":"U8","shape":[],"data_offsets":[0,1]}}  )",
      "\5");
  EXPECT_THAT(values_in(set.value().tensors.at(0)), ElementsAre(5));
}

TEST(Safetensors, WritesWhatItReads) {
  const TestFolder folder;
  const auto original = open_as(safetensors_format, kData / "mixed.safetensors").value();
  const auto path =
      write_as(safetensors_format, folder.path() / "copy.safetensors", original.tensors).value();
  const auto copy = open_as(safetensors_format, path).value();
  EXPECT_THAT(copy.warnings, IsEmpty());
  ASSERT_EQ(copy.tensors.size(), original.tensors.size());
  for (const StoredTensor& tensor : original.tensors) {
    EXPECT_EQ(find(copy, tensor.name).meta, tensor.meta);
    EXPECT_EQ(values_in(find(copy, tensor.name)), values_in(tensor));
  }
  EXPECT_EQ(load_le<uint64_t>(as_bytes(file_content(path))) % 8, 0u);
}

TEST(Safetensors, WritesPackedTypesAndOneUnnamedTensor) {
  const TestFolder folder;
  const std::vector<std::byte> codes = {std::byte{1}, std::byte{2}, std::byte{7}, std::byte{15}};
  const StoredTensor four{"", dense_in_memory(codes, {DType::f4e2m1, Shape{{4}}}), {}, {}, {}};
  const auto path =
      write_as(safetensors_format, folder.path() / "f4.safetensors", std::span(&four, 1)).value();
  const auto set = open_as(safetensors_format, path).value();
  EXPECT_EQ(set.tensors[0].name, "tensor");
  EXPECT_THAT(values_in(set.tensors[0]), ElementsAre(0.5, 1, 6, -6));
  EXPECT_TRUE(file_content(path).ends_with("\x21\xF7"));
}

TEST(Safetensors, RefusesToWriteWhatItCannotHold) {
  const TestFolder folder;
  const auto error = [&](std::vector<StoredTensor> tensors) {
    return write_as(safetensors_format, folder.path() / "x.safetensors", tensors).error().message;
  };
  const StoredTensor bytes{
      "a", dense_in_memory(std::vector<std::byte>(3), {DType::u8, Shape{{3}}}), {}, {}, {}};
  const StoredTensor odd{
      "a", dense_in_memory(std::vector<std::byte>(3), {DType::f4e2m1, Shape{{3}}}), {}, {}, {}};
  const StoredTensor hif8{
      "a", dense_in_memory(std::vector<std::byte>(3), {DType::hif8, Shape{{3}}}), {}, {}, {}};
  EXPECT_THAT(error({bytes, bytes}), HasSubstr("two tensors named 'a'"));
  EXPECT_THAT(error({odd}), HasSubstr("cannot hold f4e2m1 [3]"));
  EXPECT_THAT(error({hif8}), HasSubstr("cannot hold hif8 [3]"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(SafetensorsIndex, JoinsTheFilesOfACheckpoint) {
  const auto set = open_as(safetensors_index_format, kData / "model.safetensors.index.json").value();
  ASSERT_EQ(set.tensors.size(), 6u);
  EXPECT_THAT(values_in(set.tensors[0]), ElementsAre(1, 2));
  EXPECT_THAT(values_in(set.tensors[1]), ElementsAre(3));
  EXPECT_THAT(values_in(set.tensors[2]), ElementsAre(4));
  EXPECT_THAT(set.tensors[3].data.error().message,
              HasSubstr("'d' should be in model-00002-of-00002.safetensors, but is not"));
  EXPECT_THAT(set.tensors[4].data.error().message,
              HasSubstr("model-00003-of-00002.safetensors: cannot be read"));
  EXPECT_THAT(set.tensors[5].data.error().message,
              HasSubstr("'../x.safetensors' is not the name of a file beside"));
}

TEST(SafetensorsIndex, IsRecognisedByItsWeightMap) {
  EXPECT_TRUE(
      safetensors_index_format.sniff(as_bytes(file_content(kData / "model.safetensors.index.json")), 300));
  EXPECT_FALSE(safetensors_index_format.sniff(as_bytes("{\"task\": \"tensor\"}"), 18));
}

TEST(SafetensorsIndex, BrokenIndexesAreExplained) {
  const TestFolder folder;
  const auto open = [&](std::string_view json) {
    return open_as(safetensors_index_format, folder.put("m.safetensors.index.json", json));
  };
  EXPECT_THAT(open("{}").error().message, HasSubstr("has no object \"weight_map\""));
  EXPECT_THAT(open("[]").error().message, HasSubstr("not a JSON object"));
  EXPECT_THAT(open("{\"weight_map\":[\"a\"]}").error().message, HasSubstr("has no object"));
  EXPECT_THAT(open("{\"weight_map\":{\"a\":").error().message, HasSubstr("not valid JSON"));
  const auto strange = open(R"({"weight_map":{"a":3,"b":{"c":"d"},"e":"m.safetensors.index.json"}})").value();
  ASSERT_EQ(strange.tensors.size(), 3u);
  for (const StoredTensor& tensor : strange.tensors) EXPECT_FALSE(tensor.data) << tensor.name;
  const auto twice = open(R"({"weight_map":{"a":"x","a":"y"}})").value();
  for (const StoredTensor& tensor : twice.tensors)
    EXPECT_THAT(tensor.data.error().message, HasSubstr("appears twice"));
}

}  // namespace
}  // namespace assay
