#include "assay/run/compare/contents.h"

#include "assay/base/cancel.h"
#include "assay/match/alike/solve.h"
#include "assay/metric/sketch.h"
#include "assay/run/compare/unpadded.h"
#include "assay/support/parallel.h"
#include "assay/tensor/gather.h"

#include <algorithm>

namespace assay {
namespace {

std::vector<double> elements_of(const Operand& operand, std::span<const int64_t> places) {
  std::vector<double> values;
  if (is_complex(operand.meta.dtype)) return values;
  const int64_t count = operand.meta.shape.count();
  Scratch scratch;
  // Of a small tensor all elements at once: so many bytes take no longer to read than one of them.
  constexpr int64_t kBytesAtOnce = 512;
  if (count <= kBlockElements && operand.meta.byte_size() <= std::ssize(places) * kBytesAtOnce) {
    const auto block = operand.block(0, count, scratch);
    if (!block) return values;
    for (const int64_t place : places) {
      if (place < 0 || place >= count) return values;
      double value = 0;
      to_f64(block->dtype, block->data + place * size_of(block->dtype), 1, &value);
      values.push_back(value);
    }
    return values;
  }
  for (const int64_t place : places) {
    if (place < 0 || place >= count) return values;
    const auto block = operand.block(place, 1, scratch);
    if (!block) return values;
    double value = 0;
    to_f64(block->dtype, block->data, 1, &value);
    values.push_back(value);
  }
  return values;
}

// Two tensors that are at hand.
class PairContents : public Contents {
 public:
  PairContents(const OperandPtr& mine, const OperandPtr& golden) : mine_(mine), golden_(golden) {}

  Result<std::vector<std::optional<Sketch>>> sketches(std::span<const PlanSource> items,
                                                      SketchDepth) const override {
    return std::vector<std::optional<Sketch>>(items.size());
  }
  std::optional<TensorMeta> meta(const PlanSource& item) const override {
    return (item.side == Side::mine ? *mine_ : *golden_).meta;
  }
  std::vector<double> elements(const PlanSource& item, std::span<const int64_t> places) const override {
    return elements_of(item.side == Side::mine ? *mine_ : *golden_, places);
  }

 private:
  const OperandPtr &mine_, &golden_;
};

Result<OperandPtr> seen_as(const OperandPtr& whole, const Arrangement& arrangement, const Shape& shape) {
  if (arrangement.window) return unpadded(whole, shape);
  const Piece& piece = arrangement.pieces[0];
  ASSAY_TRY(OperandPtr view, strided(whole, Shape{piece.dims}, piece.strides, piece.base));
  return reshaped(std::move(view), shape);
}

}  // namespace

LoadedContents::LoadedContents(const Indexed& frames, const FormatOptions& options, bool shows_progress)
    : frames_(frames), shows_progress_(shows_progress), loader_(frames, options) {}

Result<std::vector<std::optional<Sketch>>> LoadedContents::sketches(std::span<const PlanSource> items,
                                                                    SketchDepth depth) const {
  std::vector<std::optional<Sketch>> found(items.size());
  int64_t bytes = 0;
  for (const PlanSource& item : items) bytes += loader_.size_of_item(item.side, item.item);
  Progress progress("looking for partners", bytes, shows_progress_);
  SignSums sign_sums;
  parallel_for(items.size(), [&](size_t i) {
    if (cancelled()) return;
    const auto loaded = loader_.load(items[i].side, items[i].item);
    if (!loaded) return;
    auto sketch = sketch_of(*loaded->data, sign_sums, depth);
    if (sketch) found[i] = std::move(*sketch);
    progress.done(loader_.size_of_item(items[i].side, items[i].item));
  });
  ASSAY_TRY_DO(check_cancelled());
  return found;
}

std::optional<TensorMeta> LoadedContents::meta(const PlanSource& item) const {
  if (const TensorMeta* const known = frames_.item(item.side, item.item).meta) return *known;
  const auto loaded = loader_.load(item.side, item.item);
  return loaded ? std::optional(loaded->data->meta) : std::nullopt;
}

std::vector<double> LoadedContents::elements(const PlanSource& item, std::span<const int64_t> places) const {
  constexpr size_t kMostOpened = 64;  // parts of one group, and those it is tried against
  const auto found = std::ranges::find_if(opened_, [&](const Opened& each) {
    return each.item.side == item.side && each.item.item == item.item;
  });
  if (found != opened_.end()) return elements_of(*found->data, places);
  auto loaded = loader_.load(item.side, item.item);
  if (!loaded) return {};
  if (opened_.size() == kMostOpened) opened_.erase(opened_.begin());
  opened_.push_back({item, std::move(loaded->data)});
  return elements_of(*opened_.back().data, places);
}

Result<std::optional<Aligned>> rearrange(const OperandPtr& mine, const OperandPtr& golden) {
  const Shape &a = mine->meta.shape, &b = golden->meta.shape;
  const bool golden_is_whole = b.count() >= a.count();
  const Shape &part = golden_is_whole ? a : b, &whole = golden_is_whole ? b : a;
  std::vector<std::vector<Arrangement>> candidates;
  for (Arrangement& each : rearrangements(part, whole)) candidates.push_back({std::move(each)});
  const PairContents contents(mine, golden);
  const PlanSource of_part{golden_is_whole ? Side::mine : Side::golden, {}};
  const PlanSource of_whole{golden_is_whole ? Side::golden : Side::mine, {}};
  const int64_t count = part.count();
  if (count < kElementsThatTell) return std::optional<Aligned>();
  const auto solved = Solver(contents).solve({&of_part, 1}, {&count, 1}, {&of_whole, 1}, candidates);
  if (!solved || solved->rivals > 0) return std::optional<Aligned>();
  const Arrangement& arrangement = candidates[solved->which][0];
  auto seen = seen_as(golden_is_whole ? golden : mine, arrangement, part);
  if (!seen && seen.error().kind == ErrorKind::mismatch) return std::optional<Aligned>();
  if (!seen) return tl::unexpected<Error>(seen.error());
  Aligned aligned = golden_is_whole ? Aligned{mine, std::move(*seen)} : Aligned{std::move(*seen), golden};
  aligned.note = fmt::format("shape {} against {}: {}", a.text(), b.text(),
                             arrangement.text_of(golden_is_whole ? "golden" : "mine"));
  return std::optional(std::move(aligned));
}

}  // namespace assay
