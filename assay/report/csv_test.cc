#include "assay/report/sample_rows.h"

#include <sys/resource.h>

#include <csignal>

namespace assay {
namespace {

using ::testing::ElementsAre;

TEST(CsvReport, HasEveryColumnInOrder) {
  const TestFolder folder;
  const auto path = write_report("csv", folder.path() / "new" / "place", sample_head(),
                                 {node_of("n1", {sample_row("a.npy", Level::fail, 0.5, 0.3)}),
                                  node_of("n2", {lonely_row("b.npy", Level::ignored)})},
                                 {}, "rank 0");
  EXPECT_EQ(path.parent_path(), folder.path() / "new" / "place");
  EXPECT_EQ(file_text(path),
            "section,name,mine,golden,verdict,status,mine_dtype,golden_dtype,mine_shape,golden_shape,max_abs,"
            "rel_l2,why,reason,note,compared_by\n"
            "rank 0,n1,a.npy,a.npy,fail,compared,f32,bf16,\"[2, 3]\",\"[2, 3]\",0.5,0.3,same name,rel_l2 0.3 "
            "> 0.031,,elements\n"
            "rank 0,n2,b.npy,,ignored,only in mine,f32,,\"[2, 3]\",,,,no counterpart,,,\n");
}

TEST(CsvReport, IsNamedAfterTheTimeAndNeverReplaces) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  const TestFolder folder;
  EXPECT_EQ(write_report("csv", folder.path(), sample_head(), {}, {}).filename(),
            "assay_report_20250102030405.csv");
  EXPECT_EQ(write_report("csv", folder.path(), sample_head(), {}, {}).filename(),
            "assay_report_20250102030405_2.csv");
}

TEST(CsvReport, SkipsRepeatedAndUnknownColumns) {
  Head head = sample_head();
  head.shown_columns = {"max_abs", "never_measured", "max_abs", "name"};
  const TestFolder folder;
  const auto path =
      write_report("csv", folder.path(), head, {node_of("n", {sample_row("x", Level::pass, 0, 0)})}, {});
  EXPECT_NE(file_text(path).find(",golden_shape,max_abs,never_measured,why,"), std::string::npos);
  EXPECT_NE(file_text(path).find("\"[2, 3]\",0,,same name"), std::string::npos);
}

TEST(CsvReport, GoesToStandardOutput) {
  ::testing::internal::CaptureStdout();
  const auto path = write_report("csv", "-", sample_head(), {}, {});
  EXPECT_TRUE(::testing::internal::GetCapturedStdout().starts_with("section,name,"));
  EXPECT_TRUE(path.empty());
}

TEST(CsvReport, BeginsAnotherFileBehindSoManyRows) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  Profile profile = native_profile;
  profile.print = Print::python;  // line ends in texts stay line ends
  profile.columns = [](const Head&) {
    return std::vector<Column>{{"name", [](const RowView& v) -> Value { return std::string(v.node.name); }}};
  };
  const auto files_of = [&](int64_t most, const std::vector<std::vector<std::string>>& batches) {
    profile.rows_per_csv = most;
    const TestFolder folder;
    ReportSet reports;
    reports.add(find_output("csv")->open({folder.path(), &profile}));
    EXPECT_TRUE(reports.begin(sample_head()));
    EXPECT_TRUE(reports.open_section(sample_head()));
    for (const std::vector<std::string>& names : batches) {
      std::vector<NodeResult> nodes;
      for (const std::string& name : names)
        nodes.push_back(node_of(name, {sample_row("a", Level::pass, 0, 0)}));
      EXPECT_TRUE(reports.write(nodes, reports.render(nodes)));
    }
    std::vector<std::string> texts;
    const std::vector<fs::path> files = reports.end({}).value();
    for (const fs::path& file : files) texts.push_back(file.filename().native() + ":" + file_text(file));
    return texts;
  };
  EXPECT_THAT(files_of(2, {{"a", "b,\"c\""}}),
              ElementsAre("assay_report_20250102030405.csv:name\na\n\"b,\"\"c\"\"\"\n"));
  EXPECT_THAT(files_of(2, {{"a", "\"\n\"", "b"}, {"c"}, {"d"}}),
              ElementsAre("assay_report_20250102030405_part_1.csv:name\na\n\"\"\"\n\"\"\"\n",
                          "assay_report_20250102030405_part_2.csv:name\nb\nc\n",
                          "assay_report_20250102030405_part_3.csv:name\nd\n"));
}

TEST(ReportSet, RefusesAFolderThatIsAFile) {
  const TestFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  for (const char* name : {"csv", "xlsx", "json", "jsonl", "junit", "sqlite"}) {
    ReportSet reports;
    reports.add(find_output(name)->open({.folder = folder.path() / "file"}));
    const auto begun = reports.begin(sample_head());
    ASSERT_FALSE(begun) << name;
    EXPECT_NE(begun.error().message.find("file"), std::string::npos);
  }
  EXPECT_EQ(folder.files(), 1);
}

class FailingSink : public Sink {
 public:
  Result<void> begin(const Head&) override { return {}; }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view, std::span<const NodeResult>, std::string&&) override { return {}; }
  Result<void> end(const Summary&) override { return fail(ErrorKind::io, "disk full"); }
};

TEST(ReportSet, LeavesNothingBehindWhenOneOutputFails) {
  const TestFolder folder;
  {
    ReportSet reports;
    for (const char* name : {"csv", "xlsx", "json", "jsonl", "junit", "sqlite"})
      reports.add(find_output(name)->open({.folder = folder.path()}));
    reports.add(std::make_unique<FailingSink>());
    ASSERT_TRUE(reports.begin(sample_head()));
    const NodeResult node = node_of("n", {sample_row("x", Level::pass, 0, 0)});
    ASSERT_TRUE(reports.write({&node, 1}, reports.render({&node, 1})));
    const auto ended = reports.end({});
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().message, "disk full");
  }
  EXPECT_EQ(folder.files(), 0);
}

// A limit on the size of files stands in for a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  void (*old_handler_)(int) = nullptr;
};

TEST(ReportSet, AFullDiskIsAnErrorThatNamesTheFile) {
  const TestFolder folder;
  const std::vector<Comparison> rows(500, sample_row("a name of some length", Level::fail, 0.1, 0.2));
  const NodeResult node = node_of("n", rows);
  for (const char* name : {"csv", "xlsx", "json", "jsonl", "junit", "sqlite"}) {
    ReportSet reports;
    reports.add(find_output(name)->open({.folder = folder.path()}));
    ASSERT_TRUE(reports.begin(sample_head()));
    Result<void> outcome;
    {
      const FileSizeLimit limit(1000);
      outcome = reports.write({&node, 1}, reports.render({&node, 1}));
      if (outcome) {
        const auto files = reports.end({});
        if (!files) outcome = tl::unexpected<Error>(files.error());
      }
    }
    ASSERT_FALSE(outcome) << name;
    EXPECT_NE(outcome.error().message.find("assay_report_"), std::string::npos) << outcome.error().message;
  }
  EXPECT_EQ(folder.files(), 0);
}

TEST(Outputs, AreFoundByName) {
  for (const Output* output : outputs()) EXPECT_EQ(find_output(output->name), output);
  EXPECT_EQ(find_output("pdf"), nullptr);
}

}  // namespace
}  // namespace assay
