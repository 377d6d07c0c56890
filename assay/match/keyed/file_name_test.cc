#include "assay/match/keyed/file_name.h"

#include "assay/match/match_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;

Frame files(const std::vector<std::string_view>& names) {
  Frame frame;
  for (const std::string_view name : names) {
    Node node;
    node.name = name;
    node.items.emplace_back().name = name;
    frame.nodes.push_back(std::move(node));
  }
  return frame;
}

std::vector<std::string> matched(const std::vector<std::string_view>& mine,
                                 const std::vector<std::string_view>& golden) {
  Indexed frames;
  frames.mine.push_back(files(mine));
  frames.golden.push_back(files(golden));
  const auto pairing = file_name_matcher.match(frames, {});
  std::vector<std::string> out;
  for (const PairedNode& node : pairing->nodes)
    for (const Pair& pair : node.pairs)
      out.push_back(std::string(node.name) + (pair.mine ? " mine" : "") + (pair.golden ? " golden" : ""));
  return out;
}

TEST(FileName, PutsWhatStandsAloneLast) {
  EXPECT_THAT(matched({"c", "only_m", "a"}, {"a", "only_g", "c"}),
              ElementsAre("c mine golden", "a mine golden", "only_g golden", "only_m mine"));
}

TEST(FileName, JoinsANameOnce) {
  EXPECT_THAT(matched({"a", "a"}, {"a"}), ElementsAre("a mine golden", "a mine"));
  EXPECT_THAT(matched({}, {}), ElementsAre());
}

}  // namespace
}  // namespace assay
