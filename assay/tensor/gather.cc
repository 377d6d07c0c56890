#include "assay/tensor/gather.h"

#include "assay/base/checked.h"
#include "assay/tensor/in_memory.h"
#include "assay/tensor/strided_copy.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace assay {
namespace {

constexpr int64_t kBandBytes = int64_t{16} << 20;  // the most that is gathered ahead
constexpr int64_t kSpanBytes = int64_t{1}
                               << 20;  // the most that is read from the source before it is copied into place
constexpr double kReadOverhead = 4096;  // one more call costs as much as copying this many bytes

// Part of the result whose dimensions are all plain strides.
struct Box {
  int64_t from = 0;  // first element, in the source
  int64_t to = 0;    // its place in the part of the result that was asked for
  std::vector<CopyDim> dims;
};

// How to read a box: for every index of `outer` one span of the source that holds all elements of `inner`.
struct ReadPlan {
  int64_t from = 0, to = 0;
  std::vector<CopyDim> outer, inner;
  int64_t low = 0;   // where the span begins, seen from the element of index 0 (negative strides)
  int64_t span = 1;  // elements
  double cost = 0;   // in bytes
};

// The longest run of numbers from `first` on that is a box in a mixed radix: the digits left of `digit`
// fixed, `count` values of it, all values of those to the right. weights[i] is what one step of digit i is
// worth.
struct Run {
  size_t digit = 0;
  int64_t count = 0;
};
Run longest_run(const std::vector<int64_t>& weights, int64_t first, int64_t remaining, auto radix) {
  size_t digit = 0;
  while (first % weights[digit] != 0 || remaining < weights[digit]) ++digit;  // ends: the last weight is 1
  const int64_t left = digit == 0 ? remaining : radix(digit) - first / weights[digit] % radix(digit);
  return {digit, std::min(left, remaining / weights[digit])};
}

// What an axis contributes to a box: an offset and some dimensions. `to` of the dimensions counts steps of
// the axis.
struct AxisPart {
  int64_t first = 0;  // coordinate
  int64_t from = 0;
  std::vector<CopyDim> dims;
};

std::vector<int64_t> digit_weights(const Axis& axis) {
  std::vector<int64_t> weights(axis.digits.size(), 1);
  for (size_t i = weights.size(); i-- > 1;) weights[i - 1] = weights[i] * axis.digits[i].radix;
  return weights;
}

// Coordinates [first, end) of an axis, cut where a digit carries.
std::vector<AxisPart> parts_of(const Axis& axis, int64_t first, int64_t end) {
  const std::vector<int64_t> weights = digit_weights(axis);
  const auto radix = [&](size_t digit) { return axis.digits[digit].radix; };
  std::vector<AxisPart> parts;
  for (int64_t at = first; at < end;) {
    const int64_t number = axis.start + at;
    const Run run = longest_run(weights, number, end - at, radix);
    AxisPart& part = parts.emplace_back();
    part.first = at;
    for (size_t i = 0; i <= run.digit; ++i)
      part.from += (i == 0 ? number / weights[0] : number / weights[i] % radix(i)) * axis.digits[i].stride;
    part.dims.push_back({run.count, axis.digits[run.digit].stride, weights[run.digit]});
    for (size_t i = run.digit + 1; i < weights.size(); ++i)
      part.dims.push_back({radix(i), axis.digits[i].stride, weights[i]});
    std::erase_if(part.dims, [](const CopyDim& d) { return d.extent == 1; });
    at += run.count * weights[run.digit];
  }
  return parts;
}

Shape shape_of(const std::vector<Axis>& axes) {
  Shape shape;
  for (const Axis& axis : axes) shape.dims.push_back(axis.extent);
  return shape;
}

// Sorted by step in the source, largest first, then cut so that a span stays below kSpanBytes.
void add_plans(Box box, int64_t element_size, std::vector<ReadPlan>& plans) {
  std::erase_if(box.dims, [](const CopyDim& d) { return d.extent == 1; });
  std::stable_sort(box.dims.begin(), box.dims.end(),
                   [](const CopyDim& a, const CopyDim& b) { return std::abs(a.from) > std::abs(b.from); });
  const size_t rank = box.dims.size();
  std::vector<int64_t> spans(rank + 1, 1);  // spans[k]: of the dimensions from k on
  for (size_t k = rank; k-- > 0;)
    spans[k] = spans[k + 1] + (box.dims[k].extent - 1) * std::abs(box.dims[k].from);
  const int64_t limit = kSpanBytes / element_size;
  size_t smallest = 0;
  while (spans[smallest] > limit) ++smallest;

  if (smallest > 0) {
    const CopyDim wide = box.dims[smallest - 1];
    const int64_t steps = (limit - spans[smallest]) / std::abs(wide.from) + 1;
    if (steps > 1) {  // a span of `steps` steps still fits: cut the dimension in two, and what is left is a
                      // box of its own
      const int64_t whole = wide.extent / steps, rest = wide.extent % steps;
      if (rest > 0) {
        Box tail = box;
        tail.from += whole * steps * wide.from;
        tail.to += whole * steps * wide.to;
        tail.dims[smallest - 1].extent = rest;
        add_plans(std::move(tail), element_size, plans);  // goes on with a dimension further out
      }
      box.dims[smallest - 1] = {whole, wide.from * steps, wide.to * steps};
      box.dims.insert(box.dims.begin() + static_cast<std::ptrdiff_t>(smallest), {steps, wide.from, wide.to});
      add_plans(std::move(box), element_size, plans);  // ends: there is no room for another step
      return;
    }
  }

  double reads = 1;
  for (size_t k = 0; k < smallest; ++k) reads *= static_cast<double>(box.dims[k].extent);
  size_t best = smallest;
  double best_cost = INFINITY;
  for (size_t k = smallest; k <= rank; ++k) {
    const double cost = reads * (kReadOverhead + static_cast<double>(spans[k] * element_size));
    if (cost < best_cost) {
      best = k;
      best_cost = cost;
    }
    if (k < rank) reads *= static_cast<double>(box.dims[k].extent);
  }
  const auto seam = box.dims.begin() + static_cast<std::ptrdiff_t>(best);
  ReadPlan plan{box.from,    box.to,   {box.dims.begin(), seam}, {seam, box.dims.end()}, 0,
                spans[best], best_cost};
  for (const CopyDim& dim : plan.inner) plan.low += std::min<int64_t>(0, (dim.extent - 1) * dim.from);
  plans.push_back(std::move(plan));
}

class Gather final : public Operand {
 public:
  Gather(OperandPtr source, int64_t base, const std::vector<Axis>& axes)
      : Operand({source->meta.dtype, shape_of(axes)}),
        source_(std::move(source)),
        base_(base),
        size_(size_of(meta.dtype)),
        total_(meta.shape.count()) {
    if (total_ == 0) return;
    for (const Axis& axis : axes) {
      if (axis.extent == 1)
        for (const AxisPart& part : parts_of(axis, 0, 1)) base_ += part.from;
      else
        axes_.push_back(axis);
    }
    weights_.assign(axes_.size() + 1, 1);
    for (size_t i = axes_.size(); i-- > 0;) weights_[i] = weights_[i + 1] * axes_[i].extent;
    weights_.erase(weights_.begin());
    for (const Axis& axis : axes_) whole_.push_back(parts_of(axis, 0, axis.extent));
    contiguous_ = is_contiguous();
    band_ = choose_band();
  }

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    if (contiguous_) return source_->block(base_ + first, count, scratch.below());
    if (count == 0) return Block{meta.dtype, nullptr, 0};
    if (!scratch.state) scratch.state = std::make_unique<Band>();
    Band& band = static_cast<Band&>(*scratch.state);
    if (first >= band.first && first + count <= band.end)
      return Block{meta.dtype, band.data + (first - band.first) * size_, count};

    const int64_t band_first = first / band_ * band_;
    const int64_t band_end = std::min(band_first + band_, total_);
    const bool whole_band = first + count <= band_end;  // else it lies in two bands: not worth keeping
    const int64_t begin = whole_band ? band_first : first, end = whole_band ? band_end : first + count;
    band.end = 0;  // whatever happens below, the old contents are gone
    std::byte* const data = scratch.buffer((end - begin) * size_);
    ASSAY_TRY_DO(gather_into(begin, end - begin, data, scratch));
    band.first = begin;
    band.end = end;
    band.data = data;
    return Block{meta.dtype, data + (first - begin) * size_, count};
  }

  Result<void> read(int64_t first, int64_t count, std::span<std::byte> out, Scratch& scratch) const override {
    if (contiguous_) return source_->read(base_ + first, count, out, scratch.below());
    while (count > 0) {
      const int64_t part = std::min(count, (first / band_ + 1) * band_ - first);
      const auto place = out.first(static_cast<size_t>(part * size_));
      ASSAY_TRY_DO(part > band_ / 2 ? gather_into(first, part, place.data(), scratch)
                                    : Operand::read(first, part, place, scratch));
      first += part;
      count -= part;
      out = out.subspan(place.size());
    }
    return {};
  }

  void will_need(int64_t first, int64_t count) const override {
    if (contiguous_) source_->will_need(base_ + first, count);
  }

 private:
  struct Band : ReaderState {
    int64_t first = 0, end = 0;
    const std::byte* data = nullptr;
  };

  bool is_contiguous() const {
    int64_t step = 1;
    for (size_t i = axes_.size(); i-- > 0;) {
      if (whole_[i].size() != 1) return false;
      const auto& dims = whole_[i].front().dims;
      for (size_t d = dims.size(); d-- > 0; step *= dims[d].extent)
        if (dims[d].from != step) return false;
    }
    return true;
  }

  // The smallest band that reads about as little as the largest would: it stays in the cache.
  int64_t choose_band() const {
    if (contiguous_ || total_ <= kBlockElements) return kBlockElements;
    const int64_t largest = std::min(kBandElements, kBandBytes / size_);
    const int64_t middle = total_ / 2 / largest * largest;
    const auto cost = [&](int64_t band) {
      const int64_t count = std::min(band, total_ - middle);
      double sum = 0;
      for (const ReadPlan& plan : plans_for(middle, count)) sum += plan.cost;
      return sum / static_cast<double>(count);
    };
    const double best = cost(largest);
    for (int64_t band = kBlockElements; band < largest; band *= 4)
      if (cost(band) <= 1.25 * best) return band;
    return largest;
  }

  std::vector<ReadPlan> plans_for(int64_t first, int64_t count) const {
    std::vector<ReadPlan> plans;
    const auto extent = [&](size_t i) { return axes_[i].extent; };
    for (int64_t done = 0; done < count;) {
      if (axes_.empty()) {
        add_plans({base_, 0, {}}, size_, plans);
        break;
      }
      const int64_t at = first + done;
      const Run run = longest_run(weights_, at, count - done, extent);
      int64_t from = base_;
      for (size_t i = 0; i < run.digit; ++i) {
        const int64_t coordinate = at / weights_[i] % axes_[i].extent;
        from += parts_of(axes_[i], coordinate, coordinate + 1).front().from;
      }
      const int64_t coordinate = at / weights_[run.digit] % axes_[run.digit].extent;
      add_boxes(run.digit, parts_of(axes_[run.digit], coordinate, coordinate + run.count), from, done, plans);
      done += run.count * weights_[run.digit];
    }
    return plans;
  }

  // Every combination of the parts of the axes from `axis` on.
  void add_boxes(size_t axis, const std::vector<AxisPart>& parts, int64_t from, int64_t to,
                 std::vector<ReadPlan>& plans) const {
    const auto parts_at = [&](size_t i) -> const std::vector<AxisPart>& {
      return i == axis ? parts : whole_[i];
    };
    const int64_t origin = parts.front().first;
    std::vector<size_t> chosen(axes_.size(), 0);
    for (;;) {
      Box box{from, to, {}};
      for (size_t i = axis; i < axes_.size(); ++i) {
        const AxisPart& part = parts_at(i)[chosen[i]];
        box.from += part.from;
        box.to += (part.first - (i == axis ? origin : 0)) * weights_[i];
        for (const CopyDim& d : part.dims) box.dims.push_back({d.extent, d.from, d.to * weights_[i]});
      }
      add_plans(std::move(box), size_, plans);
      size_t i = axes_.size();
      while (i > axis && chosen[i - 1] + 1 == parts_at(i - 1).size()) chosen[--i] = 0;
      if (i == axis) return;
      ++chosen[i - 1];
    }
  }

  Result<void> gather_into(int64_t first, int64_t count, std::byte* out, Scratch& scratch) const {
    for (const ReadPlan& plan : plans_for(first, count)) ASSAY_TRY_DO(carry_out(plan, out, scratch));
    return {};
  }

  Result<void> carry_out(const ReadPlan& plan, std::byte* out, Scratch& scratch) const {
    if (const std::byte* const all = in_memory(*source_)) {
      std::vector<CopyDim> dims = plan.outer;
      dims.insert(dims.end(), plan.inner.begin(), plan.inner.end());
      copy_strided(size_, all + plan.from * size_, out + plan.to * size_, std::move(dims));
      return {};
    }
    // As many spans as fit are read one after another, then copied into place together: `packed` are the
    // dimensions of such a batch, `around` those of the loop over batches, `group` the size of the batch
    // along the seam.
    const int64_t room = std::max<int64_t>(1, kSpanBytes / (plan.span * size_));
    size_t seam = plan.outer.size();
    int64_t spans = 1;
    while (seam > 0 && spans * plan.outer[seam - 1].extent <= room) spans *= plan.outer[--seam].extent;
    const CopyDim cut = seam > 0 ? plan.outer[seam - 1] : CopyDim{};
    const int64_t group = room / spans;
    std::vector<CopyDim> around, packed{cut};
    for (size_t i = 0; i + 1 < seam; ++i) around.push_back(plan.outer[i]);
    for (size_t i = seam; i < plan.outer.size(); ++i) packed.push_back(plan.outer[i]);
    BoxWalk batches(std::move(around));
    do {
      for (int64_t at = 0; at < cut.extent; at += group) {
        packed.front().extent = std::min(group, cut.extent - at);
        ASSAY_TRY_DO(read_batch(plan, packed, plan.from + batches.from() + at * cut.from,
                                out + (plan.to + batches.to() + at * cut.to) * size_, scratch));
      }
    } while (batches.next());
    return {};
  }

  Result<void> read_batch(const ReadPlan& plan, const std::vector<CopyDim>& packed, int64_t from,
                          std::byte* to, Scratch& scratch) const {
    int64_t spans = 1;
    for (const CopyDim& dim : packed) spans *= dim.extent;
    std::byte* const buffer = scratch.below(1).buffer(spans * plan.span * size_);
    std::byte* place = buffer;
    BoxWalk walk(packed);
    do {
      const std::span<std::byte> bytes(place, static_cast<size_t>(plan.span * size_));
      ASSAY_TRY_DO(source_->read(from + walk.from() + plan.low, plan.span, bytes, scratch.below(0)));
      place += bytes.size();
    } while (walk.next());

    std::vector<CopyDim> dims = packed;
    int64_t pitch = plan.span;
    for (size_t i = dims.size(); i-- > 0;) {
      dims[i].from = pitch;
      pitch *= dims[i].extent;
    }
    dims.insert(dims.end(), plan.inner.begin(), plan.inner.end());
    copy_strided(size_, buffer - plan.low * size_, to, std::move(dims));
    return {};
  }

  OperandPtr source_;
  int64_t base_;
  int64_t size_;                              // of an element
  int64_t total_;                             // elements
  std::vector<Axis> axes_;                    // those of more than one step
  std::vector<int64_t> weights_;              // elements of the result per step of an axis
  std::vector<std::vector<AxisPart>> whole_;  // parts_of each whole axis
  bool contiguous_ = true;
  int64_t band_ = kBlockElements;
};

class Reshaped final : public Operand {
 public:
  Reshaped(OperandPtr source, Shape shape)
      : Operand({source->meta.dtype, std::move(shape)}), source_(std::move(source)) {}
  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    return source_->block(first, count, scratch);
  }
  Result<void> read(int64_t first, int64_t count, std::span<std::byte> out, Scratch& scratch) const override {
    return source_->read(first, count, out, scratch);
  }
  void will_need(int64_t first, int64_t count) const override { source_->will_need(first, count); }

 private:
  OperandPtr source_;
};

}  // namespace

OperandPtr gathered(OperandPtr source, int64_t base, std::vector<Axis> axes) {
  return std::make_shared<Gather>(std::move(source), base, axes);
}

Result<OperandPtr> strided(OperandPtr source, Shape shape, const std::vector<int64_t>& strides,
                           int64_t offset) {
  const int64_t available = source->meta.shape.count();
  if (strides.size() != shape.dims.size())
    return fail(ErrorKind::mismatch, "{} strides for a shape of {} dimensions", strides.size(),
                shape.dims.size());
  const auto count = checked_product(shape.dims);
  if (!count || !checked_multiply(*count, size_of(source->meta.dtype)))
    return fail(ErrorKind::bad_format, "shape {} is not possible", shape.text());
  if (*count == 0) offset = 0;  // no element, no place to check
  // The lowest and the highest place that is reached.
  std::optional<int64_t> low = offset, high = offset;
  for (size_t i = 0; i < strides.size() && *count > 0 && low && high; ++i) {
    const auto reach = checked_multiply(shape.dims[i] - 1, strides[i]);
    auto& end = strides[i] < 0 ? low : high;
    end = reach ? checked_add(*end, *reach) : std::nullopt;
  }
  if (!low || !high || *low < 0 || (*count > 0 && *high >= available))
    return fail(ErrorKind::bad_format,
                "shape {} with strides {} from element {} leaves the {} elements that are stored",
                shape.text(), Shape{strides}.text(), offset, available);
  std::vector<Axis> axes;
  for (size_t i = 0; i < strides.size(); ++i) axes.push_back({shape.dims[i], {{shape.dims[i], strides[i]}}});
  return gathered(std::move(source), offset, std::move(axes));
}

Result<OperandPtr> sliced(OperandPtr source, size_t axis, int64_t first, int64_t count, bool transposed) {
  Shape shape = source->meta.shape;
  // Where there is no element there is no place to reach, and extents may be anything.
  const bool is_empty = shape.count() == 0;
  std::vector<int64_t> strides(shape.dims.size(), is_empty ? 0 : 1);
  for (size_t i = strides.size(); i-- > 1 && !is_empty;) strides[i - 1] = strides[i] * shape.dims[i];
  if (transposed) {
    std::ranges::reverse(shape.dims);
    std::ranges::reverse(strides);
  }
  if (axis >= shape.dims.size())
    return fail(ErrorKind::mismatch, "shape {} has no dimension {}", shape.text(), axis);
  const int64_t extent = shape.dims[axis];
  if (first < 0 || count < 0 || count > extent || first > extent - count)
    return fail(ErrorKind::mismatch, "shape {} has no {} indices from {} on along dimension {}", shape.text(),
                count, first, axis);
  if (!transposed && count == extent) return source;
  shape.dims[axis] = count;
  return strided(std::move(source), std::move(shape), strides, first * strides[axis]);
}

OperandPtr reshaped(OperandPtr source, Shape shape) {
  ASSAY_CHECK(source->meta.shape.count() == shape.count());
  if (source->meta.shape == shape) return source;
  return std::make_shared<Reshaped>(std::move(source), std::move(shape));
}

}  // namespace assay
