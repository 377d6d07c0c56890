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

// One number for each element. Of a complex one it is its length in a direction in which neither part can be
// mistaken for the other: rounding moves it as it moves the parts.
double number_at(const std::byte* element, DType dtype) {
  double parts[2] = {0, 0};
  to_f64(dtype, element, components(dtype), parts);
  return is_complex(dtype) ? 0.8 * parts[0] + 0.6 * parts[1] : parts[0];
}

// Elements of a tensor of `count`; fewer where one cannot be read.
template <class Find>
std::vector<double> elements_at(std::span<const int64_t> places, int64_t count, const Find& find,
                                DType dtype) {
  std::vector<double> values;
  values.reserve(places.size());
  for (const int64_t place : places) {
    const std::byte* const element = place < 0 || place >= count ? nullptr : find(place);
    if (element == nullptr) return values;
    values.push_back(number_at(element, dtype));
  }
  return values;
}

std::vector<double> elements_of(const Operand& operand, std::span<const int64_t> places, Scratch& scratch) {
  const auto read = [&](int64_t place) -> const std::byte* {
    const auto block = operand.block(place, 1, scratch);
    return block ? block->data : nullptr;
  };
  return elements_at(places, operand.meta.shape.count(), read, operand.meta.dtype);
}

std::vector<double> elements_of(const Block& all, std::span<const int64_t> places) {
  const auto find = [&](int64_t place) { return all.data + place * size_of(all.dtype); };
  return elements_at(places, all.count, find, all.dtype);
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
    Scratch scratch;
    return elements_of(item.side == Side::mine ? *mine_ : *golden_, places, scratch);
  }

 private:
  const OperandPtr &mine_, &golden_;
};

Result<OperandPtr> seen_as(const OperandPtr& whole, const Arrangement& arrangement, const Shape& shape) {
  const Shape all = arrangement.window ? Shape{arrangement.window->of} : shape;
  OperandPtr view = whole;
  if (view->meta.shape != all || !arrangement.window) {
    const Piece& piece = arrangement.pieces[0];
    ASSAY_TRY(OperandPtr turned, strided(whole, Shape{piece.dims}, piece.strides, piece.base));
    view = reshaped(std::move(turned), all);
  }
  return arrangement.window ? unpadded(view, shape) : std::move(view);
}

}  // namespace

LoadedContents::LoadedContents(const Indexed& frames, const OpenOptions& options, bool shows_progress)
    : frames_(frames),
      shows_progress_(shows_progress),
      loader_(frames, options.format, options.open_files, Loader::OpenedBefore::left) {}

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

LoadedContents::Opened* LoadedContents::open(const PlanSource& item) const {
  constexpr size_t kMostOpened = 64;  // parts of one group, and those it is tried against
  const auto found = std::ranges::find_if(opened_, [&](const auto& each) {
    return each->item.side == item.side && each->item.item == item.item;
  });
  if (found != opened_.end()) return found->get();
  auto loaded = loader_.load(item.side, item.item);
  if (!loaded) return nullptr;
  Opened& opened = opened_.size() < kMostOpened ? *opened_.emplace_back(std::make_unique<Opened>())
                                                : *opened_[oldest_++ % kMostOpened];
  opened.scratch.forget();  // its memory serves the next one
  opened.item = item;
  opened.data = std::move(loaded->data);
  opened.all.reset();
  opened.kept = {};
  opened.asked = 0;
  opened.looked = 0;
  return &opened;
}

std::vector<double> LoadedContents::elements(const PlanSource& item, std::span<const int64_t> places) const {
  // So many bytes take no longer to read than one element does, …
  constexpr int64_t kBytesForOne = 2048;
  // … and a tensor of this size is read once where it is asked for again: all ranks look into one.
  constexpr int64_t kBytesForAll = 256 << 10;
  // … and one of this size once single elements have taken as long: many arrangements were tried on it.
  constexpr int64_t kMostBytes = 2 << 20;
  Opened* const opened = open(item);
  if (opened == nullptr) return {};
  const Operand& data = *opened->data;
  const int64_t count = data.meta.shape.count();
  const int64_t most = opened->asked++ == 0 ? std::ssize(places) * kBytesForOne : kBytesForAll;
  if (!opened->all && count <= kBlockElements && data.meta.byte_size() <= most)
    if (auto block = data.block(0, count, opened->scratch)) opened->all = *block;
  opened->looked += std::ssize(places);
  const int64_t size = data.meta.byte_size();
  if (!opened->all && size <= kMostBytes && opened->looked * kBytesForOne >= size) {
    opened->kept.resize(static_cast<size_t>(size));
    if (data.read(0, count, opened->kept, opened->scratch))
      opened->all = Block{data.meta.dtype, opened->kept.data(), count};
  }
  return opened->all ? elements_of(*opened->all, places) : elements_of(data, places, opened->scratch);
}

std::optional<Rearranged> find_arrangement(const OperandPtr& mine, const OperandPtr& golden) {
  const Shape &a = mine->meta.shape, &b = golden->meta.shape;
  const bool golden_is_whole = b.count() >= a.count();
  const Shape &part = golden_is_whole ? a : b, &whole = golden_is_whole ? b : a;
  std::vector<std::vector<Arrangement>> candidates;
  for (Arrangement& each : rearrangements(part, whole))
    if (!each.is_regrouped) candidates.push_back({std::move(each)});  // which seen_as has no view of
  const PairContents contents(mine, golden);
  const SoughtPart of_part{{golden_is_whole ? Side::mine : Side::golden, {}}, part.count()};
  const PlanSource of_whole{golden_is_whole ? Side::golden : Side::mine, {}};
  if (of_part.count < kElementsThatTell) return std::nullopt;
  const auto solved = Solver(contents).solve({&of_part, 1}, {&of_whole, 1}, candidates);
  if (!solved || solved->rivals > 0 || !solved->is_finite) return std::nullopt;  // NaN fits everywhere
  return Rearranged{std::move(candidates[solved->which][0]), golden_is_whole, solved->is_constant};
}

Result<std::optional<Aligned>> rearrange(const OperandPtr& mine, const OperandPtr& golden,
                                         const Rearranged& how) {
  const Shape &a = mine->meta.shape, &b = golden->meta.shape;
  auto seen = seen_as(how.golden_is_whole ? golden : mine, how.arrangement, how.golden_is_whole ? a : b);
  if (!seen && seen.error().kind == ErrorKind::mismatch) return std::optional<Aligned>();
  if (!seen) return tl::unexpected<Error>(seen.error());
  Aligned aligned = how.golden_is_whole ? Aligned{mine, std::move(*seen)} : Aligned{std::move(*seen), golden};
  aligned.note = fmt::format("shape {} against {}: {}", a.text(), b.text(),
                             how.arrangement.text_of(how.golden_is_whole ? "golden" : "mine"));
  return std::optional(std::move(aligned));
}

}  // namespace assay
