#include "assay/support/parallel.h"

#include <gmock/gmock.h>

#include <atomic>
#include <numeric>
#include <stdexcept>

namespace assay {
namespace {

struct Number {
  explicit Number(int of, std::atomic<int>& alive) : value(of), alive_(alive) { ++alive_; }
  ~Number() { --alive_; }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  int value;

 private:
  std::atomic<int>& alive_;
};

// 0 … count - 1.
std::function<std::unique_ptr<Number>()> numbers_up_to(int count, std::atomic<int>& alive) {
  return [next = 0, count, &alive]() mutable -> std::unique_ptr<Number> {
    return next < count ? std::make_unique<Number>(next++, alive) : nullptr;
  };
}

TEST(ParallelFor, DoesEachOnce) {
  std::vector<std::atomic<int>> times(1000);
  parallel_for(times.size(), [&](size_t i) { ++times[i]; });
  EXPECT_TRUE(std::ranges::all_of(times, [](const std::atomic<int>& each) { return each == 1; }));
  parallel_for(0, [](size_t) { FAIL(); });
}

TEST(ParallelInvoke, DoesBoth) {
  int first = 0, second = 0;
  parallel_invoke([&] { first = 1; }, [&] { second = 2; });
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
}

TEST(Pipeline, KeepsTheOrderWhereItIsAskedTo) {
  for (const size_t threads : {1, 2, 8}) {
    const ThreadLimit limit(threads);
    std::atomic<int> alive = 0, most_alive = 0;
    std::vector<int> squares;
    Pipeline<Number>(numbers_up_to(500, alive))
        .then(StageOrder::any,
              [&](Number& number) {
                most_alive = std::max(most_alive.load(), alive.load());
                number.value *= number.value;
              })
        .then(StageOrder::kept, [&](Number& number) { squares.push_back(number.value); })
        .run();
    ASSERT_EQ(squares.size(), 500u);
    for (int i = 0; i < 500; ++i) EXPECT_EQ(squares[static_cast<size_t>(i)], i * i);
    EXPECT_EQ(alive, 0);
    EXPECT_LE(most_alive, static_cast<int>(2 * threads) + 1);  // memory follows the threads
  }
}

TEST(Pipeline, MayRunInsideAnother) {
  std::atomic<int> alive = 0, sum = 0;
  Pipeline<Number>(numbers_up_to(20, alive))
      .then(StageOrder::any,
            [&](Number& outer) {
              Pipeline<Number>(numbers_up_to(outer.value, alive))
                  .then(StageOrder::kept, [&](Number& inner) { sum += inner.value; })
                  .run(WhileWaiting::stands);
            })
      .run();
  EXPECT_EQ(sum, 1140);  // of n(n - 1) / 2 for n < 20
  EXPECT_EQ(alive, 0);
}

TEST(Pipeline, DropsWhatIsUnderWayWhenAStageThrows) {
  std::atomic<int> alive = 0;
  const auto run = [&] {
    Pipeline<Number>(numbers_up_to(100, alive))
        .then(StageOrder::any,
              [](Number& number) {
                if (number.value == 7) throw std::runtime_error("seven");
              })
        .then(StageOrder::kept, [](Number&) {})
        .run();
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_EQ(alive, 0);
}

TEST(PerThread, GivesAThreadItsOwnAgain) {
  PerThread<int> counts([] { return 0; });
  std::atomic<int> wrong = 0;
  parallel_for(1000, [&](size_t) {
    int& own = counts.local();
    wrong += &own != &counts.local();
    ++own;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace assay
