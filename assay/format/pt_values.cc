#include "assay/format/pt_values.h"

#include "assay/base/text.h"
#include "assay/format/big_integer.h"
#include "assay/format/pt_dict.h"
#include "assay/format/pt_opaque.h"
#include "assay/format/pt_tensor.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

using Kind = PickleValue::Kind;
using Form = StoredValue::Form;

constexpr int64_t kValueCost = 256;  // bytes, roughly, beside those of its texts

void note_count(int64_t count, bool is_kept, TensorSet& set) {
  if (count == 1) set.beside.push_back({.what = "a value that is no tensor", .in_nests = is_kept});
  if (count > 1)
    set.beside.push_back({.what = fmt::format("{} values that are no tensors", count), .in_nests = is_kept});
}

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "2 of kind set, 1 of kind torch.Size"
std::string counted(const std::map<std::string_view, int64_t>& kinds) {
  std::string list;
  for (const auto& [kind, count] : kinds)
    list += fmt::format("{}{} of kind {}", list.empty() ? "" : ", ", count, kind);
  return list;
}

// "set" of "__builtin__.set": where Python keeps it depends on its version.
std::string_view short_name(std::string_view name) {
  return name.starts_with("torch.") ? name : name.substr(name.rfind('.') + 1);
}

// What Python calls a container that is none of its three common ones; empty: it is one, or a dict of
// another name, which is equal to one that holds the same.
std::string maker_of(const PickleGraph& graph, PickleRef ref) {
  const PickleValue& value = graph[ref];
  if (value.kind == Kind::set) return "set";
  if (value.kind != Kind::call) return "";
  const PtName name = meaning_of(graph, value);
  return name.meaning == PtMeaning::elements ? std::string(short_name(name.name)) : "";
}

// Of one kind after another; NaN is behind the numbers.
bool is_before(const Value& a, const Value& b) {
  if (a.index() != b.index()) return a.index() < b.index();
  if (const auto* real = std::get_if<double>(&a)) return std::weak_order(*real, std::get<double>(b)) < 0;
  return a < b;
}

// Bytes; of a number, as hexadecimal digits.
int64_t room_for(const PickleValue& value) {
  return std::ssize(value.text) * (value.kind == Kind::big_integer ? 2 : 1);
}

// In protocols 0 to 2, which know no bytes, they are called for.
StoredValue other_value(const PickleGraph& graph, PickleRef ref) {
  const PickleValue& value = graph[ref];
  StoredValue out{.form = Form::other};
  if (const auto bytes = raw_bytes_text(graph, value)) {
    out.text = *bytes;
  } else if (value.kind == Kind::big_integer) {
    out.text = big_integer_text(value.text);
    const auto small = parse_int(out.text);
    if (small) return {.values = {*small}};
    out.form = Form::integer;
  } else if (value.kind == Kind::global) {
    out.text = printable(value.text);
    if (find_torch_dtype(value.text)) out.form = Form::dtype;
  } else {
    out.text = composite_text(graph, ref).value_or("");
  }
  return out;
}

}  // namespace

std::optional<Nest> PtValues::place(std::span<const PtLevel> levels) {
  // Ways may be long, and there may be many: their steps are taken from the budget before they are gone.
  const int64_t bytes = std::ssize(levels) * static_cast<int64_t>(sizeof(NestStep));
  if (!are_nested_ || bytes > budget_) return std::nullopt;
  auto steps = steps_to(graph_, levels);
  if (!steps) return std::nullopt;
  budget_ -= bytes;
  return Nest{places_++, std::move(*steps)};
}

void PtValues::keep(StoredValue value, int64_t count) {
  int64_t bytes = kValueCost + std::ssize(value.name) + std::ssize(value.text);
  for (const Value& each : value.values) {
    const auto* const text = std::get_if<std::string>(&each);
    bytes += static_cast<int64_t>(sizeof(Value)) + (text != nullptr ? std::ssize(*text) : 0);
  }
  const bool is_kept = are_kept_ && bytes <= budget_;
  if (!is_kept) {
    (are_kept_ ? crowded_out_ : skipped_) += are_kept_ ? std::max<int64_t>(count, 1) : count;
    return;
  }
  (value.nest && value.form != Form::other ? writable_ : others_) += count;
  budget_ -= bytes;
  set_.values.push_back(std::move(value));
}

void PtValues::add(std::vector<Value> values, std::optional<PickleRef> container,
                   std::span<const PtLevel> levels, const std::string& name) {
  // None is nothing that anybody would miss.
  const int64_t count = std::ranges::count_if(
      values, [](const Value& value) { return !std::holds_alternative<std::monostate>(value); });
  StoredValue value{.name = name, .values = std::move(values), .nest = place(levels)};
  if (container) {
    value.container = container_kind(graph_, *container).value_or(NestStep::In::dict);
    value.maker = maker_of(graph_, *container);
  }
  keep(std::move(value), count);
}

void PtValues::add_other(PickleRef ref, std::span<const PtLevel> levels, const std::string& name) {
  if (!are_kept_) return skip();
  if (room_for(graph_[ref]) > budget_) {  // before it is written out
    ++crowded_out_;
    return;
  }
  StoredValue value = other_value(graph_, ref);
  if (value.form == Form::other && value.text.empty()) return skip();
  value.name = name;
  value.nest = place(levels);
  keep(std::move(value), 1);
}

void PtValues::add_reference(PickleRef container, std::string_view first, std::span<const PtLevel> levels,
                             const std::string& name) {
  if (!are_kept_) return;
  StoredValue value{.name = name, .form = Form::reference, .refers_to = container};
  value.text = first.empty() ? "the whole file" : fmt::format("the same as {}", first);
  value.nest = place(levels);
  // A tuple is not there yet while its elements are written.
  if (container_kind(graph_, container) == NestStep::In::tuple) value.form = Form::other;
  keep(std::move(value), 1);
}

void PtValues::add_object(PickleRef call, const std::string& name) {
  if (!are_kept_) return skip();
  ++objects_;
  add_detail(name, "__class__", name_of_maker(graph_, graph_[call]));
}

void PtValues::add_detail(const std::string& of, std::string_view what, std::string text) {
  if (!are_kept_) return;
  keep({.name = fmt::format("{}{}{}", of, of.empty() ? "" : ".", what),
        .form = Form::other,
        .text = std::move(text)},
       0);
}

bool PtValues::add_elements(const PickleValue& list, bool is_set, PickleRef container,
                            std::span<const PtLevel> levels, const std::string& name) {
  if (!are_kept_ || list.items.empty()) return false;
  // A few bytes may name one text many times: it is copied only where there is room for all of them.
  int64_t bytes = 0;
  for (const PickleRef item : list.items) {
    if (!may_be_plain(graph_[item])) return false;
    bytes += std::ssize(graph_[item].text);
  }
  if (bytes > budget_) {
    crowded_out_ += std::ssize(list.items);
    return true;
  }
  std::vector<Value> values;
  for (const PickleRef item : list.items) {
    auto value = plain_value(graph_[item]);
    if (!value) return false;
    values.push_back(std::move(*value));
  }
  if (is_set) std::ranges::sort(values, is_before);
  add(std::move(values), container, levels, name);
  return true;
}

void PtValues::note_container(PickleRef ref, bool is_repeated) {
  const PickleValue& value = graph_[ref];
  const auto kind = container_kind(graph_, ref);
  if (!kind) return;
  if (is_repeated && *kind != NestStep::In::tuple) ++repeated_;
  if (value.kind == Kind::set) ++other_containers_["set"];
  if (value.kind == Kind::call && *kind != NestStep::In::ordered_dict)
    ++other_containers_[short_name(meaning_of(graph_, value).name)];
}

void PtValues::note_forms() const {
  const auto note = [&](std::string what) { set_.beside.push_back({std::move(what)}); };
  if (objects_ > 0)
    note(fmt::format("the class{} of {} object{}, of which the parts are left", objects_ == 1 ? "" : "es",
                     objects_, objects_ == 1 ? "" : "s"));
  if (!are_kept_) return;
  if (!other_containers_.empty())
    note(fmt::format("the kinds of containers ({}): lists, tuples and dicts take their place",
                     counted(other_containers_)));
  if (!other_tensors_.empty())
    note(fmt::format("the kinds of tensors ({}): plain ones take their place", counted(other_tensors_)));
  if (other_keys_ > 0)
    note(fmt::format("{} of other kinds than numbers, texts and tuples of these: texts take their place",
                     counted(other_keys_, "key")));
  if (repeated_ > 0)
    note(fmt::format("that {} {} met before: copies take their place", counted(repeated_, "container"),
                     repeated_ == 1 ? "was" : "were"));
}

void PtValues::finish(const std::string& file_name) const {
  note_count(skipped_ + crowded_out_ + others_, false, set_);
  note_count(writable_, true, set_);
  note_forms();
  if (!are_kept_) return;
  if (unentered_ > 0)
    set_.warnings.push_back(
        left_out(fmt::format("{}: {} of values beside its tensors stand in too many places to be told there",
                             file_name, counted(unentered_, "container")),
                 unentered_));
  if (skipped_ > 0)
    set_.warnings.push_back(left_out(
        fmt::format("{}: {} beside its tensors {} passed over (a key given twice, arrays with more than "
                    "elements, objects without end)",
                    file_name, counted(skipped_, "value"), skipped_ == 1 ? "was" : "were"),
        skipped_));
  if (crowded_out_ > 0)
    set_.warnings.push_back(
        left_out(fmt::format("{}: {} values beside its tensors are too many for the memory limit; raise "
                             "--memory",
                             file_name, crowded_out_),
                 crowded_out_));
}

}  // namespace assay
