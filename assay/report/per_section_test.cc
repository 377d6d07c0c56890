#include "assay/report/sample_rows.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Writes the names of its rows to {folder}/{name}{rank}; fails where a test wants it to.
struct Script {
  fs::path folder = {};
  std::string name = "rank";
  std::string fails_in = {};  // "begin 1": the step, and the rank it fails for
  std::vector<std::string>* steps = nullptr;
};

class ScriptedSink : public Sink {
 public:
  explicit ScriptedSink(Script script) : script_(std::move(script)) {}

  Result<void> begin(const Head& head) override {
    rank_ = head.at.rank;
    ASSAY_TRY(FileWriter file,
              FileWriter::create(script_.folder / (script_.name + std::to_string(rank_)), IfExists::replace));
    file_.emplace(std::move(file));
    return step("begin");
  }
  Result<void> open_section(const Head&) override { return step("open"); }
  Result<void> close_section(const Summary&) override { return step("close"); }
  std::string render(std::string_view, std::span<const NodeResult> nodes) const override {
    std::string text;
    for (const NodeResult& node : nodes) text += std::string(node.name) + '\n';
    return text;
  }
  Result<void> write(std::string_view section, std::span<const NodeResult>, std::string&& text) override {
    ASSAY_TRY_DO(step("write"));
    return file_->append(std::string(section) + ": " + text);
  }
  Result<void> end(const Summary&) override { return step("end"); }
  Result<std::vector<fs::path>> publish() override {
    ASSAY_TRY_DO(step("publish"));
    ASSAY_TRY(fs::path path, file_->publish());
    return std::vector{std::move(path)};
  }
  Result<void> announce(const Summary&, std::span<const fs::path> files) override {
    return step("announce", files.size());
  }

 private:
  Result<void> step(std::string_view what, size_t files = 0) {
    const std::string text = std::string(what) + " " + std::to_string(rank_);
    if (script_.steps != nullptr)
      script_.steps->push_back(files == 0 ? text : text + " of " + std::to_string(files));
    if (text == script_.fails_in) return fail(ErrorKind::io, "{}: full", text);
    return {};
  }

  const Script script_;
  int rank_ = -1;
  std::optional<FileWriter> file_;
};

std::unique_ptr<Sink> scripted(const Script& script) { return std::make_unique<ScriptedSink>(script); }

// Ranks 0, 1 and 2 with one node each; the error that ends the run.
std::string run_ranks(ReportSet& reports, std::vector<fs::path>* files = nullptr) {
  Head head = sample_head();
  const auto run = [&]() -> Result<std::vector<fs::path>> {
    ASSAY_TRY_DO(reports.begin(head));
    for (head.at.rank = 0; head.at.rank < 3; ++head.at.rank) {
      const std::string name = "node" + std::to_string(head.at.rank);
      const NodeResult node = node_of(name, {});
      ASSAY_TRY_DO(reports.open_section(head));
      ASSAY_TRY_DO(reports.write({&node, 1}, reports.render({&node, 1})));
      ASSAY_TRY_DO(reports.close_section({}));
    }
    return reports.end({});
  };
  const auto outcome = run();
  if (outcome && files != nullptr) *files = *outcome;
  return outcome ? "" : outcome.error().message;
}

TEST(PerSection, WritesAFilePerSection) {
  const TestFolder folder;
  ReportSet reports;
  reports.add(per_section([&] { return scripted({.folder = folder.path()}); }));
  std::vector<fs::path> files;
  EXPECT_EQ(run_ranks(reports, &files), "");
  EXPECT_THAT(files, ElementsAre(folder.path() / "rank0", folder.path() / "rank1", folder.path() / "rank2"));
  EXPECT_EQ(file_text(files[1]), "rank 1: node1\n");
  EXPECT_EQ(folder.files(), 3);
}

TEST(PerSection, FinishesASectionBeforeTheNextBegins) {
  const TestFolder folder;
  std::vector<std::string> steps;
  ReportSet reports;
  reports.add(per_section([&] { return scripted({.folder = folder.path(), .steps = &steps}); }));
  EXPECT_EQ(run_ranks(reports), "");
  ASSERT_EQ(steps.size(), 21u);
  EXPECT_THAT(std::vector(steps.begin(), steps.begin() + 8),
              ElementsAre("begin 0", "open 0", "write 0", "close 0", "end 0", "publish 0", "announce 0 of 1",
                          "begin 1"));
}

TEST(PerSection, AFailureKeepsWhatIsFinishedAndNothingElse) {
  for (const std::string_view step : {"begin", "open", "write", "close", "end", "publish"}) {
    const TestFolder folder;
    const std::string where = std::string(step) + " 1";
    {
      ReportSet reports;
      reports.add(per_section([&] { return scripted({.folder = folder.path(), .fails_in = where}); }));
      EXPECT_EQ(run_ranks(reports), where + ": full");
    }
    EXPECT_EQ(folder.files(), 1) << where;  // the half-written file is gone with its sink
    EXPECT_EQ(file_text(folder.path() / "rank0"), "rank 0: node0\n") << where;
  }
}

TEST(PerSection, WritesNothingWithoutSections) {
  const TestFolder folder;
  ReportSet reports;
  reports.add(per_section([&] { return scripted({.folder = folder.path()}); }));
  EXPECT_TRUE(reports.begin(sample_head()));
  const auto files = reports.end({});
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, IsEmpty());
  EXPECT_EQ(folder.files(), 0);
}

TEST(Together, EverySinkGetsItsOwnText) {
  const TestFolder folder;
  std::vector<std::unique_ptr<Sink>> sinks;
  sinks.push_back(scripted({.folder = folder.path(), .name = "a"}));
  sinks.push_back(scripted({.folder = folder.path(), .name = "b"}));
  const auto sink = together(std::move(sinks));
  Head head = sample_head();
  head.at.rank = 4;
  EXPECT_TRUE(sink->begin(head));
  EXPECT_TRUE(sink->open_section(head));
  const NodeResult nodes[] = {node_of("first", {}), node_of("second", {})};
  EXPECT_TRUE(sink->write("rank 4", nodes, sink->render("rank 4", nodes)));
  EXPECT_TRUE(sink->write("rank 4", {}, sink->render("rank 4", {})));  // texts may be empty
  EXPECT_TRUE(sink->close_section({}));
  EXPECT_TRUE(sink->end({}));
  const auto files = sink->publish();
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, ElementsAre(folder.path() / "a4", folder.path() / "b4"));
  for (const fs::path& file : *files) EXPECT_EQ(file_text(file), "rank 4: first\nsecond\nrank 4: ");
}

TEST(Together, NoFileGetsItsNameWhereOneOfThemFails) {
  const TestFolder folder;
  {
    std::vector<std::unique_ptr<Sink>> sinks;
    sinks.push_back(scripted({.folder = folder.path(), .name = "a"}));
    sinks.push_back(scripted({.folder = folder.path(), .name = "b", .fails_in = "end 1"}));
    ReportSet reports;
    reports.add(together(std::move(sinks)));
    Head head = sample_head();
    head.at.rank = 1;
    EXPECT_TRUE(reports.begin(head));
    EXPECT_TRUE(reports.open_section(head));
    EXPECT_TRUE(reports.close_section({}));
    const auto files = reports.end({});
    ASSERT_FALSE(files);
    EXPECT_EQ(files.error().message, "end 1: full");
  }
  EXPECT_EQ(folder.files(), 0);
}

TEST(Together, InSectionsLosesOnlyTheSectionThatFails) {
  const TestFolder folder;
  std::vector<std::string> steps;
  {
    ReportSet reports;
    reports.add(per_section([&] {
      std::vector<std::unique_ptr<Sink>> sinks;
      sinks.push_back(scripted({.folder = folder.path(), .name = "a", .steps = &steps}));
      sinks.push_back(scripted({.folder = folder.path(), .name = "b", .fails_in = "end 2"}));
      return together(std::move(sinks));
    }));
    EXPECT_EQ(run_ranks(reports), "end 2: full");
  }
  EXPECT_EQ(folder.files(), 4);
  EXPECT_EQ(file_text(folder.path() / "b1"), "rank 1: node1\n");
  EXPECT_EQ(std::count(steps.begin(), steps.end(), "announce 0 of 2"), 1);  // told of both files
}

}  // namespace
}  // namespace assay
