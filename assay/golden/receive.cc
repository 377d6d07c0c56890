// Send and Recv. HCCL keeps the order of what goes from one rank to another: the first tensor that is
// received is the first that was sent, in the same communication domain.
#include "assay/golden/collectives.h"
#include "assay/golden/elements.h"

namespace assay {
namespace {

// Those runs that a parameter says to go to, or to come from, a rank.
Result<std::vector<RankCall>> calls_between(const GoldenCall& call, int64_t on, std::string_view type,
                                            std::string_view key, int64_t other) {
  ASSAY_TRY(std::vector<RankCall> calls, call.calls_on_rank(static_cast<int>(on), type));
  const auto domain_of = [](const GoldenParams& params) {
    return params.has({"commDomain"}) ? params.text({"commDomain"}) : Result<std::string>(std::string());
  };
  ASSAY_TRY(const std::string domain, domain_of(call.params));
  std::vector<RankCall> meant;
  for (RankCall& each : calls) {
    const GoldenParams told(each.params);
    const auto rank = told.integer({key});
    if (!rank) return fail(rank.error().kind, "of a {} on rank {}: {}", type, on, rank.error().message);
    const auto of_domain = domain_of(told);
    if (*rank == other && of_domain && *of_domain == domain) meant.push_back(std::move(each));
  }
  return meant;
}

}  // namespace

Result<GoldenOutputs> golden_send(const GoldenCall&) { return GoldenOutputs(); }

Result<GoldenOutputs> golden_receive(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 0, 1));
  ASSAY_TRY(const Ranks ranks, ranks_of(call));
  ASSAY_TRY(const int64_t source, call.params.integer({"srcRank"}));
  if (source < 0 || source >= ranks.size || source == ranks.own)
    return fail(ErrorKind::bad_argument, "the parameter srcRank is {}, which is no other rank of {}", source,
                ranks.size);
  if (!call.calls_on_rank)
    return fail(ErrorKind::not_found, "Cannot find data on rank {}! {} needs tensors on all devices!", source,
                call.type);
  ASSAY_TRY(const std::vector<RankCall> sent,
            calls_between(call, source, "SendOperation", "destRank", ranks.own));
  ASSAY_TRY(const std::vector<RankCall> received,
            calls_between(call, ranks.own, call.type, "srcRank", source));
  // With one of them missing, which of the others meet would be a guess.
  if (sent.size() != received.size())
    return fail(ErrorKind::not_found,
                "rank {} sends {} to rank {}, which receives {}: which of them meet cannot be told", source,
                sent.size() == 1 ? "1 tensor" : fmt::format("{} tensors", sent.size()), ranks.own,
                received.size());
  for (size_t i = 0; i < received.size(); ++i)
    if (received[i].is_own) {
      ASSAY_TRY(OperandPtr data, sent[i].first_input());
      return GoldenOutputs{exactly(std::move(data))};
    }
  return fail(ErrorKind::not_found, "it is not among what rank {} received", ranks.own);
}

}  // namespace assay
