#include "assay/match/ops/torch_partners.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

constexpr int64_t kRowsOut = 0;  // weights of torch are [out, in]

// "experts.0.w1/output.pth" to "experts.3.w1/output.pth" are experts.{0..3}.w1/output.pth, or {0,3} where
// these are all.
std::string name_of_all(const std::vector<std::string_view>& names) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::string_view first = names.front(), last = names.back();
  size_t begin = 0;
  while (begin < first.size() && begin < last.size() && first[begin] == last[begin]) ++begin;
  while (begin > 0 && is_digit(first[begin - 1])) --begin;
  std::vector<std::string_view> numbers;
  bool follow_each_other = true;
  for (const std::string_view name : names) {
    size_t end = begin;
    while (end < name.size() && is_digit(name[end])) ++end;
    const std::string_view number = name.substr(begin, end - begin);
    if (!numbers.empty())
      follow_each_other &= parse_int(number).value_or(0) == parse_int(numbers.back()).value_or(0) + 1;
    numbers.push_back(number);
  }
  if (names.size() == 1) return std::string(first);
  const std::string all = follow_each_other ? fmt::format("{}..{}", numbers.front(), numbers.back())
                                            : fmt::format("{}", fmt::join(numbers, ","));
  return fmt::format("{}{{{}}}{}", first.substr(0, begin), all, first.substr(begin + numbers[0].size()));
}

class TorchPlan {
 public:
  TorchPlan(const PairingBuilder& builder, Side side, const Partners& partners)
      : builder_(builder), side_(side), partners_(partners) {
    for (const size_t position : partners.positions) plan_.from.push_back(source(position));
  }

  Plan run() {
    const int64_t dimension = partners_.weight ? kRowsOut : kLastDimension;
    if (partners_.experts)
      lay_out_experts();
    else if (partners_.fused)
      take_parts(*partners_.fused);
    else if (partners_.positions.size() > 1)
      join(dimension);
    if (partners_.last_rows > 0) plan_.add(PlanOp::last_rows, {partners_.last_rows});
    if (partners_.angles)
      plan_.add_with(PlanOp::angles,
                     {{other_side(side_), builder_.items(other_side(side_))[partners_.angles->lengths]}},
                     {partners_.angles->are_sines, partners_.angles->rows});
    if (partners_.weight)
      plan_.add(PlanOp::weight, {partners_.weight->is_projection, partners_.weight->is_transposed});
    return std::move(plan_);
  }

 private:
  PlanSource source(size_t position) const { return {side_, builder_.items(side_)[position]}; }
  std::string_view name(size_t i) const { return builder_.name(side_, partners_.positions[i]); }

  void join(int64_t dimension) {
    PlanStep step{PlanOp::join, {}, {dimension}};
    for (size_t i = 0; i < partners_.positions.size(); ++i) {
      step.in.push_back(static_cast<int32_t>(i));
      plan_.name += plan_.name.empty() ? "" : " + ";
      plan_.name += name(i);
    }
    plan_.steps.push_back(std::move(step));
  }

  void take_parts(const FusedParts& fused) {
    PlanStep joined{PlanOp::join, {}, {fused.dimension}};
    for (int part = 0; part < static_cast<int>(fused.widths.size()); ++part) {
      if (fused.which >= 0 && fused.which != part) continue;
      PlanStep step{PlanOp::part, {0}, {part, fused.dimension, fused.ranks, fused.heads}};
      step.args.insert(step.args.end(), fused.widths.begin(), fused.widths.end());
      plan_.steps.push_back(std::move(step));
      joined.in.push_back(plan_.last());
    }
    if (joined.in.size() > 1) plan_.steps.push_back(std::move(joined));
  }

  void lay_out_experts() {
    const RowsOfExperts& rows = *partners_.experts;
    const size_t groups = partners_.positions.size() / rows.experts;
    std::vector<int32_t> witnesses;
    if (rows.all) {
      for (const size_t each : rows.inputs) add_witness(each, witnesses);
      add_witness(*rows.all, witnesses);
    }
    PlanStep joined{PlanOp::join, {}, {kLastDimension}};
    for (size_t group = 0; group < groups; ++group) {
      PlanStep step{PlanOp::experts, {}, {static_cast<int64_t>(rows.experts)}};
      std::vector<std::string_view> names;
      for (size_t i = 0; i < rows.experts; ++i) {
        step.in.push_back(static_cast<int32_t>(group * rows.experts + i));
        names.push_back(name(group * rows.experts + i));
      }
      step.in.insert(step.in.end(), witnesses.begin(), witnesses.end());
      plan_.steps.push_back(std::move(step));
      joined.in.push_back(plan_.last());
      plan_.name += group == 0 ? "" : " + ";
      plan_.name += name_of_all(names);
    }
    if (groups > 1) plan_.steps.push_back(std::move(joined));
  }

  // Sources come first, so that these are added before any step is.
  void add_witness(size_t position, std::vector<int32_t>& witnesses) {
    witnesses.push_back(static_cast<int32_t>(plan_.from.size()));
    plan_.from.push_back(source(position));
  }

  const PairingBuilder& builder_;
  const Side side_;
  const Partners& partners_;
  Plan plan_;
};

}  // namespace

Plan plan_of_torch(const PairingBuilder& builder, Side torch_side, const Partners& partners) {
  const bool is_plain = partners.positions.size() == 1 && !partners.angles && !partners.weight &&
                        !partners.fused && !partners.experts && partners.last_rows == 0;
  return is_plain ? Plan() : TorchPlan(builder, torch_side, partners).run();
}

}  // namespace assay
