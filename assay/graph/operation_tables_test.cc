#include "assay/graph/operation_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMemory = int64_t{1} << 20;

class OperationTablesTest : public ::testing::Test {
 protected:
  OperationTablesTest() {
    std::string pattern = (fs::temp_directory_path() / "assay_tables_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    fs::create_directories(root_ / "model/77");
    fs::create_directories(root_ / "operation_io_tensors/77");
    for (const char* name : {"root", "a", "b"}) topology_.ops.emplace_back().name = name;
  }
  ~OperationTablesTest() override { fs::remove_all(root_); }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(root_ / "operation_io_tensors/77" / name, std::ios::binary) << text;
  }
  OperationTables read(int64_t memory = kMemory) const {
    return read_operation_tables(find_operation_tables(root_ / "model/77/M.json"), topology_, memory);
  }

  fs::path root_;
  AtbTopology topology_;
};

TEST_F(OperationTablesTest, ReadsWhatTheProbeWrote) {
  const fs::path json = fs::path(ASSAY_TEST_DATA) / "topology/dump/model/27402/DemoModel.json";
  const auto topology = read_atb_topology(json, kMemory);
  ASSERT_TRUE(topology);
  const auto found = find_operation_tables(json);
  ASSERT_THAT(found, SizeIs(1));
  const auto tables = read_operation_tables(found, *topology, kMemory);
  EXPECT_THAT(tables.warnings, IsEmpty());
  ASSERT_THAT(tables.ops, SizeIs(1));
  const OperationTypes& types = tables.ops.at("LinearOperation_0_0");
  ASSERT_THAT(types.ins, SizeIs(2));
  EXPECT_EQ(types.ins[0].elem_type, 1);   // float
  EXPECT_EQ(types.ins[1].elem_type, 10);  // float16
  ASSERT_THAT(types.outs, SizeIs(1));
  EXPECT_EQ(types.outs[0].elem_type, 16);  // bf16
  EXPECT_THAT(types.outs[0].dims, ElementsAre(2, 2));
}

TEST_F(OperationTablesTest, FindsColumnsByNameAndToleratesOddCells) {
  write("operation_tensors_0.csv",
        "OutShape|OpName|InDType|InShape|OutDType\n"
        "|a|float;;odd;int8| 2, 3 ;;-1,x|\n"
        "1|a|int8|1|int8\n"
        "short|b\n"
        "7|stranger|int8|1|int8\n");
  const auto tables = read();
  EXPECT_THAT(tables.warnings, IsEmpty());
  ASSERT_THAT(tables.ops, SizeIs(1));
  const OperationTypes& types = tables.ops.at("a");
  EXPECT_THAT(types.outs, IsEmpty());
  ASSERT_THAT(types.ins, SizeIs(3));  // the fourth has no shape
  EXPECT_THAT(types.ins[0].dims, ElementsAre(2, 3));
  EXPECT_THAT(types.ins[1].dims, IsEmpty());
  EXPECT_EQ(types.ins[2].elem_type, 0);
  EXPECT_THAT(types.ins[2].dims, ElementsAre(-1, -1));
}

TEST_F(OperationTablesTest, GoesOnToTheTableOfTheRoundThatRanTheModel) {
  const std::string header = "OpName|InDType|InShape|OutDType|OutShape\n";
  write("operation_tensors_0.csv", header + "prefill|int8|1|int8|1\n");
  write("operation_tensors_2.csv", header + "a|int8|1|int8|2\n");
  write("operation_tensors_10.csv", header + "a|int8|1|int8|10\nb|int8|1|int8|10\n");
  write("other.csv", "no table");
  const auto tables = read();
  EXPECT_THAT(tables.ops.at("a").outs[0].dims, ElementsAre(2));
  EXPECT_THAT(tables.ops.at("b").outs[0].dims, ElementsAre(10));
  EXPECT_THAT(tables.warnings, IsEmpty());
}

TEST_F(OperationTablesTest, WarnsOfWhatItCannotRead) {
  write("operation_tensors_0.csv", "");
  EXPECT_THAT(read().warnings, ElementsAre(HasSubstr("operation_tensors_0.csv: is empty")));
  write("operation_tensors_0.csv", "OpName,InDType\n");
  EXPECT_THAT(read().warnings, ElementsAre(HasSubstr("has no column 'OpName'")));
  write("operation_tensors_0.csv",
        "OpName|InDType|InShape|OutDType|OutShape\na|int8|1,2,3,4,5,6,7,8,9|int8|1\n");
  EXPECT_THAT(read(64).warnings, ElementsAre(HasSubstr("too much memory")));
}

TEST_F(OperationTablesTest, NoTablesAreNoTrouble) {
  EXPECT_THAT(read().ops, IsEmpty());
  EXPECT_THAT(find_operation_tables("M.json"), IsEmpty());
  EXPECT_THAT(find_operation_tables("/"), IsEmpty());
}

}  // namespace
}  // namespace assay
