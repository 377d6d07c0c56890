#include "assay/run/compact/compact.h"

#include "assay/base/temporary_name.h"
#include "assay/format/format_test_tools.h"
#include "assay/format/npy.h"
#include "assay/run/compact/removal.h"
#include "assay/run/compact/replacement.h"
#include "assay/tensor/dense.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace assay {
namespace {

using ::testing::ElementsAre;
using testing::file_content;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TestFolder;

class CompactTest : public ::testing::Test {
 protected:
  fs::path path(const fs::path& name) const { return folder_.path() / name; }

  fs::path put_npy(const fs::path& name, const std::vector<double>& values) {
    const TensorMeta meta{DType::f64, Shape{{std::ssize(values)}}};
    std::vector<std::byte> bytes(static_cast<size_t>(meta.byte_size()));
    from_f64(meta.dtype, values.data(), std::ssize(values), bytes.data());
    const StoredTensor tensor{
        .name = "", .data = dense_in_memory(std::move(bytes), meta), .meta = meta, .stats = {}, .facts = {}};
    fs::create_directories(path(name).parent_path());
    EXPECT_TRUE(testing::write_as(npy_format, path(name), std::span(&tensor, 1)));
    rest(name);
    return path(name);
  }

  // As if it had been written long ago. The time of the change of its state cannot be set, so it is waited
  // for where that matters.
  void rest(const fs::path& name) const {
    fs::last_write_time(path(name), fs::file_time_type::clock::now() - std::chrono::hours(1));
  }

  CompactOutcome run(bool dry_run = false) {
    CompactRequest request;
    request.root = folder_.path();
    request.options.dry_run = dry_run;
    request.threads = 2;
    request.keep_going = true;
    const auto outcome = compact(request);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome.value_or(CompactOutcome{});
  }

  bool exists(const fs::path& name) const { return read_state(path(name)).has_value(); }

  CompactJob job(const fs::path& name) const { return {path(name), *read_state(path(name))}; }

  const TestFolder folder_;
};

TEST_F(CompactTest, ReplacesAFileByItsStatistics) {
  put_npy("a/x.npy", {1, -2, 3});
  const CompactOutcome outcome = run();
  EXPECT_EQ(outcome.replaced, 1);
  EXPECT_THAT(outcome.kept, IsEmpty());
  EXPECT_FALSE(exists("a/x.npy"));
  const std::string text = file_content(path("a/x.npy.stats.json"));
  EXPECT_THAT(text, HasSubstr("\"max\":3.0,\"min\":-2.0,"));
  EXPECT_EQ(outcome.bytes_after, std::ssize(text));
}

// What could not be replaced and was renamed since is no file that was kept.
TEST_F(CompactTest, AFileThatIsRenamedMeanwhileIsNoTrouble) {
  put_npy("a/x.npy", {1, -2, 3});
  std::ofstream(path("a/y.npy")) << "half";
  rest("a/y.npy");
  put_npy("b/z.npy", {4});
  CompactRequest request;
  request.root = folder_.path();
  request.threads = 1;
  request.on_replaced = [&](const CompactJob& job, const FileFate&) {
    if (job.path.filename() == "z.npy") fs::rename(path("a"), path("c"));
  };
  const auto outcome = compact(request);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->replaced, 2);
  EXPECT_THAT(outcome->kept, IsEmpty());
  EXPECT_THAT(outcome->troubles, IsEmpty());
  EXPECT_EQ(outcome->gone, 1);
  EXPECT_TRUE(exists("c/y.npy"));
}

TEST_F(CompactTest, StatisticsOfASourceThatSomebodyElseRemovedStay) {
  put_npy("x.npy", {1, 2});
  const CompactJob found = job("x.npy");
  const auto published = publish_replacement(found, {});
  ASSERT_TRUE(published);
  ASSERT_EQ(published->fate, Fate::replaced);
  fs::remove(path("x.npy"));
  EXPECT_EQ(remove_source(found, *published, {}).fate, Fate::gone);
  EXPECT_TRUE(exists("x.npy.stats.json")) << "another run may have removed it because of them";
}

TEST_F(CompactTest, FreshStatisticsOfASourceThatWasRenamedGo) {
  put_npy("x.npy", {1, 2});
  const CompactJob found = job("x.npy");
  CompactOptions options;
  options.alone = true;
  const auto published = publish_replacement(found, options);
  ASSERT_TRUE(published);
  fs::rename(path("x.npy"), path("y.npy"));
  EXPECT_EQ(remove_source(found, *published, options).fate, Fate::gone);
  EXPECT_FALSE(exists("x.npy.stats.json"));
  EXPECT_TRUE(exists("y.npy"));
}

TEST_F(CompactTest, StatisticsThatWereThereOrWereChangedStayWithoutTheirSource) {
  put_npy("x.npy", {1, 2});
  CompactOptions options;
  options.alone = true;
  const CompactJob found = job("x.npy");
  const auto first = publish_replacement(found, options), second = publish_replacement(found, options);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(second->was_there);
  fs::remove(path("x.npy"));
  EXPECT_EQ(remove_source(found, *second, options).fate, Fate::gone);
  EXPECT_TRUE(exists("x.npy.stats.json")) << "it was there before";
  std::ofstream(path("x.npy.stats.json"), std::ios::app) << "a note";
  EXPECT_EQ(remove_source(found, *first, options).fate, Fate::gone);
  EXPECT_TRUE(exists("x.npy.stats.json")) << "somebody added a line";
}

TEST_F(CompactTest, TooManyOpenFilesAreNoWriter) {
  put_npy("x.npy", {1, 2});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Writer writer = find_writer(path("x.npy"));
  const auto published = publish_replacement(job("x.npy"), {});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(writer, Writer::unseen);
  ASSERT_TRUE(published);
  EXPECT_EQ(published->fate, Fate::kept);
  EXPECT_THAT(published->why, HasSubstr("too many open files"));
}

TEST_F(CompactTest, StatisticsBelongToTheOwnerOfTheSource) {
  put_npy("x.npy", {1, 2});
  fs::permissions(path("x.npy"), fs::perms::owner_read | fs::perms::owner_write);
  if (::geteuid() != 0 || ::chown(path("x.npy").c_str(), 1234, 2345) != 0)
    GTEST_SKIP() << "only root can give a file away";
  if (find_writer(path("x.npy")) == Writer::hidden) GTEST_SKIP() << "without CAP_LEASE the file is kept";
  EXPECT_EQ(run().replaced, 1);
  const auto state = read_state(path("x.npy.stats.json"));
  ASSERT_TRUE(state);
  EXPECT_EQ(state->owner, 1234);
  EXPECT_EQ(state->group, 2345);
  EXPECT_EQ(state->mode & 0777, 0600);
}

TEST_F(CompactTest, ADryRunChangesNothing) {
  put_npy("x.npy", {1});
  const CompactOutcome outcome = run(true);
  EXPECT_EQ(outcome.replaced, 1);
  EXPECT_TRUE(exists("x.npy"));
  EXPECT_FALSE(exists("x.npy.stats.json"));
}

TEST_F(CompactTest, LeavesOtherFilesAlone) {
  for (const char* const name : {"mapping.csv", "a.txt", "a.json", "x.npy.swp", ".x.npy", "graph.pbtxt",
                                 "w.safetensors", "x_min_max.npy", "Opdebug.Node_OpDebug.1.2.3", "a.npz"})
    folder_.put(name, "text");
  put_npy("real.npy", {1});
  fs::create_directory(path(".hidden"));
  fs::copy(path("real.npy"), path(".hidden/x.npy"));
  fs::create_symlink(path("real.npy"), path("link.npy"));
  const CompactOutcome outcome = run();
  EXPECT_EQ(outcome.replaced, 1);
  EXPECT_THAT(outcome.kept, IsEmpty());
  EXPECT_TRUE(exists("link.npy"));
  EXPECT_TRUE(exists(".hidden/x.npy"));
  EXPECT_TRUE(exists("mapping.csv"));
}

TEST_F(CompactTest, DoesNotFollowLinksOutOfTheFolder) {
  const TestFolder elsewhere;
  const fs::path file = elsewhere.put("x.npy", file_content(put_npy("inside.npy", {2})));
  fs::create_directory_symlink(elsewhere.path(), path("link"));
  run();
  EXPECT_TRUE(fs::exists(file));
  EXPECT_FALSE(fs::exists(elsewhere.path() / "x.npy.stats.json"));
}

TEST_F(CompactTest, KeepsWhatCannotBeReadAndSaysWhy) {
  folder_.put("broken.npy", "\x93NUMPY");
  folder_.put("empty.npy", "");
  folder_.put("noise.bin", "nothing that we know");
  const std::string whole = file_content(put_npy("x.npy", {1, 2}));
  fs::remove(path("x.npy"));
  folder_.put("longer.npy", whole + "more");
  fs::create_hard_link(folder_.put("one.npy", whole), path("two.npy"));
  const CompactOutcome outcome = run();
  EXPECT_EQ(outcome.replaced, 0);
  EXPECT_THAT(outcome.kept,
              ElementsAre(HasSubstr("broken.npy"), HasSubstr("empty.npy: is empty"),
                          HasSubstr("its header describes"), HasSubstr("noise.bin: is not a tensor file"),
                          HasSubstr("one.npy: has 2 names"), HasSubstr("two.npy: has 2 names")));
  EXPECT_EQ(file_content(path("longer.npy")), whole + "more");
}

TEST_F(CompactTest, KeepsAFileThatSomebodyHasOpenForWriting) {
  put_npy("x.npy", {1});
  {
    const std::ofstream writer(path("x.npy"), std::ios::app);
    EXPECT_THAT(run().kept, ElementsAre(HasSubstr("is still being written")));
  }
  EXPECT_EQ(run().replaced, 1);
}

TEST_F(CompactTest, AFileThatChangedWhileItWasMeasuredStays) {
  put_npy("x.npy", {1});
  const CompactJob measured = job("x.npy");
  const auto published = publish_replacement(measured, {});
  ASSERT_TRUE(published);
  ASSERT_EQ(published->fate, Fate::replaced);
  EXPECT_TRUE(exists("x.npy.stats.json"));
  EXPECT_TRUE(exists("x.npy"));
  std::ofstream(path("x.npy"), std::ios::app) << "more";
  EXPECT_EQ(remove_source(measured, *published, {}).fate, Fate::kept);
  EXPECT_TRUE(exists("x.npy"));
  EXPECT_FALSE(exists("x.npy.stats.json"));
}

TEST_F(CompactTest, ASourceStaysWhenItsStatisticsAreGone) {
  put_npy("x.npy", {1});
  const CompactJob measured = job("x.npy");
  const auto published = publish_replacement(measured, {});
  ASSERT_TRUE(published);
  ASSERT_EQ(published->fate, Fate::replaced);
  fs::remove(path("x.npy.stats.json"));
  const FileFate fate = remove_source(measured, *published, {});
  EXPECT_EQ(fate.fate, Fate::kept);
  EXPECT_THAT(fate.why, HasSubstr("its statistics were changed or removed meanwhile"));
  EXPECT_TRUE(exists("x.npy"));
  EXPECT_EQ(run().replaced, 1);
}

TEST_F(CompactTest, ASourceStaysWhenItsStatisticsAreAnotherFile) {
  for (const bool was_there : {false, true}) {
    put_npy("x.npy", {1});
    if (was_there) {
      ASSERT_TRUE(publish_replacement(job("x.npy"), {}));
    }
    const CompactJob measured = job("x.npy");
    const auto published = publish_replacement(measured, {});
    ASSERT_TRUE(published);
    ASSERT_EQ(published->fate, Fate::replaced);
    ASSERT_EQ(published->was_there, was_there);
    fs::rename(folder_.put("mine", "my own"), path("x.npy.stats.json"));
    EXPECT_EQ(remove_source(measured, *published, {}).fate, Fate::kept);
    EXPECT_TRUE(exists("x.npy"));
    EXPECT_EQ(file_content(path("x.npy.stats.json")), "my own");
    fs::remove(path("x.npy.stats.json"));
  }
}

TEST_F(CompactTest, ASourceStaysWhenItsStatisticsWereWrittenOver) {
  put_npy("x.npy", {1});
  const CompactJob measured = job("x.npy");
  const auto published = publish_replacement(measured, {});
  ASSERT_TRUE(published);
  std::ofstream writer(path("x.npy.stats.json"), std::ios::app);
  EXPECT_EQ(remove_source(measured, *published, {}).fate, Fate::kept);
  writer << "a note";
  writer.close();
  EXPECT_EQ(remove_source(measured, *published, {}).fate, Fate::kept);
  EXPECT_TRUE(exists("x.npy"));
}

TEST_F(CompactTest, AFileOfTheUserInPlaceOfTheStatisticsOutlivesAChangeOfTheSource) {
  put_npy("x.npy", {1});
  const CompactJob measured = job("x.npy");
  const auto published = publish_replacement(measured, {});
  ASSERT_TRUE(published);
  fs::rename(folder_.put("mine", "my own"), path("x.npy.stats.json"));
  std::ofstream(path("x.npy"), std::ios::app) << "more";
  EXPECT_EQ(remove_source(measured, *published, {}).fate, Fate::kept);
  EXPECT_TRUE(exists("x.npy"));
  EXPECT_EQ(file_content(path("x.npy.stats.json")), "my own");
}

TEST_F(CompactTest, OnlyTheFileThatWasMeasuredIsRemoved) {
  const FileState measured = *read_state(put_npy("x.npy", {1, 2}));
  const int writer = ::open(path("x.npy").c_str(), O_WRONLY);
  EXPECT_EQ(remove_unless_written(path("x.npy"), measured), Removal::was_written) << "somebody writes";
  ::close(writer);
  EXPECT_TRUE(exists("x.npy"));

  put_npy("new.npy", {3, 4});
  fs::rename(path("new.npy"), path("x.npy"));
  EXPECT_EQ(remove_unless_written(path("x.npy"), measured), Removal::was_written) << "another file";
  EXPECT_TRUE(exists("x.npy"));

  EXPECT_EQ(remove_unless_written(path("x.npy"), *read_state(path("x.npy"))), Removal::done);
  EXPECT_TRUE(fs::is_empty(folder_.path())) << "nothing is left under another name";
  put_npy("x.npy", {5});
  fs::create_directories(aside_name(path("x.npy")));  // what has the name that it would get meanwhile stays
  EXPECT_EQ(remove_unless_written(path("x.npy"), *read_state(path("x.npy"))), Removal::failed);
  EXPECT_TRUE(exists("x.npy"));
  fs::remove(aside_name(path("x.npy")));
  fs::remove(path("x.npy"));
  EXPECT_EQ(remove_unless_written(path("x.npy"), measured), Removal::done) << "it is gone already";
}

// A run that was killed before its last look: what lies there may be what a writer put in its place.
TEST_F(CompactTest, AFileThatAKilledRunSetAsideGetsItsNameBack) {
  put_npy("x.npy", {1, 2});
  fs::rename(path("x.npy"), aside_name(path("x.npy")));
  run(true);
  EXPECT_FALSE(exists("x.npy")) << "a dry run changes nothing";
  EXPECT_EQ(run().replaced, 1) << "it is looked at like all others";
  EXPECT_TRUE(exists("x.npy.stats.json"));
  EXPECT_FALSE(exists("x.npy.assay-old"));
  put_npy("y.npy", {3});
  put_npy("y.npy.assay-old", {4});
  run();
  EXPECT_TRUE(exists("y.npy.stats.json"));
  EXPECT_TRUE(exists("y.npy.assay-old")) << "neither takes the place of the other";
}

TEST_F(CompactTest, AFileThatDisappearedIsNoTrouble) {
  put_npy("x.npy", {1});
  const CompactJob gone = job("x.npy");
  fs::remove(path("x.npy"));
  EXPECT_EQ(publish_replacement(gone, {})->fate, Fate::gone);
}

TEST_F(CompactTest, GoesOnWhereAKilledRunStopped) {
  put_npy("x.npy", {4});
  ASSERT_TRUE(publish_replacement(job("x.npy"), {}));  // and then it was killed
  const fs::path half = temporary_beside(path("x.npy.stats.json"));
  folder_.put(half.filename(), "half");
  folder_.put(".x.npy.stats.json.4711.0.tmp", "somebody's own");
  EXPECT_EQ(run().replaced, 1);
  EXPECT_FALSE(exists("x.npy"));
  EXPECT_FALSE(fs::exists(half));
  EXPECT_TRUE(exists(".x.npy.stats.json.4711.0.tmp"));
  EXPECT_THAT(file_content(path("x.npy.stats.json")), HasSubstr("\"max\":4.0"));
}

TEST_F(CompactTest, StatisticsThatSayAnythingElseStayAndSoDoesTheSource) {
  put_npy("x.npy", {4});
  ASSERT_TRUE(publish_replacement(job("x.npy"), {}));
  const std::string ours = file_content(path("x.npy.stats.json"));
  put_npy("x.npy", {5});  // what the dump wrote the next time
  EXPECT_THAT(run(true).kept, ElementsAre(HasSubstr("x.npy.stats.json is in the way")));
  EXPECT_THAT(run().kept, ElementsAre(HasSubstr("not what would be written now")));
  put_npy("x.npy", {4});
  std::string noted = ours;
  noted.insert(noted.size() - 2, ",\n\"note\":\"mine\"");  // somebody added to it
  folder_.put("x.npy.stats.json", noted);
  EXPECT_THAT(run().kept, ElementsAre(HasSubstr("is in the way")));
  EXPECT_TRUE(exists("x.npy"));
  EXPECT_EQ(file_content(path("x.npy.stats.json")), noted);
}

TEST_F(CompactTest, AFileThatComesWhileTheSourceIsMeasuredStays) {
  folder_.put("x.npy.stats.json", "mine");
  Replacement measured;
  measured.text = "statistics";
  const auto written = write_replacement(measured, path("x.npy.stats.json"),
                                         CompactJob{path("x.npy"), FileState{.mode = 0644}});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::mismatch);
  EXPECT_EQ(written.error().message,
            "x.npy.stats.json was put there while it was measured; move one of them");
  EXPECT_EQ(file_content(path("x.npy.stats.json")), "mine");
}

TEST_F(CompactTest, DoesNotReplaceAFileOfSomebodyElse) {
  put_npy("x.npy", {4});
  folder_.put("x.npy.stats.json", "{\"mine\": 1}");
  EXPECT_THAT(run().kept, ElementsAre(HasSubstr("is in the way")));
  EXPECT_EQ(file_content(path("x.npy.stats.json")), "{\"mine\": 1}");
}

TEST_F(CompactTest, AReplacementThatWasThereBeforeOutlivesAChangeOfItsSource) {
  put_npy("x.npy", {1, 2});
  put_npy("x_min_max.npy", {1, 2});
  CompactOptions options;
  options.form = CompactForm::min_max;
  const CompactJob found = job("x.npy");
  const auto published = publish_replacement(found, options);
  ASSERT_TRUE(published);
  ASSERT_EQ(published->fate, Fate::replaced);
  std::ofstream(path("x.npy"), std::ios::app) << "more";
  EXPECT_EQ(remove_source(found, *published, options).fate, Fate::kept);
  EXPECT_TRUE(exists("x.npy"));
  EXPECT_TRUE(exists("x_min_max.npy"));
}

TEST_F(CompactTest, ATensorUnderTheNameOfAReplacementStays) {
  put_npy("x.npy", {1, 2});
  const std::string real = file_content(put_npy("x_min_max.npy", {1, 2, 3}));
  CompactOptions options;
  options.form = CompactForm::min_max;
  const auto fate = publish_replacement(job("x.npy"), options);
  ASSERT_TRUE(fate);
  EXPECT_EQ(fate->fate, Fate::kept);
  EXPECT_THAT(fate->why, HasSubstr("is in the way"));
  EXPECT_EQ(file_content(path("x_min_max.npy")), real);
}

TEST_F(CompactTest, AnAliasOfAtbFindsTheStatisticsOfItsTarget) {
  const std::string head = "$Version=1.0\n$Object.Count=1\n$Object.Length=8\nformat=2\ndtype=0\n";
  folder_.put("0/0_Linear/after/outtensor0.bin",
              head + "dims=2\n$Object.data=0,8\n$End=1\n" + std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  folder_.put("0/1_Add/before/intensor0.bin",
              "$Version=1.0\n$Object.Count=0\n$Object.Length=0\nformat=2\ndtype=0\ndims=1,2\n"
              "data=0_outtensor0.bin\n$End=1\n");
  rest("0/0_Linear/after/outtensor0.bin");
  const CompactOutcome outcome = run();
  EXPECT_THAT(outcome.kept, IsEmpty());
  EXPECT_EQ(outcome.replaced, 1);
  EXPECT_FALSE(exists("0/0_Linear/after/outtensor0.bin"));
  const auto set = open_tensors(path("0/1_Add/before/intensor0.bin"));
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_TRUE(set->tensors[0].stats);
  EXPECT_EQ(set->tensors[0].stats->max, Value(2.0));
  EXPECT_EQ(set->tensors[0].meta->shape, (Shape{{1, 2}}));
}

TEST_F(CompactTest, OnlyOneAtATime) {
  put_npy("x.npy", {4});
  CompactRequest request;
  request.root = folder_.path();
  request.watch = true;
  request.idle_s = 2;
  std::thread other([request] { EXPECT_TRUE(compact(request)); });
  for (int tries = 0; tries < 2000 && exists("x.npy"); ++tries)  // then it is at work, and stays for idle_s
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  request.watch = false;
  const auto refused = compact(request);
  other.join();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("another 'assay compact'"));
  EXPECT_FALSE(exists("x.npy"));
}

TEST_F(CompactTest, RunsOnAFolderAndOnOneBelowItKeepOutOfEachOthersWay) {
  put_npy("x.npy", {4});
  put_npy("below/y.npy", {4});
  put_npy("beside/z.npy", {4});
  const int held = ::open(path("below").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // as a run there would
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  const CompactOutcome outcome = run();
  EXPECT_EQ(outcome.replaced, 2);
  EXPECT_THAT(outcome.kept, ElementsAre(HasSubstr("below/y.npy: another 'assay compact' is at work in its")));
  EXPECT_TRUE(exists("below/y.npy"));
  ::close(held);
  EXPECT_EQ(run().replaced, 1);
}

TEST_F(CompactTest, ChoosesByName) {
  EXPECT_TRUE(may_be_compacted("x.npy", CompactForm::stats));
  EXPECT_TRUE(may_be_compacted("Add.Add_2.44.6.1706", CompactForm::stats));
  EXPECT_TRUE(may_be_compacted("Add.Add_2.44.1706", CompactForm::min_max));
  EXPECT_TRUE(may_be_compacted("1234567", CompactForm::min_max));
  EXPECT_TRUE(may_be_compacted("output_0.pth", CompactForm::stats));
  EXPECT_FALSE(may_be_compacted("output_0.pth", CompactForm::min_max));
  EXPECT_FALSE(may_be_compacted("a.b.c.d", CompactForm::stats));
  EXPECT_FALSE(may_be_compacted("x.npy.stats.json", CompactForm::stats));
  EXPECT_FALSE(may_be_compacted("Add.Add_2.44.6.1706_min_max.npz", CompactForm::min_max));
  EXPECT_FALSE(may_be_compacted("model.pt.lock", CompactForm::stats));
}

}  // namespace
}  // namespace assay
