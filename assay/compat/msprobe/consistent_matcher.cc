#include "assay/compat/msprobe/consistent_matcher.h"

#include "assay/base/text.h"
#include "assay/compat/msprobe/module_key.h"
#include "assay/match/frames.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

namespace assay {
namespace {

struct Line {
  ItemId id;
  std::string_view name, entry;
  std::string key;
};

// A row of the table: places in the lists of both sides.
struct Group {
  std::vector<size_t> mine, golden;
};

constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

size_t first_of(const std::vector<size_t>& lines) { return lines.empty() ? kNowhere : lines.front(); }

std::vector<Line> list_lines(const std::vector<Frame>& frames, Side side, TrainingBackend backend) {
  std::vector<Line> lines;
  for (size_t f = 0; f < frames.size(); ++f) {
    ModuleKeys keys(side, backend);
    for (size_t n = 0; n < frames[f].nodes.size(); ++n) {
      const Node& node = frames[f].nodes[n];
      const auto module = keys.next(node.name);
      if (!module) continue;
      for (size_t i = 0; i < node.items.size(); ++i) {
        const std::string_view name = node.items[i].name;
        const std::string_view suffix = name.starts_with(node.name) ? name.substr(node.name.size()) : name;
        ItemId id;
        id.frame = static_cast<decltype(id.frame)>(f);
        id.node = static_cast<int32_t>(n);
        id.item = static_cast<int32_t>(i);
        lines.push_back({id, name, node.name, fmt::format("{}\n{}", *module, suffix)});
      }
    }
  }
  return lines;
}

// Every line of the side that is whole gets all those of the other that have its key.
Result<std::vector<Group>> group_lines(const std::vector<Line>& mine, const std::vector<Line>& golden,
                                       TrainingBackend backend) {
  const bool joins_mine = backend == TrainingBackend::fsdp;
  const std::vector<Line>&whole = joins_mine ? golden : mine, &parts = joins_mine ? mine : golden;
  std::unordered_map<std::string_view, std::vector<size_t>> by_key;
  for (size_t i = 0; i < parts.size(); ++i) by_key[parts[i].key].push_back(i);
  std::vector<Group> groups;
  std::vector<bool> has_group(parts.size());
  const auto add = [&](std::vector<size_t> of_whole, std::vector<size_t> of_parts) {
    groups.push_back(joins_mine ? Group{std::move(of_parts), std::move(of_whole)}
                                : Group{std::move(of_whole), std::move(of_parts)});
  };
  // One module against a thousand is no model: names that repeat must not multiply.
  const size_t most = 1'000'000 + 8 * (mine.size() + golden.size());
  size_t joined = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    const auto found = by_key.find(whole[i].key);
    joined += found == by_key.end() ? 0 : found->second.size();
    if (joined > most)
      return fail(ErrorKind::limit, "modules repeat so often that more than {} would be joined; '{}' fits {}",
                  most, printable(whole[i].name), found->second.size());
    add({i}, found == by_key.end() ? std::vector<size_t>() : found->second);
    if (found != by_key.end())
      for (const size_t part : found->second) has_group[part] = true;
  }
  for (size_t i = 0; i < parts.size(); ++i)
    if (!has_group[i]) add({}, {i});
  return groups;
}

// In the order of both sides at once; nothing where there is none.
std::optional<std::vector<Group>> in_both_orders(std::vector<Group> groups) {
  const auto sorted_by = [&](std::vector<size_t> Group::*side) {
    std::vector<size_t> order(groups.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return first_of(groups[i].*side); });
    return order;
  };
  const std::vector<size_t> by_mine = sorted_by(&Group::mine), by_golden = sorted_by(&Group::golden);
  std::vector<bool> is_used(groups.size());
  std::vector<Group> out;
  for (size_t m = 0, g = 0; out.size() < groups.size();) {
    while (is_used[by_mine[m]]) ++m;
    while (is_used[by_golden[g]]) ++g;
    const auto fits = [&](size_t i) {
      return (groups[i].mine.empty() || i == by_mine[m]) && (groups[i].golden.empty() || i == by_golden[g]);
    };
    const size_t next = fits(by_mine[m]) ? by_mine[m] : by_golden[g];
    if (!fits(next)) return std::nullopt;
    is_used[next] = true;
    out.push_back(std::move(groups[next]));
  }
  return out;
}

// The table has reals where a dump has whole numbers, and words where it has neither.
Scalar as_written(const Scalar& scalar) {
  if (const auto truth = scalar.boolean()) return *truth ? "True" : "False";
  if (scalar.is_absent()) return "None";
  if (scalar.text()) return scalar;
  return number_of(scalar).value_or(0);
}

// What is shown of the tensors of a group.
class Joiner {
 public:
  Joiner(std::vector<Frame>& frames, std::string_view separator) : frames_(frames), separator_(separator) {}

  ItemId add(const std::vector<const Line*>& lines) {
    Frame& frame = frames_[0];
    Item item;
    Stated stated;
    if (lines.empty()) {
      item.name = stated.dtype = stated.shape = stated.requires_grad = stated.data_name = kNoModule;
      stated.max = stated.min = stated.mean = stated.norm = kNoModule;
      stated.given = Given::nothing;
    } else {
      item = item_of(*lines[0]);
      if (item.stated != nullptr) stated = *item.stated;
      for (const StatisticName& each : kStatistics) stated.*each.of = as_written(stated.*each.of);
      if (lines.size() > 1) join(lines, item, stated);
    }
    item.stated = &frame.stated.emplace_back(stated);
    // What stands together in a dump does so here, since the first item of an entry shows its stack.
    std::optional<size_t>& place = lines.empty() ? of_nothing_ : of_entry_;
    const std::string_view entry = lines.empty() ? kNoModule : lines[0]->entry;
    if (!place || frame.nodes[*place].name != entry) {
      place = frame.nodes.size();
      frame.nodes.emplace_back().name = entry;
    }
    std::vector<Item>& items = frame.nodes[*place].items;
    items.push_back(item);
    ItemId id;
    id.node = static_cast<int32_t>(*place);
    id.item = static_cast<int32_t>(items.size() - 1);
    return id;
  }

  const Item& item_of(const Line& line) const {
    return frames_[static_cast<size_t>(line.id.frame)]
        .nodes[static_cast<size_t>(line.id.node)]
        .items[static_cast<size_t>(line.id.item)];
  }

 private:
  void join(const std::vector<const Line*>& lines, Item& item, Stated& joined) {
    std::vector<std::string> names, dtypes, shapes, files, means, norms;
    std::optional<double> max, min;
    for (const Line* const line : lines) {
      const Item& part = item_of(*line);
      const Stated stated = part.stated == nullptr ? Stated() : *part.stated;
      names.emplace_back(line->name);
      dtypes.emplace_back(stated.dtype);
      shapes.emplace_back(stated.shape);
      files.emplace_back(stated.data_name);
      means.push_back(in_python(as_written(stated.mean)));
      norms.push_back(in_python(as_written(stated.norm)));
      if (const auto number = as_written(stated.max).real(); number && (!max || *number > *max)) max = number;
      if (const auto number = as_written(stated.min).real(); number && (!min || *number < *min)) min = number;
    }
    StringPool& strings = frames_[0].strings;
    const auto keep = [&](const std::vector<std::string>& texts, std::string_view between) {
      return strings.keep(fmt::format("{}", fmt::join(texts, between)));
    };
    item.name = keep(names, separator_);
    joined.dtype = keep(dtypes, ";");
    joined.shape = keep(shapes, ";");
    joined.data_name = keep(files, ";");
    joined.mean = keep(means, ";");
    joined.norm = keep(norms, ";");
    joined.max = max ? Scalar(*max) : Scalar("None");
    joined.min = min ? Scalar(*min) : Scalar("None");
  }

  static std::string in_python(const Scalar& scalar) {
    if (const auto text = scalar.text()) return std::string(*text);
    std::string out;
    append_python_float(out, scalar.real().value_or(0));
    return out;
  }

  std::vector<Frame>& frames_;
  const std::string_view separator_;
  std::optional<size_t> of_entry_, of_nothing_;  // the nodes that were added to last
};

// Which dimension the original joins along, which drops those of size 1 first: the first of parameters, the
// second of results. Nothing where there is none.
std::optional<int64_t> joined_dimension(const Item& part, bool is_parameter) {
  if (part.meta == nullptr) return std::nullopt;
  const std::vector<int64_t>& dims = part.meta->shape.dims;
  size_t left = is_parameter ? 0 : 1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1 && left-- == 0) return static_cast<int64_t>(i);
  return std::nullopt;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class Regrouping {
 public:
  Regrouping(TrainingBackend backend, std::string_view separator)
      : backend_(backend), separator_(separator) {}

  Result<void> regroup(Indexed& frames) {
    pairing_ = {};
    if (frames.mine.empty() || frames.golden.empty()) return {};
    for (const Side side : {Side::mine, Side::golden})
      for (const Frame& frame : frames.frames(side))
        if (frame.content == Content::checksums)
          return fail(ErrorKind::bad_argument,
                      "--consistent_check joins tensors, of which checksums tell nothing; dump statistics or "
                      "tensors");
    const std::vector<Line> mine = list_lines(frames.mine, Side::mine, backend_),
                            golden = list_lines(frames.golden, Side::golden, backend_);
    ASSAY_TRY(std::vector<Group> grouped, group_lines(mine, golden, backend_));
    const auto ordered = in_both_orders(std::move(grouped));
    if (!ordered)
      return fail(ErrorKind::bad_format,
                  "the modules of target and golden ran in different orders: no order of rows follows both; "
                  "-dm FILE pairs them one by one");
    const std::vector<Group>& groups = *ordered;
    // What only golden has stands with the module of mine that the rest of its own does.
    std::unordered_map<std::string_view, std::string_view> entry_of;
    for (const Group& group : groups)
      if (!group.mine.empty() && !group.golden.empty())
        entry_of[golden[group.golden[0]].entry] = mine[group.mine[0]].entry;
    Joiner of_mine(frames.mine, separator_), of_golden(frames.golden, separator_);
    for (const Group& group : groups) {
      const auto lines = [](const std::vector<Line>& all, const std::vector<size_t>& places) {
        std::vector<const Line*> out;
        for (const size_t place : places) out.push_back(&all[place]);
        return out;
      };
      const std::vector<const Line*> m = lines(mine, group.mine), g = lines(golden, group.golden);
      std::string_view entry = m.empty() ? g[0]->entry : m[0]->entry;
      if (const auto known = entry_of.find(entry); m.empty() && known != entry_of.end())
        entry = known->second;
      if (pairing_.nodes.empty() || pairing_.nodes.back().name != entry)
        pairing_.nodes.push_back({entry, std::ssize(pairing_.nodes), {}});
      if (!m.empty() && m[0]->id.item == 0)
        pairing_.nodes.back().stack = frames.node(Side::mine, m[0]->id).stack;
      Pair pair{of_mine.add(m), std::nullopt, Why::known_name};
      if (!g.empty()) pair.golden = of_golden.add(g);
      PairPlans plans;
      if (m.size() > 1) plans.mine = plan_of(Side::mine, m, of_mine, *pair.mine, frames.mine);
      if (g.size() > 1) plans.golden = plan_of(Side::golden, g, of_golden, *pair.golden, frames.golden);
      plans.note = what_is_not_read(m, g, frames);
      if (!plans.is_empty()) pair.plans = &pairing_.plans.emplace_back(std::move(plans));
      pairing_.nodes.back().pairs.push_back(pair);
    }
    return {};
  }

  Pairing take() { return std::move(pairing_); }

 private:
  // The original takes the first of several inputs for all of them.
  static std::string what_is_not_read(const std::vector<const Line*>& mine,
                                      const std::vector<const Line*>& golden, const Indexed& frames) {
    for (const Side side : {Side::mine, Side::golden}) {
      const std::vector<const Line*>& lines = side == Side::mine ? mine : golden;
      if (lines.size() < 2 || !contains(lines[0]->name, ".input.") || !frames.item(side, lines[0]->id).data)
        continue;
      return fmt::format("of {} inputs of {} only the first was read, as msprobe does", lines.size(),
                         name_of(side));
    }
    return {};
  }

  // The tensors of a group as the original reads them: of inputs the first, which stands for the others.
  Plan plan_of(Side side, const std::vector<const Line*>& lines, const Joiner& joiner, const ItemId& shown,
               std::vector<Frame>& frames) const {
    Item& item = frames[0].nodes[static_cast<size_t>(shown.node)].items[static_cast<size_t>(shown.item)];
    if (!item.data) return {};
    const std::string_view files = item.stated->data_name;
    const bool is_known = backend_ == TrainingBackend::fsdp
                              ? contains(files, ".q_proj.") || contains(files, ".gate_proj.")
                              : contains(files, ".gate_up_proj.");
    if (is_known && contains(files, ".input.")) return {};
    for (const Line* const line : lines)
      if (const Item& part = joiner.item_of(*line); !part.data) {
        item.data.reset();
        item.trouble = part.trouble.empty()
                           ? frames[0].strings.keep(fmt::format("{}: has no data", line->name))
                           : part.trouble;
        return {};
      }
    const auto dimension = joined_dimension(joiner.item_of(*lines[0]), contains(files, ".parameters."));
    if (!is_known || !dimension) {
      item.data.reset();
      item.trouble = frames[0].strings.keep(
          fmt::format("{}: several files stand for one tensor, and nothing says how they are joined", files));
      return {};
    }
    std::vector<ItemId> parts = {shown};
    for (size_t i = 1; i < lines.size(); ++i) parts.push_back(lines[i]->id);
    return joined_from(side, parts, *dimension);
  }

  const TrainingBackend backend_;
  const std::string separator_;
  Pairing pairing_;
};

}  // namespace

std::shared_ptr<const Matcher> consistent_matcher(TrainingBackend backend, std::string_view separator) {
  const auto regrouping = std::make_shared<Regrouping>(backend, separator);
  Matcher matcher;
  matcher.name = "consistent";
  matcher.sections = sections_by_at;
  matcher.regroup = [regrouping](Indexed& frames) { return regrouping->regroup(frames); };
  matcher.match = [regrouping](const Indexed&, const MatchOptions&) -> Result<Pairing> {
    return regrouping->take();
  };
  return std::make_shared<const Matcher>(std::move(matcher));
}

}  // namespace assay
