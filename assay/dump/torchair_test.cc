#include "assay/dump/torchair.h"

#include "assay/dump/dump_test_tools.h"
#include "assay/model/fx_arguments.h"
#include "assay/model/graph.h"
#include "assay/support/log.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// docs/formats/ge_dump.md: a length, a message with one output of f32, one element, and its four bytes.
std::string ge_file_of(const std::string& op_name) {
  const std::string message = std::string("\x0a\x03") + "2.0" + "\x1a\x0b" +
                              "\x08\x01\x10\x02\x1a\x03\x0a\x01\x01\x30\x04" + "\x32" +
                              static_cast<char>(op_name.size()) + op_name;
  return static_cast<char>(message.size()) + std::string(7, '\0') + message + std::string("\0\0\x80\x3f", 4);
}
const std::string kGeFile = ge_file_of("A");

std::string npy_file(const std::string& descr = "<f4", const std::string& data = {"\0\0\x80\x3f", 4}) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1,), }";
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + data;
}

std::string graph_text(const std::vector<std::string>& ops) {
  std::string text = "name: \"graph\"\n";
  for (const std::string& op : ops) text += "op { name: \"" + op + "\" type: \"" + op + "\" }\n";
  return text;
}

const std::string kToken = "worldsize2_global_rank1/20250101120003/0/graph_1/1/0/";
const std::string kGraph = "dynamo_original_graph_1_rank_1_pid_42_ts_20250101120000000000.txt";
const std::string kTime = "20251017071211190258";

class Torchair : public DumpFolder {
 protected:
  Torchair() {
    log::set_writer([this](log::Level, std::string_view text) { logged_ += std::string(text) + "\n"; });
  }
  ~Torchair() override { log::set_writer({}); }

  void put(const fs::path& relative, std::string_view content = kGeFile) const {
    DumpFolder::put(relative, content);
  }
  void put_fx(const fs::path& folder, const std::string& name,
              const std::string& content = npy_file()) const {
    put(folder / (name + "." + kTime + ".npy"), content);
  }

  static std::string place(const At& at) {
    return fmt::format("{} {} {}{}{}", at.rank, at.graph, at.token, at.part.empty() ? "" : " ", at.part);
  }
  // "rank graph token" of every frame
  static std::vector<std::string> frames(const Layout& layout, const fs::path& path,
                                         const OpenOptions& options = {}) {
    const auto found = layout.survey(path, options);
    if (!found) return {found.error().message};
    std::vector<std::string> out;
    for (const FrameInfo& frame : found->frames) out.push_back(place(frame.at));
    return out;
  }
  static Frame index(const Layout& layout, const fs::path& path, const OpenOptions& options = {}) {
    auto found = layout.survey(path, options);
    EXPECT_TRUE(found) << found.error().message;
    if (!found) return {};
    auto frame = layout.index(found->frames.at(0), options);
    EXPECT_TRUE(frame) << frame.error().message;
    return frame ? std::move(*frame) : Frame{};
  }

  std::string logged_;
};

TEST_F(Torchair, TakesAnyFolderOfADumpOfTheEngine) {
  put(kToken + "Add.Add_1.1.2.1706596912161941");
  put(kGraph, graph_text({"Add_1"}));
  for (fs::path folder = root_ / kToken.substr(0, kToken.size() - 1);; folder = folder.parent_path()) {
    EXPECT_GT(torchair_ge_layout.recognise(folder), 0) << folder;
    EXPECT_EQ(torchair_fx_layout.recognise(folder), 0) << folder;
    EXPECT_THAT(frames(torchair_ge_layout, folder), ElementsAre("1 1 0")) << folder;
    const Frame frame = index(torchair_ge_layout, folder);
    EXPECT_THAT(names(frame), ElementsAre("Add_1.output.0")) << folder;
    EXPECT_NE(frame.graph, nullptr) << folder;  // it lies above
    if (folder == root_) break;
  }
  EXPECT_GT(torchair_ge_layout.recognise(root_ / ""), 0);  // a slash at the end
  EXPECT_THAT(frames(torchair_ge_layout, root_ / ""), ElementsAre("1 1 0"));
}

TEST_F(Torchair, TakesAnyFolderOfADumpOfFx) {
  put_fx("worldsize2_global_rank1/graph_3/7", "add-aten.add.Tensor.INPUT.0");
  for (const fs::path folder : {"", "worldsize2_global_rank1", "worldsize2_global_rank1/graph_3/7"}) {
    EXPECT_GT(torchair_fx_layout.recognise(root_ / folder), 0) << folder;
    EXPECT_EQ(torchair_ge_layout.recognise(root_ / folder), 0) << folder;
    EXPECT_THAT(frames(torchair_fx_layout, root_ / folder), ElementsAre("1 3 7")) << folder;
  }
}

TEST_F(Torchair, FxCountsTokensFromOneInOldFolders) {
  put_fx("data_dump/1/gm_20250101120000000000_dump", "add-aten.add.Tensor.INPUT.0");
  put_fx("data_dump/2/gm_20250101120000000000_dump", "add-aten.add.Tensor.INPUT.0");
  EXPECT_THAT(frames(torchair_fx_layout, root_),
              ElementsAre("-1 -1 0 gm_20250101120000000000_dump", "-1 -1 1 gm_20250101120000000000_dump"));
}

// Each execution of a graph may make a folder with a time of its own: then its place among them tells.
TEST_F(Torchair, FxGraphsOfOldFoldersGoByTheirPlace) {
  for (const std::string token : {"1", "2"})
    for (const std::string graph : {"1", "2"})
      put_fx("data_dump/" + token + "/gm_2025010112000000000" + token + graph + "_dump",
             "add-aten.add.Tensor.INPUT.0");
  EXPECT_THAT(frames(torchair_fx_layout, root_),
              ElementsAre("-1 -1 0 gm 1", "-1 -1 0 gm 2", "-1 -1 1 gm 1", "-1 -1 1 gm 2"));
}

// Folders of graphs may have any name: each that holds tokens is a graph of its own.
TEST_F(Torchair, FxGraphsMayHaveAnyName) {
  const auto put_tokens = [&](const std::string& holder) {
    for (const std::string token : {"0", "1"}) put_fx(holder + "/" + token, "add-aten.add.INPUT.0");
  };
  put_tokens("worldsize2_global_rank0/model_10");
  EXPECT_THAT(frames(torchair_fx_layout, root_), ElementsAre("0 -1 0", "0 -1 1"));  // one needs no name
  put_tokens("worldsize2_global_rank0/model_9");
  put_tokens("worldsize2_global_rank0/graph_3");
  put_tokens("worldsize2_global_rank1/model_9");
  EXPECT_THAT(frames(torchair_fx_layout, root_),
              ElementsAre("0 -1 0 model_9", "0 -1 0 model_10", "0 -1 1 model_9", "0 -1 1 model_10", "0 3 0",
                          "0 3 1", "1 -1 0", "1 -1 1"));
}

TEST_F(Torchair, FxGraphsOfOneNameInSeveralFolders) {
  for (const std::string holder : {"a/model", "b/model", "a/graph_1", "b/graph_1"})
    put_fx("all/" + holder + "/0", "add-aten.add.INPUT.0");
  EXPECT_THAT(frames(torchair_fx_layout, root_), ElementsAre("-1 -1 0 all/a/model", "-1 -1 0 all/b/model",
                                                             "-1 1 0 all/a/graph_1", "-1 1 0 all/b/graph_1"));
}

TEST_F(Torchair, FxTellsRanksByTheNamesOfFiles) {
  for (const std::string rank : {"0", "1"})
    put("data_dump/1/gm_20250101120000000000_dump/add-aten.add.Tensor.INPUT.0." + kTime + "_rank_" + rank +
            "_pid_9.npy",
        npy_file());
  EXPECT_THAT(frames(torchair_fx_layout, root_),
              ElementsAre("0 -1 0 gm_20250101120000000000_dump", "1 -1 0 gm_20250101120000000000_dump"));
  EXPECT_THAT(names(index(torchair_fx_layout, root_)), ElementsAre("add-aten.add.Tensor.INPUT.0"));
}

// A folder that says its rank holds what it holds, whatever the names of files say.
TEST_F(Torchair, FxReadsEveryFileOfAFolderOfARankOnce) {
  const std::string folder = "worldsize2_global_rank0/graph_1/0/";
  put(folder + "a-aten.a.INPUT.0." + kTime + ".npy", npy_file());
  put(folder + "b-aten.b.INPUT.0." + kTime + "_rank_0_pid_9.npy", npy_file());
  put(folder + "c-aten.c.INPUT.0." + kTime + "_rank_1_pid_9.npy", npy_file());
  EXPECT_THAT(frames(torchair_fx_layout, root_), ElementsAre("0 1 0"));
  EXPECT_THAT(names(index(torchair_fx_layout, root_)),
              ElementsAre("a-aten.a.INPUT.0", "b-aten.b.INPUT.0", "c-aten.c.INPUT.0"));
}

TEST_F(Torchair, FxOrdersByTimeThenByNumber) {
  const std::string folder = "worldsize1_global_rank0/graph_1/0/";
  const auto put_at = [&](const std::string& name, const std::string& time) {
    put(folder + name + "." + time + ".npy", npy_file());
  };
  put_at("b-aten.b.OUTPUT.0", "20250101000000000001");
  put_at("b-aten.b.INPUT.0", "20250101000000000001");
  put_at("b-aten.b.INPUT.10", "20250101000000000001");
  put_at("b-aten.b.INPUT.2.11", "20250101000000000001");
  put_at("b-aten.b.INPUT.2.3", "20250101000000000001");
  put_at("a-aten.a.INPUT.0", "20250101000000000002");
  put_at("b-aten.b.INPUT.0", "20250101000000000003");  // it ran once more
  EXPECT_THAT(
      names(index(torchair_fx_layout, root_)),
      ElementsAre("b-aten.b.INPUT.0", "b-aten.b.INPUT.2.3", "b-aten.b.INPUT.2.11", "b-aten.b.INPUT.10",
                  "b-aten.b.OUTPUT.0", "b-aten.b#1.INPUT.0", "a-aten.a.INPUT.0"));
}

TEST_F(Torchair, FxFilesOfARunMayHaveTimesOfTheirOwn) {
  const std::string folder = "worldsize1_global_rank0/graph_1/0/a-aten.a.";
  for (const char* const file :
       {"OUTPUT.0.20250101000000000001", "INPUT.1.20250101000000000002", "INPUT.0.20250101000000000003",
        "OUTPUT.0.20250101000000000004", "INPUT.0.20250101000000000005", "INPUT.1.20250101000000000005"})
    put(folder + file + ".npy", npy_file());
  EXPECT_THAT(names(index(torchair_fx_layout, root_)),
              ElementsAre("a-aten.a.INPUT.0", "a-aten.a.INPUT.1", "a-aten.a.OUTPUT.0", "a-aten.a#1.INPUT.0",
                          "a-aten.a#1.INPUT.1", "a-aten.a#1.OUTPUT.0"));
}

// Every argument has a file: what is missing between numbers is lost.
TEST_F(Torchair, FxSaysWhichArgumentsAreMissing) {
  const std::string folder = "graph_1/0/", none = npy_file("|O", "\x80\x04N.");
  for (const auto* name : {"a-aten.a.INPUT.2", "a-aten.a.INPUT.3.1", "a-aten.a.INPUT.3.4",
                           "a-aten.a.INPUT.5.0", "a-aten.a.OUTPUT.3", "b-aten.b.INPUT.0"})
    put_fx(folder, name);
  put_fx(folder, "a-aten.a.INPUT.1", none);
  put_fx(folder, "b-aten.b.INPUT.2", none);
  const Frame frame = index(torchair_fx_layout, root_);
  std::vector<std::string> before;
  for (const Node& node : frame.nodes)
    for (const Item& item : node.items) before.emplace_back(arguments_before(item));
  EXPECT_THAT(names(frame), ElementsAre("a-aten.a.INPUT.2", "a-aten.a.INPUT.3.1", "a-aten.a.INPUT.3.4",
                                        "a-aten.a.INPUT.5.0", "a-aten.a.OUTPUT.3", "b-aten.b.INPUT.0"));
  EXPECT_THAT(before, ElementsAre("?n", "?", "??", "?", "", ""));
  ASSERT_THAT(frame.warnings, SizeIs(1));
  EXPECT_THAT(frame.warnings[0].text,
              HasSubstr("6 arguments of nodes are not there, as the numbers of others "
                        "tell"));
  EXPECT_THAT(frame.warnings[0].text,
              HasSubstr(": a-aten.a.INPUT.0, a-aten.a.INPUT.3.0, a-aten.a.INPUT.3.2, "));
  EXPECT_EQ(frame.warnings[0].count, 6);
}

TEST_F(Torchair, FxArgumentsWithHugeNumbersTakeNoMemory) {
  for (const auto* name : {"a-aten.a.INPUT.999999999", "a-aten.a.INPUT.999999999.999999999"})
    put_fx("graph_1/0/", name);
  const Frame frame = index(torchair_fx_layout, root_);
  EXPECT_EQ(arguments_before(frame.nodes.at(0).items.at(0)).size(), 1000U);
}

TEST_F(Torchair, FxArgumentsThatAreNoNumbersHaveNoRow) {
  const std::string folder = "worldsize1_global_rank0/graph_1/0";
  put_fx(folder, "a-aten.a.INPUT.0");
  put_fx(folder, "a-aten.a.INPUT.1", npy_file("|O", "\x80\x04N."));
  put_fx(folder, "a-aten.a.INPUT.2", npy_file("<U3", std::string(12, 'x')));
  put_fx(folder, "a-aten.a.INPUT.3", npy_file().substr(0, 130));  // half-written: a row that says so
  const Frame frame = index(torchair_fx_layout, root_);
  EXPECT_THAT(names(frame), ElementsAre("a-aten.a.INPUT.0", "a-aten.a.INPUT.3"));
  EXPECT_THAT(std::string(frame.nodes.at(0).items.at(1).trouble), HasSubstr("INPUT.3"));
}

TEST_F(Torchair, TheLargestFileOfAnOperatorCounts) {
  put(kToken + "Add.Add.1.2.1706596912161941");
  put(kToken + "Add.Add.9.2.1706596912161942", kGeFile + "spare bytes at the end");
  put(kToken + "Add.Add.1706596912161943.1.1706596912161943", "");
  const Frame frame = index(torchair_ge_layout, root_);
  ASSERT_THAT(frame.nodes, SizeIs(3));
  EXPECT_EQ(frame.nodes[0].name, "Add#1");
  EXPECT_EQ(frame.nodes[1].name, "Add");
  EXPECT_EQ(frame.nodes[2].name, "Add#2");
  EXPECT_THAT(frame.warnings, ::testing::Contains(HasSubstr("3 files are of operator Add")));
}

// Statistics stand in the place of a file that is gone; where it is still there, it counts, and has one row.
TEST_F(Torchair, DataCountsWhereItsStatisticsLieBesideIt) {
  const std::string stats(4000, ' ');
  put(kToken + "Add.Add.1.2.1706596912161941");
  put(kToken + "Add.Add.1.2.1706596912161941.stats.json", stats);
  put(kToken + "Add.Add.1.2.1706596912161941_min_max.npz", stats);
  const Frame ge = index(torchair_ge_layout, root_);
  EXPECT_THAT(names(ge), ElementsAre("Add.output.0"));
  EXPECT_TRUE(ge.nodes.at(0).items.at(0).data);
  const fs::path fx = root_ / "fx";
  put_fx("fx/worldsize1_global_rank0/graph_1/0", "a-aten.a.INPUT.0");
  put("fx/worldsize1_global_rank0/graph_1/0/a-aten.a.INPUT.0." + kTime + ".npy.stats.json", stats);
  put("fx/worldsize1_global_rank0/graph_1/0/a-aten.a.INPUT.0." + kTime + "_min_max.npy", stats);
  const Frame of_fx = index(torchair_fx_layout, fx);
  EXPECT_THAT(names(of_fx), ElementsAre("a-aten.a.INPUT.0"));
  EXPECT_TRUE(of_fx.nodes.at(0).items.at(0).data);
}

TEST_F(Torchair, ResolvesLongNames) {
  const std::string long_name = "Add." + std::string(300, 'x') + ".1.2.1706596912161941";
  put(kToken + "12345678901234567890");
  put(kToken + "mapping.csv", "12345678901234567890," + long_name + "\n");
  put(kGraph, graph_text({"Add"}));
  const Frame frame = index(torchair_ge_layout, root_);
  EXPECT_THAT(names(frame), ElementsAre(std::string(300, 'x') + ".output.0"));
}

TEST_F(Torchair, DigitsThatNobodyListsAreNamedByTheirHeader) {
  put(kToken + "12345678901234567890", ge_file_of("scope/Add 1"));
  put(kToken + "22345678901234567890", ge_file_of(""));
  put(kToken + "32345678901234567890", "no dump");
  put(kGraph, graph_text({"Add"}));
  const Frame frame = index(torchair_ge_layout, root_);
  EXPECT_THAT(names(frame), UnorderedElementsAre("scope_Add_1.output.0", "22345678901234567890.output.0",
                                                 "32345678901234567890"));
  EXPECT_THAT(frame.warnings, ElementsAre(HasSubstr("12345678901234567890 and 2 more: mapping.csv")));
  EXPECT_THAT(frame.warnings.at(0), HasSubstr("2 of 3 files"));
}

// What `assay compact` makes of a file whose name is in mapping.csv.
TEST_F(Torchair, FxIsATraceOfItsNodes) {
  put_fx("graph_1/0", "mm_1-aten.mm.default.OUTPUT.0");
  put_fx("graph_1/0", "mm_1-aten.mm.default.INPUT.0");
  put_fx("graph_1/0", "odd.OUTPUT.0");
  put_fx("graph_1/0", "relu-aten.relu.default.OUTPUT.0");
  const Frame frame = index(torchair_fx_layout, root_);
  ASSERT_EQ(frame.graph->shape, GraphShape::trace);
  std::vector<OpKind> kinds;
  for (size_t i = 0; i < frame.nodes.size(); ++i) {
    const GraphOp& op = frame.graph->at(frame.ops_of(i).front());
    EXPECT_EQ(op.name, frame.nodes[i].name);
    kinds.push_back(op.kind);
  }
  EXPECT_THAT(kinds, ElementsAre(OpKind::product, OpKind::unknown, OpKind::activation));
}

TEST_F(Torchair, ResolvesLongNamesOfStatistics) {
  const std::string long_name = "Add." + std::string(300, 'x') + ".1.2.1706596912161941";
  put(kToken + "12345678901234567890.stats.json", "{}");
  put(kToken + "mapping.csv", "12345678901234567890," + long_name + "\n");
  EXPECT_THAT(names(index(torchair_ge_layout, root_)), ElementsAre(std::string(300, 'x')));
}

TEST_F(Torchair, UnreadableFilesAreRowsThatSaySo) {
  put(kToken + "Add.Empty.1.2.1706596912161941", "");
  put(kToken + "Add.Half.1.2.1706596912161942", std::string_view(kGeFile).substr(0, kGeFile.size() - 3));
  put(kToken + "Add.Lies.1.2.1706596912161943", std::string(8, '\xff') + "rest");
  put(kToken + "Add.Text.1.2.1706596912161944.csv", "no table\n");
  put(kToken + "Add.Zip.1.2.1706596912161945_min_max.npz", "PK no archive");
  fs::create_symlink("nowhere", root_ / (kToken + "Add.Link.1.2.1706596912161946"));
  ASSERT_EQ(::mkfifo((root_ / (kToken + "Add.Pipe.1.2.1706596912161947")).c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((root_ / (kToken + "mapping.csv")).c_str(), 0600), 0);
  fs::create_directory(root_ / (kToken + "Add.Folder.1.2.1706596912161948"));
  const Frame frame = index(torchair_ge_layout, root_);
  std::vector<std::string> nodes;
  for (const Node& node : frame.nodes) {
    nodes.emplace_back(node.name);
    for (const Item& item : node.items) EXPECT_FALSE(item.trouble.empty()) << item.name;
  }
  EXPECT_THAT(nodes, ElementsAre("Empty", "Half", "Lies", "Text", "Zip", "Link", "Pipe"));
}

TEST_F(Torchair, LoopsOfLinksEnd) {
  put(kToken + "Add.Add.1.2.1706596912161941");
  for (const char* name : {"a", "b", "c"}) fs::create_directory_symlink(".", root_ / name);
  fs::create_directory_symlink(root_, root_ / kToken / "up");
  EXPECT_GT(torchair_ge_layout.recognise(root_), 0);
  EXPECT_EQ(torchair_fx_layout.recognise(root_), 0);
  EXPECT_THAT(frames(torchair_ge_layout, root_), ElementsAre("1 1 0"));
}

TEST_F(Torchair, OldNamesAndThreads) {
  const std::string folder = "20250101120003/1/model/4/2/";
  put(folder + "Add.Add_2.44.1706596912161941");
  put(folder + "Conv.Conv_lxslice1.2.9.1706596912161942.4.487.0.0");
  EXPECT_THAT(frames(torchair_ge_layout, root_), ElementsAre("-1 -1 2"));
  EXPECT_THAT(names(index(torchair_ge_layout, root_)),
              ElementsAre("Add_2.output.0", "Conv_lxslice1.output.0"));
}

TEST_F(Torchair, DevicesAreRanksWhereThereAreNone) {
  for (const std::string device : {"0", "5"})
    put("20250101120003/" + device + "/graph_1/1/0/Add.Add.1.2.1706596912161941");
  EXPECT_THAT(frames(torchair_ge_layout, root_), ElementsAre("0 1 0", "5 1 0"));
  OpenOptions only;
  only.ranks = {5};
  EXPECT_THAT(frames(torchair_ge_layout, root_, only), ElementsAre("5 1 0"));
  only.ranks = {6};
  EXPECT_THAT(frames(torchair_ge_layout, root_, only), ElementsAre(HasSubstr("no data of the rank")));
}

// Models that are not named after their graph: the operators tell.
TEST_F(Torchair, OperatorsTellWhichGraphIsWhich) {
  put("20250101120003/0/first/1/0/Mul.Mul_7.1.2.1706596912161941");
  put("20250101120003/0/second/2/0/Add.Add_3.1.2.1706596912161941");
  put("dynamo_original_graph_1_rank_0_pid_1_ts_1.txt", graph_text({"Add_3"}));
  put("dynamo_original_graph_2_rank_0_pid_1_ts_1.txt", graph_text({"Mul_7"}));
  EXPECT_THAT(frames(torchair_ge_layout, root_), ElementsAre("-1 2 0", "-1 1 0"));
}

// Files were written in the opposite order, and the text of the graph is not in that of execution either.
TEST_F(Torchair, FusedOperatorsStandWhereTheLastOfTheirPartsDoes) {
  put(kToken + "Sub.Sub.1.2.1706596912161941");
  put(kToken +
      "Cast.trans_Cast_7.1.2.1706596912161942");  // the graph does not know it: behind what ran before
  put(kToken + "Fused.AddMul.1.2.1706596912161943");
  put(kToken + "Tanh.Tanh.1.2.1706596912161944");
  put(kGraph,
      "op { name: \"Sub\" input: \"Mul:0\" } op { name: \"Mul\" input: \"Add:0\" }"
      "op { name: \"Add\" input: \"Tanh:0\" } op { name: \"Tanh\" }");
  EXPECT_THAT(names(index(torchair_ge_layout, root_)),
              ElementsAre("Tanh.output.0", "AddMul.output.0", "Sub.output.0", "trans_Cast_7.output.0"));
}

TEST_F(Torchair, AGraphThatCannotBeReadIsWarnedOf) {
  put(kToken + "Add.Add.1.2.1706596912161941");
  put(kGraph, "op { name: \"Add\"");
  const Frame frame = index(torchair_ge_layout, root_);
  EXPECT_EQ(frame.graph, nullptr);
  EXPECT_THAT(logged_, HasSubstr("dynamo_original_graph_1"));
}

// The engine says what was fused; it counts where the graph has all of it.
TEST_F(Torchair, FusedOperatorsOfTheEngine) {
  put(kToken + "Fused.opaque.1.2.1706596912161941");
  put(kGraph, graph_text({"Conv", "Relu"}));
  const auto fused = [](const std::string& name, const std::string& second) {
    return "op { name: \"" + name +
           "\" attr { key: \"_datadump_original_op_names\" value { list { s: \"Conv\" s: \"" + second +
           "\" } } } }\n";
  };
  put("ge_proto_00000001_graph_1_PreRunBegin.txt", "graph { name: \"g\" " + fused("early", "Relu") + "}");
  put("ge_proto_00000012_graph_1_Build.txt",
      "graph { name: \"g\" " + fused("opaque", "Relu") + fused("other", "elsewhere") + "}");
  const Frame frame = index(torchair_ge_layout, root_);
  ASSERT_NE(frame.graph, nullptr);
  ASSERT_NE(frame.graph->find_fused("opaque"), nullptr);
  EXPECT_THAT(frame.graph->find_fused("opaque")->fused_from, ElementsAre("Conv", "Relu"));
  EXPECT_EQ(frame.graph->find_fused("other"), nullptr);
  EXPECT_EQ(frame.graph->find_fused("early"), nullptr);
}

// Operators of both graphs are called alike; each later graph tells of its own.
TEST_F(Torchair, FusedOperatorsAreThoseOfTheirGraph) {
  const std::string tail = "_rank_1_pid_42_ts_20250101120000000000.txt",
                    fused =
                        "op { name: \"Conv\" attr { key: \"_datadump_original_op_names\" value { list { s: "
                        "\"Conv\" s: \"Relu\" } } } }";
  put(kToken + "Fused.Conv.1.2.1706596912161941");
  put("worldsize2_global_rank1/20250101120003/0/graph_2/2/0/Fused.Conv.1.2.1706596912161941");
  for (const std::string graph : {"1", "2"})
    put("dynamo_original_graph_" + graph + tail,
        "name: \"graph_" + graph + "\" op { name: \"Conv\" } op { name: \"Relu\" }");
  const auto tells = [&] {
    std::string of;
    const auto found = torchair_ge_layout.survey(root_, {});
    for (const FrameInfo& frame : found->frames)
      if (frame.graph->find_fused("Conv") != nullptr) of += std::to_string(frame.at.graph);
    return of;
  };
  EXPECT_EQ(tells(), "");
  put("dynamo_optimized_graph_2" + tail, "name: \"any\" " + fused);
  EXPECT_EQ(tells(), "2");
  put("dynamo_optimized_graph_2" + tail, "name: \"any\" _datadump_original_op_names {");
  EXPECT_EQ(tells(), "");
  EXPECT_THAT(logged_, HasSubstr("what it says of fused operators is not used"));
  put("ge_proto_00000012_Build.txt", "graph { name: \"graph_1\" " + fused + "}");
  EXPECT_EQ(tells(), "1");
  put("ge_proto_00000012_Build.txt", "graph { name: \"any\" " + fused + "}");
  EXPECT_EQ(tells(), "12");
}

// The word may lie across the border of two blocks.
TEST_F(Torchair, LaterGraphsAreLookedThroughToTheirEnd) {
  put(kToken + "Fused.kern.1.2.1706596912161941");
  put(kGraph, graph_text({"Conv", "Relu"}));
  const std::string fused =
      "op { name: \"kern\" attr { key: \"_datadump_original_op_names\" value { list { s: \"Conv\" s: "
      "\"Relu\" } } } }";
  for (const size_t before : {size_t{1} << 20, (size_t{1} << 20) - 40, (size_t{1} << 20) - 20}) {
    put("ge_proto_1.txt", std::string(before - fused.find("_datadump"), ' ') + fused);
    EXPECT_NE(index(torchair_ge_layout, root_).graph->find_fused("kern"), nullptr) << before;
  }
}

TEST_F(Torchair, FoldersThatAreNoDump) {
  put("a/notes.txt", "x");
  put("a/Add.Add.1.2.3");  // looks like one, but for the time
  EXPECT_EQ(torchair_ge_layout.recognise(root_ / "a"), 0);
  EXPECT_EQ(torchair_fx_layout.recognise(root_ / "a"), 0);
  EXPECT_EQ(torchair_ge_layout.recognise(root_ / "nowhere"), 0);
  EXPECT_EQ(torchair_ge_layout.recognise(root_ / "a/notes.txt"), 0);
  EXPECT_THAT(frames(torchair_fx_layout, root_), ElementsAre(HasSubstr("holds no files")));
  EXPECT_FALSE(torchair_ge_layout.survey(root_ / "nowhere", {}));
  fs::remove(root_ / "a/Add.Add.1.2.3");
  EXPECT_THAT(frames(torchair_ge_layout, root_), ElementsAre(HasSubstr("holds no files")));
  EXPECT_THAT(logged_, IsEmpty());
}

}  // namespace
}  // namespace assay
