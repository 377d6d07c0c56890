#include "assay/compat/msit/bad_cases.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BadCaseFiles : public ::testing::Test {
 protected:
  BadCaseFiles() {
    std::string pattern = (fs::temp_directory_path() / "assay_bad_cases_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~BadCaseFiles() override { fs::remove_all(root_); }

  Result<BadCases> find(std::string_view golden, std::string_view test, BadCaseJoin join) const {
    std::ofstream(root_ / "g.csv", std::ios::binary) << golden;
    std::ofstream(root_ / "t.csv", std::ios::binary) << test;
    return find_bad_cases(root_ / "g.csv", root_ / "t.csv", join);
  }

  std::string error(std::string_view golden, std::string_view test, BadCaseJoin join) const {
    const auto cases = find(golden, test, join);
    return cases ? "no error" : cases.error().message;
  }

  fs::path root_;
};

constexpr std::string_view kHead = "queries,input_token_ids,output_token_ids,passed\n";

std::string table(std::string_view rows) { return std::string(kHead) + std::string(rows); }

TEST_F(BadCaseFiles, KeepsQuestionsWhoseAnswersDiffer) {
  const auto cases =
      find(table("one,\"[1, 2]\",3,True\ntwo,4,5,True\nthree,6,7,Wrong\n"),
           table("three,6,8,Correct\ntwo,4,5,TRUE\none,\"[1, 2]\",9,False\n"), BadCaseJoin::queries);
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_THAT(cases->columns, ElementsAre("queries", "input_token_ids_golden", "input_token_ids_test",
                                          "output_token_ids_golden", "output_token_ids_test", "passed_golden",
                                          "passed_test"));
  // A column with other words is one of texts to pandas, and TRUE is not True.
  EXPECT_THAT(cases->rows, ElementsAre(ElementsAre("one", "[1, 2]", "[1, 2]", "3", "9", "True", "False"),
                                       ElementsAre("two", "4", "4", "5", "5", "True", "TRUE"),
                                       ElementsAre("three", "6", "6", "7", "8", "Wrong", "Correct")));
}

TEST_F(BadCaseFiles, TakesColumnsOfTruthsAndOfNumbersForWhatTheyAre) {
  const auto truths =
      find(table("a,1,2,True\nb,1,2,FALSE\n"), table("a,1,2,TRUE\nb,1,2,true\n"), BadCaseJoin::queries);
  ASSERT_TRUE(truths) << truths.error().message;
  EXPECT_THAT(truths->rows, ElementsAre(ElementsAre("b", "1", "1", "2", "2", "FALSE", "true")));
  const auto numbers = find(table("a,1,2,1\nb,1,2,0\n"), table("a,1,2,1.0\nb,1,2,1\n"), BadCaseJoin::queries);
  ASSERT_TRUE(numbers) << numbers.error().message;
  EXPECT_THAT(numbers->rows, ElementsAre(ElementsAre("b", "1", "1", "2", "2", "0", "1")));
}

TEST_F(BadCaseFiles, JoinsByKeyWithOneWordForEachAnswer) {
  const auto cases = find("key,pass\n01,Correct\n2,wrong\n3,True\n", "passed,key\ntrue,2\nTRUE,1\nFalse,3\n",
                          BadCaseJoin::key);
  ASSERT_TRUE(cases) << cases.error().message;
  EXPECT_THAT(cases->columns, ElementsAre("key", "passed_golden", "passed_test"));
  EXPECT_THAT(cases->rows, ElementsAre(ElementsAre("2", "false", "true"), ElementsAre("3", "true", "false")));
}

TEST_F(BadCaseFiles, JoinsByQuestionTooWhereGoldenHasIt) {
  const auto cases =
      find("key,queries,passed\n1,a,1\n1,b,0\n", "key,queries,passed\n1,a,0\n1,b,0.0\n", BadCaseJoin::key);
  ASSERT_TRUE(cases);
  EXPECT_THAT(cases->rows, ElementsAre(ElementsAre("1", "a", "1", "0")));
  EXPECT_THAT(error("key,queries,passed\n1,a,1\n", "key,passed\n1,0\n", BadCaseJoin::key),
              AllOf(HasSubstr("t.csv"), HasSubstr("'queries' is missing")));
}

TEST_F(BadCaseFiles, CountsWhatIsLeftOut) {
  const auto cases = find(table("a,1,2,True\nb,,2,True\nc,1,2,NaN\nd,1,2,True\ne,1\n"),
                          table("a,1,2,True\nz,1,N/A,True\n"), BadCaseJoin::queries);
  ASSERT_TRUE(cases);
  EXPECT_THAT(cases->rows, IsEmpty());
  EXPECT_EQ(cases->golden_incomplete, 3);
  EXPECT_EQ(cases->test_incomplete, 1);
  EXPECT_EQ(cases->unmatched, 1);
  EXPECT_THAT(cases->some_unmatched, ElementsAre("d"));
}

TEST_F(BadCaseFiles, PairsRepeatedQuestionsAsAJoinDoes) {
  const auto cases =
      find(table("a,1,1,True\na,2,2,False\n"), table("a,3,3,False\na,4,4,True\n"), BadCaseJoin::queries);
  ASSERT_TRUE(cases);
  EXPECT_EQ(cases->rows.size(), 2u);
}

TEST_F(BadCaseFiles, RefusesJoinsWithoutEnd) {
  std::string golden(kHead), test(kHead);
  for (int i = 0; i < 3200; ++i) {
    golden += "a,1,1,True\n";
    test += "a,1,1,False\n";
  }
  EXPECT_THAT(error(golden, test, BadCaseJoin::queries), HasSubstr("more than 10000000 bad cases"));
}

TEST_F(BadCaseFiles, NamesTheFileAndWhatIsMissing) {
  EXPECT_THAT(error("queries,passed\n", table(""), BadCaseJoin::queries),
              AllOf(HasSubstr("g.csv"), HasSubstr("Unmatched csv columns"),
                    HasSubstr("'input_token_ids' is missing")));
  EXPECT_THAT(error("", table(""), BadCaseJoin::queries), HasSubstr("g.csv: is empty"));
  EXPECT_THAT(error(table("a,1,2,True,extra\n"), table(""), BadCaseJoin::queries),
              HasSubstr("Expected 4 fields in line 2, saw 5"));
  EXPECT_THAT(error("key\n1\n", "key,passed\n", BadCaseJoin::key), HasSubstr("'passed' is missing"));
  EXPECT_THAT(error(table("\"never closed" + std::string(17 << 20, 'x')), table(""), BadCaseJoin::queries),
              HasSubstr("is a quote not closed there?"));
  const auto gone = find_bad_cases(root_ / "gone.csv", root_ / "gone.csv", BadCaseJoin::key);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, HasSubstr("gone.csv"));
}

TEST_F(BadCaseFiles, WritesWholeFilesAndReplacesNone) {
  BadCases cases;
  cases.columns = {"key", "passed_golden"};
  cases.rows = {{"a \"b\", c", "true"}, {"=cmd()", "line\nbreak"}};
  const auto path = write_bad_cases(cases, root_ / "deep" / "folder", "r.csv");
  ASSERT_TRUE(path) << path.error().message;
  std::ifstream file(*path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}),
            "key,passed_golden\n\"a \"\"b\"\", c\",true\n'=cmd(),\"line\nbreak\"\n");
  // One that is there stays; the next has a number.
  const auto second = write_bad_cases({}, root_ / "deep" / "folder", "r.csv");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->filename(), "r_2.csv");
  EXPECT_GT(fs::file_size(*path), fs::file_size(*second));
}

}  // namespace
}  // namespace assay
