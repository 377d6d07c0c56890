#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/compat/msprobe/communication.h"
#include "assay/compat/msprobe/files.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/report/cells.h"
#include "assay/support/json_tape.h"
#include "assay/support/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kLargestPercent = 50;  // of any of the four statistics of an output

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_ignored(std::string_view op) {
  return contains(op, "Torch.empty") || contains(op, "Torch.fill") || contains(op, "Tensor.__setitem__");
}

bool is_communication(std::string_view op) {
  if (!op.starts_with("Distributed") && !op.starts_with("MintDistributed") &&
      !op.starts_with("mindspore.communication"))
    return false;
  constexpr std::array<std::string_view, 7> kWords = {"send",   "recv",    "broadcast", "reduce",
                                                      "gather", "scatter", "all_to_all"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return contains(op, word); });
}

// Third token from the end: Tensor.MatMul.0.forward is MatMul. Nothing for shorter names.
std::string_view api_of(std::string_view op) {
  for (int i = 0; i < 2; ++i) {
    const size_t dot = op.rfind('.');
    if (dot == std::string_view::npos) return {};
    op = op.substr(0, dot);
  }
  const size_t dot = op.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : op.substr(dot + 1);
}

std::string_view state_name(Direction direction) {
  switch (direction) {
    case Direction::input:
      return "input";
    case Direction::output:
      return "output";
    case Direction::parameter:
      return "parameters";
    case Direction::parameter_gradient:
      return "parameters_grad";
    case Direction::none:
      break;
  }
  return "debug";
}

// JSON as Python writes it: bare NaN and Infinity.
void append_python_json(std::string& out, const Value& value) {
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr) return append_json(out, value);
  if (std::isfinite(*number))
    append_python_float(out, *number);
  else
    out += std::isnan(*number) ? "NaN" : *number > 0 ? "Infinity" : "-Infinity";
}

// step: by how much deeper the lines stand than what they belong to.
void append_lines(std::string& out, std::span<const std::string_view> lines, std::string_view indent,
                  std::string_view step) {
  out += "[";
  for (size_t i = 0; i < lines.size(); ++i) {
    out += fmt::format("{}\n{}{}\"", i == 0 ? "" : ",", indent, step);
    bool is_first_part = true;
    for (const std::string_view part : split(lines[i], '\n')) {
      std::string quoted;
      std::string words(part);
      std::replace(words.begin(), words.end(), '\t', ' ');
      append_json_text(quoted, words);
      out += std::exchange(is_first_part, false) ? "" : "\\n";
      out.append(quoted, 1, quoted.size() - 2);
    }
    out += '"';
  }
  out += fmt::format("\n{}]", indent);
}

std::string_view fact(const SideFacts& side, std::string_view key) {
  if (side.item != nullptr && side.item->facts != nullptr)
    for (const Fact& each : *side.item->facts)
      if (each.key == key)
        if (const auto* text = std::get_if<std::string>(&each.value)) return *text;
  return "None";
}

// A rank, or the word None.
void append_peer(std::string& out, const SideFacts& side) {
  const std::string_view peer = fact(side, "peer");
  if (parse_int(peer))
    out += peer;
  else
    append_json_text(out, peer);
}

// Before generation 3 judges its rows, which this search does not wait for, their words are these.
Value unjudged_word(const RowView& v) {
  if (v.row.golden.item == nullptr) return std::string("N/A");
  if (v.head.content != Content::checksums) return std::string();
  return std::string(printed_checksum(v.row.mine) == printed_checksum(v.row.golden) ? "pass" : "Different");
}

Value unjudged_message(const RowView& v) {
  const bool is_alone = v.row.golden.item == nullptr;
  if (v.head.content == Content::checksums && !is_alone) return std::numeric_limits<double>::quiet_NaN();
  std::string text = is_alone ? "No bench data matched." : "";
  if (v.head.content != Content::checksums && !grad_consistent(v.row)) text += "Requires_grad inconsistent. ";
  return text;
}

class FirstDifference : public Sink {
 public:
  FirstDifference(const MsprobeFiles& files, const Profile& profile, Generation generation)
      : files_(files), profile_(profile), generation_(generation) {}

  Result<void> begin(const Head& head) override {
    head_ = head;
    ASSAY_TRY_DO(make_folder(files_.folder, 0750));
    return {};
  }

  Result<void> open_section(const Head& head) override {
    head_ = head;
    columns_ = profile_.columns(head);
    if (generation_ == Generation::g3)
      for (Column& column : columns_) {
        if (column.title == "Result") column = {"Result", unjudged_word};
        if (column.title == "Err_message") column = {"Err_message", unjudged_message};
      }
    max_pct_ = MsprobeColumns(head, generation_).max_diff_pct;
    const std::string name =
        fmt::format("compare_result{}_{}.json", msprobe_suffix(head, true), local_stamp(head.now));
    ASSAY_TRY(FileWriter file, FileWriter::create(files_.folder / name, IfExists::number, 0640));
    file_.emplace(std::move(file));
    is_first_ = true;
    searching_ = true;
    talk_ = nullptr;
    return file_->append("{");
  }

  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }

  Result<void> write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) override {
    for (const NodeResult& node : nodes) {
      if (std::ranges::none_of(node.rows, [](const Comparison& row) { return row.mine.item != nullptr; }))
        continue;
      if (std::ranges::count(node.name, '.') < 3) continue;
      ASSAY_TRY_DO(file_->append(std::exchange(is_first_, false) ? "\n" : ",\n"));
      const bool same = is_same(node);
      ASSAY_TRY_DO(file_->append(render_node(section, node, same)));
      search(node, same);
    }
    return {};
  }

  Result<void> close_section(const Summary&) override {
    ASSAY_TRY_DO(file_->append(is_first_ ? "}" : "\n}"));
    ASSAY_TRY(fs::path path, file_->publish());
    log::info("Saving json file to disk: {}", display(path));
    published_.push_back(std::move(path));
    file_.reset();
    return {};
  }

  Result<void> end(const Summary&) override { return {}; }

  Result<std::vector<fs::path>> publish() override {
    if (found_.empty()) search_communication();
    if (found_.empty()) {
      log::info("Cannot find any diff node, no need to generate analyze file.");
      return published_;
    }
    const std::string name = fmt::format("diff_analyze_{}000000000.json", head_.now.seconds);
    ASSAY_TRY(FileWriter file, FileWriter::create(files_.folder / name, IfExists::number, 0640));
    ASSAY_TRY_DO(file.append(render_findings()));
    ASSAY_TRY(fs::path path, file.publish());
    log::info("The analyze result is saved in: {}", display(path));
    published_.push_back(std::move(path));
    return published_;
  }

 private:
  // Generation 2 asks inputs and parameters too, so that an operator may differ by what it was given.
  bool judges_outputs_only() const { return generation_ == Generation::g3; }

  bool is_same(const NodeResult& node) const {
    const bool is_attention =
        api_of(node.name) == "npu_fusion_attention";  // outputs 4 and 5 are random states
    int output = -1;
    for (const Comparison& row : node.rows) {
      if (row.mine.item == nullptr) continue;
      if (judges_outputs_only()) {
        if (direction_of(row) != Direction::output) continue;
        ++output;
        if (is_attention && (output == 4 || output == 5)) continue;
      }
      if (head_.content == Content::checksums) {
        if (row.golden.item != nullptr && printed_checksum(row.mine) != printed_checksum(row.golden))
          return false;
        continue;
      }
      for (int i = 0; i < 4; ++i)
        if (metric(row, max_pct_ + i).value_or(0) > kLargestPercent) return false;
    }
    return true;
  }

  std::string render_node(std::string_view section, const NodeResult& node, bool same) const {
    std::string out = "    ";
    append_json_text(out, node.name);
    out += fmt::format(": {{\n        \"is_same\": {},\n        \"op_items\": [", same);
    bool first = true;
    for (const Comparison& row : node.rows) {
      if (row.mine.item == nullptr) continue;
      out += std::exchange(first, false) ? "\n            {" : ",\n            {";
      const RowView view{head_, section, node, row};
      for (const Column& column : columns_) {
        out += fmt::format("\n                \"{}\": ", column.title);
        if (column.title == "NPU_Stack_Info" && row.pair.mine->item == 0 && !node.stack.empty())
          append_lines(out, node.stack, "                ", "    ");
        else
          append_python_json(out, cell_value(column, view));
        out += ',';
      }
      const auto text = [&](std::string_view key, std::string_view value) {
        out += fmt::format("\n                \"{}\": ", key);
        append_json_text(out, value);
        out += ',';
      };
      text("state", state_name(direction_of(row)));
      text("api_origin_name", node.name);
      text("NPU P2POp op", fact(row.mine, "op"));
      text("Bench P2POp op", fact(row.golden, "op"));
      out += "\n                \"NPU P2POp peer\": ";
      append_peer(out, row.mine);
      out += ",\n                \"Bench P2POp peer\": ";
      append_peer(out, row.golden);
      out += "\n            }";
    }
    return out + "\n        ]\n    }";
  }

  void search(const NodeResult& node, bool same) {
    const int rank = std::max(head_.at.rank, 0);
    if (talk_ != nullptr || (searching_ && is_communication(node.name))) {
      if (found_.empty()) follow(node, same, rank);
    } else if (searching_ && !same && !is_ignored(node.name)) {
      searching_ = false;
      found_.push_back({rank, render_finding(node)});
    }
  }

  // From its first communication on, a rank is kept for the walk through those of all ranks.
  void follow(const NodeResult& node, bool same, int rank) {
    if (talk_ == nullptr) {
      talk_ = &talks_[head_.at.step][rank];
      sub_layer_ = 0;
    }
    std::optional<Suspect>& differing = talk_->behind;  // so far; a communication takes it over
    if (is_communication(node.name)) {
      CommunicationOp& op = talk_->ops.emplace_back(communication(node));
      op.before = std::exchange(differing, std::nullopt);
      if (!same) op.itself = Suspect{sub_layer_, render_finding(node)};
      sub_layer_ = 0;
    } else if (!is_ignored(node.name)) {
      if (!same && !differing) differing = Suspect{sub_layer_, render_finding(node)};
      ++sub_layer_;
    }
  }

  CommunicationOp communication(const NodeResult& node) const {
    CommunicationOp op;
    op.name = node.name;
    for (const Comparison& row : node.rows) {
      if (row.mine.item == nullptr || direction_of(row) != Direction::input) continue;
      const Stated& stated = stated_of(row.mine);
      const std::string said = head_.content == Content::checksums
                                   ? std::string(stated.checksum)
                                   : std::string(stated.max.text().value_or(""));
      const bool has_source = contains(row.mine.name, "src"),
                 has_destination = contains(row.mine.name, "dst");
      op.has_source |= has_source;
      op.has_destination |= has_destination;
      std::string numbers = std::string(fact(row.mine, "peer"));
      if (has_source || has_destination)
        numbers = said == "0" ? "" : said;
      else if (row.mine.name.ends_with(".group"))
        numbers = said;
      for (char& c : numbers)
        if (c == '[' || c == ']') c = ' ';
      for (const std::string_view part : split(numbers, ','))
        if (const auto number = parse_int(trim(part))) op.ranks.insert(static_cast<int>(*number));
    }
    return op;
  }

  void search_communication() {
    log::info("Start searching diff node during communication.");
    const auto search_by = [&](auto&& find) {
      for (const auto& [step, ranks] : talks_)
        if (found_.empty()) found_ = find(ranks);
    };
    search_by(find_at_communication);
    if (!found_.empty()) return;
    log::info("Start searching diff node after communication.");
    search_by(find_behind_communication);
  }

  std::string render_findings() const {
    std::string out = "{";
    std::vector<int> ranks;
    for (const Found& found : found_)
      if (std::ranges::find(ranks, found.rank) == ranks.end()) ranks.push_back(found.rank);
    for (const int rank : ranks) {
      out += fmt::format("{}\n  \"rank_{}\": [", rank == ranks.front() ? "" : ",", rank);
      bool first = true;
      for (const Found& found : found_)
        if (found.rank == rank) out += (std::exchange(first, false) ? "\n" : ",\n") + found.text;
      out += "\n  ]";
    }
    return out + "\n}";
  }

  std::string render_finding(const NodeResult& node) const {
    std::string out = "    {\n      \"op_name\": ";
    append_json_text(out, node.name);
    out += ",\n      \"data_info\": {";
    bool is_first_side = true;
    for (const Direction direction : {Direction::input, Direction::output}) {
      out += fmt::format("{}\n        \"{}\": {{", std::exchange(is_first_side, false) ? "" : ",",
                         state_name(direction));
      bool first = true;
      for (const Comparison& row : node.rows) {
        if (row.mine.item == nullptr || direction_of(row) != direction) continue;
        out += std::exchange(first, false) ? "\n          " : ",\n          ";
        append_json_text(out, row.mine.name);
        out += ": {";
        bool first_fact = true;
        for (const Column& column : columns_)
          if (column.title == "NPU MD5" || column.title == "NPU max" || column.title == "NPU min" ||
              column.title == "NPU mean" || column.title == "NPU l2norm") {
            out += fmt::format("{}\n            \"{}\": ", std::exchange(first_fact, false) ? "" : ",",
                               column.title);
            append_python_json(out, cell_value(column, RowView{head_, {}, node, row}));
          }
        out += ",\n            \"NPU P2POp peer\": ";
        append_peer(out, row.mine);
        out += "\n          }";
      }
      out += first ? "}" : "\n        }";
    }
    out += "\n      },\n      \"stack_info\": ";
    if (node.stack.empty())
      out += "null";
    else
      append_lines(out, node.stack, "      ", "  ");
    return out + "\n    }";
  }

  const MsprobeFiles files_;
  const Profile profile_;
  const Generation generation_;
  Head head_;
  std::vector<Column> columns_;
  int max_pct_ = -1;
  std::optional<FileWriter> file_;
  bool is_first_ = true, searching_ = true;
  std::map<int, std::map<int, CommunicatingRank>> talks_;  // by step and rank
  CommunicatingRank* talk_ = nullptr;                      // of this rank, from its first communication on
  int sub_layer_ = 0;
  std::vector<Found> found_;
  std::vector<fs::path> published_;
};

}  // namespace

std::unique_ptr<Sink> msprobe_first_difference(const MsprobeFiles& files, const Profile& profile,
                                               Generation generation) {
  return std::make_unique<FirstDifference>(files, profile, generation);
}

}  // namespace assay
