#include "assay/format/pt_objects.h"

#include "assay/base/text.h"
#include "assay/format/pt_tensor.h"

#include <algorithm>

namespace assay {
namespace {

using Kind = PickleValue::Kind;

constexpr int64_t kStepCost = 64, kTensorCost = 4096;  // bytes, roughly what a step and a tensor take
constexpr size_t kMaxWarnings = 16;

// A container on the way to the current value.
struct Level {
  enum class Form : uint8_t { elements, pairs, listed_pairs };  // listed: [[key, value], …]
  PickleRef container = 0;
  const std::vector<PickleRef>* items = nullptr;
  size_t next = 0;
  Form form = Form::elements;
  size_t path_size = 0;  // length of the path to the container
};

class Walk {
 public:
  Walk(const PickleGraph& graph, const PtStorages& storages, const std::string& file_name, int64_t memory,
       TensorSet& set)
      : graph_(graph),
        file_name_(file_name),
        budget_(memory),
        maker_(graph, storages, budget_),
        set_(set),
        inside_(graph.values.size()) {}

  Result<void> run() {
    ASSAY_TRY_DO(visit(graph_.root));
    while (!levels_.empty()) {
      Level& level = levels_.back();
      path_.resize(level.path_size);
      if (level.next >= level.items->size()) {
        inside_[level.container] = false;
        levels_.pop_back();
        continue;
      }
      const PickleRef child = step_into_path(level);
      ASSAY_TRY_DO(visit(child));
    }
    return {};
  }

 private:
  // Takes the next child of a level and adds its key or index to the path.
  PickleRef step_into_path(Level& level) {
    const auto& items = *level.items;
    const size_t index = level.next;
    if (!path_.empty() || levels_.size() > 1) path_.push_back('.');
    if (level.form == Level::Form::pairs) {
      level.next += 2;
      append_key(items[index], index / 2);
      return items[index + 1];
    }
    ++level.next;
    const PickleValue& item = graph_[items[index]];
    if (level.form == Level::Form::listed_pairs && item.items.size() == 2) {
      append_key(item.items[0], index);
      return item.items[1];
    }
    path_ += std::to_string(index);
    return items[index];
  }

  void append_key(PickleRef ref, size_t index) {
    const PickleValue& key = graph_[ref];
    switch (key.kind) {
      case Kind::text:
      case Kind::bytes:
        path_ += printable(key.text);
        break;
      case Kind::integer:
        path_ += std::to_string(key.integer);
        break;
      case Kind::boolean:
        path_ += key.integer != 0 ? "True" : "False";
        break;
      case Kind::none:
        path_ += "None";
        break;
      case Kind::real:
        path_ += fmt::format("{}", key.real);
        break;
      default:
        path_ += fmt::format("key{}", index);  // a tuple, say: its place tells it from the others
    }
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
    switch (value.kind) {
      case Kind::tuple:
      case Kind::list:
      case Kind::set:
        return enter(ref, value.items, 0, Level::Form::elements);
      case Kind::dict:
        return enter(ref, value.items, 0, Level::Form::pairs);
      case Kind::call:
        return visit_call(ref, value);
      default:
        return {};
    }
  }

  Result<void> visit_call(PickleRef ref, const PickleValue& value) {
    const auto& arguments = graph_[value.items[1]].items;
    switch (meaning_of(graph_, value).meaning) {
      case PtMeaning::refused:
      case PtMeaning::plain:
        return {};
      case PtMeaning::elements:
        return arguments.empty() ? Result<void>{}
                                 : enter(ref, graph_[arguments[0]].items, 0, Level::Form::elements);
      case PtMeaning::mapping:
        if (value.items.size() > 2)
          return value.added_pairs ? enter(ref, value.items, 2, Level::Form::pairs) : Result<void>{};
        // Python 2 hands the pairs over as an argument.
        if (!arguments.empty() && graph_[arguments[0]].kind == Kind::list)
          return enter(ref, graph_[arguments[0]].items, 0, Level::Form::listed_pairs);
        return arguments.empty() || graph_[arguments[0]].kind != Kind::dict
                   ? Result<void>{}
                   : enter(ref, graph_[arguments[0]].items, 0, Level::Form::pairs);
      default:
        return add(ref);
    }
  }

  // A container inside itself is not entered again: it has no tensors that were not seen.
  Result<void> enter(PickleRef ref, const std::vector<PickleRef>& items, size_t first, Level::Form form) {
    if (inside_[ref]) return {};
    inside_[ref] = true;
    levels_.push_back({ref, &items, first, form, path_.size()});
    return {};
  }

  Result<void> add(PickleRef ref) {
    ASSAY_TRY_DO(charge(kTensorCost + std::ssize(path_)));
    StoredTensor stored{.name = path_, .data = maker_.make(ref), .meta = {}, .stats = {}, .facts = {}};
    if (stored.data) {
      stored.meta = (*stored.data)->meta;
    } else if (std::string& message = stored.data.error().message; !message.starts_with(file_name_)) {
      message = path_.empty() ? fmt::format("{}: the tensor {}", file_name_, message)
                              : fmt::format("{}: tensor \"{}\" {}", file_name_, path_, message);
    }
    set_.tensors.push_back(std::move(stored));
    return {};
  }

  const PickleGraph& graph_;
  const std::string& file_name_;
  int64_t budget_;
  PtTensorMaker maker_;
  TensorSet& set_;
  std::vector<Level> levels_;
  std::vector<bool> inside_;  // containers on the way to the current value
  std::string path_;
};

// All names that the pickle wants and may not have, also where nothing of what they make is kept.
std::vector<std::string> refused_names(const PickleGraph& graph) {
  std::vector<std::string> names;
  for (const PickleValue& value : graph.values) {
    if (value.kind != Kind::global || find_pt_name(value.text).meaning != PtMeaning::refused) continue;
    std::string name = printable(value.text.substr(0, 200));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    if (names.size() > kMaxWarnings) break;
  }
  return names;
}

// The name at the top of the pickle, if the whole file is one object that is refused.
std::optional<std::string> refused_root(const PickleGraph& graph) {
  const PickleValue& root = graph[graph.root];
  if (root.kind != Kind::call && root.kind != Kind::global) return std::nullopt;
  const PickleValue& callable = root.kind == Kind::call ? graph[root.items[0]] : root;
  if (callable.kind != Kind::global) return "something without a name";
  if (find_pt_name(callable.text).meaning != PtMeaning::refused) return std::nullopt;
  return printable(callable.text);
}

}  // namespace

Result<void> add_tensors(const PickleGraph& graph, const PtStorages& storages, const std::string& file_name,
                         int64_t memory, TensorSet& set) {
  const auto refuse = [&](std::string_view name) {
    return fail(ErrorKind::unsupported, "{}: refused: pickle wants to import {}; nothing is executed",
                file_name, name);
  };
  if (const auto name = refused_root(graph)) return refuse(*name);
  ASSAY_TRY_DO(Walk(graph, storages, file_name, memory, set).run());
  const std::vector<std::string> names = refused_names(graph);
  if (set.tensors.empty() && !names.empty()) return refuse(names.front());
  if (set.tensors.empty()) set.warnings.push_back(fmt::format("{}: holds no tensors", file_name));
  for (size_t i = 0; i < std::min(names.size(), kMaxWarnings); ++i)
    set.warnings.push_back(
        fmt::format("{}: refused: pickle wants to import {}; nothing is executed", file_name, names[i]));
  return {};
}

}  // namespace assay
