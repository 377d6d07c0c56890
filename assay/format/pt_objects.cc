#include "assay/format/pt_objects.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/format/pt_arguments.h"
#include "assay/format/pt_dict.h"
#include "assay/format/pt_levels.h"
#include "assay/format/pt_opaque.h"
#include "assay/format/pt_parts.h"
#include "assay/format/pt_reached.h"
#include "assay/format/pt_sharing.h"
#include "assay/format/pt_values.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace assay {
namespace {

using Kind = PickleValue::Kind;
using Refs = std::vector<PickleRef>;
using Level = PtLevel;

constexpr int64_t kStepCost = 64, kTensorCost = 4096;  // bytes, roughly what a step and a tensor take
constexpr int64_t kMostRepeated = 1 << 12;             // containers of values that are entered once more
constexpr size_t kMaxWarnings = 16;
// Containers that stand in several places give their tensors several names: so many, and so many for each
// byte of the pickle, are honest.
constexpr int64_t kHonestNames = 1 << 14, kHonestNamesPerByte = 4;

// Ctrl-C is asked for now and then: a few hundred bytes can have millions of paths.
constexpr int64_t kStepsBetweenChecks = 1 << 16;

// Whether a state holds one tensor alone, but for the numbers of ranks, which the mesh of a DTensor keeps as
// one.
bool holds_one_tensor(const PickleGraph& graph, PickleRef state) {
  std::unordered_set<PickleRef> seen;
  Refs waiting = {state};
  size_t tensors = 0, of_ranks = 0;
  while (!waiting.empty()) {
    const PickleRef next = waiting.back();
    waiting.pop_back();
    if (!seen.insert(next).second) continue;
    const PickleValue& value = graph[next];
    if (value.kind == Kind::persistent) {
      const auto id = storage_id(graph, value);
      ++(id && (id->dtype == DType::i32 || id->dtype == DType::i64) ? of_ranks : tensors);
    }
    waiting.insert(waiting.end(), value.items.begin(), value.items.end());
    waiting.insert(waiting.end(), {value.state, value.keywords});
  }
  return tensors == 1 && of_ranks <= 1;
}

class Walk {
 public:
  Walk(const PickleGraph& graph, const PtStorages& storages, const std::string& file_name,
       const FormatOptions& options, TensorSet& set)
      : graph_(graph),
        storages_(storages),
        file_name_(file_name),
        budget_(options.memory),
        most_names_(options.trusted ? std::numeric_limits<int64_t>::max()
                                    : kHonestNames + kHonestNamesPerByte * graph.size),
        values_(graph, options, set),
        maker_(graph, storages, budget_, coverage_),
        set_(set),
        inside_(graph.values.size()),
        was_met_(graph.values.size()),
        is_barren_(graph.values.size()),
        reached_(graph) {}

  Result<void> run() {
    ASSAY_TRY_DO(visit(graph_.root));
    while (!levels_.empty()) {
      if (++steps_ % kStepsBetweenChecks == 0) ASSAY_TRY_DO(check_cancelled());
      Level& level = levels_.back();
      path_.resize(level.path_size);
      if (level.next >= level.items.size()) {
        const Level left = std::move(level);
        levels_.pop_back();
        if (left.is_last) ASSAY_TRY_DO(leave(left));
        continue;
      }
      const PickleRef child = step_into_path(level);
      ASSAY_TRY_DO(visit(child));
    }
    path_.clear();
    add_unreached();
    left_objects_.note(file_name_, set_.warnings);
    for (int64_t i = sharing_.tell(storages_, set_); i > 0; --i)
      values_.note_tensor("views of one storage as several types");
    values_.finish(file_name_);
    if (const int64_t detached = count_detached(graph_); detached > 0)
      set_.beside.push_back({"values that are in its pickle and not in its objects"});
    if (is_wrapped_) set_.beside.push_back({.what = "a container around its tensor", .in_nests = is_nested_});
    set_.is_nested = is_nested_;
    for (Beside& rest : coverage_.rest(storages_)) set_.beside.push_back(std::move(rest));
    return {};
  }

  bool has_tensors() const { return found_ > 0; }

 private:
  // Takes the next child of a level and adds its key or index to the path.
  PickleRef step_into_path(Level& level) {
    const size_t index = level.next++;
    const PickleRef child = level.items[index];
    if (!level.is_root) path_.push_back('.');
    path_ += level.label;
    if (level.form == Level::Form::elements) path_ += std::to_string(index);
    if (level.form != Level::Form::pairs) return child;
    const bool is_key = index % 2 == 0;
    path_ += key_text(graph_, is_key ? child : level.items[index - 1], index / 2);
    const bool is_tuple = is_key && tuple_of_plain(graph_, graph_[child]).has_value();
    if (is_key && !is_tuple && !plain_value(graph_[child])) values_.note_other_key();
    if (is_tuple) reached_.mark_below(child);
    if (is_key && !is_tuple && is_composite(graph_[child])) {
      path_ += ".key";
      return child;
    }
    if (!is_key) return child;
    ++level.next;  // a plain key holds nothing but what the name says: on to its value
    reached_.mark(child);
    return level.items[index + 1];
  }

  Result<void> charge(int64_t bytes) {
    budget_ -= bytes;
    if (budget_ >= 0) return {};
    return fail(ErrorKind::limit,
                "{}: its objects and their names need more than the memory limit (objects that hold each "
                "other?); raise --memory",
                file_name_);
  }

  Result<void> visit(PickleRef ref) {
    ASSAY_TRY_DO(charge(kStepCost));
    const PickleValue& value = graph_[ref];
    if (const auto bytes = raw_bytes(graph_, value); bytes.value_or(0) > kMostPlainBytes) {
      reached_.mark_below(ref);
      return add_opaque(fmt::format("{} bytes that may be anything", *bytes));
    }
    if (values_.are_kept() && raw_bytes(graph_, value)) {
      reached_.mark_below(ref);
      values_.add_other(ref, levels_, path_);
      return {};
    }
    switch (value.kind) {
      case Kind::tuple:
      case Kind::list:
      case Kind::set:
        if (add_plain(ref, value, value.kind == Kind::set)) return {};
        return enter(ref, PtParts::elements(value.items));
      case Kind::dict:
        return enter(ref, parts_.pairs(value.items));
      case Kind::call:
        return visit_call(ref, value);
      case Kind::persistent:
        return add_persistent(ref);
      default:
        reached_.mark(ref);
        if (auto plain = plain_value(value))
          values_.add({std::move(*plain)}, std::nullopt, levels_, path_);
        else
          values_.add_other(ref, levels_, path_);
        return {};
    }
  }

  // A list, tuple or set of numbers and texts is one value.
  bool add_plain(PickleRef ref, const PickleValue& sequence, bool is_set) {
    if (!values_.add_elements(sequence, is_set, ref, levels_, path_)) return false;
    note_container(ref);
    reached_.mark_below(ref);
    return true;
  }

  void note_container(PickleRef ref) {
    values_.note_container(ref, was_met_[ref]);
    was_met_[ref] = true;
  }

  Result<void> visit_call(PickleRef ref, const PickleValue& value) {
    const PtMeaning meaning = meaning_of(graph_, value).meaning;
    if (meaning == PtMeaning::scalar && !maker_.is_number(ref)) {  // text or a date: a value as any other
      values_.add_other(ref, levels_, path_);
      reached_.mark_below(ref);
      return {};
    }
    if (makes_tensor(meaning)) return add_tensor(ref);
    const Refs& arguments = graph_[value.items[1]].items;
    size_t used = 0;  // of the arguments
    std::vector<Level> parts;
    if (meaning == PtMeaning::elements && !arguments.empty() && is_pickled_sequence(graph_[arguments[0]])) {
      if (arguments.size() == 1 && value.items.size() == 2 && value.state == 0 && value.keywords == 0 &&
          add_plain(ref, graph_[arguments[0]], container_kind(graph_, ref) == NestStep::In::list))
        return {};
      parts.push_back(PtParts::elements(graph_[arguments[0]].items));
      used = 1;
    } else if (meaning == PtMeaning::mapping) {
      parts.push_back(parts_.pairs_of_mapping(value, used));
    } else if (meaning == PtMeaning::refused || meaning == PtMeaning::plain) {
      // Objects may hold each other in many ways; each is entered once, so that this ends.
      if (reached_[ref]) {
        const auto first = first_paths_.find(ref);
        values_.add_reference(ref, first == first_paths_.end() ? "another" : std::string_view(first->second),
                              levels_, path_);
        return {};
      }
      reached_.mark(ref);
      if (values_.are_kept()) {
        first_paths_.emplace(ref, path_);
        ASSAY_TRY_DO(charge(kStepCost + std::ssize(path_)));
      }
      values_.add_object(ref, path_);
    }
    const bool has_factory = meaning == PtMeaning::mapping && used < arguments.size() &&
                             graph_[arguments[used]].kind == Kind::global;  // defaultdict(list)
    if (has_factory) values_.add_detail(path_, "default_factory", printable(graph_[arguments[used]].text));
    parts.push_back(PtParts::elements(std::span(arguments).subspan(used + (has_factory ? 1 : 0)), "args."));
    parts_.add_extras(value, meaning != PtMeaning::mapping, value.state, parts);
    return enter(ref, std::move(parts));
  }

  Result<void> enter(PickleRef ref, Level part) {
    std::vector<Level> parts;
    parts.push_back(std::move(part));
    return enter(ref, std::move(parts));
  }

  // A container inside itself is not entered again: it has no tensors that were not seen.
  Result<void> enter(PickleRef ref, std::vector<Level> parts) {
    std::erase_if(parts, [](const Level& part) { return part.items.empty(); });
    if (inside_[ref]) {
      ++circles_;
      add_circle(ref);
      return {};
    }
    note_container(ref);
    // With values, they have a name on every way there, of which there may be too many.
    if (!parts.empty() && is_barren_[ref] && (!values_.are_kept() || ++repeated_ > kMostRepeated)) {
      values_.skip_repeated();
      return {};
    }
    if (parts.empty()) {
      const bool is_tensor_call =
          graph_[ref].kind == Kind::call && makes_tensor(meaning_of(graph_, graph_[ref]).meaning);
      if (!is_tensor_call)  // of an object without parts an empty dict is left
        values_.add({}, ref, levels_, path_);
      Level nothing;
      nothing.container = ref;
      nothing.found_before = found_;
      nothing.rows_before = set_.tensors.size();
      return leave(nothing);
    }
    inside_[ref] = true;
    const bool is_root = levels_.empty();
    parts.back().is_last = true;
    while (!parts.empty()) {
      Level& part = parts.back();
      ASSAY_TRY_DO(charge(std::ssize(part.own) * static_cast<int64_t>(sizeof(PickleRef))));
      part.container = ref;
      part.path_size = path_.size();
      part.is_root = is_root;
      part.found_before = found_;
      part.rows_before = set_.tensors.size();
      part.circles_before = circles_;
      levels_.push_back(std::move(part));
      parts.pop_back();
    }
    return {};
  }

  // A container that is met inside itself.
  void add_circle(PickleRef ref) {
    const PickleValue& value = graph_[ref];
    if (value.kind == Kind::call && makes_tensor(meaning_of(graph_, value).meaning)) return;
    const auto around = std::ranges::find(levels_, ref, &Level::container);
    values_.add_reference(ref, std::string_view(path_).substr(0, around->path_size), levels_, path_);
  }

  // Behind the last part of a container. What a function would make of arguments without tensors, nobody can
  // tell who does not call it: it was not compared. With tensors among them it is these. Checkpoints of
  // trainings hold small objects, such as members of an enum, which are no tensors: they are counted.
  Result<void> leave(const Level& level) {
    inside_[level.container] = false;
    // A few hundred bytes can have millions of ways through containers that hold nothing.
    is_barren_[level.container] = found_ == level.found_before && set_.tensors.size() == level.rows_before &&
                                  circles_ == level.circles_before;
    const PickleValue& value = graph_[level.container];
    const bool is_made = value.kind == Kind::call && !value.is_object &&
                         meaning_of(graph_, value).meaning == PtMeaning::refused;
    if (!is_made || found_ > level.found_before) return {};
    if (set_.tensors.size() == level.rows_before && is_small_object(graph_, value)) {
      left_objects_.add(path_, name_of_maker(graph_, value));
      return charge(kTensorCost + std::ssize(path_));
    }
    // Bytes among the arguments: this row speaks for them.
    set_.tensors.erase(set_.tensors.begin() + static_cast<std::ptrdiff_t>(level.rows_before),
                       set_.tensors.end());
    return add_opaque(fmt::format("what {} makes, which is not executed", name_of_maker(graph_, value)));
  }

  // A row that says that the file holds what was not compared.
  Result<void> add_opaque(const std::string& what) {
    add_error_row(path_,
                  fail(ErrorKind::unsupported, "{}: \"{}\" is {}; not compared", file_name_, path_, what));
    return charge(kTensorCost + std::ssize(path_));
  }

  void add_error_row(std::string name, Result<OperandPtr> why) {
    set_.tensors.push_back(
        {.name = std::move(name), .data = std::move(why), .meta = {}, .stats = {}, .facts = {}});
  }

  Result<void> add(Result<OperandPtr> data) {
    ASSAY_TRY_DO(charge(kTensorCost + std::ssize(path_)));
    if (++found_ > most_names_)
      return fail(
          ErrorKind::limit,
          "{}: more than {} names lead to its tensors, as where containers hold each other; --trusted "
          "reads them all",
          file_name_, most_names_);
    is_wrapped_ |= path_.empty() && !levels_.empty();
    StoredTensor stored{.name = path_, .data = std::move(data), .meta = {}, .stats = {}, .facts = {}};
    if (auto place = values_.place(levels_))
      stored.nest = std::move(*place);
    else
      is_nested_ = false;
    if (stored.data) {
      stored.meta = (*stored.data)->meta;
    } else if (std::string& message = stored.data.error().message; !message.starts_with(file_name_)) {
      message = path_.empty() ? fmt::format("{}: the tensor {}", file_name_, message)
                              : fmt::format("{}: tensor \"{}\" {}", file_name_, path_, message);
    }
    set_.tensors.push_back(std::move(stored));
    return {};
  }

  Result<void> add_persistent(PickleRef ref) {
    reached_.mark_below(ref);
    const auto id = storage_id(graph_, graph_[ref]);
    values_.note_tensor("storage");
    if (id) return add(maker_.whole_storage(*id));
    return add(fail(ErrorKind::unsupported, "is an object that is kept outside of the file"));
  }

  // The tensor, then what else is kept with it: hooks, and the attributes of a parameter or of a subclass.
  Result<void> add_tensor(PickleRef ref) {
    auto data = maker_.make(ref);
    const bool is_read = data.has_value();
    // Its row says that it was not read, and so neither was what it is made of.
    if (!is_read) reached_.mark_below(ref);
    ASSAY_TRY_DO(add(std::move(data)));
    const PtChain chain = maker_.chain(ref);
    if (is_read && values_.are_nested()) describe(ref, chain, set_.tensors.back());
    std::vector<Level> parts;
    for (size_t at = 0; at < chain.links.size(); ++at) {
      const PtLink& link = chain.links[at];
      const Refs& arguments = link.arguments->items;
      // The rest of such a state says which ranks hold what.
      if (at + 1 < chain.links.size() && chain.links[at + 1].is_share &&
          holds_one_tensor(graph_, arguments[3])) {
        reached_.mark_below(arguments[3]);
        if (link.call != 0) reached_.mark(link.call);
        continue;
      }
      const bool has_elements =
          link.name.meaning == PtMeaning::tensor || link.name.meaning == PtMeaning::typed_tensor;
      if (has_elements && !arguments.empty()) reached_.mark_below(arguments[0]);
      if (data_of_array(graph_, link) != 0) reached_.mark_below(data_of_array(graph_, link));
      if (is_read && holds_more_than_array(graph_, link)) values_.skip();
      for (size_t i = describing_arguments(link.name.meaning); i < arguments.size(); ++i) {
        if (describes_tensor(graph_, link, i) || is_empty_container(graph_, arguments[i])) continue;
        if (i == 3 && !has_elements)
          parts_.add_state(arguments[i], parts);
        else
          parts.push_back(PtParts::one(arguments[i], "hooks"));
      }
      if (link.call == 0) continue;
      const bool is_array = link.name.meaning == PtMeaning::array;
      reached_.mark(link.call);
      parts_.add_extras(graph_[link.call], true, is_array ? 0 : graph_[link.call].state, parts);
    }
    return enter(ref, std::move(parts));
  }

  // What a tensor is beside its elements, for whoever writes a .pt.
  void describe(PickleRef ref, const PtChain& chain, StoredTensor& tensor) {
    tensor.requires_grad = maker_.wants_gradient(ref);
    for (const PtLink& link : chain.links) {
      tensor.is_parameter |= link.name.name.starts_with("torch._utils._rebuild_parameter");
      if (link.name.meaning == PtMeaning::from_type) values_.note_tensor("subclass");
    }
    if (auto placement = maker_.placement(ref))
      sharing_.add(set_.tensors.size() - 1, std::move(*placement));
    else
      values_.note_tensor("array of NumPy");
  }

  // Tensors, and what may hold some, that are in the file and that no way through its containers leads to.
  void add_unreached() {
    const auto [tensors, others] = reached_.mark_rest();
    const int64_t count = tensors + others;
    if (count == 0) return;
    found_ += tensors;
    const std::string_view what = others > 0 ? "object" : "tensor";
    add_error_row(
        "(unreached)",
        fail(ErrorKind::unsupported,
             "{}: holds {} {}{} that no name leads to (a key given twice, an object that was dropped); "
             "not compared",
             file_name_, count, what, count == 1 ? "" : "s"));
  }

  const PickleGraph& graph_;
  const PtStorages& storages_;
  const std::string& file_name_;
  int64_t budget_;
  const int64_t most_names_;  // of tensors
  PtValues values_;
  PtParts parts_{graph_, values_};
  bool is_nested_ = values_.are_nested();  // every tensor has a nest
  PtCoverage coverage_;
  PtTensorMaker maker_;
  PtSharing sharing_;
  TensorSet& set_;
  std::vector<Level> levels_;
  std::vector<bool> inside_;                                // containers on the way to the current value
  std::vector<bool> was_met_;                               // containers, and values that are lists
  std::unordered_map<PickleRef, std::string> first_paths_;  // of objects
  std::vector<bool> is_barren_;                             // containers in which there was no tensor
  PtReached reached_;                                       // tensors, storages and objects that were found
  int64_t steps_ = 0;
  int64_t circles_ = 0;  // containers that were met inside themselves
  int64_t repeated_ = 0;
  int64_t found_ = 0;        // tensors, readable or not
  bool is_wrapped_ = false;  // a tensor without a name that is not the whole file: {'': tensor}
  LeftObjects left_objects_;
  std::string path_;
};

}  // namespace

Result<void> add_tensors(const PickleGraph& graph, const PtStorages& storages, const std::string& file_name,
                         const FormatOptions& options, TensorSet& set) {
  Walk walk(graph, storages, file_name, options, set);
  ASSAY_TRY_DO(walk.run());
  const std::vector<std::string> names = refused_names(graph, kMaxWarnings + 1);
  if (!walk.has_tensors() && !names.empty())
    return fail(ErrorKind::unsupported, "{}: refused: pickle wants to import {}; nothing is executed",
                file_name, refused_root(graph).value_or(names.front()));
  if (set.tensors.empty()) set.warnings.push_back(fmt::format("{}: holds no tensors", file_name));
  for (size_t i = 0; i < std::min(names.size(), kMaxWarnings); ++i)
    set.warnings.push_back(
        {Remark::Kind::refused,
         fmt::format("{}: refused: pickle wants to import {}; nothing is executed", file_name, names[i])});
  return {};
}

}  // namespace assay
