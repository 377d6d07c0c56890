#include "assay/match/by_itself.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(ByItself, KnowsWhatAnOperatorHasWrittenTo) {
  Frame frame;
  Node& node = frame.nodes.emplace_back();
  node.name = "op";
  for (const Port& port : {Port(Direction::input, 0, Phase::before),
                           Port(Direction::output, 0, Phase::before), Port(Direction::input, 0, Phase::after),
                           Port(Direction::input, 1, Phase::after), Port(Direction::output, 0, Phase::after)})
    node.items.emplace_back().port = port;
  Indexed frames;
  frames.mine.push_back(std::move(frame));
  const Pairing pairing = by_itself_matcher()->match(frames, {}).value();
  ASSERT_EQ(pairing.nodes.size(), 1u);
  std::vector<Why> found;
  for (const Pair& pair : pairing.nodes[0].pairs) {
    EXPECT_TRUE(pair.mine);
    EXPECT_FALSE(pair.golden);
    found.push_back(pair.why);
  }
  EXPECT_EQ(found,
            (std::vector{Why::by_itself, Why::not_written, Why::in_place, Why::by_itself, Why::by_itself}));
  EXPECT_TRUE(pairing.by_itself);
}

TEST(ByItself, TakesEveryRankAndTokenByItself) {
  Dump dump;
  dump.frames.resize(3);
  for (int rank = 0; rank < 3; ++rank) dump.frames[static_cast<size_t>(rank)].at.rank = rank;
  EXPECT_EQ(by_itself_matcher()->sections(dump, {}, {}).value().size(), 3u);
}

}  // namespace
}  // namespace assay
