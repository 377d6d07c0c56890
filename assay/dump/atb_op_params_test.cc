#include "assay/dump/atb_op_params.h"
#include "assay/dump/atb_op_table.h"

#include <gmock/gmock.h>

#include <fstream>

namespace assay {
namespace {

using testing::HasSubstr;

TEST(AtbOpParams, TakesObjectsApart) {
  const OpParams params =
      parse_op_params(R"({"layerType":1,"normParam":{"epsilon":1e-5},"seqLen":[3,4]})", "p");
  ASSERT_EQ(params.trouble, "");
  ASSERT_EQ(params.list.size(), 3u);
  EXPECT_EQ(params.list[1].key, "normParam.epsilon");
  EXPECT_TRUE(params.list[2].is_list);
}

TEST(AtbOpParams, SaysWhatIsWrong) {
  EXPECT_THAT(parse_op_params("", "p").trouble, HasSubstr("p"));
  EXPECT_THAT(parse_op_params("[1]", "p").trouble, HasSubstr("no JSON object"));
  EXPECT_THAT(parse_op_params("{\"a\":", "p").trouble, HasSubstr("p"));
  EXPECT_THAT(parse_op_params(R"({"a":1,"a":2})", "p").trouble, HasSubstr("twice"));
  std::string deep(2000, '[');
  EXPECT_NE(parse_op_params("{\"a\":" + deep, "p").trouble, "");
}

class AtbOpTable : public testing::Test {
 protected:
  fs::path write(std::string_view text) {
    const fs::path path = fs::path(testing::TempDir()) / "operation_tensors_0.csv";
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(AtbOpTable, ReadsPaddedCells) {
  const auto rows =
      read_op_table(write("CaseNum| OpName |OpParam|OutDType\n"
                          "1| LinearOperation_1_1_0 | {\"transposeA\":false} |float16\n"
                          "2||{}|float16\n3|X_1|{}|\n4|Y|{}|bf16\n"));
  ASSERT_TRUE(rows.has_value());
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].type, "LinearOperation");
  EXPECT_EQ((*rows)[0].id, "1_1_0");
  EXPECT_EQ((*rows)[0].params, "{\"transposeA\":false}");
  EXPECT_EQ((*rows)[1].id, "");
}

TEST_F(AtbOpTable, RefusesOtherTables) {
  EXPECT_THAT(read_op_table(write("OpName,OpParam,OutDType\nX_1,{},f\n")).error().message,
              HasSubstr("has no column OpName"));
  EXPECT_THAT(read_op_table(write("")).error().message, HasSubstr("has no column OpName"));
  EXPECT_FALSE(read_op_table(fs::path(testing::TempDir()) / "nowhere.csv").has_value());
}

}  // namespace
}  // namespace assay
