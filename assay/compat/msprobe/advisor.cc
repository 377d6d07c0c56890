#include "assay/base/console.h"
#include "assay/base/file.h"
#include "assay/compat/msprobe/files.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/compat/msprobe/row.h"
#include "assay/report/verdict_sentence.h"
#include "assay/support/log.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace assay {
namespace {

constexpr std::string_view kForwardInput =
    "1. Analyze the model to view the input source.\n2. Check whether an inplace API causes the output "
    "result to "
    "overwrite the input result. That is, the fault is actually caused by a computation error.\n3. The fault "
    "may be "
    "caused by memory corruption and further analysis is required.";
constexpr std::string_view kForwardOutput =
    "This is a forward API computation error. Check the computation implementation.";
constexpr std::string_view kBackwardInput = "Check whether the forward computation result is affected.";
constexpr std::string_view kBackwardOutput =
    "This is a backward API computation error. Check the computation implementation.";
constexpr std::string_view kDeterministic =
    "This torch api may be uncertainty in the calculation, can seed_all(mode=True) to enable deterministic "
    "computing.";
constexpr std::string_view kAllWell = "All data in comparison result meets the accuracy requirements.";
// APIs whose results vary from run to run.
constexpr std::array<std::string_view, 6> kUncertain = {"conv2d",   "conv3d",     "matmul",
                                                        "nll_loss", "layer_norm", "lstm"};

std::string_view advice_for(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const bool forward = has("forward");
  if (has("input")) return forward ? kForwardInput : kBackwardInput;
  for (const std::string_view api : kUncertain)
    if (has(api)) return kDeterministic;
  return forward ? kForwardOutput : kBackwardOutput;
}

bool is_nonfinite(const Scalar& scalar) {
  const auto number = number_of(scalar);
  return number && !std::isfinite(*number);
}

bool has_new_nonfinite(const Comparison& row) {
  const Stated &mine = stated_of(row.mine), &golden = stated_of(row.golden);
  return row.golden.item != nullptr && (is_nonfinite(mine.max) || is_nonfinite(mine.min)) &&
         !is_nonfinite(golden.max) && !is_nonfinite(golden.min);
}

class Advisor : public Sink {
 public:
  Advisor(const MsprobeFiles& files, const Profile& table) : files_(files), table_(table) {}

  Result<void> begin(const Head& head) override {
    head_ = head;
    return {};
  }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }

  Result<void> write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) override {
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows) {
        if (!table_.keeps(RowView{head_, section, node, row})) continue;
        if (row.verdict.word == "Unmatched") unmatched_.emplace_back(row.mine.name);
        const bool fails =
            row.verdict.word == "No" || row.verdict.word == "Warning" || row.verdict.word == "Different";
        if (fails && first_line_ < 0) {
          first_line_ = line_;
          first_name_ = row.mine.name;
        }
        if (!fails && has_new_nonfinite(row) && nonfinite_++ == 0) first_nonfinite_ = row.mine.name;
        ++line_;
      }
    return {};
  }

  Result<void> end(const Summary& summary) override {
    log::info("Start analyzing the comparison result: {}", head_.content == Content::data         ? "all"
                                                           : head_.content == Content::statistics ? "summary"
                                                                                                  : "md5");
    if (head_.content == Content::data)
      for (const std::string& name : unmatched_)
        log::warn("The tensor name matches but the shape or dtype does not match: {}", name);
    const bool found = first_line_ >= 0;
    if (found)
      log::warn("Find {} accuracy not reached, the line is {}", first_name_, first_line_);
    else
      log::info("All data from api input/output accuracy reached");
    std::vector<std::string> lines = {
        fmt::format("Line: {}", found ? fmt::format("{}", first_line_) : "NA"),
        fmt::format("Suspect Nodes: {}", found ? printable(first_name_) : "NA"),
        fmt::format("Expert Advice: {}", found ? advice_for(first_name_) : kAllWell)};
    // Assay's own, and last: scripts count on the lines above. The suspect row may have been handed its
    // difference; this node was not.
    if (const auto& origin = summary.first_origin)
      lines.push_back(
          format_shown("First node whose {}inputs reach accuracy and whose output does not: {}{}{}",
                       origin->not_compared.empty() ? "" : "compared ", origin->node,
                       origin->called_at.empty() ? "" : ", called at ", origin->called_at));
    // The original takes what it could not compare, and NaN, for reached.
    if (answer_of(summary) == Answer::not_compared) lines.push_back(not_enough_sentence(summary).text());
    if (nonfinite_ > 0)
      lines.push_back(format_shown("NaN or Inf in {} of NPU where Bench has none, the first: {}",
                                   nonfinite_ == 1 ? "1 tensor" : fmt::format("{} tensors", nonfinite_),
                                   first_nonfinite_));
    log::info("The summary of the expert advice is as follows: ");
    std::string text;
    for (const std::string& line : lines) {
      log::info("{}", line);
      text += line + '\n';
    }
    const std::string name =
        fmt::format("advisor{}_{}.txt", msprobe_suffix(head_, files_.per_rank, files_.both_ranks),
                    local_stamp(head_.now));
    ASSAY_TRY_DO(make_folder(files_.folder, 0750));
    ASSAY_TRY(FileWriter file, FileWriter::create(files_.folder / name, IfExists::number, 0640));
    ASSAY_TRY_DO(file.append(text));
    file_.emplace(std::move(file));
    return {};
  }

  Result<std::vector<fs::path>> publish() override {
    ASSAY_TRY(fs::path path, file_->publish());
    log::info("The advisor summary is saved in: {}", display(path));
    return std::vector{std::move(path)};
  }

 private:
  const MsprobeFiles files_;
  const Profile& table_;
  Head head_;
  int64_t line_ = 0, first_line_ = -1, nonfinite_ = 0;
  std::string first_name_, first_nonfinite_;
  std::vector<std::string> unmatched_;
  std::optional<FileWriter> file_;
};

}  // namespace

std::unique_ptr<Sink> msprobe_advisor(const MsprobeFiles& files, const Profile& table) {
  return std::make_unique<Advisor>(files, table);
}

}  // namespace assay
