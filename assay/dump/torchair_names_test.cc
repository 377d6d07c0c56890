#include "assay/dump/torchair_names.h"

#include <gmock/gmock.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string described(std::string_view file) {
  const auto name = parse_ge_file(file);
  if (!name) return "none";
  std::string text(name->op_type);
  text += " " + std::string(name->op_name) + " " + std::string(name->timestamp);
  return text;
}

TEST(TorchairNames, FilesOfTheGraphEngine) {
  EXPECT_EQ(described("Add.Add_2.44.6.1706596912161941"), "Add Add_2 1706596912161941");
  EXPECT_EQ(described("Add.Add_2.44.1706596912161941"), "Add Add_2 1706596912161941");  // no stream
  EXPECT_EQ(described("MatMul.a.b.44.6.1706596912161941"), "MatMul a.b 1706596912161941");
  EXPECT_EQ(described("Add.7.44.6.1706596912161941"), "Add 7 1706596912161941");
  // Threads: type, context, thread, device behind the time.
  EXPECT_EQ(described("Conv.Conv_lxslice1.2.9.1706596912161941.4.487.0.0"),
            "Conv Conv_lxslice1 1706596912161941");
  EXPECT_EQ(described("Add.Add_2.44.6.99"), "Add Add_2 99");  // no time, but as many words
}

TEST(TorchairNames, FilesThatStandForThem) {
  EXPECT_EQ(described("Add.Add_2.44.6.1706596912161941_min_max.npz"), "Add Add_2 1706596912161941");
  EXPECT_EQ(described("Add.Add_2.44.6.1706596912161941.stats.json"), "Add Add_2 1706596912161941");
  EXPECT_EQ(described("Add.Add_2.44.6.1706596912161941.csv"), "Add Add_2 1706596912161941");
}

TEST(TorchairNames, OtherFiles) {
  for (const std::string_view name :
       {"", ".", "....", "mapping.csv", "a.npy", "Add.Add_2.1706596912161941", "123456789012", "Add..1.2.3",
        ".Add.1.2.1706596912161941", "add-aten.add.Tensor.INPUT.0.20250101120010000001.npy",
        "dynamo_original_graph_1_rank_0_pid_4242_ts_20250101120000000000.txt"})
    EXPECT_EQ(described(name), "none") << name;
}

TEST(TorchairNames, FilesOfFx) {
  const auto plain = parse_fx_file("add_1-aten.add.Tensor.INPUT.0.20251017071211190258.npy");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->key, "add_1-aten.add.Tensor");
  EXPECT_EQ(plain->port.direction, Direction::input);
  EXPECT_EQ(plain->port.index, 0);
  EXPECT_EQ(plain->part, -1);
  EXPECT_EQ(plain->rank, -1);
  const auto part = parse_fx_file("cat-aten.cat.default.INPUT.0.12.20251017071211190258_rank_3_pid_900.npy");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->part, 12);
  EXPECT_EQ(part->rank, 3);
  EXPECT_EQ(part->timestamp, "20251017071211190258");
  const auto extremes = parse_fx_file("mm-aten.mm.default.OUTPUT.1.20251017071211190258_min_max.npy");
  ASSERT_TRUE(extremes);
  EXPECT_EQ(extremes->port.direction, Direction::output);
  EXPECT_EQ(extremes->port.index, 1);
  EXPECT_TRUE(parse_fx_file("mm-aten.mm.default.OUTPUT.1.20251017071211190258.npy.stats.json"));
  for (const std::string_view name : {"", "a.npy", ".INPUT.0.1.npy", "a.INPUT.npy", "a.INPUT.x.1.npy",
                                      "a.INPUT.0.1.2.3.npy", "a.INPUT.0.npy", "a.INPUT.0.t.npy"})
    EXPECT_FALSE(parse_fx_file(name)) << name;
}

TEST(TorchairNames, GraphsAndFolders) {
  const auto graph = parse_graph_file("dynamo_original_graph_3_rank_12_pid_42_ts_20250101120000000000.txt");
  ASSERT_TRUE(graph);
  EXPECT_EQ(graph->graph, 3);
  EXPECT_EQ(graph->rank, 12);
  EXPECT_FALSE(parse_graph_file("dynamo_optimized_graph_3_rank_1_pid_42_ts_1.txt"));
  EXPECT_EQ(rank_of_folder("worldsize8_global_rank03"), 3);
  EXPECT_EQ(rank_of_folder("rank3"), std::nullopt);
  EXPECT_EQ(rank_of_folder("worldsize8_global_rank"), std::nullopt);
  EXPECT_EQ(graph_of_folder("graph_2"), 2);
  EXPECT_EQ(graph_of_folder("graph_2_x"), std::nullopt);
  EXPECT_TRUE(is_time_folder("20250101120003"));
  EXPECT_FALSE(is_time_folder("2025010112000"));
}

TEST(TorchairNames, LongNames) {
  const fs::path folder = fs::path(testing::TempDir()) / "torchair_long_names";
  fs::create_directories(folder);
  std::ofstream(folder / "mapping.csv") << "1234567890,Add.a_very_long_name.1.2.1706596912161941\n"
                                           "a row of one cell\n"
                                           "1,2,3\n";
  Remarks warnings;
  const auto names = read_long_names(folder, warnings);
  fs::remove_all(folder);
  ASSERT_EQ(names.size(), 1U);
  EXPECT_EQ(names.at("1234567890"), "Add.a_very_long_name.1.2.1706596912161941");
  EXPECT_TRUE(read_long_names(folder, warnings).empty());
  EXPECT_THAT(warnings, IsEmpty());  // a folder needs none
}

TEST(TorchairNames, LongNamesThatCannotBeReadAreWarnedOf) {
  const fs::path folder = fs::path(testing::TempDir()) / "torchair_unreadable_names";
  fs::create_directories(folder / "mapping.csv");
  Remarks warnings;
  EXPECT_TRUE(read_long_names(folder, warnings).empty());
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("mapping.csv")));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace assay
