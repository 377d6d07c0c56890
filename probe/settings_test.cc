#include "probe/settings.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace assay::probe {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class Fake : public Environment {
 public:
  Fake(std::initializer_list<std::pair<const std::string, std::string>> values) : values_(values) {}
  const char* get(const char* name) const override {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : found->second.c_str();
  }

 private:
  std::map<std::string, std::string> values_;
};

std::string rounds(std::string_view text) {
  const Rounds parsed = parse_rounds(text);
  std::string out;
  for (int64_t n = 0; n < 10; ++n)
    if (parsed.has(n)) out += std::to_string(n);
  return out;
}

// The vectors of the original.
TEST(Rounds, AreReadAsTheOriginalReadsThem) {
  EXPECT_EQ(rounds("1,3"), "123");
  EXPECT_EQ(rounds("3,5,7,7"), "3457");
  EXPECT_EQ(rounds("5"), "");
  EXPECT_EQ(rounds("3,1"), "");
  EXPECT_EQ(rounds("1,3,5"), "123");
  EXPECT_EQ(rounds("a,2"), "012");
  EXPECT_EQ(rounds("0,99999999999"), "0");
  EXPECT_EQ(rounds("all"), "0123456789");
  EXPECT_EQ(rounds("none"), "");
  EXPECT_EQ(rounds(""), "");
}

bool saves(const std::string& ids, const std::string& child, const std::string& ops) {
  const Settings settings = settings_from(Fake{{"ATB_DUMP_TYPE", "tensor"},
                                               {"ATB_SAVE_TENSOR_IDS", ids},
                                               {"ATB_SAVE_CHILD", child},
                                               {"ATB_SAVE_TENSOR_RUNNER", ops}});
  const int64_t op[] = {2, 1};
  return settings.saves(op, "LinearOperation");
}

TEST(Operators, AreChosenAsByTheOriginal) {
  EXPECT_TRUE(saves("2", "1", ""));
  EXPECT_FALSE(saves("2", "0", ""));
  EXPECT_TRUE(saves("2_1", "1", ""));
  EXPECT_TRUE(saves("2_1", "0", ""));
  EXPECT_FALSE(saves("2_", "1", ""));
  EXPECT_FALSE(saves("21", "1", ""));
  EXPECT_FALSE(saves("2_1_0", "1", ""));
  EXPECT_TRUE(saves(",2", "1", ""));
  EXPECT_TRUE(saves("", "1", "lin"));
  EXPECT_FALSE(saves("", "1", "Linear"));
  EXPECT_TRUE(saves("", "1", "self,lin"));
  EXPECT_TRUE(saves("", "1", ","));
  EXPECT_TRUE(saves("", "0", ""));  // nothing is asked for: everything
  EXPECT_FALSE(saves("7", "1", "self"));
}

TEST(Settings, ComeFromTheEnvironmentOfGenerationTwo) {
  const Settings s = settings_from(Fake{{"ATB_DUMP_TYPE", "tensor|op"},
                                        {"ATB_SAVE_TENSOR", "1"},
                                        {"ATB_SAVE_TENSOR_TIME", "2"},
                                        {"ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER", "0"},
                                        {"ATB_SAVE_TENSOR_PART", "1"},
                                        {"ATB_TIMESTAMP", "20260101_000000"},
                                        {"ATB_OUTPUT_DIR", "/dump/"}});
  EXPECT_EQ(s.generation, Generation::two);
  EXPECT_EQ(s.root, "/dump/msit_dump_20260101_000000");
  EXPECT_TRUE(s.before && s.after && s.outputs && s.operation_tables && s.saves_tensors);
  EXPECT_FALSE(s.inputs || s.graphs || s.kernel_tables || s.only_in_before_out_after || s.tiling);
}

TEST(Settings, KnowEveryFolderName) {
  const auto root = [](const std::string& generation, const std::string& stamp) {
    Fake with{{"ASSAY_ATB_GENERATION", generation},
              {"ATB_OUTPUT_DIR", "/d"},
              {"ATB_DUMP_TYPE", "tensor"},
              {"ATB_TIMESTAMP", stamp}};
    return settings_from(with).root;
  };
  EXPECT_EQ(root("1a", "T"), "/d");
  EXPECT_EQ(root("1b", "T"), "/d/ait_dump");
  EXPECT_EQ(root("1c", "T"), "/d/ait_dump_T");
  EXPECT_EQ(root("1c", ""), "/d/ait_dump");
  EXPECT_EQ(root("2", ""), "/d/msit_dump");
  EXPECT_EQ(root("3", "T"), "/d/atb_dump_data");
}

TEST(Settings, AreSilentWithoutAnyVariable) {
  const Settings s = settings_from(Fake{});
  EXPECT_FALSE(s.is_active || s.saves_tensors || s.graphs || s.models || s.overflow);
  EXPECT_FALSE(s.rounds.has(0));
}

TEST(Settings, OfTheOverflowCheckScanAndSaveNothing) {
  const Settings s =
      settings_from(Fake{{"ATB_CHECK_TYPE", "1"}, {"ATB_EXIT", "1"}, {"ATB_OUTPUT_DIR", "/d"}});
  EXPECT_TRUE(s.overflow && s.overflow_stop && s.scans);
  EXPECT_FALSE(s.saves_tensors);
}

class ConfigFile : public ::testing::Test {
 protected:
  ConfigFile() {
    std::string name = (fs::temp_directory_path() / "assay_config_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ / "config.json";
  }
  ~ConfigFile() override { fs::remove_all(folder_); }
  Settings read(const std::string& text, bool is_three = true) {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), 0600);
    return read_again(is_three);
  }
  Settings read_again(bool is_three = true) {
    trouble_.clear();
    const Settings base = is_three ? settings_from(Fake{{"ATB_DUMP_CONFIG", path_}, {"ATB_OUTPUT_DIR", "/d"}})
                                   : settings_from(Fake{{"ATB_DUMP_CONFIG", path_},
                                                        {"ATB_DUMP_TYPE", "model"},
                                                        {"ATB_SAVE_TENSOR_RUNNER", "self"}});
    return with_file(base, path_, trouble_);
  }
  fs::path folder_, path_;
  std::string trouble_;
};

TEST_F(ConfigFile, OfGenerationThreeChoosesLayersByDefault) {
  const Settings s = read(R"({"dump_enable":true,"exec_range":"all"})");
  EXPECT_EQ(trouble_, "");
  EXPECT_TRUE(s.saves_tensors && s.has_files && s.writes_table);
  EXPECT_FALSE(s.has_statistics || s.with_children);
  EXPECT_TRUE(s.saves_in("0_7/0/3_Layer"));
  EXPECT_FALSE(s.saves_in("0_7/0/3_Layer/0_Linear"));
  EXPECT_FALSE(s.saves_in("0_7/0"));
}

TEST_F(ConfigFile, OfGenerationThreeFindsNamesInAnyPartWithChildren) {
  const Settings with = read(R"({"dump_enable":true,"op_name":"LIN","save_child":true})");
  EXPECT_TRUE(with.saves_in("0_7/0/3_Layer/0_LinearOperation/1_MatMulKernel"));
  EXPECT_FALSE(with.saves_in("0_7/0/3_Layer/0_Elewise"));
  const Settings without = read(R"({"dump_enable":true,"op_name":"lin","save_child":false})");
  EXPECT_TRUE(without.saves_in("0_7/0/3_Layer/0_LinearOperation"));
  EXPECT_FALSE(without.saves_in("0_7/0/3_Layer/0_LinearOperation/1_MatMulKernel"));
  const Settings ids = read(R"({"dump_enable":true,"ids":"3_0","save_child":true})");
  EXPECT_TRUE(ids.saves_in("0_7/0/3_Layer/0_LinearOperation/1_MatMulKernel"));
  EXPECT_FALSE(ids.saves_in("0_7/0/3_Layer"));
}

TEST_F(ConfigFile, OfGenerationTwoReplacesTheFlags) {
  const Settings s = read(R"({"dump_enable":"true","er":"2,3","ids":"1","child":"","device":"0,2"})", false);
  EXPECT_TRUE(s.saves_tensors && s.with_children && s.rounds.has(3) && !s.rounds.has(0));
  EXPECT_TRUE(s.has_device("2_99/0/x") && !s.has_device("1_99/0/x"));
  EXPECT_TRUE(s.saves_in("0_7/0/1_Layer/2_X"));
  EXPECT_TRUE(s.saves_in("0_7/0/3_SelfAttention"));  // the name still comes from the environment
  EXPECT_FALSE(s.saves_in("0_7/0/3_Layer"));
  EXPECT_FALSE(read(R"({"dump_enable":"false"})", false).saves_tensors);
}

TEST_F(ConfigFile, IsNotReadInSilenceWhereItMeansNothing) {
  EXPECT_THAT(read(R"({"dump_enable":true,"task":"all","exec_range":"0,1,7,9","ids":"2_1","op_name":"lin",
                       "save_child":false,"device":"0,1","filter_level":2})")
                  .not_understood,
              ElementsAre());
  EXPECT_THAT(
      read(R"({"dump_enable":"True","exec_range":[0,1],"exec_rang":"all","task":"tensors","filter_level":3,
                       "ids":null})")
          .not_understood,
      ElementsAre("dump_enable is \"True\", neither true nor false",
                  "exec_range is [0,1], no pairs of rounds, such as \"0,0\" or \"3,5,7,7\"",
                  "exec_rang is no setting", "task is \"tensors\", none of tensor, statistics, all",
                  "filter_level is 3, none of 0, 1, 2", "ids is null, no text"));
  EXPECT_THAT(
      read(R"({"dump_enable":"true","er":"5","child":"True","exec_range":"0,0"})", false).not_understood,
      ElementsAre("er is \"5\", no pairs of rounds, such as \"0,0\" or \"3,5,7,7\"",
                  "exec_range is no setting"));
}

TEST_F(ConfigFile, IsReadAsTheOriginalReadsIt) {
  EXPECT_TRUE(read("\xef\xbb\xbf{\"dump_enable\":true}").saves_tensors);  // a byte order mark
  EXPECT_EQ(trouble_, "");
  EXPECT_FALSE(read(R"({"dump_enable":true,"dump_enable":false})").saves_tensors);  // the last one counts
  EXPECT_TRUE(read(R"({"dump_enable":true,"exec_range":null,"ids":null})").rounds.has(0));
  EXPECT_TRUE(read(R"({"dump_enable":true,"exec_range":null,"ids":null})").ids.empty());
}

TEST_F(ConfigFile, ThatIsNotToBeTrustedSavesNothing) {
  const std::string good = R"({"dump_enable":true})";
  EXPECT_TRUE(read(good).saves_tensors);
  ::chmod(path_.c_str(), 0666);
  EXPECT_FALSE(read_again().saves_tensors);
  EXPECT_THAT(trouble_, ::testing::HasSubstr("chmod go-w"));
  EXPECT_FALSE(read("{\"dump_enable\":").saves_tensors);
  EXPECT_EQ(trouble_, "is no JSON object");
  EXPECT_FALSE(read("[1]").saves_tensors);
  EXPECT_FALSE(read("").saves_tensors);
  EXPECT_EQ(trouble_, "is empty");
  read(good);
  fs::rename(path_, folder_ / "other.json");
  fs::create_symlink(folder_ / "other.json", path_);
  EXPECT_FALSE(read_again().saves_tensors);
  EXPECT_EQ(trouble_, "is a link");
  fs::remove(path_);
  EXPECT_FALSE(read_again().saves_tensors);
  fs::create_directory(path_);
  EXPECT_FALSE(read_again().saves_tensors);
}

}  // namespace
}  // namespace assay::probe
