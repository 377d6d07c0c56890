#include "assay/support/parallel.h"

#include "assay/base/caller_test_tools.h"

#include <gmock/gmock.h>

#include <atomic>
#include <numeric>
#include <set>
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

TEST(Caller, IsThatOfWhoeverAsksForTheWork) {
  const ThreadLimit limit(4);
  Listener outer, inner;
  std::atomic<int> wrong = 0, alive = 0;
  const auto check = [&](const Caller* expected) { wrong += current_caller() != expected; };
  {
    const CallerScope scope(&outer);
    parallel_for(200, [&](size_t i) {
      check(&outer);
      const CallerScope other(i % 2 == 0 ? &inner : nullptr);
      parallel_for(
          10, [&](size_t) { check(i % 2 == 0 ? &inner : nullptr); }, WhileWaiting::stands);
      check(i % 2 == 0 ? &inner : nullptr);
    });
    parallel_invoke([&] { check(&outer); }, [&] { check(&outer); });
    Pipeline<Number>(numbers_up_to(100, alive)).then(StageOrder::any, [&](Number&) { check(&outer); }).run();
  }
  parallel_for(200, [&](size_t) { check(nullptr); });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadLimit, LimitsWhoAskedForIt) {
  std::atomic<size_t> most_of_one = 0, threads_of_others = 0;
  std::thread one([&] {
    const ThreadLimit limit(1);
    EXPECT_EQ(threads_at_work(), 1u);
    std::mutex guard;
    std::set<std::thread::id> seen;
    parallel_for(1000, [&](size_t) {
      const std::lock_guard lock(guard);
      seen.insert(std::this_thread::get_id());
    });
    most_of_one = seen.size();
    std::thread([&] {
      const ThreadLimit wide(6);
      threads_of_others = threads_at_work();
    }).join();
    {
      const ThreadLimit inside(3);
      EXPECT_EQ(threads_at_work(), 3u);
    }
    EXPECT_EQ(threads_at_work(), 1u);
  });
  one.join();
  EXPECT_EQ(most_of_one, 1u);
  EXPECT_EQ(threads_of_others, 6u);
}

}  // namespace
}  // namespace assay
