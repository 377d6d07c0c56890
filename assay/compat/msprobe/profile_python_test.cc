// Generation 1 on PyTorch, which writes what Python has.
#include "assay/compat/msprobe/profile.h"
#include "assay/compat/msprobe/sample_rows.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

const double kNan = std::nan("");

// The last row behind the titles, as csv.
std::string last_line(const std::vector<const MsprobePair*>& pairs, Content content,
                      std::span<const std::string_view> calls = {}, bool row_by_row = false) {
  const TestFolder folder;
  const Profile profile =
      msprobe_profile({.generation = Generation::g1,
                       .stack = calls.empty() ? MsprobeStyle::Stack::hidden : MsprobeStyle::Stack::shown,
                       .as_python = true,
                       .row_by_row = row_by_row});
  const auto sink = find_output("csv")->open({.folder = folder.path(), .profile = &profile});
  std::vector<Comparison> rows;
  for (const MsprobePair* pair : pairs) rows.push_back(pair->row);
  NodeResult node = node_of("Torch.add.0.forward", rows);
  node.stack = calls;
  const auto files = run_sink(*sink, msprobe_head(content, Generation::g1), {node});
  std::string text = files.empty() ? "\n" : file_text(files.front());
  text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

TEST(MsprobePythonProfile, WritesNoneAndNan) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.mine.max = kNan;
  pair.mine.min = Scalar();
  pair.mine.mean = std::string_view("nan");
  pair.mine.norm = true;
  pair.row.metrics = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
  EXPECT_THAT(last_line({&pair}, Content::statistics), HasSubstr(",Nan,None,nan,True,4.0,-1.0,0.5,2.25,"));
  pair.lose_golden();  // it forgets to make a word of NaN
  EXPECT_THAT(last_line({&pair}, Content::statistics), HasSubstr(",nan,None,nan,True,N/A,N/A,N/A,N/A,"));
}

TEST(MsprobePythonProfile, OnlyNumbersHaveDifferences) {
  MsprobePair pair("Torch.add.0.forward.input.0");
  pair.row.metrics = {0.5, 0.5, 0.5, 0.5, 50.0, 50.0, 50.0, Value()};
  pair.mine.max = pair.golden.max = std::string_view("3");  // a text, though it reads like a number
  pair.golden.min = Scalar::big("18446744073709551616");
  EXPECT_THAT(last_line({&pair}, Content::statistics), HasSubstr(",N/A,0.5,0.5,0.5,N/A,50.0%,50.0%,N/A,"));
}

TEST(MsprobePythonProfile, HasNoChecksumsWhereNothingFits) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.mine.checksum = "1ad5be0d";
  pair.golden.dtype = "None";
  EXPECT_THAT(last_line({&pair}, Content::checksums), EndsWith(",1ad5be0d,None,"));
  pair.lose_golden();
  EXPECT_THAT(last_line({&pair}, Content::checksums), EndsWith(",N/A,N/A,"));
}

TEST(MsprobePythonProfile, HasNoFileWhereNothingFits) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.row.verdict.no_metric = "unsupported";
  EXPECT_THAT(last_line({&pair}, Content::data), EndsWith(",n.pt"));
  pair.lose_golden();
  EXPECT_THAT(last_line({&pair}, Content::data), EndsWith(",-1"));
}

TEST(MsprobePythonProfile, ShowsTheStackWhereTheOriginalDoes) {
  const std::vector<std::string_view> calls = {"File net.py"};
  MsprobePair input("Torch.add.0.forward.input.0", Direction::input),
      output("Torch.add.0.forward.output.0", Direction::output, 1);
  EXPECT_THAT(last_line({&input}, Content::checksums, calls), EndsWith(",['File net.py']"));
  EXPECT_THAT(last_line({&input, &output}, Content::checksums, calls), EndsWith(",None"));
  // An operator without inputs has it only where nothing fits.
  EXPECT_THAT(last_line({&output}, Content::checksums, calls), EndsWith(",None"));
  output.lose_golden();
  EXPECT_THAT(last_line({&output}, Content::checksums, calls), EndsWith(",['File net.py']"));
  // A mapping of data or layers repeats it.
  EXPECT_THAT(last_line({&input, &output}, Content::checksums, calls, true), EndsWith(",['File net.py']"));
  MsprobePair mapped("Torch.add.0.forward.output.0", Direction::output, 1);
  EXPECT_THAT(last_line({&input, &mapped}, Content::checksums, calls, true), EndsWith(",['File net.py']"));
}

TEST(MsprobePythonProfile, KeepsChecksumAndFileOfMineWhereRowsStandAlone) {
  MsprobePair pair("Torch.add.0.forward.output.0");
  pair.mine.checksum = "1ad5be0d";
  pair.row.verdict.no_metric = "unsupported";
  pair.lose_golden();
  EXPECT_THAT(last_line({&pair}, Content::checksums, {}, true), EndsWith(",1ad5be0d,N/A,"));
  EXPECT_THAT(last_line({&pair}, Content::data, {}, true), EndsWith(",n.pt"));
}

}  // namespace
}  // namespace assay
