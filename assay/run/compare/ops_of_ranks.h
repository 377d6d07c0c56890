// What other ranks ran and were given, for operators that go over the ranks.
#pragma once

#include "assay/golden/golden.h"
#include "assay/run/compare/kept_results.h"
#include "assay/run/compare/load.h"
#include "assay/run/compare/prepare.h"

#include <map>
#include <mutex>

namespace assay {

// ".../0_4001/0/2_Layer/1_Linear/after/outtensor0.bin": the folder of the operator.
inline fs::path op_folder(const fs::path& tensor) { return tensor.parent_path().parent_path(); }

// The ranks of a dump by their numbers, looked for once: thousands of ranks would look for each other. Any
// thread.
class KnownRanks {
 public:
  using Folders = std::map<int, fs::path>;
  std::shared_ptr<const Folders> beside(const fs::path& rank);

  KeptResults results;  // of operators that come to the same on all of them

 private:
  std::mutex guard_;
  std::map<std::string, std::shared_ptr<const Folders>> known_;  // by the folder that they lie in
};

// Any thread.
class OpsOfRanks {
 public:
  // All outlive this.
  OpsOfRanks(const Indexed& frames, Loader& loader, const Prepare& prepare, KnownRanks& ranks, int64_t memory)
      : frames_(frames), loader_(loader), prepare_(prepare), ranks_(ranks), memory_(memory) {}

  // Fills in what the operator may ask for that `plan` begins with an output of, and `own` are the parameters
  // of. Each is found out where it is asked for; the plan outlives the call.
  void tell(const Plan& plan, std::span<const OpParam> own, GoldenCall& call) const;

 private:
  // An operator that goes over ranks. They are numbered within their group, whose first is the rank `first`
  // of the dump.
  struct Op {
    const Plan* plan = nullptr;
    std::vector<OpParam> params = {};
    int own = 0;   // its number in the group
    int size = 0;  // of the group; 0: not known
    int first = 0;
  };
  Op op_of(const Plan& plan, std::span<const OpParam> params) const;

  // The folder of the same round, or file, on another rank.
  Result<fs::path> round_of(const Op& op, int rank) const;
  Result<fs::path> file_of(const Op& op, const ItemId& item, int rank) const;
  fs::path own_round(const Plan& plan) const;
  Result<std::vector<OperandPtr>> inputs_of(const Op& op, int rank) const;
  // An error where the operator of another rank says that it has another number in its group.
  Result<void> check_number(const Op& op, const fs::path& input, int rank) const;
  Result<OperandPtr> load(const fs::path& file) const;
  Result<std::vector<OpParam>> params_of(const Op& op, int rank) const;
  Result<std::vector<RankCall>> calls_of(const Op& op, int rank, std::string_view type) const;
  Error missing(const Op& op, int rank) const;
  // What names the operator on all ranks of its group alike.
  std::string key_of(const Op& op) const;

  const Indexed& frames_;
  Loader& loader_;
  const Prepare& prepare_;
  KnownRanks& ranks_;
  const int64_t memory_;

  // An operator that was found in the folders of a rank.
  struct FoundCall {
    fs::path folder;
    std::vector<OpParam> params;
  };
  using FoundCalls = std::shared_ptr<const std::vector<FoundCall>>;
  Result<FoundCalls> find_calls(const fs::path& round, std::string_view type) const;
  mutable std::mutex guard_;
  mutable std::map<std::pair<std::string, std::string>, FoundCalls> found_;  // by round and type
};

}  // namespace assay
