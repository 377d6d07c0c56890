#include "assay/match/keyed/name.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/match/alike/crossed_shares.h"
#include "assay/match/alike/holders.h"
#include "assay/match/alike/lost_copies.h"
#include "assay/match/alike/meet.h"
#include "assay/match/alike/name_form.h"
#include "assay/match/alike/rename.h"
#include "assay/match/alike/turned_matrices.h"
#include "assay/match/frames.h"
#include "assay/match/keyed/running_number.h"
#include "assay/match/keyed/values_beside.h"
#include "assay/match/pairing_builder.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>

namespace assay {
namespace {

// Suffixes that tensor files have, whatever their format: x.npy and x.pt hold the same x.
constexpr std::array<std::string_view, 9> kSuffixes = {".npy", ".npz", ".pt",  ".pth",        ".ckpt",
                                                       ".bin", ".raw", ".dat", ".safetensors"};

// Whether what bears one name may still be no pair: shares of ranks are looked at first.
using HoldsBack = std::function<bool(size_t mine, size_t golden)>;

// Equal names are joined in order of appearance, so that a file with two entries of one name still lines up.
void join_same_names(PairingBuilder& builder, const HoldsBack& holds_back = {},
                     SquarePairs* squares = nullptr) {
  std::unordered_map<std::string_view, std::vector<size_t>> golden;  // positions, last one first
  for (size_t g = builder.items(Side::golden).size(); g-- > 0;)
    if (!builder.is_joined(Side::golden, g)) golden[builder.name_as_read(Side::golden, g)].push_back(g);
  for (size_t m = 0; m < builder.items(Side::mine).size(); ++m) {
    if (builder.is_joined(Side::mine, m)) continue;
    const auto found = golden.find(builder.name_as_read(Side::mine, m));
    if (found == golden.end() || found->second.empty()) continue;
    if (holds_back && holds_back(m, found->second.back())) continue;
    if (squares == nullptr || !squares->wait(m, found->second.back()))
      builder.join(m, found->second.back(), Why::same_name);
    found->second.pop_back();
  }
}

// Among what is left, a stem that each side has exactly once. Where one has it twice, a guess could pair
// x.npy with the wrong x; those stay unmatched.
void join_same_stems(PairingBuilder& builder) {
  struct Holders {
    size_t count[2] = {0, 0};
    size_t position[2] = {0, 0};
  };
  std::unordered_map<std::string, Holders> by_stem;
  std::vector<const Holders*> in_order;
  for (const Side side : {Side::mine, Side::golden}) {
    const auto which = static_cast<size_t>(side);
    for (size_t i = 0; i < builder.items(side).size(); ++i) {
      if (builder.is_joined(side, i)) continue;
      const auto [found, is_new] = by_stem.try_emplace(stem_of(builder.name_as_read(side, i)));
      if (is_new) in_order.push_back(&found->second);
      ++found->second.count[which];
      found->second.position[which] = i;
    }
  }
  for (const Holders* holders : in_order)
    if (holders->count[0] == 1 && holders->count[1] == 1)
      builder.join(holders->position[0], holders->position[1], Why::same_stem);
}

// Torch hooks write a parameter as root.{name}.pth; a checkpoint has the name alone, in whichever of its
// files.
struct Parameter {
  std::string_view name;
  bool is_hooked = false;
};

Parameter parameter_of(std::string_view item_name) {
  constexpr std::string_view kRoot = "root.";
  if (const size_t begin = begin_in_file(item_name); begin > 0) return {item_name.substr(begin)};
  const std::string_view stem = item_name.substr(0, item_name.size() - suffix_length(item_name));
  const bool is_hooked = stem.size() < item_name.size() && stem.starts_with(kRoot);
  return {is_hooked ? stem.substr(kRoot.size()) : stem, is_hooked};
}

// Among what is left, a parameter that a dump of hooks and a checkpoint have exactly once each.
void join_parameters(PairingBuilder& builder) {
  for (const Side hooked : {Side::mine, Side::golden}) {
    const Side other = hooked == Side::mine ? Side::golden : Side::mine;
    std::vector<std::pair<size_t, std::string_view>> waiting;
    for (size_t i = 0; i < builder.size(hooked); ++i)
      if (const Parameter parameter = parameter_of(builder.name(hooked, i));
          parameter.is_hooked && !builder.is_joined(hooked, i))
        waiting.emplace_back(i, parameter.name);
    if (waiting.empty()) continue;
    std::unordered_map<std::string_view, std::vector<size_t>> in_checkpoint;
    for (size_t i = 0; i < builder.size(other); ++i)
      if (!builder.is_joined(other, i)) in_checkpoint[parameter_of(builder.name(other, i)).name].push_back(i);
    for (const auto& [i, name] : waiting) {
      const auto found = in_checkpoint.find(name);
      if (found == in_checkpoint.end() || found->second.size() != 1) continue;
      const size_t partner = found->second[0];
      builder.join(hooked == Side::mine ? i : partner, hooked == Side::mine ? partner : i, Why::same_stem);
    }
  }
}

// "x" of "x_min_max.npy": the tensor of which that file has the smallest and the largest element. Empty: it
// is none that bears the name of its file.
std::string_view tensor_of_extremes(const PairingBuilder& builder, Side side, size_t position) {
  const Item& item = builder.item(side, position);
  if (!item.data) return {};
  const Frame& frame = builder.frames(side)[static_cast<size_t>(builder.items(side)[position].frame)];
  const FileEntry& file = frame.files[static_cast<size_t>(item.data->file)];
  if (!file.keeps_extremes()) return {};
  const std::string_view path = file.path.native(),
                         end = path.substr(path.size() - file.letters_for_extremes);
  return item.name.ends_with(end) ? item.name.substr(0, item.name.size() - end.size()) : std::string_view();
}

// Among what is left, the extremes of a tensor that the other side has once, in whatever file.
void join_extremes(PairingBuilder& builder) {
  for (const Side side : {Side::mine, Side::golden}) {
    const Side other = side == Side::mine ? Side::golden : Side::mine;
    std::vector<std::pair<size_t, std::string_view>> waiting;
    for (size_t i = 0; i < builder.size(side); ++i)
      if (!builder.is_joined(side, i))
        if (const std::string_view name = tensor_of_extremes(builder, side, i); !name.empty())
          waiting.emplace_back(i, name);
    if (waiting.empty()) continue;
    std::unordered_map<std::string, std::vector<size_t>> whole;
    for (size_t i = 0; i < builder.size(other); ++i)
      if (!builder.is_joined(other, i)) whole[stem_of(builder.name(other, i))].push_back(i);
    for (const auto& [i, name] : waiting) {
      const auto found = whole.find(std::string(name));
      if (found == whole.end() || found->second.size() != 1) continue;
      const size_t partner = found->second[0];
      builder.join(side == Side::mine ? i : partner, side == Side::mine ? partner : i, Why::its_extremes);
    }
  }
}

// The ranks that the names of a side tell of. Those of one folder are looked at once.
std::set<int64_t> ranks_in(const PairingBuilder& builder, Side side) {
  std::set<int64_t> ranks;
  std::string_view folder;
  for (size_t i = 0; i < builder.size(side); ++i) {
    const std::string_view name = builder.name(side, i);
    const size_t colon = name.find(':'), slash = name.rfind('/');
    const size_t end = colon != std::string_view::npos ? colon : slash != std::string_view::npos ? slash : 0;
    const std::string_view its_own = name.substr(0, end);
    if (i > 0 && its_own == folder) continue;
    folder = its_own;
    if (const int64_t rank = rank_of(name); rank >= 0) ranks.insert(rank);
  }
  return ranks;
}

// As many ranks on both sides that share a tensor out otherwise: what has one name may be another part of it.
bool may_be_crossed(const PairingBuilder& builder, size_t mine, size_t golden, size_t ranks) {
  const TensorMeta* const of_mine = builder.item(Side::mine, mine).meta;
  const TensorMeta* const of_golden = builder.item(Side::golden, golden).meta;
  if (of_mine == nullptr || of_golden == nullptr || of_mine->shape == of_golden->shape) return false;
  return !crossed_shares(of_mine->shape, ranks, of_golden->shape, ranks).empty() ||
         !crossed_shares(of_golden->shape, ranks, of_mine->shape, ranks).empty();
}

// What join_same_names has to leave to join_known_names; null: nothing.
HoldsBack what_to_hold_back(const PairingBuilder& builder, const Contents& contents) {
  const size_t of_mine = ranks_in(builder, Side::mine).size(),
               of_golden = ranks_in(builder, Side::golden).size();
  const bool are_shares = of_mine > 1 && of_golden > 1;
  const auto is_on_rank = [&builder](size_t mine) { return rank_of(builder.name(Side::mine, mine)) >= 0; };
  // Of other numbers of ranks, what has one name is another part of the tensor.
  if (are_shares && of_mine != of_golden && (of_mine % of_golden == 0 || of_golden % of_mine == 0))
    return [=](size_t mine, size_t) { return is_on_rank(mine); };
  if (are_shares && of_mine == of_golden)
    return [=, &builder](size_t mine, size_t golden) {
      return is_on_rank(mine) && may_be_crossed(builder, mine, golden, of_mine);
    };
  if (path_of_one_rank(builder, Side::mine).empty() && path_of_one_rank(builder, Side::golden).empty())
    return {};
  return [&](size_t mine, size_t golden) { return !are_of_one_size(builder, mine, golden, contents); };
}

// The one tensor of a side that has no other.
std::optional<size_t> only_tensor(const PairingBuilder& builder, Side side) {
  std::optional<size_t> only;
  for (size_t i = 0; i < builder.size(side); ++i) {
    if (is_value(builder.item(side, i))) continue;
    if (only) return std::nullopt;
    only = i;
  }
  return only;
}

Result<Pairing> match_names(const Indexed& frames, const MatchOptions& options, NamesThatMeet names,
                            Effort& effort) {
  PairingBuilder builder(frames);
  Remarks remarks;
  join_values(builder);
  if (options.renames != nullptr) {
    ASSAY_TRY_DO(join_renamed(builder, *options.renames));
    for (const std::string& flag : options.renames->unused())
      remarks.push_back(fmt::format("{} matches no name", flag));
  }
  const bool looks_inside = names != NamesThatMeet::equal && options.contents != nullptr;
  const HoldsBack holds_back = looks_inside ? what_to_hold_back(builder, *options.contents) : HoldsBack();
  if (names != NamesThatMeet::equal) join_renumbered(builder, remarks);
  SquarePairs squares(builder);
  join_same_names(builder, holds_back, looks_inside && !holds_back ? &squares : nullptr);
  if (holds_back || (squares.may_be_turned() && !squares.waiting().empty())) {
    join_known_names(builder, *options.contents);
    join_same_names(builder);
  } else {
    for (const auto& [mine, golden] : squares.waiting()) builder.join(mine, golden, Why::same_name);
  }
  join_same_stems(builder);
  join_parameters(builder);
  join_extremes(builder);
  const auto is_file = [](const std::vector<Frame>& side) { return side.size() == 1 && side[0].is_file; };
  const auto of_mine = only_tensor(builder, Side::mine), of_golden = only_tensor(builder, Side::golden);
  if (is_file(frames.mine) && is_file(frames.golden) && of_mine && of_golden &&
      !builder.is_joined(Side::mine, *of_mine))
    builder.join(*of_mine, *of_golden, Why::only_one_each);
  const bool left_ranks =
      names != NamesThatMeet::equal && join_alike_names(builder, looks_inside ? options.contents : nullptr);
  if (looks_inside) join_known_names(builder, *options.contents);
  if (left_ranks) join_alike_names(builder, nullptr);
  if (names == NamesThatMeet::or_content && options.contents != nullptr) {
    ASSAY_TRY_DO(join_by_content(builder, *options.contents, effort, remarks));
  }
  ASSAY_TRY_DO(check_cancelled());  // what the steps above found is not all there is
  if (ranks_in(builder, Side::mine).size() != ranks_in(builder, Side::golden).size())
    for (const Side side : {Side::mine, Side::golden}) note_lost_copies(builder, side, remarks);
  if (auto hint = hint_of_names(builder, names)) remarks.push_back(std::move(*hint));
  Pairing pairing = builder.finish();
  pairing.warnings = std::move(remarks);
  pairing.rearranges = names != NamesThatMeet::equal;
  return pairing;
}

// What names alone brought together.
struct Told {
  size_t by_own_names = 0, others = 0;  // pairs; names that are equal, but for wrappers and files
  size_t sure = 0;                      // of all pairs
  size_t alone[2] = {0, 0};

  // Where most names are the same on both sides, one that has no partner is likely a mistake, which a partner
  // that holds the same would hide.
  bool speak_one_language() const {
    const size_t left = std::min(alone[0], alone[1]);
    return left == 0 || 2 * by_own_names >= by_own_names + others + left;
  }
};

Told what_names_told(const Indexed& frames, const Pairing& pairing) {
  constexpr std::array kOwn = {Why::same_name, Why::same_stem,  Why::only_one_each, Why::renumbered,
                               Why::renamed,   Why::alike_name, Why::its_extremes};
  Told told;
  for (const PairedNode& node : pairing.nodes)
    for (const Pair& pair : node.pairs) {
      const Side side = pair.mine ? Side::mine : Side::golden;
      if (is_value(frames.item(side, pair.mine ? *pair.mine : *pair.golden))) continue;
      if (!pair.mine || !pair.golden) {
        ++told.alone[static_cast<size_t>(side)];
        continue;
      }
      ++(std::ranges::find(kOwn, pair.why) != kOwn.end() ? told.by_own_names : told.others);
      told.sure += pair.plans == nullptr || !pair.plans->is_unsure;
    }
  return told;
}

// Where the names of the two sides are of different systems, what tensors hold is all there is for those that
// are left, where it is sure of any pair. What it is unsure of throughout (norms of ones) is no reason to
// compare anything unasked; nor is it worth minutes, where thousands of small tensors are nearly alike.
Result<Pairing> match_by_name(const Indexed& frames, const MatchOptions& options) {
  constexpr int64_t kMostUnasked = 40'000'000;  // comparisons of sketches: a second or two
  Effort effort(kMostUnasked);
  ASSAY_TRY(Pairing by_names, match_names(frames, options, NamesThatMeet::alike, effort));
  if (options.contents == nullptr) return by_names;
  const Told told = what_names_told(frames, by_names);
  if (told.speak_one_language()) return by_names;
  ASSAY_TRY(Pairing by_content, match_names(frames, options, NamesThatMeet::or_content, effort));
  if (effort.is_spent()) {
    by_names.warnings.push_back(
        fmt::format("{}, and too many tensors are nearly alike to pair them unasked by what they hold; "
                    "--match content does, however long it takes",
                    told.by_own_names + told.others == 0 ? "no names meet" : "most names do not meet"));
    return by_names;
  }
  return what_names_told(frames, by_content).sure > told.sure ? std::move(by_content) : std::move(by_names);
}

Result<Pairing> match_by_exact_name(const Indexed& frames, const MatchOptions& options) {
  Effort effort = Effort::without_end();
  return match_names(frames, options, NamesThatMeet::equal, effort);
}

Result<Pairing> match_by_content(const Indexed& frames, const MatchOptions& options) {
  Effort effort = Effort::without_end();
  return match_names(frames, options, NamesThatMeet::or_content, effort);
}

}  // namespace

size_t suffix_length(std::string_view text) {
  const std::string lower = to_lower(text.substr(text.size() - std::min<size_t>(text.size(), 12)));
  for (const std::string_view suffix : kSuffixes)
    if (text.size() > suffix.size() && lower.ends_with(suffix)) return suffix.size();
  return 0;
}

size_t begin_in_file(std::string_view item_name) {
  for (size_t colon = item_name.find(':'); colon != std::string_view::npos;
       colon = item_name.find(':', colon + 1))
    if (suffix_length(item_name.substr(0, colon)) > 0) return colon + 1;
  return 0;
}

std::string stem_of(std::string_view item_name) {
  if (const size_t begin = begin_in_file(item_name); begin > 0) {
    const std::string_view file = item_name.substr(0, begin - 1);
    return std::string(file.substr(0, file.size() - suffix_length(file))) +
           std::string(item_name.substr(begin - 1));
  }
  return std::string(item_name.substr(0, item_name.size() - suffix_length(item_name)));
}

const Matcher name_matcher = {"name", sections_by_at, match_by_name, {.contents = true, .values = true}};
const Matcher exact_matcher = {"exact", sections_by_at, match_by_exact_name, {.values = true}};
const Matcher content_matcher = {
    "content", sections_by_at, match_by_content, {.contents = true, .values = true}};

}  // namespace assay
