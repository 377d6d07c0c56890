#include "assay/run/compare/kept_results.h"

#include "assay/golden/golden_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kRoom = 1 << 20;

struct Maker {
  int made = 0;
  Result<Expected> operator()() {
    ++made;
    return exactly(tensor_of(DType::f32, {2}, {1, double(made)}));
  }
};

TEST(KeptResults, MakesOnceForAllWhoAsk) {
  KeptResults kept;
  Maker maker;
  const auto ask = [&] { return written(*kept.find_or_make("a", 3, kRoom, std::ref(maker))); };
  for (int i = 0; i < 3; ++i) EXPECT_THAT(ask(), ElementsAre(1, 1));
  EXPECT_THAT(ask(), ElementsAre(1, 2));  // those before have had it
  EXPECT_THAT(written(*kept.find_or_make("b", 3, kRoom, std::ref(maker))), ElementsAre(1, 3));
}

TEST(KeptResults, KeepsNoMoreThanThereIsRoomFor) {
  KeptResults kept;
  Maker maker;
  constexpr int64_t kOne = 2 * sizeof(float);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(kept.find_or_make("a", 2, kOne - 1, std::ref(maker)));
  EXPECT_EQ(maker.made, 2);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(kept.find_or_make("a", 3, kOne, std::ref(maker)));
  EXPECT_EQ(maker.made, 3);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(kept.find_or_make("b", 3, kOne, std::ref(maker)));
  EXPECT_EQ(maker.made, 5);
}

TEST(KeptResults, KeepsErrorsButNoneOfARunThatWasCancelled) {
  KeptResults kept;
  int asked = 0;
  const auto failing = [&](ErrorKind kind) {
    return kept.find_or_make(std::to_string(static_cast<int>(kind)), 2, kRoom, [&]() -> Result<Expected> {
      ++asked;
      return fail(kind, "no");
    });
  };
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(failing(ErrorKind::not_found));
  EXPECT_EQ(asked, 1);
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(failing(ErrorKind::cancelled));
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace assay
