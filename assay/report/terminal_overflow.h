// What a person reads of tensors that were looked at by themselves: which operator made the first number that
// is not finite, who has such numbers too, and what is close to the ends of its type.
#pragma once

#include "assay/report/terminal.h"

namespace assay {

class OverflowView : public TerminalView {
 public:
  void begin(const Head& head) override { head_ = head; }
  void add(std::string_view section, std::span<const NodeResult> nodes) override;
  std::string text(const Summary& summary, std::span<const fs::path> files) const override;

 private:
  struct Kept {
    double weight = 0;  // the larger, the more it is worth showing
    std::string name;
    Level level = Level::pass;
    std::string type;  // "f16 [2, 3]"
    NumberRange range;
    std::string reason;
  };
  static std::string name_of(std::string_view section, const NodeResult& node, const Comparison& row);
  std::string origin(const Summary& summary) const;
  std::string not_finite() const;
  std::string risks() const;
  std::string not_looked_at() const;

  Head head_;
  std::vector<Kept> bad_;  // in order: the first that did not pass
  int64_t bad_rows_ = 0;
  std::vector<Kept> near_max_, subnormal_;  // the worst of each, worst first
  int64_t near_max_rows_ = 0, subnormal_rows_ = 0, rows_of_reals_ = 0;
  std::vector<std::string> unseen_;  // names of the first few that were not looked at
  int64_t unseen_rows_ = 0;
  std::string unseen_reason_;
};

}  // namespace assay
