// What a file holds beside the tensors that plain names lead to is found, or said.
#include "assay/format/pt_test_tools.h"

namespace assay {
namespace {

using namespace testing_tools;
using namespace std::string_literals;
using namespace std::string_view_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(PtObjects, AttributesOfAParameterAreTensorsToo) {
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

// FSDP writes subclasses of Tensor without data, which have it in their state. The second of two ranks.
TEST(PtObjects, ATensorThatRanksShareIsTheShareOfThisOne) {
  for (const auto* name : {"sharded_tensor.pt", "dtensor.pt"}) {
    const auto set = open_with(pt_format, data_file("pt_new") / name);
    EXPECT_THAT(names_of(set), ElementsAre("weight")) << name;
    EXPECT_THAT(numbers_of(set, "weight"), ElementsAre(4, 5)) << name;
  }
}

TEST(PtObjects, ObjectsOfUnknownClassesAreSearchedForTensors) {
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

TEST(PtObjects, AWholeModuleIsItsTensorsAndNothingRuns) {
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

TEST(PtObjects, ObjectsWithoutTensorsHarmNothing) {
  const auto set = open_data("settings.pt");
  EXPECT_THAT(names_of(set), ElementsAre("t"));
  EXPECT_EQ(error_of(set, "t"), "readable");
}

TEST(PtObjects, OfEqualKeysTheLastCountsAndTheOtherIsNotForgotten) {
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

TEST(PtObjects, WhatNoWayLeadsToIsSaid) {
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

TEST(PtObjects, BytesThatMayBeAnythingAreNotPassedOver) {
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

TEST(PtObjects, WhatIsMadeByACallIsNotPassedOver) {
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

TEST(PtObjects, SmallObjectsAreCounted) {
  const std::string t = tensor(zero(), "K\6", "K\1");
  const auto opened = [&](const std::string& value) {
    return open_pickle("}(S't'\n" + t + "S'x'\n" + value + "u.");
  };
  const auto is_counted = [&](const std::string& value, std::string_view as) {
    const auto set = opened(value);
    return names_of(set) == std::vector<std::string>{"t"} && set->warnings[0].count == 1 &&
           set->warnings[0].text.ends_with(fmt::format("1 object is no tensor and not compared: x ({})", as));
  };
  const std::string member = "cmy\nKind\n(K\1tR", by_name = "cbuiltins\ngetattr\n(cmy\nKind\nS'A'\ntR";
  EXPECT_TRUE(is_counted(member, "my.Kind"));
  EXPECT_TRUE(is_counted("cmy\n_Kind\n(S'steps'\ntR", "my._Kind"));
  EXPECT_TRUE(is_counted(by_name, "builtins.getattr"));
  EXPECT_TRUE(is_counted("cmy\nOuter\n(" + member + "tR", "my.Outer"));  // of one inside another, the outer
  EXPECT_TRUE(is_counted("cre\n_compile\n(S'a+'\nK\x20tR", "re._compile"));
  // A function, what may be a tensor, many numbers, bytes, much text, a circle.
  std::string many, circle = "cmy\nKind\n(]q\1(h\1etR";
  for (int i = 0; i < 20; ++i) many += "K\1";
  for (const std::string& value :
       {"cmy\nkind\n(K\1tR"s, "ctorch\nFloatTensor\n((K\1ltR"s, "cmy\nKind\n((" + many + "ltR",
        "cmy\nKind\n(" + bytes_code(40) + "tR", "cmy\nKind\n(S'" + std::string(5000, 'a') + "'\ntR",
        "cmy\nOuter\n(cmy\nkind\n(K\1tRtR"s}) {
    const auto set = opened(value);
    EXPECT_THAT(names_of(set), ElementsAre("t", "x")) << value;
    EXPECT_THAT(error_of(set, "x"), HasSubstr("not compared"));
  }
  EXPECT_THAT(names_of(opened(circle)), ElementsAre("t", "x"));
  // With a tensor in it, it is the tensor.
  EXPECT_THAT(names_of(opened("cmy\nKind\n(" + t + "tR")), ElementsAre("t", "x.args.0"));
}

TEST(PtObjects, NothingIsPassedOverWithTheDescriptionOfATensor) {
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

TEST(PtObjects, ReadsScalarsOfNumpy) {
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

TEST(PtObjects, SaysWhatItsTensorsDoNotShow) {
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

TEST(PtObjects, ValuesAmongTheArgumentsOfATensorAreSaid) {
  const auto value = ElementsAre("a value that is no tensor");
  const std::string all = tensor(zero(), "K\6", "K\1");  // … requires_grad, hooks, end, call
  const std::string start = all.substr(0, all.size() - 4);
  EXPECT_THAT(beside(open_pickle(start + "\x88NtR.")), IsEmpty());
  EXPECT_THAT(beside(open_pickle(start + "K\1NtR.")), IsEmpty());
  EXPECT_THAT(beside(open_pickle(start + "K\7NtR.")), value);
  EXPECT_THAT(beside(open_pickle(start + "S'secret'\nNtR.")), value);
  EXPECT_THAT(beside(open_pickle(start + "\x89K\7tR.")), value);
  EXPECT_THAT(beside(open_pickle(start + "\x89NK\7tR.")), value);
  EXPECT_THAT(beside(open_pickle(start + "\x89NNF2.5\ntR.")), value);
  const auto parameter = [&](std::string_view more) {
    return beside(open_pickle("ctorch._utils\n_rebuild_parameter\n(" + all + std::string(more) + "tR."));
  };
  EXPECT_THAT(parameter("\x88N"), IsEmpty());
  EXPECT_THAT(parameter("K\7N"), value);
  const auto on_device = [&](std::string_view more) {
    return beside(open_pickle("ctorch._utils\n_rebuild_device_tensor_from_cpu_tensor\n(" + all +
                              std::string(more) + "tR."));
  };
  EXPECT_THAT(on_device("ctorch\nfloat32\nS'xla:0'\n\x89"), IsEmpty());
  EXPECT_THAT(on_device("ctorch\nfloat32\nK\7\x89"), value);
  // Of torch_npu, the number of a storage format follows.
  std::string npu = start + "\x89NK\2tR.";
  npu.replace(0, npu.find('('), "ctorch_npu.utils.storage\n_rebuild_npu_tensor\n");
  EXPECT_THAT(beside(open_pickle(npu)), IsEmpty());
  const auto array = [&](std::string_view shape, std::string_view flags) {
    const std::string made = fmt::format(
        "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n({}tS'b'\ntR(K\1(K\1tcnumpy\ndtype\n(S'f4'\n"
        "\x89\x88tR(K\3S'<'\nNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff{}tb\x89"
        "C\4",
        shape, flags);
    return beside(open_pickle(made + "\0\0\xc0\x3ftb."s));
  };
  const std::string storage = "storage 0, which no tensor shows";
  EXPECT_THAT(array(zero(), zero()), ElementsAre(storage));
  EXPECT_THAT(array("K\7", zero()), ElementsAre("a value that is no tensor", storage));
  EXPECT_THAT(array(zero(), "K\7"), ElementsAre("a value that is no tensor", storage));
}

TEST(PtObjects, SaysWhichBytesBelongToNoEntry) {
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

TEST(PtObjects, AnOldFileHoldsNoValuesAroundItsObjects) {
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

TEST(PtObjects, NotesOfTheArchiveSayWhatTorchSaysThere) {
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

}  // namespace
}  // namespace assay
