#include "assay/model/dump.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace assay {

std::string_view StringPool::keep(std::string_view text) {
  constexpr size_t kChunk = size_t{1} << 16;
  if (text.size() > size_ - used_) {
    size_ = std::max(kChunk, text.size());
    used_ = 0;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size_));
  }
  if (text.empty()) return {};
  char* const place = chunks_.back().get() + used_;
  std::memcpy(place, text.data(), text.size());
  used_ += text.size();
  return {place, text.size()};
}

std::optional<double> number_of(const Scalar& scalar) {
  if (const auto* real = std::get_if<double>(&scalar)) return *real;
  if (const auto* whole = std::get_if<int64_t>(&scalar)) return static_cast<double>(*whole);
  if (const auto* text = std::get_if<std::string_view>(&scalar)) return parse_double(*text);
  return std::nullopt;
}

std::string At::text() const {
  std::string out;
  const auto add = [&](std::string_view word, int number) {
    if (number >= 0) out += fmt::format("{}{} {}", out.empty() ? "" : " ", word, number);
  };
  add("rank", rank);
  add("step", step);
  add("graph", graph);
  add("token", token);
  if (!part.empty()) out += (out.empty() ? "" : " ") + part;
  return out;
}

}  // namespace assay
