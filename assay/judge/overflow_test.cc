#include "assay/judge/judge.h"

#include <gtest/gtest.h>

#include <deque>

namespace assay {
namespace {

// Tensors that stand by themselves, and what the rules and the findings make of them.
class Overflow : public testing::Test {
 protected:
  struct Tensor {
    Direction direction;
    int port;
    int64_t nans = 0, minus_infs = 0;
    Why why = Why::by_itself;
  };
  Overflow() {
    head_.metric_columns = {"nans", "plus_infs"};
    options_.rules = {};
  }

  NodeResult judged(std::string_view name, const std::vector<Tensor>& tensors) {
    NodeResult node{name, order_++};
    for (const Tensor& tensor : tensors) {
      Item& item = items_.emplace_back();
      item.name = name;
      item.port = Port(tensor.direction, tensor.port);
      Comparison row;
      row.pair.mine = ItemId{};
      row.pair.why = tensor.why;
      row.mine.name = name;
      row.mine.item = &item;
      row.mine.meta = TensorMeta{DType::f16, Shape{{4}}};
      row.basis = Basis::data;
      row.is_excused = tensor.why == Why::not_written;
      if (!row.is_excused) {
        NumberRange range;
        range.count = 4;
        range.nans = tensor.nans;
        range.minus_infs = tensor.minus_infs;
        range.first_nonfinite = range.is_finite() ? -1 : 0;
        row.range = std::make_shared<const NumberRange>(range);
        row.metrics = {Value(tensor.nans), Value(int64_t{0})};
        row.evidence = Evidence::elements;
      }
      node.rows.push_back(std::move(row));
    }
    overflow_rules.prepare(head_, options_)(node);
    findings_.add(node);
    return node;
  }
  std::string origin() const {
    const Summary summary = findings_.conclude();
    return summary.first_origin ? summary.first_origin->node : "none";
  }
  static Tensor in(int64_t nans = 0) { return {Direction::input, 0, nans}; }
  static Tensor out(int64_t nans = 0) { return {Direction::output, 0, nans}; }

  Head head_;
  RuleOptions options_;
  Findings findings_{{}, {-1, -1}, kLeastCompared, {}, Question::overflow};
  std::deque<Item> items_;
  int64_t order_ = 0;
};

TEST_F(Overflow, ProducerIsToldFromWhoPassesItOn) {
  judged("before", {in(), out()});
  EXPECT_NE(judged("maker", {in(), out(2)}).rows[1].verdict.reason.find("made here"), std::string::npos);
  EXPECT_NE(judged("behind", {in(2), out(4)}).rows[1].verdict.reason.find("passed on"), std::string::npos);
  EXPECT_EQ(origin(), "maker");
  EXPECT_EQ(findings_.conclude().nonfinite, 3);
}

TEST_F(Overflow, WithoutInputsNobodyIsBlamed) {
  judged("alone", {out(1)});
  EXPECT_EQ(origin(), "none");
  EXPECT_EQ(answer_of(findings_.conclude()), Answer::fail);
}

TEST_F(Overflow, WhatWasNotWrittenYetIsNobodysFault) {
  judged("op", {in(), {Direction::output, 0, 4, 0, Why::not_written}, out()});
  const Summary summary = findings_.conclude();
  EXPECT_EQ(summary.failed, 0);
  EXPECT_EQ(summary.of_mine, 2);
  EXPECT_EQ(answer_of(summary), Answer::pass);
}

TEST_F(Overflow, AnInputThatWasWrittenToIsAResult) {
  judged("cache", {in(), {Direction::input, 1, 1, 0, Why::in_place}});
  EXPECT_EQ(origin(), "cache");
}

TEST_F(Overflow, RulesMayLetMasksPass) {
  options_.rules.push_back(*parse_rule("nans == 0 and plus_infs == 0"));
  judged("mask", {in(), {Direction::output, 0, 0, 3}});
  EXPECT_EQ(findings_.conclude().failed, 0);
  judged("fault", {in(), out(1)});
  EXPECT_EQ(origin(), "fault");
}

// A rule that says nothing of NaN does not excuse them.
TEST_F(Overflow, OtherRulesDecideBesideIt) {
  options_.rules.push_back(*parse_rule("count < 100"));
  EXPECT_EQ(judged("op", {in(), out(1)}).rows[1].verdict.level, Level::fail);
}

}  // namespace
}  // namespace assay
