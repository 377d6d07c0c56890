// Accounts of errors in dumps that name what every call was given: rows judged one call after the other, as a
// run does it.
#include "assay/judge/ledger.h"

#include <gmock/gmock.h>

#include <cmath>
#include <deque>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Level kAgrees = Level::pass, kDiffers = Level::fail;

struct CallTensor {
  Direction direction;
  double rel_l2;
  double rms = 1;
  DType dtype = DType::bf16;
  std::vector<int64_t> dims = {8, 64};
  double max_abs = -1;  // three times the typical error
};

CallTensor in(double rel_l2, DType dtype = DType::bf16) { return {Direction::input, rel_l2, 1, dtype}; }
CallTensor out(double rel_l2, DType dtype = DType::bf16) { return {Direction::output, rel_l2, 1, dtype}; }

// Of a linear layer from 64 to 64, which makes numbers of the size that it was given.
CallTensor weight() { return {Direction::input, 0.0016, 0.125, DType::bf16, {64, 64}}; }

class JudgedCalls {
 public:
  JudgedCalls() {
    head_.mine_layout = head_.golden_layout = "msprobe";
    head_.metric_columns = {"nonfinite_mismatch", "ulp_max",     "rel_l2", "max_abs",
                            "golden_rms",         "worst_golden"};
    judge_ = native_rules.prepare(head_, options_);
  }
  JudgedCalls(const JudgedCalls&) = delete;

  std::vector<Level> add(std::string_view name, const std::vector<CallTensor>& tensors,
                         std::optional<double> argument = {}) {
    NodeResult node{name, count_, {}, {}, {}, static_cast<int32_t>(count_)};
    ++count_;
    int port = 0;
    for (const CallTensor& tensor : tensors) {
      Comparison& row = new_row(node, name, {tensor.direction, port++});
      Item& item = items_.back();
      item.meta = &metas_.emplace_back(TensorMeta{tensor.dtype, Shape{tensor.dims}});
      row.status = status_;
      row.basis = Basis::data;
      row.evidence = Evidence::elements;
      row.mine = {name, *item.meta, {}, &item};
      row.golden = {
          name, TensorMeta{is_real(tensor.dtype) ? DType::f32 : tensor.dtype, Shape{tensor.dims}}, {}, &item};
      const double apart = tensor.max_abs >= 0 ? tensor.max_abs : 3 * tensor.rel_l2 * tensor.rms;
      row.is_nonfinite_apart = has_nan_;
      row.metrics = {int64_t{has_nan_}, int64_t{1000}, tensor.rel_l2, apart, tensor.rms, tensor.rms};
    }
    if (argument) {
      Comparison& row = new_row(node, name, {Direction::input, port});
      Stated& mine = stated_.emplace_back();
      mine.given = Given::argument;
      mine.max = mine.min = mine.mean = mine.norm = 1e-5;
      Item& other = items_.emplace_back(items_.back());
      items_[items_.size() - 2].stated = &mine;
      Stated& golden = stated_.emplace_back();
      golden.given = Given::argument;
      golden.max = golden.min = golden.mean = golden.norm = *argument;
      other.stated = &golden;
      row.mine = {"eps", {}, {}, &items_[items_.size() - 2]};
      row.golden = {"eps", {}, {}, &other};
      row.basis = Basis::stated;
      row.evidence = Evidence::value;
    }
    status_ = Status::compared;
    has_nan_ = false;
    judge_(node);
    findings_.add(node);
    std::vector<Level> levels;
    for (const Comparison& row : node.rows) levels.push_back(row.verdict.level);
    reason_ = node.rows.back().verdict.reason;
    note_ = node.rows.back().note;
    is_flip_ = node.rows.back().verdict.is_flip;
    return levels;
  }

  void next_is(Status status) { status_ = status; }      // of all tensors of the next call
  void next_has_nan() { has_nan_ = true; }               // on one side
  const std::string& reason() const { return reason_; }  // of the last row
  const std::string& note() const { return note_; }      // likewise
  bool is_flip() const { return is_flip_; }
  std::optional<RowPlace> origin() const { return findings_.conclude().first_origin; }

 private:
  Comparison& new_row(NodeResult& node, std::string_view, const Port& port) {
    items_.emplace_back().port = port;
    return node.rows.emplace_back();
  }

  Head head_;
  RuleOptions options_;
  Judge judge_;
  Findings findings_;
  std::deque<Item> items_;
  std::deque<TensorMeta> metas_;
  std::deque<Stated> stated_;
  int64_t count_ = 0;
  Status status_ = Status::compared;
  std::string reason_, note_;
  bool is_flip_ = false, has_nan_ = false;
};

TEST(Ledger, KnowsATensorAgainBehindACast) {
  JudgedCalls run;
  EXPECT_THAT(run.add("Functional.linear.0.forward", {in(0.0016), weight(), out(0.003)}),
              ElementsAre(kAgrees, kAgrees, kAgrees));
  // The same numbers as f32, and their squares: f32 by itself would allow 1.5e-5.
  EXPECT_THAT(run.add("Tensor.float.0.forward", {in(0.003), out(0.003, DType::f32)}),
              ElementsAre(kAgrees, kAgrees));
  EXPECT_THAT(run.add("Tensor.pow.0.forward", {in(0.003, DType::f32), out(0.0055, DType::f32)}),
              ElementsAre(kAgrees, kAgrees));
}

TEST(Ledger, AllowsTheErrorsOfADeepModel) {
  JudgedCalls run;
  double error = 0.001;
  for (int layer = 0; layer < 60; ++layer) {
    const double given = error;
    error *= 1.1;
    EXPECT_THAT(
        run.add("Functional.linear." + std::to_string(layer) + ".forward", {in(given), weight(), out(error)}),
        ElementsAre(kAgrees, kAgrees, kAgrees))
        << layer << ", " << error;
  }
  EXPECT_GT(error, 0.25);
}

TEST(Ledger, NamesACallThatAddsMoreThanItMay) {
  JudgedCalls run;
  run.add("Functional.linear.0.forward", {in(0.002), weight(), out(0.003)});
  // A factor of 1.02, below what the type alone would allow (0.032).
  EXPECT_THAT(run.add("Functional.linear.1.forward", {in(0.003), weight(), out(0.0205)}),
              ElementsAre(kAgrees, kAgrees, kDiffers));
  EXPECT_THAT(run.reason(), HasSubstr("of its own and"));
  // What follows inherits it.
  EXPECT_THAT(run.add("Functional.linear.2.forward", {in(0.0205), weight(), out(0.021)}),
              ElementsAre(kDiffers, kAgrees, kDiffers));
  ASSERT_TRUE(run.origin());
  EXPECT_EQ(run.origin()->node, "Functional.linear.1.forward");
}

TEST(Ledger, WeighsTheTermsOfASum) {
  JudgedCalls run;
  // x + y of size 10 each, a hundredth of which is left: 0.001 of 10 is a tenth of 0.1.
  const CallTensor x{Direction::input, 0.001, 10}, y{Direction::input, 0.0011, 10};
  EXPECT_THAT(run.add("Tensor.__sub__.0.forward", {x, y, {Direction::output, 0.14, 0.1, DType::f32}}),
              ElementsAre(kAgrees, kAgrees, kAgrees));
  EXPECT_THAT(run.add("Tensor.__sub__.1.forward", {{Direction::input, 1e-6, 10, DType::f32},
                                                   {Direction::input, 2e-6, 10, DType::f32},
                                                   {Direction::output, 0.13, 0.1, DType::f32}}),
              ElementsAre(kAgrees, kAgrees, kDiffers));
}

// What a softmax gets from the bias of a key, it does not depend on: its gradient is what sums leave over.
TEST(Ledger, MeasuresTheGradientOfABiasInTheTermsOfItsSum) {
  const auto gradient = [](double rel_l2, double rms, std::vector<int64_t> dims) {
    return CallTensor{Direction::parameter_gradient, rel_l2, rms, DType::f32, std::move(dims)};
  };
  const auto judged = [&](const CallTensor& of_bias, const CallTensor& of_weight,
                          std::string_view gradients) {
    JudgedCalls run;
    run.add("Module.k.Linear.forward.0", {in(4e-7, DType::f32),
                                          {Direction::parameter, 0, 0.125, DType::f32, {64, 64}},
                                          out(4e-7, DType::f32)});
    return run.add(gradients, {of_bias, of_weight});
  };
  const CallTensor weight_gradient = gradient(8e-7, 0.01, {64, 64});
  for (const std::string_view name :
       {"Module.k.Linear.parameters_grad.0", "Module.k.Linear.parameters_grad"}) {
    EXPECT_THAT(judged(gradient(1.3, 6e-9, {64}), weight_gradient, name), ElementsAre(kAgrees, kAgrees));
    EXPECT_THAT(judged(gradient(0.01, 1e-5, {64}), weight_gradient, name), ElementsAre(kDiffers, kAgrees));
    // A fault of the weight's is none that the bias may have.
    EXPECT_THAT(judged(gradient(0.1, 1e-5, {64}), gradient(0.1, 0.01, {64, 64}), name),
                ElementsAre(kDiffers, kDiffers));
  }
}

TEST(Ledger, AViewMayNotAddAnything) {
  JudgedCalls run;
  EXPECT_THAT(run.add("Tensor.permute.0.forward", {in(1e-6, DType::f32), out(1e-4, DType::f32)}),
              ElementsAre(kAgrees, kDiffers));
  EXPECT_THAT(run.add("Tensor.permute.1.forward", {in(2e-6, DType::f32), out(2e-6, DType::f32)}),
              ElementsAre(kAgrees, kAgrees));
}

TEST(Ledger, BackwardCallsUseWhatTheirForwardCallsHad) {
  JudgedCalls run;
  EXPECT_THAT(run.add("Functional.linear.0.forward", {in(0.02), weight(), out(0.021)}),
              ElementsAre(kAgrees, kAgrees, kAgrees));
  // The gradient from above is nearly exact; the saved activation is not.
  EXPECT_THAT(run.add("Functional.linear.0.backward", {in(0.001), out(0.025)}),
              ElementsAre(kAgrees, kAgrees));
  EXPECT_THAT(run.add("Functional.linear.1.backward", {in(0.0012), out(0.026)}),
              ElementsAre(kAgrees, kDiffers));
}

TEST(Ledger, AnOtherArgumentIsACause) {
  JudgedCalls run;
  EXPECT_THAT(run.add("Functional.batch_norm.0.forward", {in(0), out(0.1, DType::f32)}, 0.001),
              ElementsAre(kAgrees, kDiffers, kDiffers));
  ASSERT_TRUE(run.origin());
  EXPECT_EQ(run.origin()->node, "Functional.batch_norm.0.forward");
  EXPECT_THAT(run.origin()->other_arguments, ElementsAre(HasSubstr("eps: ")));
}

TEST(Ledger, TellsAFlipFromAnError) {
  JudgedCalls run;
  const CallTensor places{Direction::output, 0.5, 3, DType::i64};
  EXPECT_THAT(run.add("Torch.topk.0.forward", {in(0.002), out(0.003), places}),
              ElementsAre(kAgrees, kAgrees, kDiffers));
  EXPECT_TRUE(run.is_flip());
  EXPECT_FALSE(run.origin());
  // What is at the places chosen differs: that is no flip.
  EXPECT_THAT(run.add("Torch.topk.1.forward", {in(0.002), out(0.4), places}),
              ElementsAre(kAgrees, kDiffers, kDiffers));
  EXPECT_FALSE(run.is_flip());
  EXPECT_TRUE(run.origin());
}

// An expert was given other rows: what it makes of them cannot be compared, and what is computed from all
// experts has the error of the tokens that went elsewhere, which is no fault of what follows.
TEST(Ledger, WhatFollowsAFlipIsToldApart) {
  JudgedCalls run;
  constexpr Level kLeftOut = Level::ignored;
  const CallTensor places{Direction::output, 0.5, 3, DType::i64}, rows{Direction::input, 0.5, 3, DType::i64},
      others{Direction::input, 0.2, 3, DType::i64};
  run.next_is(Status::shape_mismatch);
  EXPECT_THAT(run.add("Functional.linear.0.forward", {in(0.002), out(0.003)}),
              ElementsAre(kDiffers, kDiffers));
  run.add("Torch.topk.0.forward", {in(0.0021), out(0.0031), places});
  run.next_is(Status::shape_mismatch);
  EXPECT_THAT(run.add("Functional.linear.1.forward", {in(0.002), out(0.003)}),
              ElementsAre(kLeftOut, kLeftOut));
  EXPECT_THAT(run.reason(), HasSubstr("follows a flip of Torch.topk.0.forward"));
  EXPECT_THAT(run.add("Tensor.index_add.0.forward", {in(0.0022), rows, out(0.3)}),
              ElementsAre(kAgrees, kLeftOut, kLeftOut));
  // A row that is this far off and passes says whose error it is.
  EXPECT_THAT(run.add("Tensor.__add__.0.forward", {in(0.3), out(0.31)}), ElementsAre(kAgrees, kAgrees));
  EXPECT_EQ(run.note(),
            "rel_l2 0.31 is what its inputs bring along, behind the flip of Torch.topk.0.forward");
  EXPECT_THAT(run.add("Tensor.__add__.2.forward", {in(0.003), out(0.004)}), ElementsAre(kAgrees, kAgrees));
  EXPECT_EQ(run.note(), "");
  // Places that the choice did not make are wrong by themselves.
  EXPECT_THAT(run.add("Functional.embedding.0.forward", {others, out(0.36)}),
              ElementsAre(kDiffers, kDiffers));
  // A fault behind it is one still.
  EXPECT_THAT(run.add("Tensor.__add__.1.forward", {in(0.31), out(0.9)}), ElementsAre(kAgrees, kDiffers));
  ASSERT_TRUE(run.origin());
  EXPECT_EQ(run.origin()->node, "Tensor.__add__.1.forward");
}

TEST(Ledger, NoFlipExcusesNaN) {
  JudgedCalls run;
  const CallTensor places{Direction::output, 0.5, 3, DType::i64}, rows{Direction::input, 0.5, 3, DType::i64};
  run.add("Torch.topk.0.forward", {in(0.0021), out(0.0031), places});
  run.next_has_nan();
  EXPECT_THAT(run.add("Functional.embedding.0.forward", {rows, out(0.3)}), ElementsAre(kDiffers, kDiffers));
}

TEST(Ledger, AnElementStillCounts) {
  JudgedCalls run;
  CallTensor spike = out(0.003);
  spike.max_abs = 5;
  EXPECT_THAT(run.add("Functional.linear.0.forward", {in(0.0016), weight(), spike}),
              ElementsAre(kAgrees, kAgrees, kDiffers));
}

TEST(Ledger, AModuleMayRoundMoreThanOnce) {
  JudgedCalls run;
  EXPECT_THAT(run.add("Module.layers.0.DecoderLayer.forward.0", {in(0), out(0.02)}),
              ElementsAre(kAgrees, kAgrees));
  EXPECT_THAT(run.add("Module.layers.1.DecoderLayer.forward.0", {in(0.02), out(0.049)}),
              ElementsAre(kAgrees, kAgrees));
  EXPECT_THAT(run.add("Module.layers.2.DecoderLayer.forward.0", {in(0.049), out(0.5)}),
              ElementsAre(kAgrees, kDiffers));
  EXPECT_THAT(run.add("Module.head.Linear.forward.0", {in(0), weight(), out(0.021)}),
              ElementsAre(kAgrees, kAgrees, kDiffers));
}

TEST(Ledger, LongSumsOfF32MayDifferMore) {
  JudgedCalls run;
  const auto linear = [&](std::string_view name, int64_t length, double error) {
    const double size = 1 / std::sqrt(static_cast<double>(length));
    return run.add(name, {{Direction::input, 0, 1, DType::f32, {8, length}},
                          {Direction::input, 0, size, DType::f32, {16, length}},
                          {Direction::output, error, 1, DType::f32, {8, 16}}});
  };
  EXPECT_THAT(linear("Functional.linear.0.forward", 64, 3e-6), ElementsAre(kAgrees, kAgrees, kAgrees));
  EXPECT_THAT(linear("Functional.linear.1.forward", 64, 8e-6), ElementsAre(kAgrees, kAgrees, kDiffers));
  EXPECT_THAT(linear("Functional.linear.2.forward", 16384, 9e-6), ElementsAre(kAgrees, kAgrees, kAgrees));
  EXPECT_THAT(linear("Functional.linear.3.forward", 16384, 1e-4), ElementsAre(kAgrees, kAgrees, kDiffers));
}

TEST(Ledger, GradientsOfACastThatChangesNothingAreThoseOfAnother) {
  JudgedCalls run;
  run.next_is(Status::shape_mismatch);
  EXPECT_THAT(run.add("Tensor.float.0.backward", {out(0)}), ElementsAre(Level::ignored));
  run.next_is(Status::only_golden);
  EXPECT_THAT(run.add("Tensor.to.0.backward", {out(0)}), ElementsAre(Level::ignored));
  run.next_is(Status::shape_mismatch);
  EXPECT_THAT(run.add("Tensor.float.0.forward", {out(0)}), ElementsAre(kDiffers));
  run.next_is(Status::shape_mismatch);
  EXPECT_THAT(run.add("Functional.linear.0.backward", {out(0)}), ElementsAre(kDiffers));
}

// 1.5 times a power of two is where the bits that tensors are looked up by change.
TEST(Ledger, KnowsATensorAgainThatWasAddedUpInAnotherOrder) {
  JudgedCalls run;
  const double error = 1.5 * 0x1p-5;  // far beyond what the call may add
  CallTensor made = out(error), again = in(error * (1 - 1e-12)), other = in(0.03);
  made.max_abs = again.max_abs = 0.3;
  EXPECT_THAT(run.add("Functional.linear.0.forward", {in(0.0016), weight(), made}),
              ElementsAre(kAgrees, kAgrees, kDiffers));
  EXPECT_THAT(run.add("Functional.gelu.0.forward", {again}), ElementsAre(kDiffers));
  EXPECT_EQ(run.reason().substr(run.reason().size() - 20), "as where it was made");
  EXPECT_THAT(run.add("Functional.gelu.1.forward", {other}),
              ElementsAre(kAgrees));  // not known: bf16 may have 0.032
}

}  // namespace
}  // namespace assay
