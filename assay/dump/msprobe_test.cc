#include "assay/dump/msprobe.h"

#include "assay/model/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Msprobe : public testing::Test {
 protected:
  Msprobe() {
    std::string pattern = (fs::temp_directory_path() / "assay_msprobe_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~Msprobe() override { fs::remove_all(root_); }

  void put(const fs::path& relative, const std::string& text) const {
    fs::create_directories((root_ / relative).parent_path());
    std::ofstream(root_ / relative, std::ios::binary) << text;
  }

  Result<Frame> index(const OpenOptions& options = {}) const {
    return msprobe_layout.index(FrameInfo{At{}, {root_ / "dump.json"}}, options);
  }

  Frame index_data(const std::string& data, const std::string& task = "tensor") const {
    put("dump.json",
        R"({"task": ")" + task + R"(", "level": "L1", "framework": "pytorch", "data": )" + data + "}");
    auto frame = index();
    EXPECT_TRUE(frame) << (frame ? "" : frame.error().message);
    return frame ? std::move(*frame) : Frame{};
  }

  fs::path root_;
};

std::vector<std::string> names(const Frame& frame) {
  std::vector<std::string> out;
  for (const Node& node : frame.nodes)
    for (const Item& item : node.items) out.emplace_back(item.name);
  return out;
}

// "dtype shape max checksum"
std::string stated(const Item& item) {
  const Value max = to_value(item.stated->max);
  std::string text = "-";
  if (const auto* real = std::get_if<double>(&max)) text = fmt::format("{}", *real);
  if (const auto* whole = std::get_if<int64_t>(&max)) text = fmt::format("{}", *whole);
  if (const auto* truth = std::get_if<bool>(&max)) text = *truth ? "True" : "False";
  if (const auto* words = std::get_if<std::string>(&max)) text = *words;
  return fmt::format("{} {} {} {}", item.stated->dtype, item.stated->shape, text, item.stated->checksum);
}

constexpr const char* kTensor =
    R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": 1.5, "Min": -1, "Mean": NaN, "Norm": 2.0, "requires_grad": true})";

TEST_F(Msprobe, AnEntryBecomesANodeWithItsItemsInTableOrder) {
  const Frame frame = index_data(std::string(R"({"Module.fc.Linear.forward.0": {"input_args": [)") + kTensor +
                                 R"(, null, []], "input_kwargs": {"k": )" + kTensor + R"(}, "output": [)" +
                                 kTensor + R"(], "parameters": {"weight": )" + kTensor + "}}}");
  ASSERT_EQ(frame.nodes.size(), 1u);
  EXPECT_THAT(
      names(frame),
      ElementsAre("Module.fc.Linear.forward.0.input.0", "Module.fc.Linear.forward.0.input.1",
                  "Module.fc.Linear.forward.0.input.k", "Module.fc.Linear.forward.0.parameters.weight",
                  "Module.fc.Linear.forward.0.output.0"));
  const Item& first = frame.nodes[0].items[0];
  EXPECT_EQ(first.port.direction, Direction::input);
  EXPECT_EQ(*first.meta, (TensorMeta{DType::f32, Shape{{2, 3}}}));
  EXPECT_EQ(stated(first), "torch.float32 [2, 3] 1.5 ");
  EXPECT_EQ(first.stated->requires_grad, "True");
  EXPECT_EQ(first.stated->min.integer(), -1);
  EXPECT_EQ(stated(frame.nodes[0].items[1]), "None None - ");
}

TEST_F(Msprobe, NamesComeFromDataNamesAndFilesFromTheFolderBeside) {
  const Frame frame = index_data(
      R"({"T.a.0.forward": {"output": [{"type": "torch.Tensor", "dtype": "torch.float16", "shape": [], "data_name": "T.a.0.forward.output.x.pt"},
          {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [], "data_name": ""}]}})");
  EXPECT_THAT(names(frame), ElementsAre("T.a.0.forward.output.x", "T.a.0.forward.output.1"));
  ASSERT_TRUE(frame.nodes[0].items[0].data);
  EXPECT_EQ(frame.files[0].path, root_ / "dump_tensor_data" / "T.a.0.forward.output.x.pt");
  EXPECT_FALSE(frame.nodes[0].items[1].data);
}

TEST_F(Msprobe, ADataNameThatLeavesTheFolderIsNotOpened) {
  for (const std::string name : {"../secret.pt", "/etc/passwd", "a/../../b.pt", ".."}) {
    const Frame frame = index_data(
        R"({"T.a.0.forward": {"output": [{"type": "torch.Tensor", "dtype": "torch.int8", "shape": [1], "data_name": ")" +
        name + R"("}]}})");
    ASSERT_EQ(frame.nodes[0].items.size(), 1u) << name;
    EXPECT_FALSE(frame.nodes[0].items[0].data) << name;
    EXPECT_THAT(frame.nodes[0].items[0].trouble, HasSubstr("leads out of")) << name;
  }
}

TEST_F(Msprobe, ArgumentsThatAreNoTensors) {
  const Frame frame = index_data(
      R"({"T.a.0.forward": {"input_args": [{"type": "int", "value": 2}, {"type": "int", "value": 3}, {"type": "slice", "value": [0, 1, null]},
          {"type": "torch.Size", "value": [2, 3]}, {"type": "ellipsis", "value": "..."}, {"type": "bool", "value": false},
          {"type": "torch.ProcessGroup", "group_ranks": [0, 1]}, {"type": "float", "value": -Infinity}],
          "input_kwargs": {"src": {"type": "int", "value": 0}, "dtype": {"type": "torch.dtype", "value": "torch.float32"}}}})");
  const std::vector<Item>& items = frame.nodes[0].items;
  ASSERT_EQ(items.size(), 10u);
  EXPECT_EQ(stated(items[0]), "<class 'int'> [] 2 1ad5be0d");
  EXPECT_EQ(stated(items[1]), "<class 'int'> [] 3 6dd28e9b");
  EXPECT_EQ(stated(items[2]), "slice (3,) - 448f424d");
  EXPECT_EQ(stated(items[3]), "torch.Size [2, 3] - " + std::string(items[3].stated->checksum));
  EXPECT_THAT(stated(items[4]), testing::StartsWith("ellipsis [] ... "));
  EXPECT_THAT(stated(items[5]), testing::StartsWith("<class 'bool'> [] False "));
  EXPECT_EQ(stated(items[6]), "torch.ProcessGroup [] [0, 1] [0, 1]");
  EXPECT_THAT(stated(items[7]), testing::StartsWith("<class 'float'> [] -inf "));
  EXPECT_EQ(stated(items[8]), "int [] 0 0");
  EXPECT_THAT(stated(items[9]), testing::StartsWith("<class 'str'> [] torch.float32 "));
}

TEST_F(Msprobe, ListsOfParameterGradientsAreNotNumbered) {
  const Frame frame = index_data(std::string(R"({"Module.fc.Linear.parameters_grad.0": {"weight": [)") +
                                 kTensor + R"(]}, "x.0.debug": {"a": [)" + kTensor + "]}}");
  EXPECT_THAT(names(frame), ElementsAre("Module.fc.Linear.parameters_grad.0.weight", "x.0.debug.a.0"));
  EXPECT_EQ(frame.nodes[0].items[0].port.direction, Direction::parameter_gradient);
}

TEST_F(Msprobe, PeerOperationsKeepTheirPartner) {
  const Frame frame = index_data(
      std::string(
          R"({"Distributed.batch_isend_irecv.0.forward": {"input_args": [[{"class_type": "torch.distributed.P2POp", "tensor": )") +
      kTensor + R"(, "op": "isend", "peer": 1}]]}})");
  ASSERT_EQ(frame.nodes[0].items.size(), 1u);
  EXPECT_EQ(frame.nodes[0].items[0].facts->at(0).key, "op");
  EXPECT_EQ(std::get<std::string>(frame.nodes[0].items[0].facts->at(1).value), "1");
}

TEST_F(Msprobe, TheLaterOfTwoEntriesOfOneNameCountsAtThePlaceOfTheFirst) {
  const Frame frame =
      index_data(R"({"a.b.0.forward": {"output": [{"type": "int", "value": 1}]}, "c.d.0.forward": {},
                                     "a.b.0.forward": {"output": [{"type": "int", "value": 2}]}})");
  ASSERT_EQ(frame.nodes.size(), 2u);
  EXPECT_EQ(frame.nodes[0].name, "a.b.0.forward");
  EXPECT_EQ(frame.nodes[0].items[0].stated->max.integer(), 2);
  ASSERT_EQ(frame.warnings.size(), 1u);
  EXPECT_THAT(frame.warnings[0], HasSubstr("1 entries stand there twice"));
}

// As Python reads it. What the earlier one held, checksums too, is gone.
TEST_F(Msprobe, TheLaterOfTwoDataCounts) {
  const std::string first =
      R"({"task": "statistics", "data": {"a.b.0.forward": {"output": [{"type": "torch.Tensor",
          "dtype": "torch.int8", "shape": [1], "md5": "00000001"}]}, "a.b.0.forward": {}},)";
  const auto later = [&](const std::string& data) {
    put("dump.json", first + R"("level": "L1", "data": )" + data + "}");
    return index();
  };
  const auto frame = later(R"({"c.d.0.forward": {"output": [{"type": "int", "value": 2}]}})");
  ASSERT_TRUE(frame);
  EXPECT_THAT(names(*frame), ElementsAre("c.d.0.forward.output.0"));
  EXPECT_EQ(frame->nodes[0].order, 0);
  EXPECT_EQ(frame->content, Content::statistics);
  EXPECT_THAT(frame->warnings, ElementsAre(HasSubstr("dump.json: has 'data' twice; the later one counts")));
  const auto empty = later("{}");
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->nodes.empty());
  EXPECT_THAT(empty->warnings, ElementsAre(HasSubstr("has 'data' twice"), HasSubstr("has no entries")));
  const auto number = later("3");
  ASSERT_FALSE(number);
  EXPECT_THAT(number.error().message, HasSubstr("'data' is not an object"));
  const auto third =
      later(R"(3, "data": {}, "data": {"e.f.0.forward": {"output": [{"type": "int", "value": 1}]}})");
  ASSERT_TRUE(third);
  EXPECT_THAT(names(*third), ElementsAre("e.f.0.forward.output.0"));
  EXPECT_EQ(third->warnings.size(), 1u);
}

TEST_F(Msprobe, SaysWhatKindOfDumpItIs) {
  EXPECT_EQ(index_data("{}", "tensor").content, Content::data);
  EXPECT_EQ(
      index_data(std::string(R"({"a.b.0.forward": {"output": [)") + kTensor + "]}}", "statistics").content,
      Content::statistics);
  EXPECT_EQ(
      index_data(
          R"({"a.b.0.forward": {"output": [{"type": "torch.Tensor", "dtype": "torch.int8", "shape": [1], "md5": "00000001"}]}})",
          "statistics")
          .content,
      Content::checksums);
}

TEST_F(Msprobe, BrokenFilesAreOneLineThatNamesThem) {
  const auto message = [&](const std::string& text) {
    put("dump.json", text);
    const auto frame = index();
    EXPECT_FALSE(frame) << text;
    return frame ? std::string() : frame.error().message;
  };
  EXPECT_THAT(message(R"({"task": "tensor", "data": {"a")"), HasSubstr("ends in the middle"));
  EXPECT_THAT(message("[]"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(message(R"({"task": "tensor"})"), HasSubstr("has no 'data'"));
  EXPECT_THAT(message(R"({"task": "tensor", "data": 3})"), HasSubstr("'data' is not an object"));
  EXPECT_THAT(message(R"({"data": {}})"), HasSubstr("does not say its task"));
  EXPECT_THAT(message(R"({"task": "structure", "data": {}})"), HasSubstr("task 'structure'"));
}

TEST_F(Msprobe, OddEntriesAreRowsWithAReason) {
  const Frame frame = index_data(R"({"a.b.0.forward": 17, "c.d.0.forward": {"output": )" +
                                 std::string(1000, '[') + std::string(1000, ']') + "}}");
  ASSERT_EQ(frame.nodes.size(), 2u);
  EXPECT_THAT(frame.nodes[0].items[0].trouble, HasSubstr("is not a JSON object"));
  EXPECT_THAT(frame.nodes[1].items[0].trouble, HasSubstr("nested more than 400 deep"));
}

TEST_F(Msprobe, HugeOrNegativeShapesAreNoShapes) {
  const Frame frame = index_data(
      R"({"a.b.0.forward": {"output": [{"type": "torch.Tensor", "dtype": "torch.int8", "shape": [9223372036854775807, 2]},
          {"type": "torch.Tensor", "dtype": "torch.int8", "shape": [-1]}, {"type": "torch.Tensor", "dtype": "torch.what", "shape": [2]}]}})");
  for (const Item& item : frame.nodes[0].items) EXPECT_EQ(item.meta, nullptr) << item.name;
  EXPECT_EQ(frame.nodes[0].items[0].stated->shape, "[9223372036854775807, 2]");
}

TEST_F(Msprobe, ReadsBothLayoutsOfStacksAndTheParents) {
  const std::string data = R"({"a.b.0.forward": {"output": []}, "c.d.0.forward": {"output": []}})";
  OpenOptions options;
  options.structure = options.within = true;
  put("dump.json", R"({"task": "tensor", "data": )" + data + "}");
  put("construct.json",
      R"({"a.b.0.forward": "Module.x.X.forward.0", "c.d.0.forward": ["Module.y.Y.forward.0", 1], "e": null})");
  put("stack.json", R"({"a.b.0.forward": ["File a.py, line 1, in f, \n x", "File b.py"], "unknown": ["z"]})");
  const auto old_layout = index(options);
  ASSERT_TRUE(old_layout);
  EXPECT_THAT(old_layout->nodes[0].stack, ElementsAre("File a.py, line 1, in f, \n x", "File b.py"));
  EXPECT_TRUE(old_layout->nodes[1].stack.empty());
  const Graph& trace = *old_layout->graph;
  const auto parent_of = [&](size_t node) {
    const int32_t parent = trace.at(old_layout->ops_of(node).front()).parent;
    return parent < 0 ? std::string_view() : trace.at(parent).name;
  };
  EXPECT_EQ(parent_of(0), "Module.x.X.forward.0");
  EXPECT_EQ(parent_of(1), "Module.y.Y.forward.0");
  EXPECT_EQ(old_layout->nodes[0].within, "Module.x.X.forward.0");
  EXPECT_EQ(old_layout->nodes[1].within, "Module.y.Y.forward.0");
  put("stack.json", R"({"0": [["a.b.0.forward", "c.d.0.forward"], ["File s.py"]], "1": ["odd"], "2": 7})");
  const auto new_layout = index(options);
  ASSERT_TRUE(new_layout);
  EXPECT_THAT(new_layout->nodes[1].stack, ElementsAre("File s.py"));
  put("stack.json", "{");
  const auto broken = index(options);
  ASSERT_TRUE(broken);
  EXPECT_THAT(broken->warnings.front(), HasSubstr("stack.json"));
}

std::vector<std::string> surveyed(const fs::path& root) {
  std::vector<std::string> out;
  const auto frames = msprobe_layout.survey(root, {});
  for (const FrameInfo& frame : frames->frames) out.push_back(frame.at.text());
  return out;
}

TEST_F(Msprobe, FindsRanksStepsAndParts) {
  put("step0/rank0/dump.json", "{}");
  put("step0/rank10/dump.json", "{}");
  put("step0/rank2/debug.json", "{}");
  fs::create_directories(root_ / "step1" / "rank");
  EXPECT_THAT(surveyed(root_),
              ElementsAre("rank 0 step 0", "rank 2 step 0 debug", "rank 10 step 0", "step 1"));
  EXPECT_THAT(surveyed(root_ / "step0"), ElementsAre("rank 0", "rank 2 debug", "rank 10"));
  EXPECT_THAT(surveyed(root_ / "step0" / "rank0"), ElementsAre(""));
  EXPECT_EQ(msprobe_layout.recognise(root_), 90);
  EXPECT_EQ(msprobe_layout.recognise(root_ / "step0" / "rank0" / "dump.json"), 95);
  EXPECT_EQ(msprobe_layout.recognise(root_ / "step1"), 0);
  put("mixed/graph/step3/rank1/dump.json", "{}");
  EXPECT_THAT(surveyed(root_ / "mixed"), ElementsAre("rank 1 step 3 graph"));
}

// msprobe 26 writes proc{PID} where a run has no ranks.
TEST_F(Msprobe, FindsProcesses) {
  const std::string dump = R"({"task": "statistics", "data": {}})";
  put("run/step0/proc4711/dump.json", dump);
  put("run/step0/proc99/debug.json", dump);
  put("run/step0/rank3/dump.json", dump);
  put("run/step0/proc/dump.json", dump);
  put("run/step0/process5/dump.json", dump);
  put("run/step1/proc4711/stack.json", "{}");
  const auto places = [&](const char* folder) {
    std::vector<std::string> out;
    const auto frames = msprobe_layout.survey(root_ / folder, {});
    EXPECT_TRUE(frames) << (frames ? "" : frames.error().message);
    for (const FrameInfo& frame : frames->frames) out.push_back(frame.at.text());
    return out;
  };
  EXPECT_THAT(places("run"), ElementsAre("rank 3 step 0", "step 0 process 99 debug", "step 0 process 4711",
                                         "step 1 process 4711"));
  EXPECT_THAT(places("run/step0"), ElementsAre("rank 3", "process 99 debug", "process 4711"));
  EXPECT_THAT(places("run/step0/proc4711"), ElementsAre(""));
  EXPECT_GT(msprobe_layout.recognise(root_ / "run"), 0);
  EXPECT_EQ(msprobe_layout.recognise(root_ / "run" / "step1"), 0);  // its process wrote nothing
}

// msprobe 8 makes room for the gradients of a module right behind its first forward call.
TEST_F(Msprobe, GradientsOfParametersAreExecutedLast) {
  const std::string call = std::string(R"({"output": [)") + kTensor + "]}",
                    gradient = std::string(R"({"weight": [)") + kTensor + "]}";
  std::string data = "{";
  for (const char* const name :
       {"Module.a.Linear.forward.0", "Module.a.Linear.parameters_grad", "Module.b.Norm.forward.0",
        "Module.b.Norm.parameters_grad", "Module.a.Linear.backward.0", "Module.c.Linear.parameters_grad.0",
        "Torch.add.0.backward"})
    data += fmt::format("{}\"{}\": {}", data.size() > 1 ? ", " : "", name,
                        std::string(name).find("grad") == std::string::npos ? call : gradient);
  const Frame frame = index_data(data + "}", "statistics");
  std::vector<int64_t> orders;
  for (const Node& node : frame.nodes) orders.push_back(node.order);
  EXPECT_THAT(orders, ElementsAre(0, 6, 1, 5, 2, 3, 4));
}

// With summary_mode xor, a 0-d tensor is its own checksum.
TEST_F(Msprobe, AChecksumMayBeANumber) {
  const auto checksum = [&](const std::string& value) {
    const Frame frame = index_data(
        R"({"Torch.a.0.forward": {"output": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [], "md5": )" +
            value + "}]}}",
        "statistics");
    return std::string(frame.nodes[0].items[0].stated->checksum);
  };
  EXPECT_EQ(checksum("4.195769786834717"), "4.195769786834717");
  EXPECT_EQ(checksum("0.0"), "0.0");
  EXPECT_EQ(checksum("-3"), "-3");
  EXPECT_EQ(checksum("true"), "True");
  EXPECT_EQ(checksum("\"0x00000022\""), "0x00000022");
  EXPECT_EQ(checksum("null"), "");
}

TEST_F(Msprobe, HeadIsReadWithoutTheEntries) {
  put("dump.json", R"({"task": "tensor", "framework": "mindspore", "data": {"a": 1, broken)");
  const auto head = read_msprobe_head(root_ / "dump.json");
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->task, "tensor");
  EXPECT_EQ(head->framework, "mindspore");
  EXPECT_TRUE(head->data_is_object);
}

// ----- as msprobe 1.1 reads entries

TEST_F(Msprobe, KnowsFewKindsOfArgumentsWhereAsked) {
  put("dump.json",
      R"({"task": "statistics", "framework": "pytorch", "data": {"D.a.0.forward": {"input_args": [
      {"type": "ellipsis", "value": "..."}, {"type": "slice", "value": [0, 1, null]},
      {"class_type": "torch.distributed.P2POp", "tensor": {"type": "int", "value": 7}, "op": "isend", "peer": 1}],
      "input_kwargs": {"src": {"type": "int", "value": 1},
                       "group": {"type": "torch.ProcessGroup", "group_ranks": [0, 1]}}}}})");
  OpenOptions options;
  options.few_kinds_of_arguments = true;
  const auto frame = index(options);
  ASSERT_TRUE(frame) << frame.error().message;
  EXPECT_THAT(names(*frame),
              ElementsAre("D.a.0.forward.input.0", "D.a.0.forward.input.1", "D.a.0.forward.input.2.tensor",
                          "D.a.0.forward.input.src", "D.a.0.forward.input.group"));
  std::vector<std::string> lines;
  for (const Item& item : frame->nodes[0].items) {
    const std::string line = stated(item);
    lines.push_back(line.substr(0, line.rfind(' ')));
  }
  EXPECT_THAT(lines, ElementsAre("<class 'str'> [] ...", "slice (3,) -", "<class 'int'> [] 7",
                                 "<class 'int'> [] 1", "<class 'NoneType'> [] -"));
}

TEST_F(Msprobe, NamesStatisticsByPlaceWhereAsked) {
  OpenOptions options;
  options.names_statistics_by_place = true;
  for (const std::string task : {"tensor", "statistics"}) {
    put("dump.json",
        R"({"task": ")" + task + R"(", "framework": "pytorch", "data": {"T.a.0.forward": {"output": [
        {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [1], "data_name": "other.output.0.pt"}]}}})");
    const auto frame = index(options);
    ASSERT_TRUE(frame) << frame.error().message;
    EXPECT_THAT(names(*frame), ElementsAre(task == "tensor" ? "other.output.0" : "T.a.0.forward.output.0"));
  }
}

TEST_F(Msprobe, KeepsTheDigitsOfLongIntegers) {
  const Frame frame = index_data(
      R"({"T.a.0.forward": {"input_args": [{"type": "int", "value": 18446744073709551616},
                                           {"type": "str", "value": "18446744073709551616"}]}})");
  const Scalar &whole = frame.nodes[0].items[0].stated->max, &text = frame.nodes[0].items[1].stated->max;
  EXPECT_EQ(whole.digits(), "18446744073709551616");
  EXPECT_EQ(whole.text(), std::nullopt);
  EXPECT_EQ(number_of(whole), 18446744073709551616.0);
  EXPECT_EQ(to_value(whole), Value(std::string("18446744073709551616")));
  EXPECT_EQ(text.text(), "18446744073709551616");
  EXPECT_FALSE(whole == text);
  EXPECT_TRUE(whole == Scalar::big("18446744073709551616"));
}

}  // namespace
}  // namespace assay
