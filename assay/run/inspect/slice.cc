#include "assay/run/inspect/slice.h"

#include "assay/base/text.h"
#include "assay/tensor/gather.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

Result<std::optional<int64_t>> bound_of(std::string_view word, std::string_view text) {
  word = trim(word);
  if (word.empty()) return std::optional<int64_t>();
  const auto number = parse_int(word);
  if (!number)
    return fail(ErrorKind::bad_argument, "--slice: '{}' in '{}' is no number; write it as [0, :, 3]",
                printable(word), printable(text));
  return std::optional(*number);
}

Result<SlicePart> part_of(std::string_view word, std::string_view text) {
  if (word == "...") return SlicePart{SlicePart::Kind::rest};
  const auto bounds = split(word, ':');
  if (bounds.size() > 3 || word.empty())
    return fail(ErrorKind::bad_argument,
                "--slice: '{}' in '{}' is no index and no range; write it as [0, :, 3]", printable(word),
                printable(text));
  SlicePart part;
  ASSAY_TRY(part.start, bound_of(bounds[0], text));
  if (bounds.size() == 1) {
    part.kind = SlicePart::Kind::index;
    return part;
  }
  ASSAY_TRY(part.stop, bound_of(bounds[1], text));
  if (bounds.size() == 3) {
    ASSAY_TRY(const auto step, bound_of(bounds[2], text));
    part.step = step.value_or(1);
  }
  if (part.step < 1)
    return fail(ErrorKind::bad_argument, "--slice: step {} in '{}' is not 1 or more", part.step,
                printable(text));
  return part;
}

}  // namespace

Result<Slice> parse_slice(std::string_view text) {
  std::string_view inner = trim(text);
  if (inner.size() >= 2 && inner.front() == '[' && inner.back() == ']')
    inner = trim(inner.substr(1, inner.size() - 2));
  Slice slice;
  if (!inner.empty())
    for (const std::string_view word : split(inner, ',')) {
      ASSAY_TRY(SlicePart part, part_of(trim(word), text));
      slice.parts.push_back(part);
    }
  if (std::ranges::count(slice.parts, SlicePart::Kind::rest, &SlicePart::kind) > 1)
    return fail(ErrorKind::bad_argument, "--slice: '{}' has more than one '...'", printable(text));
  slice.text = fmt::format("[{}]", printable(inner));
  return slice;
}

Result<OperandPtr> sliced(OperandPtr source, const Slice& slice) {
  const std::vector<int64_t>& dims = source->meta.shape.dims;
  std::vector<SlicePart> parts = slice.parts;
  const auto rest = std::ranges::find(parts, SlicePart::Kind::rest, &SlicePart::kind);
  const size_t named = parts.size() - (rest == parts.end() ? 0 : 1);
  if (named > dims.size())
    return fail(ErrorKind::mismatch, "{} has {} dimension{}, and the slice {} speaks of {}",
                source->meta.shape.text(), dims.size(), dims.size() == 1 ? "" : "s", slice.text, named);
  const auto place = rest == parts.end() ? parts.end() : parts.erase(rest);
  parts.insert(place, dims.size() - named, SlicePart{});
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1, offset = 0;
  for (size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  Shape shape;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    const SlicePart& part = parts[i];
    const auto from_end = [&](int64_t at) { return at < 0 ? at + dims[i] : at; };
    if (part.kind == SlicePart::Kind::index) {
      const int64_t at = from_end(*part.start);
      if (at < 0 || at >= dims[i])
        return fail(ErrorKind::mismatch, "{} in the slice {} lies outside dimension {} of {}", *part.start,
                    slice.text, i, source->meta.shape.text());
      offset += at * strides[i];
      continue;
    }
    const int64_t first = std::clamp<int64_t>(from_end(part.start.value_or(0)), 0, dims[i]);
    const int64_t last = std::clamp<int64_t>(from_end(part.stop.value_or(dims[i])), first, dims[i]);
    offset += first * strides[i];
    shape.dims.push_back((last - first + part.step - 1) / part.step);
    kept.push_back(strides[i] * part.step);
  }
  if (shape.count() == 0) offset = 0;  // it may lie behind the last element
  return strided(std::move(source), std::move(shape), kept, offset);
}

}  // namespace assay
