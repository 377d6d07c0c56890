#include "library/python_values_parts.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace assay::library {

namespace {

struct Marked {
  uint32_t slot = 0;
  int field = 0, dtype = 0, is_scalar = 0;
  int64_t count = 0;
  size_t first = 0, last = 0;  // of the mark in the text
};

std::vector<Marked> marks_in(std::string_view text) {
  std::vector<Marked> out;
  for (size_t at = text.find(kMark); at != text.npos; at = text.find(kMark, at)) {
    const size_t end = text.find(kMark, at + 1);
    if (end == text.npos) break;
    Marked mark{.first = at, .last = end + 1};
    const char *from = text.data() + at + 1, *const to = text.data() + end;
    const auto take = [&](auto& number) {
      from = std::from_chars(from, to, number).ptr;
      if (from != to) ++from;
    };
    take(mark.slot);
    take(mark.field);
    take(mark.dtype);
    take(mark.count);
    take(mark.is_scalar);
    out.push_back(mark);
    at = end + 1;
  }
  return out;
}

}  // namespace

PyObject* PythonValues::settled(PyObject* text, bool waits) {
  int64_t size = 0;
  const char* const bytes = api_.utf8_of(text, &size);
  if (bytes == nullptr) return nullptr;
  const std::string_view whole(bytes, static_cast<size_t>(size));
  const std::vector<Marked> marks = marks_in(whole);
  std::vector<uint32_t> failed;
  for (const Marked& mark : marks) {
    if (cuda_->is_there(mark.slot)) continue;
    if (!waits) {
      api_.inc_ref(api_.none);
      return api_.none;
    }
    void* const state = api_.unlock();
    if (!cuda_->wait_for(mark.slot)) failed.push_back(mark.slot);
    api_.lock(state);
  }
  std::string out;
  out.reserve(whole.size() + marks.size() * 8);
  size_t from = 0;
  for (const Marked& mark : marks) {
    out.append(whole, from, mark.first - from);
    from = mark.last;
    if (std::find(failed.begin(), failed.end(), mark.slot) != failed.end()) {
      out += "null";
      continue;
    }
    const DeviceResult r = cuda_->result(mark.slot);
    const auto dtype = static_cast<DType>(mark.dtype);
    const Numbers numbers{r.nans != 0,
                          r.max,
                          r.min,
                          r.max_integer,
                          r.min_integer,
                          r.sum / static_cast<double>(mark.count),
                          std::sqrt(r.sum_squares)};
    append_known(out, {dtype, mark.is_scalar != 0, options_.has_sums}, numbers, r.crc32, r.xor64, mark.field);
  }
  out.append(whole, from);
  std::vector<uint32_t> slots;
  for (const Marked& mark : marks) slots.push_back(mark.slot);
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  for (const uint32_t slot : slots)
    if (std::find(failed.begin(), failed.end(), slot) == failed.end()) cuda_->give_back(slot);
  return api_.text(out.data(), static_cast<int64_t>(out.size()));
}

}  // namespace assay::library
