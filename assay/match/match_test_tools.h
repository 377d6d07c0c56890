// Frames and pairings as short texts, for the tests of the matchers.
#pragma once

#include "assay/match/matcher.h"
#include "assay/model/trace.h"
#include "assay/support/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace assay {

using Texts = std::vector<std::string>;

struct TestItem {
  std::string name;  // of an item, whole
  std::string dtype = "Float32", shape = "[2, 3]";
};

struct TestEntry {
  std::string name;
  std::vector<TestItem> rows = {};
  std::string parent = {};
  Texts stack = {};
};

inline Frame make_frame(const std::vector<TestEntry>& entries, std::string framework = {}) {
  Frame frame;
  frame.framework = std::move(framework);
  for (const TestEntry& entry : entries) {
    Node& node = frame.nodes.emplace_back();
    node.name = frame.strings.keep(entry.name);
    std::vector<std::string_view>& stack = frame.stacks.emplace_back();
    for (const std::string& line : entry.stack) stack.push_back(frame.strings.keep(line));
    node.stack = stack;
    for (const TestItem& row : entry.rows) {
      Stated& stated = frame.stated.emplace_back();
      stated.dtype = frame.strings.keep(row.dtype);
      stated.shape = frame.strings.keep(row.shape);
      Item& item = node.items.emplace_back();
      item.name = frame.strings.keep(row.name);
      item.stated = &stated;
    }
  }
  if (std::ranges::all_of(entries, [](const TestEntry& entry) { return entry.parent.empty(); })) return frame;
  TraceBuilder trace(frame, [](const Node& node) { return kind_of_entry(node.name); });
  for (const TestEntry& entry : entries)
    if (!entry.parent.empty()) trace.set_parent(entry.name, entry.parent);
  trace.finish();
  return frame;
}

// An entry whose items are named by what follows its own name: {"Torch.add.0.forward", {".input.0"}}.
inline TestEntry entry_of(const std::string& name, const Texts& rests = {".input.0", ".output.0"},
                          const std::string& shape = "[2, 3]", const std::string& dtype = "Float32") {
  TestEntry entry{name};
  for (const std::string& rest : rests) entry.rows.push_back({name + rest, dtype, shape});
  return entry;
}

inline Matched match_frames(const Matcher& matcher, Frame mine, Frame golden, const MatchOptions& options) {
  Matched matched;
  matched.frames.mine.push_back(std::move(mine));
  matched.frames.golden.push_back(std::move(golden));
  auto pairing = matcher.match(matched.frames, options);
  EXPECT_TRUE(pairing) << pairing.error().message;
  if (pairing) matched.pairing = std::move(*pairing);
  return matched;
}

// The warnings of a match.
inline Texts warnings_of(const Matcher& matcher, Frame mine, Frame golden, const MatchOptions& options) {
  Texts warnings;
  log::set_writer([&](log::Level level, std::string_view text) {
    if (level == log::Level::warn) warnings.emplace_back(text);
  });
  match_frames(matcher, std::move(mine), std::move(golden), options);
  log::set_writer({});
  return warnings;
}

// "mine|golden" per pair, in report order; "-" for an empty side.
inline Texts pairs_of(const Matched& matched) {
  Texts out;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) {
      std::string text(pair.mine ? matched.item(Side::mine, *pair.mine).name : "-");
      text += "|";
      text += pair.golden ? matched.item(Side::golden, *pair.golden).name : "-";
      EXPECT_EQ(pair.why >= Why::nothing_fits, !pair.mine || !pair.golden) << text;
      out.push_back(text);
    }
  return out;
}

// The reasons of the pairs that have an item of mine.
inline std::vector<Why> reasons_of(const Matched& matched) {
  std::vector<Why> out;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs)
      if (pair.mine) out.push_back(pair.why);
  return out;
}

// "join(q, k, v; 0) weight(1, 0)": the steps of a plan over the names of its items, "#1" for the result of
// the first step; "as it stands" where there is none.
inline std::string plan_text(const Matched& matched, const Plan* plan) {
  if (plan == nullptr) return "as it stands";
  static constexpr const char* kNames[] = {
      "cut",           "join",       "weight",    "add_ranks", "unstack", "angles", "last_angles",
      "single_angles", "dequantise", "rescale",   "extremes",  "view",    "concat", "reshape",
      "golden",        "unpad",      "last_rows", "part",      "experts"};
  std::string text;
  for (const PlanStep& step : plan->steps) {
    text += text.empty() ? "" : " ";
    text += kNames[static_cast<size_t>(step.op)];
    std::string separator = "(";
    for (const int32_t operand : step.in) {
      const auto number = static_cast<size_t>(operand);
      text += std::exchange(separator, ", ");
      text += number < plan->from.size()
                  ? std::string(matched.item(plan->from[number].side, plan->from[number].item).name)
                  : fmt::format("#{}", number - plan->from.size() + 1);
    }
    separator = "; ";
    for (const int64_t arg : step.args) text += std::exchange(separator, ", ") + std::to_string(arg);
    text += ")";
  }
  return text;
}

// Of the first pair of these two; "no pair" where there is none.
inline std::string plan_of(const Matched& matched, Side side, std::string_view mine,
                           std::string_view golden) {
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs)
      if (pair.mine && pair.golden && matched.item(Side::mine, *pair.mine).name == mine &&
          matched.item(pair.golden_side(), *pair.golden).name == golden)
        return plan_text(matched, pair.plan(side));
  return "no pair";
}

}  // namespace assay
