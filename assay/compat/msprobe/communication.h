// Where ranks that talk to each other part: the walk of msprobe -da through their communication operators.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace assay {

// An operator that differs, as the file that names it has it.
struct Suspect {
  int sub_layer = 0;  // computing operators between it and the communication before it
  std::string text;
};

struct CommunicationOp {
  std::string name;                                  // "Distributed.all_reduce.0.forward"
  bool has_source = false, has_destination = false;  // among its arguments
  std::set<int> ranks;                               // that its arguments name
  std::optional<Suspect> before;  // the first operator that differs since the communication before it
  std::optional<Suspect> itself;  // where it differs
};

struct CommunicatingRank {
  std::vector<CommunicationOp> ops;
  std::optional<Suspect> behind;  // the first operator that differs behind the last of them
};

struct Found {
  int rank;
  std::string text;
};

// Of ranks none of which differs before its first communication: the suspects of the earliest exchange that
// has some, and where no exchange has any, the first one of each rank behind its last.
std::vector<Found> find_at_communication(const std::map<int, CommunicatingRank>& ranks);
std::vector<Found> find_behind_communication(const std::map<int, CommunicatingRank>& ranks);

}  // namespace assay
