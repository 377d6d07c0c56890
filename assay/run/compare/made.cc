#include "assay/run/compare/made.h"

#include "assay/model/share_fit.h"
#include "assay/tensor/gather.h"
#include "assay/tensor/summed.h"

#include <algorithm>

namespace assay {
namespace {

using Operands = std::vector<OperandPtr>;

bool is_composed(const Made& made) { return made.parts.size() > 1 || made.is_weight; }

// The parts in the order in which the other side holds them, and that side, along these dimensions.
struct Fitted {
  OperandPtr parts, other;
  std::string note;
};

class PartsFitter {
 public:
  PartsFitter(const Made& made, std::string_view name, const Spread& other, std::string_view other_name)
      : made_(made), other_(other), name_(name), other_name_(other_name) {
    for (const Spread& part : made.parts) shapes_.push_back(seen_as(part.own->meta.shape));
    other_shape_ = seen_as(other.own->meta.shape);
    ShareRules rules;
    rules.out_dimension = made.dimension == kLastDimension ? SIZE_MAX : static_cast<size_t>(made.dimension);
    rules.may_be_transposed = made.may_be_transposed;
    rules.is_transposed = made.is_transposed;
    rules.any_dimension = !made.is_weight;
    fit_ = fit_shares(shapes_, static_cast<int64_t>(made.ranks()), other_shape_,
                      static_cast<int64_t>(other.ranks), rules);
  }

  const std::optional<ShareFit>& fit() const { return fit_; }

  Result<Fitted> run() const {
    Operands pieces;
    // A rank of the other side holds its share of each part: one piece of the whole would be another one.
    const bool by_rank = fit_->other_is_share && made_.parts.size() > 1 && fit_->axis == fit_->out;
    const auto ranks = by_rank ? static_cast<int64_t>(other_.ranks) : 1;
    ASSAY_TRY(const Operands wholes, whole_parts());
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (const OperandPtr& whole : wholes) {
        const int64_t count = whole->meta.shape.dims[own_axis(fit_->out)] / ranks;
        ASSAY_TRY(OperandPtr piece, sliced(whole, fit_->out, rank * count, count, fit_->transposed));
        pieces.push_back(std::move(piece));
      }
    Fitted done{nullptr, other_.own, {}};
    ASSAY_TRY(done.parts, pieces.size() == 1
                              ? pieces[0]
                              : concatenated(std::move(pieces), static_cast<int64_t>(fit_->out)));
    if (fit_->transposed) done.note = fmt::format("{} transposed", name_);
    if (fit_->parts_are_shares) add_note(done, joined_note(name_, made_.ranks(), own_axis(fit_->axis)));
    if (fit_->other_is_share) {
      ASSAY_TRY(done.other, join_shards(other_, fit_->axis, other_shape_));
      add_note(done, joined_note(other_name_, other_.ranks, fit_->axis));
    }
    return done;
  }

 private:
  // Inference engines drop and merge dimensions in front of the last, but not those of weights.
  Shape seen_as(const Shape& shape) const { return made_.is_weight ? shape : as_rows(shape); }

  // A dimension of the result as the parts number theirs.
  size_t own_axis(size_t axis) const { return fit_->transposed ? other_shape_.dims.size() - 1 - axis : axis; }

  Result<Operands> whole_parts() const {
    Operands wholes;
    for (size_t i = 0; i < made_.parts.size(); ++i) {
      OperandPtr whole = made_.parts[i].own;
      if (fit_->parts_are_shares) {
        if (made_.parts[i].ranks != made_.ranks())
          return fail(ErrorKind::not_found, "not every rank of {} holds all parts", name_);
        ASSAY_TRY(whole, join_shards(made_.parts[i], own_axis(fit_->axis), shapes_[i]));
      } else {
        whole = reshaped(std::move(whole), shapes_[i]);
      }
      wholes.push_back(std::move(whole));
    }
    return wholes;
  }

  static void add_note(Fitted& done, const std::string& text) {
    done.note += (done.note.empty() ? "" : "; ") + text;
  }

  const Made& made_;
  const Spread& other_;
  const std::string_view name_, other_name_;
  std::vector<Shape> shapes_;
  Shape other_shape_;
  std::optional<ShareFit> fit_;
};

// One rank of each side, whose shapes differ in a way that parts and ranks do not explain: another batch.
Result<std::optional<Aligned>> align_joined(const Made& made, const OperandPtr& other, bool of_mine,
                                            const AlignRules& rules) {
  Operands parts;
  for (const Spread& part : made.parts) parts.push_back(reshaped(part.own, as_rows(part.own->meta.shape)));
  for (const OperandPtr& part : parts)
    if (part->meta.shape.dims[0] != parts[0]->meta.shape.dims[0]) return std::optional<Aligned>();
  ASSAY_TRY(OperandPtr whole, concatenated(std::move(parts), 1));
  const Spread joined{std::move(whole)}, as_it_is{other};
  return of_mine ? align(joined, as_it_is, rules) : align(as_it_is, joined, rules);
}

Result<std::optional<Aligned>> align_composed(const Made& made, const Made& other, bool of_mine,
                                              const AlignRules& rules) {
  const PartsFitter fitter(made, of_mine ? "mine" : "golden", other.parts.front(),
                           of_mine ? "golden" : "mine");
  if (!fitter.fit()) {
    if (made.is_weight || made.ranks() > 1 || other.ranks() > 1) return std::optional<Aligned>();
    return align_joined(made, other.own(), of_mine, rules);
  }
  ASSAY_TRY(Fitted done, fitter.run());
  Aligned aligned{std::move(done.parts), std::move(done.other), std::move(done.note)};
  aligned.mine_joined = fitter.fit()->parts_are_shares;
  aligned.golden_joined = fitter.fit()->other_is_share;
  if (!of_mine) {
    std::swap(aligned.mine, aligned.golden);
    std::swap(aligned.mine_joined, aligned.golden_joined);
  }
  return std::optional(std::move(aligned));
}

// The ranks of a side that hold terms of a sum as one that holds it.
Result<Made> added_up(const Made& made) {
  if (!made.adds_ranks) return made;
  Made sum = made;
  for (Spread& part : sum.parts) {
    Operands terms;
    for (size_t rank = 0; rank < part.ranks; ++rank) {
      ASSAY_TRY(OperandPtr term, part.at_rank(rank));
      terms.push_back(std::move(term));
    }
    ASSAY_TRY(OperandPtr whole, summed(std::move(terms)));
    part = Spread{std::move(whole)};
  }
  sum.adds_ranks = false;
  return sum;
}

Result<std::optional<Aligned>> align_sums(const Made& mine, const Made& golden, const AlignRules& rules) {
  ASSAY_TRY(const Made of_mine, added_up(mine));
  ASSAY_TRY(const Made of_golden, added_up(golden));
  ASSAY_TRY(auto done, align(of_mine, of_golden, rules));
  if (!done) return done;
  done->mine_joined |= mine.adds_ranks;
  done->golden_joined |= golden.adds_ranks;
  for (const auto& [made, name] : {std::pair(&mine, "mine"), std::pair(&golden, "golden")})
    if (made->adds_ranks)
      done->note +=
          fmt::format("{}{} added up from {} ranks", done->note.empty() ? "" : "; ", name, made->ranks());
  return done;
}

}  // namespace

size_t Made::ranks() const { return std::ranges::max(parts, {}, &Spread::ranks).ranks; }

Result<Made> Made::at_rank(size_t rank) const {
  Made alone = *this;
  for (Spread& part : alone.parts) {
    if (rank >= part.ranks) return fail(ErrorKind::not_found, "rank {} holds not all parts", rank + 1);
    ASSAY_TRY(OperandPtr shard, part.at_rank(rank));
    part = Spread{std::move(shard)};
  }
  return alone;
}

void leave_whole_numbers(Made& made, const Made& other) {
  if (made.quantised == nullptr || is_real(other.own()->meta.dtype)) return;
  made.parts = {*made.quantised};
  made.quantised = nullptr;
}

Result<std::optional<Aligned>> align(const Made& mine, const Made& golden, const AlignRules& rules) {
  if (mine.adds_ranks || golden.adds_ranks) return align_sums(mine, golden, rules);
  if (is_composed(mine)) return align_composed(mine, golden, true, rules);
  if (is_composed(golden)) return align_composed(golden, mine, false, rules);
  ASSAY_TRY(auto done, align(mine.parts.front(), golden.parts.front(), rules));
  if (done || (!mine.is_angles && !golden.is_angles)) return done;
  // ATB may hold every angle twice, for the two numbers that it turns.
  Spread halved;
  ASSAY_TRY(halved.own, without_repeated_columns(mine.is_angles ? golden.own() : mine.own()));
  return mine.is_angles ? align(mine.parts.front(), halved, rules)
                        : align(halved, golden.parts.front(), rules);
}

}  // namespace assay
