#include "assay/format/pt.h"

#include "assay/format/npy_test_tools.h"
#include "assay/support/inflated_entry.h"
#include "assay/support/zip_test_tools.h"
#include "assay/support/zip_writer.h"
#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using namespace testing_tools;
using namespace std::string_literals;
using namespace std::string_view_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// By content, as the table would: the zip container, or the older one.
Result<TensorSet> open_data(std::string_view name, const FormatOptions& options = {}) {
  const fs::path path = data_file("pt") / name;
  const std::string bytes = slurp(path);
  const Bytes head = as_bytes(std::string_view(bytes).substr(0, 512));
  const bool zip = pt_format.sniff(head, std::ssize(bytes));
  EXPECT_NE(zip, pt_legacy_format.sniff(head, std::ssize(bytes))) << name;
  return open_with(zip ? pt_format : pt_legacy_format, path, options);
}

std::string error_of(const Result<TensorSet>& set) { return set ? "opened" : set.error().message; }
std::string error_of(const Result<TensorSet>& set, std::string_view name) {
  if (!set) return set.error().message;
  const StoredTensor* const tensor = find_tensor(*set, name);
  if (tensor == nullptr) return "missing";
  return tensor->data ? "readable" : tensor->data.error().message;
}

// An archive with this pickle and one storage of 24 bytes.
std::string archive(std::string_view pickle, std::string_view byteorder = "little") {
  const TempFile place("", "made.pt");
  auto out = FileWriter::create(place.path(), IfExists::replace);
  EXPECT_TRUE(out);
  ZipWriter zip(*out);
  EXPECT_TRUE(zip.add("made/data.pkl", as_bytes(pickle)));
  EXPECT_TRUE(zip.add("made/byteorder", as_bytes(byteorder)));
  const float six[] = {0, 1, 2, 3, 4, 5};
  EXPECT_TRUE(zip.add("made/data/0", std::as_bytes(std::span(six))));
  EXPECT_TRUE(zip.finish());
  EXPECT_TRUE(out->publish());
  return slurp(place.path());
}

Result<TensorSet> open_pickle(std::string_view pickle, const FormatOptions& options = {}) {
  const TempFile file(archive(pickle), "made.pt");
  return open_with(pt_format, file.path(), options);
}

// _rebuild_tensor_v2 of the storage of six floats. The numbers are pickle code: "K\x02" is 2.
std::string tensor(std::string_view offset, std::string_view size, std::string_view stride,
                   std::string_view storage = "FloatStorage", std::string_view count = "K\x06") {
  return fmt::format(
      "ctorch._utils\n_rebuild_tensor_v2\n((S'storage'\nctorch\n{}\nS'0'\nS'cpu'\n{}tQ{}({}t({}t\x89NtR",
      storage, count, offset, size, stride);
}
std::string zero() { return "K\0"s; }

TEST(Pt, ReadsOneTensor) {
  const auto set = open_data("tensor.pt");
  std::vector<double> ramp(24);
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<double>(i);
  EXPECT_EQ(numbers_of(set, ""), ramp);
  EXPECT_EQ(set->tensors[0].meta, (TensorMeta{DType::f32, Shape{{2, 3, 4}}}));
  EXPECT_THAT(set->warnings, IsEmpty());
  EXPECT_THAT(numbers_of(open_data("parameter.pt"), ""), ElementsAre(1.5, -2.5));
}

TEST(Pt, ReadsEveryTypeOfTorch1FromBothContainers) {
  const std::pair<std::string_view, DType> types[] = {
      {"float64", DType::f64},   {"float32", DType::f32}, {"float16", DType::f16},
      {"bfloat16", DType::bf16}, {"int64", DType::i64},   {"int32", DType::i32},
      {"int16", DType::i16},     {"int8", DType::i8},     {"uint8", DType::u8}};
  for (const auto* file : {"types.pt", "types_legacy.pt"}) {
    const auto set = open_data(file);
    for (const auto& [name, dtype] : types) {
      EXPECT_THAT(numbers_of(set, name), ElementsAre(0, 1, 2, 100)) << file << name;
      EXPECT_EQ(find_tensor(*set, name)->meta->dtype, dtype);
    }
    EXPECT_THAT(numbers_of(set, "bool"), ElementsAre(0, 1, 1, 1));
    EXPECT_THAT(numbers_of(set, "complex64"), ElementsAre(0, 0, 1, 0, 2, 0, 100, 0));
    EXPECT_THAT(numbers_of(set, "complex128"), ElementsAre(0, 0, 1, 0, 2, 0, 100, 0));
  }
}

TEST(Pt, ReadsViewsStridesAndOffsets) {
  for (const auto* file : {"views.pt", "views_legacy.pt", "deflated.pt", "big_endian.pt"}) {
    const auto set = open_data(file);
    EXPECT_THAT(numbers_of(set, "transposed"), ElementsAre(0, 6, 12, 18, 1, 7, 13, 19, 2, 8, 14, 20, 3, 9, 15,
                                                           21, 4, 10, 16, 22, 5, 11, 17, 23))
        << file;
    EXPECT_THAT(numbers_of(set, "slice"), ElementsAre(5, 6, 7, 8, 9, 10));
    EXPECT_THAT(numbers_of(set, "steps"), ElementsAre(1, 4, 7, 10, 13, 16, 19, 22));
    EXPECT_THAT(numbers_of(set, "permuted"), ElementsAre(0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10,
                                                         14, 18, 22, 3, 7, 11, 15, 19, 23));
    EXPECT_THAT(numbers_of(set, "expanded"), ElementsAre(3, 3, 3, 4, 4, 4));
    EXPECT_THAT(numbers_of(set, "empty"), ElementsAre());
    EXPECT_THAT(numbers_of(set, "scalar"), ElementsAre(7));
    EXPECT_THAT(numbers_of(set, "ones"), ElementsAre(2, 3, 4, 5));
  }
}

TEST(Pt, NamesTensorsByTheWayThroughContainers) {
  const auto set = open_data("nested.pt");
  ASSERT_TRUE(set) << set.error().message;
  std::vector<std::string> names;
  for (const StoredTensor& tensor : set->tensors) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("model.fc.weight", "model.fc.bias", "list.0", "list.1.0", "7", "default.a",
                                 "numpy", "numpy_scalar"));
  EXPECT_THAT(numbers_of(set, "7"), ElementsAre(1, 1));  // tied: the same object as model.fc.weight
  EXPECT_THAT(numbers_of(set, "list.1.0"), ElementsAre(2));
  EXPECT_THAT(numbers_of(set, "default.a"), ElementsAre(9));
  EXPECT_THAT(numbers_of(set, "numpy"), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(set->warnings, IsEmpty());
}

TEST(Pt, ReadsAStateDict) {
  const auto set = open_data("state_dict.pt");
  ASSERT_TRUE(set) << set.error().message;
  std::vector<std::string> names;
  for (const StoredTensor& tensor : set->tensors) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                                 "1.running_var", "1.num_batches_tracked"));
  EXPECT_THAT(numbers_of(set, "1.running_var"), ElementsAre(1, 1));
}

TEST(Pt, ReadsEveryPickleProtocol) {
  for (const int protocol : {1, 3, 4, 5}) {
    const auto set = open_data(fmt::format("protocol{}.pt", protocol));
    EXPECT_THAT(numbers_of(set, "a.0"), ElementsAre(0, 1, 2));
    EXPECT_THAT(numbers_of(set, "n"), ElementsAre(0, 1, 2));
    EXPECT_THAT(numbers_of(open_data(fmt::format("protocol{}_legacy.pt", protocol)), "a.0"),
                ElementsAre(0, 1, 2));
  }
}

TEST(Pt, ExecutesNothing) {
  const std::string refused = "refused: pickle wants to import posix.system; nothing is executed";
  EXPECT_THAT(error_of(open_data("evil.pt")), HasSubstr(refused));
  EXPECT_THAT(error_of(open_data("evil_legacy.pt")), HasSubstr(refused));
  for (const auto* name : {"evil_beside.pt", "evil_protocol4.pt"}) {
    const auto set = open_data(name);
    EXPECT_THAT(numbers_of(set, "t"), ElementsAre(3));
    EXPECT_THAT(error_of(set, "evil"),
                HasSubstr("what posix.system makes, which is not executed; not compared"));
    EXPECT_THAT(set->warnings, ElementsAre(HasSubstr(refused)));
  }
  EXPECT_THAT(error_of(open_pickle("cos\nsystem\n.")), HasSubstr("import os.system"));
  EXPECT_THAT(error_of(open_pickle("cbuiltins\neval\n(S'1'\ntR.")), HasSubstr("import builtins.eval"));
  EXPECT_THAT(error_of(open_pickle("cbuiltins\ngetattr\n(cos\n\nS'system'\ntR.")),
              HasSubstr("import builtins.getattr"));
  // Dropped from the stack, or hidden where nobody looks: still reported.
  const auto hidden = open_pickle("cos\nsystem\n(S'x'\ntR0}S'a'\n" + tensor(zero(), "K\6", "K\1") + "s.");
  EXPECT_THAT(numbers_of(hidden, "a"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(error_of(hidden, "(unreached)"), HasSubstr("holds 1 object that no name leads to"));
  EXPECT_THAT(hidden->warnings, ElementsAre(HasSubstr("import os.system")));
  EXPECT_THAT(error_of(open_pickle("ccollections\nOrderedDict\n)Rcos\nsystem\nb.")),
              HasSubstr("import os.system"));
}

TEST(Pt, RefusesProgramsAndForeignFiles) {
  EXPECT_THAT(error_of(open_data("script.pt")), HasSubstr("TorchScript"));
  std::string tar("sys_info");
  tar.resize(1024);
  tar.replace(257, 5, "ustar");
  const TempFile file(tar, "old.pt");
  EXPECT_TRUE(pt_legacy_format.sniff(as_bytes(tar), 1024));
  EXPECT_THAT(error_of(open_with(pt_format, file.path())), HasSubstr("0.1.10"));
  const TempFile text("hello world", "text.pt");
  EXPECT_THAT(error_of(open_with(pt_format, text.path())), HasSubstr("neither a zip nor a pickle"));
  const TempFile other(slurp(data_file("npz/stored.npz")), "array.pt");
  EXPECT_THAT(error_of(open_with(pt_format, other.path())), HasSubstr("without data.pkl"));
}

TEST(Pt, TensorsWithoutPlainDataKeepTheirPlace) {
  const auto set = open_data("unreadable.pt");
  EXPECT_THAT(numbers_of(set, "good"), ElementsAre(1));
  EXPECT_THAT(error_of(set, "quantised"), HasSubstr("\"quantised\" is a quantised tensor"));
  EXPECT_THAT(error_of(set, "sparse"), HasSubstr("sparse"));
  EXPECT_THAT(error_of(set, "csr"), HasSubstr("sparse"));
  EXPECT_THAT(error_of(set, "meta"), HasSubstr("meta"));
}

TEST(Pt, AViewThatLeavesItsStorageIsAnErrorOfThatTensor) {
  const auto refuse = [](const std::string& pickle) { return error_of(open_pickle(pickle + "."), ""); };
  EXPECT_EQ(refuse(tensor(zero(), "K\6", "K\1")), "readable");
  EXPECT_THAT(refuse(tensor(zero(), "K\7", "K\1")), HasSubstr("leaves its storage"));
  EXPECT_THAT(refuse(tensor("K\1", "K\6", "K\1")), HasSubstr("leaves its storage"));
  EXPECT_THAT(refuse(tensor(zero(), "K\2", "K\6")), HasSubstr("leaves its storage"));
  EXPECT_THAT(refuse(tensor("J\xff\xff\xff\xff", "K\2", "K\1")), HasSubstr("leaves its storage"));
  EXPECT_THAT(refuse(tensor("K\5", "K\2", "J\xff\xff\xff\xff")), HasSubstr("leaves its storage"));
  EXPECT_THAT(refuse(tensor(zero(), "J\xff\xff\xff\xff", "K\1")), HasSubstr("impossible"));
  EXPECT_THAT(refuse(tensor(zero(), "L4611686018427387904L\n", zero())), HasSubstr("impossible"));
  EXPECT_THAT(refuse(tensor(zero(), "L1152921504606846976L\n", zero())), HasSubstr("repeats"));
  EXPECT_THAT(refuse(tensor(zero(), "L9223372036854775807L\nK\2", "L9223372036854775807L\nK\1")),
              HasSubstr("impossible"));
  EXPECT_THAT(refuse(tensor(zero(), "K\3", "L9223372036854775807L\n")), HasSubstr("leaves its storage"));
  EXPECT_THAT(refuse(tensor(zero(), "K\2K\3", "K\1")), HasSubstr("not 64 numbers"));
  EXPECT_THAT(refuse(tensor(zero(), "K\6", "K\1", "FloatStorage", "K\7")), HasSubstr("wants 7 elements"));
  EXPECT_THAT(refuse(tensor(zero(), "K\6", "K\1", "FloatStorage", "L9223372036854775807L\n")),
              HasSubstr("wants 9223372036854775807"));
  EXPECT_THAT(refuse(tensor(zero(), "K\6", "K\1", "StrangeStorage")), HasSubstr("no storage that we know"));
}

// A number as pickle code.
std::string code(int64_t number) { return fmt::format("I{}\n", number); }

// {'0': first, '1': second, …}
std::string dict_of(const std::vector<std::string>& tensors) {
  std::string pickle = "(";
  for (size_t i = 0; i < tensors.size(); ++i) pickle += fmt::format("S'{}'\n", i) + tensors[i];
  return pickle + "d.";
}

TEST(Pt, ViewsMayNotAskForMoreWorkThanAFileHolds) {
  constexpr int64_t kAllowed = int64_t{1} << 30;
  const auto expanded = [](int64_t count) { return tensor(zero(), code(count), zero()); };
  // The bound is one of the whole file.
  const auto set = open_pickle(dict_of({expanded(kAllowed / 2), expanded(kAllowed / 2),
                                        expanded(kAllowed / 2), tensor(zero(), code(6), code(1))}));
  EXPECT_EQ(error_of(set, "0"), "readable");
  EXPECT_EQ(error_of(set, "1"), "readable");
  EXPECT_THAT(error_of(set, "2"), HasSubstr("repeats a storage of 6 elements"));
  EXPECT_THAT(error_of(set, "2"), HasSubstr("--trusted"));
  EXPECT_THAT(numbers_of(set, "3"), ElementsAre(0, 1, 2, 3, 4, 5));
  FormatOptions options;
  options.trusted = true;
  const auto trusted =
      open_pickle(dict_of({expanded(int64_t{1} << 40), expanded(int64_t{1} << 40)}), options);
  EXPECT_EQ(error_of(trusted, "1"), "readable");
  EXPECT_EQ((*find_tensor(*trusted, "1")->data)->meta.shape.count(), int64_t{1} << 40);
}

TEST(Pt, OneStorageUnderManyNamesIsWorkToo) {
  // 5000 names for a plain storage of 256 KiB, which takes 1 KiB in the file.
  const std::string zeros(1 << 18, '\0');
  const std::string plain = tensor(zero(), code(1 << 16), code(1), "FloatStorage", code(1 << 16));
  const TempFile file(deflated_zip({{"made/data.pkl", dict_of(std::vector<std::string>(40'000, plain))},
                                    {"made/data/0", zeros}}),
                      "names.pt");
  const auto set = open_with(pt_format, file.path());
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(error_of(set, "100"), "readable");
  EXPECT_THAT(error_of(set, "39999"), HasSubstr("--trusted"));
}

TEST(Pt, ADeflatedStorageIsInflatedOnceForAllItsTensors) {
  constexpr int64_t kRows = 300, kColumns = 700;
  std::string floats;
  for (int64_t i = 0; i < kRows * kColumns; ++i) {
    const auto value = static_cast<float>(i);
    floats.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const auto open_deflated = [&](const std::vector<std::string>& tensors, const FormatOptions& options) {
    const TempFile file(deflated_zip({{"made/data.pkl", dict_of(tensors)}, {"made/data/0", floats}}),
                        "deflated.pt");
    return open_with(pt_format, file.path(), options);
  };
  const std::string count = code(kRows * kColumns);
  std::vector<std::string> rows;
  for (int64_t row = 0; row < kRows; ++row)
    rows.push_back(tensor(code(row * kColumns), code(kColumns), code(1), "FloatStorage", count));
  FormatOptions options;
  options.inflated = std::make_shared<InflatedRoom>();
  const auto set = open_deflated(rows, options);
  for (const int64_t row : {kRows - 1, int64_t{0}, kRows / 2})
    EXPECT_EQ(numbers_of(set, std::to_string(row)).at(3), static_cast<double>(row * kColumns + 3));
  for (int64_t row = 0; row < kRows; ++row) numbers_of(set, std::to_string(row));
  EXPECT_EQ(options.inflated->inflated(), std::ssize(floats));

  options.inflated = std::make_shared<InflatedRoom>();
  const auto turned = open_deflated(
      {tensor(zero(), code(kColumns) + code(kRows), code(1) + code(kColumns), "FloatStorage", count)},
      options);
  EXPECT_EQ(numbers_of(turned, "0").at(1), static_cast<double>(kColumns));
  EXPECT_EQ(options.inflated->inflated(), std::ssize(floats));
}

TEST(Pt, ReadsUntypedStoragesOfTorch2) {
  const auto typed = [](std::string_view dtype, std::string_view size) {
    return fmt::format(
        "ctorch._utils\n_rebuild_tensor_v3\n((S'storage'\nctorch.storage\nUntypedStorage\nS'0'\nS'cpu'"
        "\nK\x18tQ{}({}t(K\x01t\x89Nctorch\n{}\ntR.",
        zero(), size, dtype);
  };
  EXPECT_THAT(numbers_of(open_pickle(typed("float32", "K\6")), ""), ElementsAre(0, 1, 2, 3, 4, 5));
  const auto set = open_pickle(typed("float8_e4m3fn", "K\x18"));
  ASSERT_TRUE(set);
  EXPECT_EQ(set->tensors[0].meta, (TensorMeta{DType::f8e4m3fn, Shape{{24}}}));
  EXPECT_THAT(error_of(open_pickle(typed("float8_e4m3fn", "K\x19")), ""), HasSubstr("leaves its storage"));
  EXPECT_THAT(error_of(open_pickle(typed("quint4x2", "K\6")), ""), HasSubstr("torch.quint4x2"));
}

TEST(Pt, ReadsFilesOfTorch2) {
  // tests/data/pt_new/README.md: arange(24) / 8 - 1, exact in all of these types.
  const auto all = open_with(pt_format, data_file("pt_new/all_dtypes.pt"));
  std::vector<double> eighths, pairs, truncated;
  for (int i = 0; i < 24; ++i) {
    eighths.push_back(i / 8.0 - 1);
    pairs.insert(pairs.end(), {i / 8.0 - 1, 0});
    truncated.push_back(i == 0 || i >= 16 ? 1 : 0);
  }
  for (const auto* name : {"float8_e4m3fn", "float8_e4m3fnuz", "bfloat16", "float16", "float64"})
    EXPECT_EQ(numbers_of(all, name), eighths) << name;
  for (const auto* name : {"complex32", "complex64", "complex128"})
    EXPECT_EQ(numbers_of(all, name), pairs) << name;
  for (const auto* name : {"uint16", "uint32", "uint64"}) EXPECT_EQ(numbers_of(all, name), truncated) << name;
  EXPECT_EQ(numbers_of(open_with(pt_format, data_file("pt_new/float8_e4m3fn.pt")), ""), eighths);
  EXPECT_EQ(numbers_of(open_with(pt_legacy_format, data_file("pt_new/bf16_legacy.pt")), ""), eighths);

  const auto cuda = open_with(pt_format, data_file("pt_new/cuda.pt"));
  EXPECT_THAT(numbers_of(cuda, "cuda"), ElementsAre(0, 1, 2, 3, 4));
  const auto views = open_with(pt_format, data_file("pt_new/views.pt"));
  EXPECT_THAT(numbers_of(views, "e"), ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2));
  EXPECT_EQ(numbers_of(views, "t")[1], 10);
  EXPECT_THAT(numbers_of(open_with(pt_format, data_file("pt_new/nested.pt")), "1.1.x"), ElementsAre(4, 5));
  EXPECT_THAT(numbers_of(open_with(pt_format, data_file("pt_new/meta.pt")), "ok"), ElementsAre(0, 1, 2, 3));
}

std::vector<std::string> names_of(const Result<TensorSet>& set) {
  std::vector<std::string> names;
  if (set)
    for (const StoredTensor& tensor : set->tensors) names.push_back(tensor.name);
  return names;
}

std::vector<std::string> beside(const Result<TensorSet>& set) {
  std::vector<std::string> all;
  if (set)
    for (const Beside& part : set->beside) all.push_back(part.what);
  return all;
}

TEST(Pt, AttributesOfAParameterAreTensorsToo) {
  for (const auto* name : {"parameter_state.pt", "parameter_state_legacy.pt"}) {
    const bool legacy = std::string_view(name).find("legacy") != std::string_view::npos;
    const auto set = open_with(legacy ? pt_legacy_format : pt_format, data_file("pt_new") / name);
    EXPECT_THAT(names_of(set), ElementsAre("", "scale")) << name;
    EXPECT_THAT(numbers_of(set, ""), ElementsAre(1.5, -2.5));
    EXPECT_THAT(numbers_of(set, "scale"), ElementsAre(3));
    EXPECT_THAT(beside(set), ElementsAre("a value that is no tensor"));  // the text of `note`
  }
  const auto plain = open_with(pt_format, data_file("pt_new/tensor_state.pt"));
  EXPECT_THAT(names_of(plain), ElementsAre("", "extra"));
  EXPECT_THAT(numbers_of(plain, "extra"), ElementsAre(7));
  // A class that is not known says nothing against the numbers: they are read, and the name is reported.
  const auto subclass = open_data("subclass.pt");
  EXPECT_THAT(names_of(subclass), ElementsAre("", "extra"));
  EXPECT_THAT(numbers_of(subclass, ""), ElementsAre(1, 2));
  EXPECT_THAT(numbers_of(subclass, "extra"), ElementsAre(8));
  EXPECT_THAT(subclass->warnings, ElementsAre(HasSubstr("import __main__.Sub")));
}

TEST(Pt, ObjectsOfUnknownClassesAreSearchedForTensors) {
  const auto set = open_data("objects.pt");
  EXPECT_THAT(names_of(set),
              ElementsAre("ordered.w", "ordered.hidden", "dict.w", "dict.hidden", "list.0", "list.hidden",
                          "thing.a", "slots.a", "loop.t", "set.0", "(1,a)", "key9.key", "storage"));
  const std::pair<std::string_view, double> values[] = {
      {"ordered.w", 1}, {"ordered.hidden", 2}, {"dict.w", 1},  {"dict.hidden", 2},
      {"list.0", 1},    {"list.hidden", 2},    {"thing.a", 4}, {"slots.a", 5},
      {"loop.t", 12},   {"set.0", 6},          {"(1,a)", 7},   {"key9.key", 9}};
  for (const auto& [name, value] : values) EXPECT_THAT(numbers_of(set, name), ElementsAre(value)) << name;
  EXPECT_THAT(numbers_of(set, "storage"), ElementsAre(1, 2, 3));
  EXPECT_THAT(names_of(open_data("keywords.pt")), ElementsAre("k.t"));
  EXPECT_THAT(numbers_of(open_data("keywords.pt"), "k.t"), ElementsAre(11));
}

TEST(Pt, AWholeModuleIsItsTensorsAndNothingRuns) {
  for (const fs::path& path : {data_file("pt/module.pt"), data_file("pt_new/module.pt")}) {
    const auto set = open_with(pt_format, path);
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_FALSE(set->tensors.empty());
    for (const StoredTensor& tensor : set->tensors) EXPECT_TRUE(tensor.data) << tensor.name;
    ASSERT_FALSE(set->warnings.empty());
    EXPECT_THAT(set->warnings[0], HasSubstr("nothing is executed"));
  }
  EXPECT_THAT(names_of(open_data("module.pt")), ::testing::Contains("_modules.0._parameters.weight"));
}

TEST(Pt, ObjectsWithoutTensorsHarmNothing) {
  const auto set = open_data("settings.pt");
  EXPECT_THAT(names_of(set), ElementsAre("t"));
  EXPECT_EQ(error_of(set, "t"), "readable");
}

TEST(Pt, OfEqualKeysTheLastCountsAndTheOtherIsNotForgotten) {
  const std::string first = tensor(zero(), "K\1", "K\1"), last = tensor("K\5", "K\1", "K\1");
  for (const std::string& pickle :
       {"}(S'a'\n" + first + "S'a'\n" + last + "u.",            // SETITEMS
        "}(K\1" + first + "G?\xf0\0\0\0\0\0\0"s + last + "u.",  // 1 and 1.0
        "ccollections\nOrderedDict\n(((S'a'\n" + first + "lltR(S'a'\n" + last + "u."}) {
    const auto set = open_pickle(pickle);
    ASSERT_TRUE(set) << set.error().message;
    ASSERT_EQ(set->tensors.size(), 2U);
    EXPECT_THAT(numbers_of(set, set->tensors[0].name), ElementsAre(5));
    EXPECT_THAT(error_of(set, "(unreached)"), HasSubstr("holds 1 tensor that no name leads to"));
  }
}

TEST(Pt, WhatNoWayLeadsToIsSaid) {
  const std::string t = tensor(zero(), "K\6", "K\1");
  // Dropped from the stack; only remembered; in the arguments of a tensor of a kind that has no such
  // argument.
  for (const std::string& pickle : {t + "0}S'a'\nK\1s.", t + "q\1"s + "0N.", t + "0" + t + "."}) {
    const auto set = open_pickle(pickle);
    EXPECT_THAT(error_of(set, "(unreached)"), HasSubstr("not compared")) << pickle;
  }
  // State, elements and arguments of what is called are all searched.
  const auto everywhere = open_pickle("cany\nThing\n(" + t + "tR(" + t + "e}S'x'\n" + t + "sb.");
  EXPECT_THAT(names_of(everywhere), ElementsAre("args.0", "0", "x"));
  EXPECT_THAT(names_of(open_pickle("cbuiltins\nlist\n((" + t + "lt" + "R.")), ElementsAre("args.0.0"));
  EXPECT_THAT(names_of(open_pickle("ccollections\nOrderedDict\n)R}S'_x'\n" + t + "sb.")), ElementsAre("_x"));
  EXPECT_THAT(error_of(open_pickle("cany\nThing\n)RK\1bK\2b.")), HasSubstr("two states"));
}

// Pickle code for so many bytes: protocol 3, and as protocol 2 writes them.
std::string bytes_code(size_t count) {
  return "C" + std::string(1, static_cast<char>(count)) + std::string(count, '\xe9');
}
std::string encoded_code(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += "\u00e9";
  return "c_codecs\nencode\n(X" + std::string(1, static_cast<char>(text.size())) + "\0\0\0"s + text +
         "S'latin1'\ntR";
}

TEST(Pt, BytesThatMayBeAnythingAreNotPassedOver) {
  const std::string t = tensor(zero(), "K\6", "K\1");
  for (const std::string& bytes :
       {bytes_code(40), encoded_code(40), "cbuiltins\nbytearray\n(" + encoded_code(40) + "tR",
        "c__builtin__\nbytearray\n(" + bytes_code(40) + "tR", "U(" + std::string(40, '\xe9')}) {
    const auto set = open_pickle("}(S't'\n" + t + "S'x'\n" + bytes + "u.");
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_THAT(names_of(set), ElementsAre("t", "x"));
    EXPECT_THAT(error_of(set, "x"), HasSubstr("\"x\" is 40 bytes that may be anything; not compared"));
  }
  // A file within the file, in an object; dropped from the stack; under a key that was given twice.
  EXPECT_THAT(
      error_of(open_pickle("}(S't'\n" + t + "S'x'\nc_io\nBytesIO\n)\x81(" + bytes_code(40) + "K\0Ntbu."s),
               "x.state.0"),
      HasSubstr("40 bytes"));
  EXPECT_THAT(error_of(open_pickle(bytes_code(40) + "0" + t + "."), "(unreached)"), HasSubstr("1 object"));
  EXPECT_THAT(error_of(open_pickle("}(S'x'\n" + bytes_code(40) + "S'x'\n" + t + "u."), "(unreached)"),
              HasSubstr("1 object"));
  // A digest, a name of Python 2, and what is part of an array are no such thing.
  const std::string name = "U(" + std::string(40, 'n');
  const auto plain = open_pickle("}(S't'\n" + t + "S'x'\n" + bytes_code(32) + "S'y'\n" + name + "u.");
  EXPECT_THAT(names_of(plain), ElementsAre("t"));
  const std::string array =
      "cnumpy.core.numeric\n_frombuffer\n(" + bytes_code(40) + "cnumpy\ndtype\n(S'u1'\ntR(K(tS'C'\ntR.";
  EXPECT_THAT(names_of(open_pickle(array)), ElementsAre(""));
  EXPECT_THAT(beside(open_pickle(array)), ElementsAre("storage 0, which no tensor shows"));
}

TEST(Pt, WhatIsMadeByACallIsNotPassedOver) {
  const std::string t = tensor(zero(), "K\6", "K\1");
  const auto opened = [&](const std::string& value) {
    return open_pickle("}(S't'\n" + t + "S'x'\n" + value + "u.");
  };
  const std::string why = "\"x\" is what array.array makes, which is not executed; not compared";
  EXPECT_THAT(error_of(opened("carray\narray\n(S'f'\n(K\1K\2ltR"), "x"), HasSubstr(why));
  EXPECT_THAT(error_of(opened("(S'f'\niarray\narray\n"), "x"), HasSubstr(why));   // INST
  EXPECT_THAT(error_of(opened("(carray\narray\nS'f'\no"), "x"), HasSubstr(why));  // OBJ
  EXPECT_THAT(error_of(opened("carray\narray\n)R"), "x"), HasSubstr(why));        // no arguments
  const auto with_bytes = opened("carray\narray\n(" + bytes_code(40) + "tR");
  EXPECT_THAT(names_of(with_bytes), ElementsAre("t", "x"));  // one row for the object and what it is made of
  EXPECT_THAT(names_of(opened("carray\narray\n(" + t + "tR")), ElementsAre("t", "x.args.0"));
  EXPECT_THAT(names_of(opened("cmy\nSettings\n)\x81}S'a'\nK\1sb")), ElementsAre("t"));  // an object of values
  EXPECT_THAT(names_of(opened("cdatetime\ndatetime\n(" + bytes_code(10) + "tR")), ElementsAre("t"));
}

TEST(Pt, NothingIsPassedOverWithTheDescriptionOfATensor) {
  const std::string t = tensor(zero(), "K\6", "K\1");
  const auto rebuilt = [](const std::string& id, const std::string& size) {
    return "ctorch._utils\n_rebuild_tensor_v2\n((S'storage'\nctorch\nFloatStorage\nS'0'\n" + id + "tQK\0"s +
           size + "(K\1t\x89NtR.";
  };
  EXPECT_EQ(error_of(open_pickle(rebuilt("S'cpu'\nK\6", "(K\6t")), ""), "readable");
  EXPECT_EQ(error_of(open_pickle(rebuilt("S'cpu'\nK\6N", "(K\6t")), ""), "readable");
  for (const std::string& id : {"S'cpu'\nK\6}S'x'\n" + t + "s", "S'cpu'\nK\6N" + t, t + "K\6",
                                "S'" + std::string(99, 's') + "'\nK\6"})
    EXPECT_THAT(error_of(open_pickle(rebuilt(id, "(K\6t")), ""), HasSubstr("has no storage that we know"));
  EXPECT_EQ(error_of(open_pickle(rebuilt("S'cpu'\nK\6", "ctorch\nSize\n((K\6ttR")), ""), "readable");
  EXPECT_THAT(error_of(open_pickle(rebuilt("S'cpu'\nK\6", "ctorch\nSize\n((K\6t" + t + "tR")), ""),
              HasSubstr("has a shape"));
  const auto array = [](const std::string& dtype) {
    return "cnumpy.core.numeric\n_frombuffer\n(C\1acnumpy\ndtype\n(S'u1'\n" + dtype + "(K\1tS'C'\ntR.";
  };
  EXPECT_EQ(error_of(open_pickle(array("\x89\x88tR(K\3S'|'\nNNNK\0K\0K\0tb"s)), ""), "readable");
  EXPECT_THAT(error_of(open_pickle(array("\x89\x88tR(K\3S'|'\nNNNK\0K\0K\0}S'x'\n"s + t + "stb")), ""),
              HasSubstr("dtype"));
  EXPECT_THAT(error_of(open_pickle(array(t + "tR")), ""), HasSubstr("dtype"));
}

TEST(Pt, ReadsScalarsOfNumpy) {
  const auto scalar = [](std::string_view dtype, std::string_view bytes) {
    return fmt::format("cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(S'{}'\ntR(K\3S'<'\ntbC{}{}tR.",
                       dtype, static_cast<char>(bytes.size()), bytes);
  };
  const auto set = open_pickle(scalar("f4", "\0\0\xc0\x3f"s));
  EXPECT_THAT(numbers_of(set, ""), ElementsAre(1.5));
  EXPECT_EQ(set->tensors[0].meta->shape.text(), "[]");
  EXPECT_THAT(names_of(open_pickle(scalar("U2", "a\0\0\0b\0\0\0"s))), IsEmpty());
  const std::string date =  // with its unit behind the byte order
      "cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(S'M8'\ntR(K\4S'<'\nNNNK\0K\0K\0(}(S'D'\nK\1K\1K\1tttbC\b12345678tR."s;
  EXPECT_THAT(names_of(open_pickle(date)), IsEmpty());
  EXPECT_THAT(error_of(open_pickle(scalar("f8", "1234")), ""), HasSubstr("with 4 bytes"));
  EXPECT_THAT(numbers_of(open_data("nested.pt"), "numpy_scalar"), ElementsAre(2.5));
}

TEST(Pt, SaysWhatItsTensorsDoNotShow) {
  EXPECT_THAT(beside(open_data("one_of_sixteen.pt")),
              ElementsAre("a part of storage 0 that no tensor shows"));
  EXPECT_THAT(beside(open_data("tensor.pt")), IsEmpty());
  EXPECT_THAT(beside(open_data("parameter.pt")), IsEmpty());
  EXPECT_THAT(beside(open_pickle(tensor(zero(), "K\6", "K\1") + ".")), IsEmpty());
  EXPECT_THAT(beside(open_pickle(tensor(zero(), "K\2K\3", "K\1K\2") + ".")), IsEmpty());  // transposed
  EXPECT_THAT(beside(open_pickle(tensor("K\1", "K\5", "K\1") + ".")),
              ElementsAre("a part of storage 0 that no tensor shows"));
  EXPECT_THAT(beside(open_pickle(tensor(zero(), "K\3", "K\2") + ".")),
              ElementsAre("a part of storage 0 that no tensor shows"));
  EXPECT_THAT(beside(open_pickle(tensor(zero(), "K\6", "K\1") + "." + "more")),
              ElementsAre("4 bytes behind the pickle"));
  EXPECT_THAT(beside(open_pickle("(K\1" + tensor(zero(), "K\6", "K\1") + "l.")),
              ElementsAre("a value that is no tensor"));
  const std::string all = tensor(zero(), "K\6", "K\1"),
                    detached = "values that are in its pickle and not in its objects";
  EXPECT_THAT(beside(open_pickle("X\6\0\0\0secret0"s + all + ".")), ElementsAre(detached));
  EXPECT_THAT(beside(open_pickle("X\6\0\0\0secretq\0000"s + all + ".")), ElementsAre(detached));
  EXPECT_THAT(beside(open_pickle("}S''\n" + all + "s.")), ElementsAre("a container around its tensor"));
  EXPECT_THAT(beside(open_pickle("}(S'a'\nS'secret'\nS'a'\n" + all + "u.")),
              ElementsAre("a value that is no tensor"));
  for (const auto* name : {"protocol4.pt", "protocol5.pt", "types.pt", "nested.pt"})
    EXPECT_THAT(beside(open_data(name)), ::testing::Not(::testing::Contains(detached))) << name;
}

TEST(Pt, SaysWhichBytesBelongToNoEntry) {
  FormatOptions thorough;
  thorough.every_byte = true;
  const std::string whole = archive(tensor(zero(), "K\6", "K\1") + ".");
  const auto look = [&](const std::string& bytes) {
    const TempFile file(bytes, "made.pt");
    return beside(open_with(pt_format, file.path(), thorough));
  };
  EXPECT_THAT(look(whole), IsEmpty());
  EXPECT_THAT(beside(open_data("tensor.pt", thorough)), IsEmpty());
  EXPECT_THAT(beside(open_with(pt_format, data_file("pt_new/float16.pt"), thorough)), IsEmpty());
  std::string comment = whole + "secret";
  comment[whole.size() - 2] = 6;  // the length of the comment, the last field of the end record
  EXPECT_THAT(look(comment), ElementsAre(HasSubstr("no entry of the archive")));
  // A comment that looks like the end of a zip; a note in a field that only pads; another field.
  std::string second_end = whole + whole.substr(whole.size() - 22);
  second_end[whole.size() - 2] = 22;
  EXPECT_THAT(look(second_end), ElementsAre(HasSubstr("no entry of the archive")));
  const size_t padding = whole.find("FB") + 4;
  for (const size_t place : {padding, padding - 4}) {
    std::string note = whole;
    note[place] = 'n';
    EXPECT_THAT(look(note), ElementsAre(HasSubstr("no entry of the archive")));
  }
  for (const auto* folder : {"pt", "pt_new"})
    for (const auto& entry : fs::directory_iterator(data_file(folder))) {
      const auto set = open_with(pt_format, entry.path(), thorough);
      if (entry.path().extension() != ".pt" || !set) continue;
      EXPECT_THAT(beside(set), ::testing::Each(::testing::Not(HasSubstr("entry")))) << entry.path();
    }
}

TEST(Pt, AnOldFileHoldsNoValuesAroundItsObjects) {
  const std::string whole = slurp(data_file("pt_new/bf16_legacy.pt"));
  const auto look = [&](std::string_view before, std::string_view with) {
    std::string bytes = whole;
    const size_t at = whole.find(before);
    EXPECT_NE(at, std::string::npos);
    if (at != std::string::npos) bytes.replace(at, before.size(), with);
    const TempFile file(bytes, "made.pt");
    return beside(open_with(pt_legacy_format, file.path()));
  };
  EXPECT_THAT(look("", ""), IsEmpty());
  const std::string version = "M\xe9\3.";
  EXPECT_THAT(look(version, "X\6\0\0\0secret0"s + version), ElementsAre("values before its objects"));
  EXPECT_THAT(look("little_endian", "little_secret"), ElementsAre("values before its objects"));
  const std::string keys = "\x80\2]"s;
  EXPECT_THAT(look(keys, "\x80\2X\6\0\0\0secret0]"s), ElementsAre("values behind its objects"));
}

TEST(Pt, NotesOfTheArchiveSayWhatTorchSaysThere) {
  FormatOptions thorough;
  thorough.every_byte = true;
  const auto with_note = [&](std::string_view name, std::string_view content) {
    const TempFile place("", "made.pt");
    auto out = FileWriter::create(place.path(), IfExists::replace);
    ZipWriter zip(*out);
    EXPECT_TRUE(zip.add("made/data.pkl", as_bytes("N."sv)));
    EXPECT_TRUE(zip.add(fmt::format("made/{}", name), as_bytes(content)));
    EXPECT_TRUE(zip.finish() && out->publish());
    return beside(open_with(pt_format, place.path(), thorough));
  };
  EXPECT_THAT(with_note("version", "3\n"), IsEmpty());
  EXPECT_THAT(with_note(".data/serialization_id", "0636457737946401051300000027264370494161"), IsEmpty());
  EXPECT_THAT(with_note("version", "3\nnotes"), ElementsAre("entry \"made/version\""));
  EXPECT_THAT(with_note("version", ""), ElementsAre("entry \"made/version\""));
  EXPECT_THAT(with_note("byteorder", "little  "), ElementsAre("entry \"made/byteorder\""));
  EXPECT_THAT(with_note(".format_version", "secret"), ElementsAre("entry \"made/.format_version\""));
}

TEST(Pt, CyclesEndAndSharedObjectsAreBounded) {
  EXPECT_THAT(numbers_of(open_data("cycle.pt"), "a"), ElementsAre(5));
  // Lists of two lists of two lists…: 2^40 paths, each of which is another name of a tensor, if there is one.
  std::string laughs;
  for (int i = 1; i < 40; ++i)
    laughs += fmt::format("](h{0}h{0}eq{1}", static_cast<char>(i - 1), static_cast<char>(i));
  FormatOptions little;
  little.memory = 1 << 24;
  const auto set = open_pickle("]" + tensor(zero(), "K\1", "K\1") + "aq\0"s + laughs + ".", little);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().kind, ErrorKind::limit);
  const auto nothing = open_pickle("]q\0"s + laughs + ".", little);
  ASSERT_TRUE(nothing) << "lists in which there is nothing are walked once";
  EXPECT_THAT(nothing->tensors, IsEmpty());
}

TEST(Pt, AMillionLevelsDeep) {
  std::string nested(1000000, ']');
  nested += tensor(zero(), "K\1", "K\1") + std::string(1000000, 'a') + ".";
  const auto set = open_pickle(nested);
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->tensors.size(), 1U);
  EXPECT_EQ(set->tensors[0].name.size(), 1999999U);  // 0.0.0…
}

TEST(Pt, SurvivesTruncationAndDamage) {
  for (const auto* name : {"tensor.pt", "evil_beside.pt", "deflated.pt"})
    expect_survives_truncation(pt_format, slurp(data_file("pt") / name));
  expect_survives_truncation(pt_legacy_format, slurp(data_file("pt/views_legacy.pt")));
  expect_survives_damage(pt_format, slurp(data_file("pt/deflated.pt")));
  expect_survives_damage(pt_legacy_format, slurp(data_file("pt/protocol4_legacy.pt")));
}

TEST(Pt, ATruncatedOldFileKeepsItsFirstTensors) {
  const std::string bytes = slurp(data_file("pt/types_legacy.pt"));
  const TempFile file(std::string_view(bytes).substr(0, bytes.size() - 10), "cut.pt");
  const auto set = open_with(pt_legacy_format, file.path());
  ASSERT_TRUE(set) << set.error().message;
  int readable = 0, broken = 0;
  for (const StoredTensor& tensor : set->tensors) ++(tensor.data ? readable : broken);
  EXPECT_EQ(readable, 11);
  EXPECT_EQ(broken, 1);
}

TEST(Pt, WritesWhatItReads) {
  const auto types = open_data("types.pt");
  ASSERT_TRUE(types);
  const TempFile again(written(pt_format, types->tensors), "again.pt");
  const auto set = open_with(pt_format, again.path());
  for (const StoredTensor& tensor : types->tensors)
    EXPECT_EQ(numbers_of(set, tensor.name), numbers_of(types, tensor.name));
  const auto views = open_data("views.pt");
  const TempFile flat(written(pt_format, views->tensors), "flat.pt");
  EXPECT_THAT(numbers_of(open_with(pt_format, flat.path()), "expanded"), ElementsAre(3, 3, 3, 4, 4, 4));
  const auto single = open_data("tensor.pt");
  const TempFile one(written(pt_format, single->tensors), "one.pt");
  EXPECT_EQ(numbers_of(open_with(pt_format, one.path()), ""), numbers_of(single, ""));
}

TEST(Pt, WritesTypesOfTorch2AndRefusesOthers) {
  const auto of = [](DType dtype) {
    return std::vector<StoredTensor>{
        {"t",
         dense_in_memory(std::vector<std::byte>(8, std::byte{0x38}), {dtype, Shape{{8 / size_of(dtype)}}}),
         {},
         {},
         {}}};
  };
  for (const DType dtype :
       {DType::f8e4m3fn, DType::f8e5m2, DType::f8e8m0, DType::u16, DType::u32, DType::u64, DType::c32}) {
    const TempFile file(written(pt_format, of(dtype)), "new.pt");
    const auto set = open_with(pt_format, file.path());
    ASSERT_TRUE(set) << set.error().message;
    EXPECT_EQ(find_tensor(*set, "t")->meta, (TensorMeta{dtype, Shape{{8 / size_of(dtype)}}}));
  }
  const TempFile place("");
  auto out = FileWriter::create(place.path(), IfExists::replace);
  const auto done = pt_format.write(*out, of(DType::hif8));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("hif8"));
}

TEST(Pt, RecognisesWhatTorchMayWriteFirst) {
  const auto head = [](std::string_view name) {
    return "PK\3\4"s + std::string(22, '\0') + static_cast<char>(name.size()) + std::string(3, '\0') +
           std::string(name) + std::string(20, 'Z');
  };
  for (const auto* name : {"archive/data.pkl", "archive/.format_version", "m/byteorder", "m/version",
                           "m/.data/serialization_id", "m/data/0"})
    EXPECT_TRUE(pt_format.sniff(as_bytes(head(name)), 1000)) << name;
  for (const auto* name : {"weight.npy", "data/weight.npy", "xl/workbook.xml", "data.txt", "/data.pkl"})
    EXPECT_FALSE(pt_format.sniff(as_bytes(head(name)), 1000)) << name;
}

}  // namespace
}  // namespace assay
