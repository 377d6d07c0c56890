#include "assay/format/pt_values.h"

#include <fmt/format.h>

namespace assay {
namespace {

constexpr int64_t kValueCost = 256;  // bytes, roughly, beside those of its texts

void note_count(int64_t count, bool is_kept, TensorSet& set) {
  if (count == 1) set.beside.push_back({.what = "a value that is no tensor", .in_nests = is_kept});
  if (count > 1)
    set.beside.push_back({.what = fmt::format("{} values that are no tensors", count), .in_nests = is_kept});
}

}  // namespace

std::optional<Nest> PtValues::place(std::span<const PtLevel> levels) {
  if (!are_kept_) return std::nullopt;
  auto steps = steps_to(graph_, levels);
  if (!steps) return std::nullopt;
  return Nest{places_++, std::move(*steps)};
}

void PtValues::add(std::vector<Value> values, std::optional<NestStep::In> container,
                   std::span<const PtLevel> levels, const std::string& name) {
  int64_t bytes = kValueCost + std::ssize(name), count = 0;  // None is nothing that anybody would miss
  for (const Value& value : values) {
    const auto* const text = std::get_if<std::string>(&value);
    bytes += static_cast<int64_t>(sizeof(Value)) + (text != nullptr ? std::ssize(*text) : 0);
    count += std::holds_alternative<std::monostate>(value) ? 0 : 1;
  }
  std::optional<Nest> nest = place(levels);
  if (nest) bytes += std::ssize(nest->steps) * static_cast<int64_t>(sizeof(NestStep));
  const bool is_kept = nest && bytes <= budget_;
  (is_kept ? kept_ : skipped_) += count;
  if (nest && !is_kept) crowded_out_ += count;
  if (!is_kept) return;
  budget_ -= bytes;
  set_.values.push_back({name, std::move(values), container, std::move(*nest)});
}

std::optional<std::vector<Value>> PtValues::plain_elements(const PickleValue& list) const {
  if (!are_kept_) return std::nullopt;
  std::vector<Value> values;
  for (const PickleRef item : list.items) {
    auto value = plain_value(graph_[item]);
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values;
}

void PtValues::finish(const std::string& file_name) const {
  note_count(skipped_, false, set_);
  note_count(kept_, true, set_);
  if (objects_ > 0)
    set_.beside.push_back({fmt::format("the class{} of {} object{}, of which the parts are left",
                                       objects_ == 1 ? "" : "es", objects_, objects_ == 1 ? "" : "s")});
  if (crowded_out_ > 0)
    set_.warnings.push_back(
        left_out(fmt::format("{}: {} values beside its tensors are too many for the memory limit", file_name,
                             crowded_out_),
                 crowded_out_));
}

}  // namespace assay
