#include "assay/format/pt_test_tools.h"
#include "assay/support/inflated_entry.h"
#include "assay/tensor/dense.h"

#include <sys/resource.h>

namespace assay {
namespace {

using namespace testing_tools;
using namespace std::string_literals;
using namespace std::string_view_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

// A list of two of itself, so many times over, around one tensor.
std::string doubled(int times) {
  std::string pickle = "(" + tensor(zero(), code(6), code(1)) + "lp0\n0";
  for (int i = 0; i < times; ++i) pickle += fmt::format("(g{0}\ng{0}\nlp{1}\n0", i, i + 1);
  return pickle + fmt::format("g{}\n.", times);
}

TEST(Pt, FewBytesMayNotNameATensorWithoutEnd) {
  const auto some = open_pickle(doubled(12));
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_EQ(some->tensors.size(), 4096U);
  const auto many = open_pickle(doubled(40));
  ASSERT_FALSE(many);
  EXPECT_THAT(many.error().message, HasSubstr("names lead to its tensors"));
  EXPECT_THAT(many.error().message, HasSubstr("--trusted"));
  FormatOptions trusted;
  trusted.trusted = true;
  const auto all = open_pickle(doubled(15), trusted);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->tensors.size(), 32768U);
}

TEST(Pt, ATensorOfManyNamesIsNoContainerOfValues) {
  FormatOptions with_values;
  with_values.values = true;
  std::vector<std::string> names = {tensor(zero(), code(6), code(1)) + "p9\n"};
  names.resize(6000, "g9\n");
  const auto set = open_pickle(dict_of(names), with_values);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->tensors.size(), 6000U);
  EXPECT_THAT(set->warnings, IsEmpty());
}

// A text of 256 KiB, 4096 times in one list: a gibibyte.
TEST(Pt, ATextNamedManyTimesIsNotCopiedWhereThereIsNoRoom) {
  const auto peak = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  std::string list = "(V" + std::string(256 << 10, 'y') + "\np9\n";
  for (int i = 1; i < 4096; ++i) list += "g9\n";
  FormatOptions with_values;
  with_values.values = true;
  const auto before = peak();
  const auto set = open_pickle(dict_of({tensor(zero(), code(6), code(1)), list + "l"}), with_values);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->tensors.size(), 1U);
  EXPECT_THAT(set->warnings, ElementsAre(HasSubstr("4096 values beside its tensors")));
  EXPECT_LT(peak() - before, 256 << 10);
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
