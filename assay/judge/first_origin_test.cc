#include "assay/judge/judge.h"

#include <gtest/gtest.h>

#include <deque>

namespace assay {
namespace {

// Nodes whose rows have items, and so directions.
class FirstOrigin : public ::testing::Test {
 protected:
  struct Row {
    Direction direction;
    Level level;
  };

  void add(std::string_view name, int64_t order, const std::vector<Row>& rows,
           std::span<const std::string_view> stack = {}) {
    add_to(findings, name, order, rows, stack);
  }

  void add_to(Findings& target, std::string_view name, int64_t order, const std::vector<Row>& rows,
              std::span<const std::string_view> stack = {}) {
    NodeResult node;
    node.name = name;
    node.order = order;
    node.stack = stack;
    for (const Row& row : rows) {
      Item& item = items_.emplace_back();
      item.name = names_.emplace_back(std::string(name) + "." + std::to_string(node.rows.size()));
      item.port.direction = row.direction;
      Comparison& made = node.rows.emplace_back();
      made.mine = {item.name, {}, {}, &item};
      made.golden = made.mine;
      made.verdict.level = row.level;
      made.verdict.reason = "because";
    }
    target.add(node);
  }

  std::string origin() const {
    const Summary summary = findings.conclude();
    return summary.first_origin ? summary.first_origin->node : "none";
  }

  Findings findings{"rank 0"};

 private:
  std::deque<Item> items_;
  std::deque<std::string> names_;
};

constexpr Direction kIn = Direction::input, kOut = Direction::output, kWeight = Direction::parameter;
constexpr Level kGood = Level::pass, kBad = Level::fail;

TEST_F(FirstOrigin, IsANodeWithGoodInputsAndABadOutput) {
  add("good", 0, {{kIn, kGood}, {kOut, kGood}});
  add("origin", 1, {{kIn, kGood}, {kIn, kGood}, {kOut, kGood}, {kOut, kBad}});
  add("inherits", 2, {{kIn, kBad}, {kOut, kBad}});
  const Summary summary = findings.conclude();
  ASSERT_TRUE(summary.first_origin);
  EXPECT_EQ(summary.first_origin->node, "origin");
  EXPECT_EQ(summary.first_origin->section, "rank 0");
  EXPECT_EQ(summary.first_origin->mine, "origin.3");
  EXPECT_EQ(summary.first_origin->golden, "origin.3");
  EXPECT_EQ(summary.first_origin->called_at, "");
  EXPECT_EQ(summary.first_origin->row.verdict.reason, "because");
  EXPECT_EQ(summary.first_origin->row.mine.item, nullptr);
}

TEST_F(FirstOrigin, NeedNotBeTheFirstDivergence) {
  add("given bad inputs", 0, {{kIn, kBad}, {kOut, kBad}});
  add("origin", 1, {{kIn, kGood}, {kOut, kBad}});
  EXPECT_EQ(origin(), "origin");
  EXPECT_EQ(findings.conclude().first_divergence->node, "given bad inputs");
}

TEST_F(FirstOrigin, FollowsExecutionOrderNotReportOrder) {
  add("late", 7, {{kIn, kGood}, {kOut, kBad}});
  add("early", 2, {{kIn, kGood}, {kOut, kBad}});
  add("between", 5, {{kIn, kGood}, {kOut, kBad}});
  EXPECT_EQ(origin(), "early");
}

TEST_F(FirstOrigin, IsTheFirstOfItsOrderOverAllSections) {
  add("of rank 0", 3, {{kIn, kGood}, {kOut, kBad}});
  findings.open("rank 1");
  add("no earlier", 3, {{kIn, kGood}, {kOut, kBad}});
  EXPECT_EQ(origin(), "of rank 0");
  findings.open("rank 2");
  add("earlier", 1, {{kIn, kGood}, {kOut, kBad}});
  const Summary summary = findings.conclude();
  EXPECT_EQ(summary.first_origin->node, "earlier");
  EXPECT_EQ(summary.first_origin->section, "rank 2");
}

TEST_F(FirstOrigin, SaysWhereItWasCalled) {
  const std::string_view stack[] = {"File net.py, line 7, in forward", "File train.py, line 1, in main"};
  add("origin", 0, {{kIn, kGood}, {kOut, kBad}}, stack);
  EXPECT_EQ(findings.conclude().first_origin->called_at, "File net.py, line 7, in forward");
}

TEST_F(FirstOrigin, SaysTheLineOfTheUserRatherThanOfAFramework) {
  const std::string_view stack[] = {
      "File /usr/lib/python3/dist-packages/torch/nn/functional.py, line 9, in relu",
      "File net.py, line 7, in forward, \n y = relu(x)"};
  add("origin", 0, {{kIn, kGood}, {kOut, kBad}}, stack);
  EXPECT_EQ(findings.conclude().first_origin->called_at, "File net.py, line 7, in forward, y = relu(x)");
}

TEST_F(FirstOrigin, CountsParametersAsInputs) {
  add("bad weight", 0, {{kIn, kGood}, {kWeight, kBad}, {kOut, kBad}});
  EXPECT_EQ(origin(), "none");
  add("only weights", 1, {{kWeight, kGood}, {kOut, kBad}});
  EXPECT_EQ(origin(), "only weights");
}

TEST_F(FirstOrigin, IsNoNodeWithoutInputs) {
  add("made from nothing", 0, {{kOut, kBad}});
  add("file", 1, {{Direction::none, kBad}});
  add("gradients", 2, {{Direction::parameter_gradient, kBad}});
  EXPECT_EQ(origin(), "none");
}

TEST_F(FirstOrigin, IsNoNodeWhoseOutputsDoNotFail) {
  add("ignored", 0, {{kIn, kGood}, {kOut, Level::ignored}});
  add("broken", 1, {{kIn, kGood}, {kOut, Level::error}});
  add("no outputs", 2, {{kIn, kGood}});
  add("bad gradient", 3, {{kIn, kGood}, {kOut, kGood}, {Direction::parameter_gradient, kBad}});
  EXPECT_EQ(origin(), "none");
}

TEST_F(FirstOrigin, IsNoNodeWhoseInputsCouldNotBeCompared) {
  add("broken input", 0, {{kIn, kGood}, {kIn, Level::error}, {kOut, kBad}});
  EXPECT_EQ(origin(), "none");
}

// Scalars and None have nothing to say for or against.
TEST_F(FirstOrigin, PassesOverInputsThatAreIgnored) {
  add("nothing compared", 0, {{kIn, Level::ignored}, {kOut, kBad}});
  EXPECT_EQ(origin(), "none");
  add("origin", 1, {{kIn, kGood}, {kIn, Level::ignored}, {kOut, kBad}});
  EXPECT_EQ(origin(), "origin");
}

TEST_F(FirstOrigin, LooksAtInputsBehindTheOutputsToo) {
  add("bad input last", 0, {{kIn, kGood}, {kOut, kBad}, {kIn, kBad}});
  EXPECT_EQ(origin(), "none");
}

TEST_F(FirstOrigin, IsTheEarliestWhereFindingsOfSectionsAreJoined) {
  const std::string_view stack[] = {"File net.py, line 7, in forward"};
  Findings first("rank 0"), second("rank 1"), third("rank 2"), empty("rank 3");
  add_to(first, "late", 5, {{kIn, kGood}, {kOut, kBad}});
  add_to(second, "early", 2, {{kIn, kGood}, {kOut, kBad}}, stack);
  add_to(third, "no earlier", 2, {{kIn, kGood}, {kOut, kBad}});
  add_to(third, "given bad inputs", 0, {{kIn, kBad}, {kOut, kBad}});
  Findings all;
  for (const Findings* const each : {&empty, &first, &second, &third}) all.add(*each);
  const Summary summary = all.conclude();
  ASSERT_TRUE(summary.first_origin);
  EXPECT_EQ(summary.first_origin->node, "early");
  EXPECT_EQ(summary.first_origin->section, "rank 1");
  EXPECT_EQ(summary.first_origin->called_at, "File net.py, line 7, in forward");
  EXPECT_EQ(summary.first_divergence->node, "given bad inputs");
  EXPECT_EQ(summary.first_divergence->section, "rank 2");
  EXPECT_EQ(summary.rows, 8);
  EXPECT_EQ(summary.failed, 5);
}

// What one rank gives to an exchange all others get. Dumps of ranks differ in length: the place in its own
// does not tell which came first.
TEST_F(FirstOrigin, IsOnTheRankThatGaveItToTheOthers) {
  Findings all, other{"rank 1"};
  add("Functional.linear.0.forward", 0, {{kIn, kGood}, {kOut, kGood}});
  add("Distributed.all_reduce.0.forward", 1, {{kIn, kGood}, {kOut, kBad}});
  add("Functional.linear.1.forward", 2, {{kIn, kBad}, {kOut, kBad}});
  add_to(other, "Tensor.mul.0.forward", 0, {{kIn, kGood}, {kOut, kGood}});
  add_to(other, "Tensor.mul.1.forward", 1, {{kIn, kGood}, {kOut, kGood}});
  add_to(other, "Functional.linear.0.forward", 2, {{kIn, kGood}, {kOut, kBad}});
  add_to(other, "Distributed.all_reduce.0.forward", 3, {{kIn, kBad}, {kOut, kBad}});
  EXPECT_EQ(origin(), "Distributed.all_reduce.0.forward");  // alone, nobody knows better
  all.add(findings);
  all.add(other);
  const Summary summary = all.conclude();
  ASSERT_TRUE(summary.first_origin && summary.first_divergence);
  EXPECT_EQ(summary.first_origin->node, "Functional.linear.0.forward");
  EXPECT_EQ(summary.first_origin->section, "rank 1");
  EXPECT_EQ(summary.first_divergence->section, "rank 1");
}

// A fault behind an exchange comes after one before it.
TEST_F(FirstOrigin, IsBeforeTheExchangeThatOthersAreBehind) {
  Findings all, other{"rank 1"};
  add("Distributed.all_reduce.0.forward", 0, {{kIn, kGood}, {kOut, kGood}});
  add("Functional.linear.0.forward", 1, {{kIn, kGood}, {kOut, kBad}});
  for (int i = 0; i < 9; ++i) add_to(other, "Tensor.mul.0.forward", i, {{kIn, kGood}, {kOut, kGood}});
  add_to(other, "Tensor.add.0.forward", 9, {{kIn, kGood}, {kOut, kBad}});
  add_to(other, "Distributed.all_reduce.0.forward", 10, {{kIn, kGood}, {kOut, kGood}});
  all.add(findings);
  all.add(other);
  EXPECT_EQ(all.conclude().first_origin->node, "Tensor.add.0.forward");
}

// Of two ranks alone: it says nothing of when others did what.
TEST_F(FirstOrigin, IsNotWhereItWasReceived) {
  Findings all, sender{"rank 0"};
  add("Distributed.recv.0.forward", 0, {{kIn, kGood}, {kOut, kBad}});
  add_to(sender, "Distributed.all_reduce.0.forward", 0, {{kIn, kGood}, {kOut, kGood}});
  add_to(sender, "Functional.linear.0.forward", 1, {{kIn, kGood}, {kOut, kBad}});
  add_to(sender, "Distributed.send.0.forward", 2, {{kIn, kBad}, {kOut, kBad}});
  all.add(findings);
  all.add(sender);
  EXPECT_EQ(all.conclude().first_origin->node, "Functional.linear.0.forward");
}

}  // namespace
}  // namespace assay
