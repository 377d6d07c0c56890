#include "assay/compat/msprobe/communication.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string_view>
#include <tuple>

namespace assay {
namespace {

// What the other end has to be. msprobe takes whoever names a source for a receiver, itself included.
enum class End : uint8_t { link, sender, receiver };

End end_of(const CommunicationOp& op) {
  return op.has_source ? End::receiver : op.has_destination ? End::sender : End::link;
}

End other_end(End end) {
  return end == End::link ? End::link : end == End::sender ? End::receiver : End::sender;
}

std::string_view api_of(std::string_view name) {
  const size_t begin = name.find('.') + 1;
  return name.substr(begin, name.find('.', begin) - begin);
}

std::string_view counterpart(std::string_view api) {
  constexpr std::array<std::array<std::string_view, 2>, 3> kPairs = {
      {{"send", "recv"}, {"isend", "irecv"}, {"send_object_list", "recv_object_list"}}};
  for (const auto& [sends, receives] : kPairs) {
    if (api == sends) return receives;
    if (api == receives) return sends;
  }
  return api;
}

bool is_directed(std::string_view api) {
  constexpr std::array<std::string_view, 9> kDirected = {"send",
                                                         "recv",
                                                         "isend",
                                                         "irecv",
                                                         "broadcast",
                                                         "scatter",
                                                         "gather",
                                                         "send_object_list",
                                                         "recv_object_list"};
  return std::find(kDirected.begin(), kDirected.end(), api) != kDirected.end();
}

struct Call {
  int rank = 0;
  const CommunicationOp* op = nullptr;
  int layer = 0;
  bool is_gone = false;  // nothing differs there
  std::set<Call*> partners = {};
};
using Calls = std::map<int, std::vector<Call*>>;  // by rank, in their order

bool fits(const Call& call, const Call& other) {
  const std::string wanted = "Distributed." + std::string(counterpart(api_of(call.op->name)));
  if (!other.op->name.starts_with(wanted) || end_of(*other.op) != other_end(end_of(*call.op))) return false;
  const bool names_nobody = other.op->ranks.empty() && !is_directed(api_of(other.op->name));
  return names_nobody || other.op->ranks.count(call.rank) > 0;
}

void connect(Calls& calls) {
  std::set<int> done;
  for (auto rank = calls.begin(); rank != calls.end() && std::next(rank) != calls.end(); ++rank) {
    done.insert(rank->first);
    std::set<const Call*> taken;
    const Call* last = nullptr;
    for (Call* const call : rank->second) {
      if (last != nullptr && last->layer >= call->layer) call->layer = last->layer + 1;
      last = call;
      for (auto& [number, others] : calls) {
        const std::set<int>& named = call->op->ranks;
        if (done.count(number) > 0 || (!named.empty() && named.count(number) == 0)) continue;
        const auto found = std::find_if(others.begin(), others.end(), [&](const Call* other) {
          return taken.count(other) == 0 && fits(*call, *other);
        });
        if (found == others.end()) continue;
        taken.insert(*found);
        (*found)->layer = call->layer;
        call->partners.insert(*found);
        (*found)->partners.insert(call);
      }
    }
  }
}

void prune(Calls& calls) {
  for (auto& [number, list] : calls)
    for (Call* const call : list) {
      if (call->op->before || call->op->itself) continue;
      call->is_gone = true;
      for (Call* const partner : call->partners) partner->partners.erase(call);
    }
}

std::set<Call*> group_of(Call* first) {
  std::set<Call*> group = {first};
  std::deque<Call*> open = {first};
  while (!open.empty()) {
    const Call* const call = open.front();
    open.pop_front();
    for (Call* const partner : call->partners)
      if (group.insert(partner).second) open.push_back(partner);
  }
  return group;
}

}  // namespace

std::vector<Found> find_at_communication(const std::map<int, CommunicatingRank>& ranks) {
  std::deque<Call> store;
  Calls calls;
  for (const auto& [number, rank] : ranks)
    for (const CommunicationOp& op : rank.ops) {
      std::vector<Call*>& list = calls[number];
      store.push_back(Call{number, &op, static_cast<int>(list.size())});
      list.push_back(&store.back());
    }
  connect(calls);
  prune(calls);
  std::vector<std::deque<Call*>> queues;
  for (auto& [number, list] : calls) {
    std::deque<Call*>& queue = queues.emplace_back();
    std::copy_if(list.begin(), list.end(), std::back_inserter(queue),
                 [](const Call* call) { return !call->is_gone; });
    std::stable_sort(queue.begin(), queue.end(),
                     [](const Call* a, const Call* b) { return a->layer < b->layer; });
  }
  std::set<const Call*> seen;
  while (std::any_of(queues.begin(), queues.end(), [](const auto& queue) { return !queue.empty(); })) {
    std::set<Call*> at_once;  // the next call of each rank, with all that take part in it
    for (std::deque<Call*>& queue : queues) {
      while (!queue.empty() && seen.count(queue.front()) > 0) queue.pop_front();
      if (queue.empty()) continue;
      at_once.merge(group_of(queue.front()));
      queue.pop_front();
    }
    using LayerNumbers = std::tuple<int, int>;  // layer and sub-layer
    std::vector<std::pair<LayerNumbers, Found>> suspects;
    const auto suspect = [&](const Call& call, const std::optional<Suspect>& found) {
      if (found) suspects.push_back({{call.layer, found->sub_layer}, {call.rank, found->text}});
    };
    std::vector<const Call*> ordered(at_once.begin(), at_once.end());
    std::sort(ordered.begin(), ordered.end(), [](const Call* a, const Call* b) {
      return std::tie(a->rank, a->op->name) < std::tie(b->rank, b->op->name);
    });
    for (const Call* const call : ordered) suspect(*call, call->op->before);
    for (const Call* const call : ordered) suspect(*call, call->op->itself);
    seen.insert(at_once.begin(), at_once.end());
    if (suspects.empty()) continue;
    const auto earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
    const LayerNumbers first = std::min_element(suspects.begin(), suspects.end(), earlier)->first;
    std::vector<Found> out;
    for (auto& [place, found] : suspects)
      if (place == first) out.push_back(std::move(found));
    return out;
  }
  return {};
}

std::vector<Found> find_behind_communication(const std::map<int, CommunicatingRank>& ranks) {
  std::vector<Found> out;
  for (const auto& [number, rank] : ranks)
    if (rank.behind) out.push_back({number, rank.behind->text});
  return out;
}

}  // namespace assay
