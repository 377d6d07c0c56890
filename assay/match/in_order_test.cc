#include "assay/match/in_order.h"

#include <gmock/gmock.h>

#include <random>
#include <string>

namespace assay {
namespace {

TEST(InOrder, PairsAsManyOfListsThatAreMuchAlike) {
  std::mt19937 chance(7);
  for (int run = 0; run < 500; ++run) {
    std::string first, second;
    for (size_t i = chance() % 20; i > 0; --i) first += static_cast<char>('a' + chance() % 3);
    for (size_t i = chance() % 20; i > 0; --i) second += static_cast<char>('a' + chance() % 3);
    const auto is_same = [&](size_t i, size_t j) { return first[i] == second[j]; };
    const auto pairs = pair_much_alike(first.size(), second.size(), 40, is_same);
    ASSERT_TRUE(pairs);
    EXPECT_EQ(pairs->size(), pair_in_order(first.size(), second.size(), is_same).size()) << first << second;
    for (size_t p = 0; p < pairs->size(); ++p) {
      EXPECT_TRUE(is_same((*pairs)[p].first, (*pairs)[p].second));
      if (p == 0) continue;
      EXPECT_LT((*pairs)[p - 1].first, (*pairs)[p].first);
      EXPECT_LT((*pairs)[p - 1].second, (*pairs)[p].second);
    }
  }
}

TEST(InOrder, GivesUpOnListsThatAreNot) {
  const auto never = [](size_t, size_t) { return false; };
  EXPECT_FALSE(pair_much_alike(3, 3, 5, never));
  EXPECT_THAT(*pair_much_alike(3, 3, 6, never), ::testing::IsEmpty());
}

}  // namespace
}  // namespace assay
