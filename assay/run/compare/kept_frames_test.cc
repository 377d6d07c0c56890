#include "assay/run/compare/kept_frames.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

constexpr int64_t kRoom = 100;

Section section_of(const char* mine, const char* golden, const char* level) {
  Section section;
  section.at.part = level;
  section.mine = {{.at = {}, .paths = {mine}}};
  section.golden = {{.at = {}, .paths = {golden}}};
  return section;
}

// Two items on one side, and a name by which it is known again.
Indexed frames_named(const char* name) {
  Indexed frames;
  Frame& frame = frames.mine.emplace_back();
  frame.given_as = name;
  frame.nodes.emplace_back().items.resize(2);
  frames.golden.emplace_back();
  return frames;
}

TEST(KeptFrames, AreGivenToEachLaterSectionOfTheSameFrames) {
  const std::vector<Section> all = {section_of("a", "b", "layer"), section_of("a", "c", "layer"),
                                    section_of("a", "b", "module"), section_of("a", "b", "api")};
  KeptFrames kept(all, kRoom);
  EXPECT_FALSE(kept.take(all[0]));
  EXPECT_TRUE(kept.will_be_wanted(all[0]));
  EXPECT_FALSE(kept.will_be_wanted(all[1]));
  kept.give_back(all[0], frames_named("ab"));
  EXPECT_FALSE(kept.take(all[1]));  // another golden
  kept.give_back(all[1], frames_named("ac"));
  for (const size_t i : {2, 3}) {
    std::optional<Indexed> again = kept.take(all[i]);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->mine[0].given_as, "ab");
    EXPECT_TRUE(kept.is_empty());
    EXPECT_EQ(kept.will_be_wanted(all[i]), i == 2);
    kept.give_back(all[i], std::move(*again));
  }
  EXPECT_TRUE(kept.is_empty());  // the last has had them
}

TEST(KeptFrames, TakeNoMoreRoomThanThereIs) {
  const std::vector<Section> all = {section_of("a", "b", "layer"), section_of("c", "d", "layer"),
                                    section_of("a", "b", "api"), section_of("c", "d", "api")};
  KeptFrames kept(all, 3);
  kept.give_back(all[0], frames_named("ab"));
  kept.give_back(all[1], frames_named("cd"));
  EXPECT_TRUE(kept.take(all[2]));
  EXPECT_FALSE(kept.take(all[3]));
}

TEST(KeptFrames, TwoTokensOfOneRoundAreTwoFrames) {
  std::vector<Section> all = {section_of("a", "b", ""), section_of("a", "b", "")};
  all[1].mine[0].first_order = 7;
  KeptFrames kept(all, kRoom);
  EXPECT_FALSE(kept.will_be_wanted(all[0]));
}

}  // namespace
}  // namespace assay
