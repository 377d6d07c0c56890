#include "assay/golden/golden_test_tools.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

// One rank of several, whose tensors are all of one shape.
struct RanksTry : GoldenTry {
  RanksTry(std::string op, DType dtype, std::vector<int64_t> dims, std::vector<std::vector<double>> ranks,
           int own) {
    type = std::move(op);
    params = {param_of("rank", {int64_t{own}}), param_of("rankSize", {std::ssize(ranks)}),
              param_of("rankRoot", {int64_t{0}}), param_of("backend", {std::string("hccl")})};
    in = {tensor_of(dtype, dims, ranks[static_cast<size_t>(own)])};
    in_of_rank = [=](int rank) -> Result<std::vector<OperandPtr>> {
      if (rank >= std::ssize(ranks)) return fail(ErrorKind::not_found, "no such folder");
      return std::vector{tensor_of(dtype, dims, ranks[static_cast<size_t>(rank)])};
    };
  }
};

std::vector<double> gathered_of(const GoldenTry& call, const Shape& shape) {
  const auto outputs = call.run();
  EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
  if (!outputs) return {};
  EXPECT_EQ((*outputs)[0].value->meta.shape, shape);
  return written((*outputs)[0]);
}

TEST(GoldenAllGather, StacksRanks) {
  RanksTry call("AllGatherOperation", DType::f16, {2}, {{1, 2}, {3, 4}, {5, 6}}, 1);
  EXPECT_THAT(gathered_of(call, Shape{{3, 2}}), ElementsAre(1, 2, 3, 4, 5, 6));
  call.params[1] = param_of("rankSize", {int64_t{4}});
  EXPECT_EQ(error_of(call.run()).message,
            "Cannot find data on rank 3! AllGatherOperation needs tensors on all devices!");
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::not_found);
  call.in_of_rank = {};
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("rank 0!"));
  call.in_of_rank = [](int) -> Result<std::vector<OperandPtr>> {
    return fail(ErrorKind::bad_format, "truncated");
  };
  EXPECT_EQ(error_of(call.run()).message, "truncated");
  call.in_of_rank = [](int) -> Result<std::vector<OperandPtr>> {
    return std::vector{tensor_of(DType::f16, {3}, {1, 2, 3})};
  };
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("rank 1 has f16 [2] where rank 0 has f16 [3]"));
  call.params[0] = param_of("rank", {int64_t{4}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
  call.params[1] = param_of("rankSize", {int64_t{0}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

TEST(GoldenBroadcast, TakesTheRoot) {
  RanksTry call("BroadcastOperation", DType::i64, {2}, {{1, 2}, {3, 4}}, 1);
  EXPECT_THAT(gathered_of(call, Shape{{2}}), ElementsAre(1, 2));
  call.params[2] = param_of("rankRoot", {int64_t{1}});
  call.in_of_rank = {};  // it is the root itself
  EXPECT_THAT(gathered_of(call, Shape{{2}}), ElementsAre(3, 4));
  call.params[2] = param_of("rankRoot", {int64_t{5}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("Cannot find data on rank 5! BroadcastOperation"));
  call.params[2] = param_of("rankRoot", {int64_t{-1}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

TEST(GoldenAllReduce, FoldsRanks) {
  RanksTry call("AllReduceOperation", DType::f16, {3}, {{1, -2, 3}, {4, 5, -6}, {7, 8, 0.5}}, 0);
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("allReduceType is missing"));
  const auto with = [&](std::string word) {
    call.params.resize(4);
    call.params.push_back(param_of("allReduceType", {std::move(word)}));
    return call;
  };
  EXPECT_THAT(gathered_of(with("sum"), Shape{{3}}), ElementsAre(12, 11, -2.5));
  EXPECT_THAT(gathered_of(with("max"), Shape{{3}}), ElementsAre(7, 8, 3));
  EXPECT_THAT(gathered_of(with("min"), Shape{{3}}), ElementsAre(1, -2, -6));
  EXPECT_THAT(gathered_of(with("prod"), Shape{{3}}), ElementsAre(28, -80, -9));
  EXPECT_THAT(error_of(with("mean").run()).message, HasSubstr("none of sum, max, min, prod"));
  // Of three numbers one sum is rounded on the way: by half a step of the largest that it can be.
  EXPECT_THAT(allowed_of(with("sum").run().value()[0]), ElementsAre(12 * 0x1p-11, 13 * 0x1p-11, 6 * 0x1p-11));
  EXPECT_THAT(allowed_of(with("max").run().value()[0]), ElementsAre(0, 0, 0));
}

TEST(GoldenAllReduce, OfTwoRanksRoundsOnce) {
  RanksTry call("AllReduceOperation", DType::bf16, {2}, {{256, NAN}, {1, 1}}, 0);
  call.params.push_back(param_of("allReduceType", {std::string("sum")}));
  EXPECT_THAT(gathered_of(call, Shape{{2}}), ElementsAre(256, IsNan()));
  EXPECT_THAT(allowed_of(call.run().value()[0]), ElementsAre(0, 0));
  call.params.back() = param_of("allReduceType", {std::string("max")});
  EXPECT_THAT(gathered_of(call, Shape{{2}}), ElementsAre(256, IsNan()));
}

TEST(GoldenAllReduce, DoesNotKnowWhatOverflowsInOneOrderOnly) {
  RanksTry call("AllReduceOperation", DType::f16, {2}, {{60000, 1}, {60000, 1}, {-60000, 1}}, 0);
  call.params.push_back(param_of("allReduceType", {std::string("sum")}));
  const Expected output = std::move(call.run().value()[0]);
  ASSERT_NE(output.known, nullptr);
  EXPECT_THAT(numbers_of(*output.known, 1 << 20).value().values, ElementsAre(0, 1));
}

TEST(GoldenAllReduce, FoldsSeveralInputsOfARank) {
  RanksTry call("AllReduceOperation", DType::i32, {1}, {{1}, {2}}, 0);
  call.params.push_back(param_of("allReduceType", {std::string("sum")}));
  call.in.push_back(tensor_of(DType::i32, {1}, {10}));
  EXPECT_THAT(gathered_of(call, Shape{{1}}), ElementsAre(13));
  call.params.push_back(param_of("quantType", {int64_t{3}}));
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

TEST(GoldenAllReduce, AddsQuantisedRanks) {
  RanksTry call("AllReduceOperation", DType::i8, {2, 2}, {{1, 2, 3, 4}, {10, 20, 30, 40}}, 0);
  call.params.push_back(param_of("allReduceType", {std::string("sum")}));
  call.params.push_back(param_of("quantType", {int64_t{2}}));
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("takes 3 inputs"));
  call.in.push_back(tensor_of(DType::f16, {2}, {0.5, 2}));
  call.in.push_back(tensor_of(DType::f16, {2}, {1, 0}));
  EXPECT_THAT(gathered_of(call, Shape{{2, 2}}), ElementsAre(6.5, 44, 17.5, 88));
  EXPECT_EQ(call.run().value()[0].dtype, DType::f16);
}

TEST(GoldenReduceScatter, TakesItsShare) {
  RanksTry call("ReduceScatterOperation", DType::f32, {4}, {{1, 2, 3, 4}, {10, 20, 30, 40}}, 1);
  call.params.push_back(param_of("reduceType", {std::string("sum")}));
  EXPECT_THAT(gathered_of(call, Shape{{2}}), ElementsAre(33, 44));
  RanksTry odd("ReduceScatterOperation", DType::f32, {3}, {{1, 2, 3}, {1, 2, 3}}, 0);
  odd.params.push_back(param_of("reduceType", {std::string("sum")}));
  EXPECT_THAT(error_of(odd.run()).message, HasSubstr("cannot be shared out among 2 ranks"));
}

TEST(GoldenAllToAll, TakesItsShareOfEach) {
  RanksTry call("AllToAllOperation", DType::f16, {2, 2}, {{1, 2, 3, 4}, {5, 6, 7, 8}}, 1);
  EXPECT_THAT(gathered_of(call, Shape{{2, 2}}), ElementsAre(3, 4, 7, 8));
  call.params.push_back(param_of("transpose", {true}));
  EXPECT_THAT(gathered_of(call, Shape{{4, 1}}), ElementsAre(2, 4, 6, 8));
}

// What each rank was given: a tensor, and counts and places in whole numbers.
GoldenTry by_counts(std::string op, int own, std::vector<std::vector<OperandPtr>> ranks) {
  GoldenTry call;
  call.type = std::move(op);
  call.params = {param_of("rank", {int64_t{own}}), param_of("rankSize", {std::ssize(ranks)}),
                 param_of("rankRoot", {int64_t{0}}), param_of("reduceType", {std::string("sum")})};
  call.in = ranks[static_cast<size_t>(own)];
  call.in_of_rank = [ranks](int rank) -> Result<std::vector<OperandPtr>> {
    return ranks[static_cast<size_t>(rank)];
  };
  return call;
}

OperandPtr numbers(std::vector<double> values) {
  const auto count = std::ssize(values);
  return tensor_of(DType::i64, {count}, values);
}

TEST(GoldenAllGatherV, PutsEachWhereItIsToldTo) {
  const OperandPtr counts = numbers({2, 1}), places = numbers({2, 0});
  const OperandPtr extent = tensor_of(DType::f16, {5}, {0, 0, 0, 0, 0});
  GoldenTry call = by_counts("AllGatherVOperation", 0,
                             {{tensor_of(DType::f32, {2}, {1, 2}), numbers({2}), counts, places, extent},
                              {tensor_of(DType::f32, {1}, {3}), numbers({1}), counts, places, extent}});
  const auto outputs = call.run();
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(written((*outputs)[0]), ElementsAre(3, 0, 1, 2, 0));
  ASSERT_NE((*outputs)[0].known, nullptr);  // nobody writes the second and the last
  EXPECT_THAT(numbers_of(*(*outputs)[0].known, 1000)->values, ElementsAre(1, 0, 1, 1, 0));
  call.in[3] = numbers({4, 0});
  EXPECT_THAT(error_of(call.run()).message,
              HasSubstr("2 elements from 4 on, of rank 0, leave the 5 there are"));
}

TEST(GoldenAllToAllVV2, TakesWhatEachRankSends) {
  const OperandPtr of_three = tensor_of(DType::f16, {3}, {0, 0, 0});
  GoldenTry call = by_counts("AllToAllVV2Operation", 1,
                             {{tensor_of(DType::f32, {3}, {1, 2, 3}), numbers({1, 2}), numbers({0, 1}),
                               numbers({1, 0}), numbers({0, 1}), tensor_of(DType::f16, {1}, {0})},
                              {tensor_of(DType::f32, {2}, {4, 5}), numbers({1, 1}), numbers({0, 1}),
                               numbers({2, 1}), numbers({0, 2}), of_three}});
  EXPECT_THAT(gathered_of(call, Shape{{1, 3}}), ElementsAre(2, 3, 5));
  call.in[3] = numbers({1, 1});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("rank 0 sends 2 elements where 1 are awaited"));
}

std::vector<OpParam> all_to_all_params(int64_t rank, const std::vector<std::vector<int64_t>>& lists) {
  std::vector<OpParam> params = {param_of("rank", {rank}), param_of("rankSize", {int64_t{2}}),
                                 param_of("rankRoot", {int64_t{0}})};
  constexpr std::string_view kKeys[] = {"sendCounts", "sdispls", "recvCounts", "rdispls"};
  for (size_t i = 0; i < lists.size(); ++i) {
    OpParam list{std::string(kKeys[i]), {}, true};
    for (const int64_t each : lists[i]) list.values.emplace_back(each);
    params.push_back(std::move(list));
  }
  return params;
}

TEST(GoldenAllToAllV, TakesWhatTheParametersOfEachRankSay) {
  GoldenTry call{"AllToAllVOperation",
                 all_to_all_params(1, {{1, 1}, {0, 1}, {2, 1}, {1, 0}}),
                 {tensor_of(DType::f32, {2}, {4, 5})}};
  call.in_of_rank = [](int) -> Result<std::vector<OperandPtr>> {
    return std::vector{tensor_of(DType::f32, {3}, {1, 2, 3})};
  };
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::not_found);
  call.params_of_rank = [](int) -> Result<std::vector<OpParam>> {
    return all_to_all_params(0, {{1, 2}, {0, 1}, {1, 1}, {0, 1}});
  };
  EXPECT_THAT(gathered_of(call, Shape{{1, 3}}), ElementsAre(5, 2, 3));
  call.params_of_rank = [](int) -> Result<std::vector<OpParam>> {
    return all_to_all_params(0, {{1, 3}, {0, 1}, {1, 1}, {0, 1}});
  };
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("of rank 0: 3 elements from 1 on"));
  call.params_of_rank = [](int) -> Result<std::vector<OpParam>> {
    return all_to_all_params(0, {{1, 1}, {0, 1}, {1, 1}, {0, 1}});
  };
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("rank 0 sends 1 elements where 2 are awaited"));
  call.params = all_to_all_params(1, {{1, 1}, {0, 1}, {INT64_MAX, INT64_MAX}, {1, 0}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
  call.params = all_to_all_params(1, {{1, 1}, {0, 1}, {2, -1}, {1, 0}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
  call.params = all_to_all_params(1, {{1, 1}, {0, 1}, {2, 1}, {2, 0}});
  EXPECT_THAT(error_of(call.run()).message,
              HasSubstr("2 elements from 2 on, of rank 0, leave the 3 there are"));
}

RankCall between(std::string key, int64_t other, double value, bool is_own = false) {
  return {{param_of(std::move(key), {other})},
          [=]() -> Result<OperandPtr> { return tensor_of(DType::f16, {1}, {value}); },
          is_own};
}

TEST(GoldenRecv, GivesWhatTheMatchingSendWasGiven) {
  GoldenTry call{"RecvOperation",
                 {param_of("rank", {int64_t{1}}), param_of("rankSize", {int64_t{3}}),
                  param_of("rankRoot", {int64_t{0}}), param_of("srcRank", {int64_t{2}})},
                 {tensor_of(DType::f16, {1}, {0})}};
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("Cannot find data on rank 2!"));
  std::vector<RankCall> received = {between("srcRank", 2, 0), between("srcRank", 0, 0),
                                    between("srcRank", 2, 0, true)};
  call.calls_on_rank = [&](int rank, std::string_view type) -> Result<std::vector<RankCall>> {
    if (type == "RecvOperation" && rank == 1) return received;
    EXPECT_EQ(rank, 2);
    return std::vector{between("destRank", 1, 7), between("destRank", 0, 8), between("destRank", 1, 9)};
  };
  EXPECT_THAT(gathered_of(call, Shape{{1}}), ElementsAre(9));
  received.pop_back();
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("rank 2 sends 2 tensors to rank 1, which receives 1"));
  call.params[3] = param_of("srcRank", {int64_t{1}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

TEST(GoldenReduceScatterV, AddsUpTheShareOfThisRank) {
  const std::vector<OperandPtr> tail = {numbers({2, 4}), numbers({0, 2}), numbers({4}),
                                        tensor_of(DType::f16, {2}, {0, 0})};
  const auto given = [&](std::vector<double> values) {
    std::vector<OperandPtr> in = {tensor_of(DType::f32, {3, 2}, values)};
    in.insert(in.end(), tail.begin(), tail.end());
    return in;
  };
  GoldenTry call =
      by_counts("ReduceScatterVOperation", 1, {given({1, 2, 3, 4, 5, 6}), given({10, 20, 30, 40, 50, 60})});
  EXPECT_THAT(gathered_of(call, Shape{{2, 2}}), ElementsAre(33, 44, 55, 66));
  call.in[1] = numbers({2, 3});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("this rank gets 3 elements, and its output has 4"));
}

}  // namespace
}  // namespace assay
