#include "assay/format/pt_writer.h"

#include "assay/base/text.h"
#include "assay/format/big_integer.h"
#include "assay/format/pt_write.h"
#include "assay/format/zip_tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace assay {
namespace {

// None, True, a number or a text.
void add_value(PickleWriter& pickle, const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value))
    pickle.op(*truth ? "\x88" : "\x89");
  else if (const auto* whole = std::get_if<int64_t>(&value))
    pickle.integer(*whole);
  else if (const auto* text = std::get_if<std::string>(&value))
    pickle.string(*text);
  else if (const auto* real = std::get_if<double>(&value))
    pickle.real(*real);
  else
    pickle.op("N");
}

// Python finds a key again that is NaN: it is the same object.
bool is_same_key(const Value& a, const Value& b) {
  const auto *const x = std::get_if<double>(&a), *const y = std::get_if<double>(&b);
  return a == b || (x != nullptr && y != nullptr && std::isnan(*x) && std::isnan(*y));
}

bool is_same_step(const NestStep& a, const NestStep& b) {
  return a.in == b.in && a.is_attribute == b.is_attribute && a.container == b.container &&
         is_same_key(a.key, b.key) && a.tuple_key.has_value() == b.tuple_key.has_value() &&
         (!a.tuple_key || std::ranges::equal(*a.tuple_key, *b.tuple_key, is_same_key));
}

// Opens and closes containers on the way from one place to the next.
class NestWriter {
 public:
  using In = NestStep::In;
  explicit NestWriter(PickleWriter& pickle) : pickle_(pickle) {}

  // What is written next stands there. False if something else does already.
  bool move_to(const std::vector<NestStep>& steps) {
    size_t same = 0;
    while (same < steps.size() && same < at_.size() && is_same_step(steps[same], at_[same])) ++same;
    if (is_begun_ && same == steps.size()) return false;
    is_begun_ = true;
    while (open_.size() > same + 1) close();
    for (size_t depth = same; depth < steps.size(); ++depth) {
      if (open_.size() <= depth) open(steps[depth].in, steps[depth].container);
      if (open_[depth].in != steps[depth].in || !add_key(steps[depth], open_[depth])) return false;
    }
    at_ = steps;
    return true;
  }
  void add_empty(In in) {
    constexpr std::string_view kEmpty[] = {"}", "", "]", ")"};
    if (in == In::ordered_dict)
      add_ordered_dict();
    else
      pickle_.op(kEmpty[static_cast<size_t>(in)]);
  }
  void add(const StoredValue& value) {
    switch (value.form) {
      case StoredValue::Form::plain:
        if (value.container) open(*value.container);
        for (const Value& each : value.values) add_value(pickle_, each);
        if (value.container) close();
        return;
      case StoredValue::Form::integer:
        pickle_.long_integer(big_integer_bytes(value.text));
        return;
      case StoredValue::Form::dtype:
        pickle_.global("torch", std::string_view(value.text).substr(value.text.rfind('.') + 1));
        return;
      case StoredValue::Form::reference:
        // Nothing of that container may have been wanted.
        if (const auto known = remembered_.find(value.refers_to); known != remembered_.end())
          pickle_.recall(known->second);
        else
          pickle_.op("N");
        return;
      case StoredValue::Form::other:
        pickle_.op("N");
        return;
    }
  }
  void finish() {
    while (!open_.empty()) close();
    if (!is_begun_) add_empty(In::dict);
    pickle_.op(".");
  }

 private:
  struct Open {
    In in;
    int64_t next = 0;  // index, in a list or tuple
    bool is_at_attributes = false;
    std::set<std::tuple<bool, Value, std::optional<std::vector<Value>>>> keys = {};
  };

  void add_ordered_dict() { pickle_.global("collections", "OrderedDict").op(")R"); }

  // container: its number in the file that it comes from.
  void open(In in, std::optional<int64_t> container = std::nullopt) {
    if (in != In::tuple) add_empty(in);
    if (in != In::tuple && container) {
      // One that stands in several places is written in each: the last one is meant.
      remembered_[*container] = next_number_;
      pickle_.remember(next_number_++);
    }
    pickle_.op("(");
    open_.push_back({in});
  }
  void close() {
    const Open& last = open_.back();
    pickle_.op(last.in == In::tuple ? "t" : last.in == In::list ? "e" : "u");
    if (last.is_at_attributes) pickle_.op("b");
    open_.pop_back();
  }
  // None stands in the places of a list between.
  bool add_key(const NestStep& step, Open& in) {
    if (in.in == In::list || in.in == In::tuple) {
      const auto* const index = std::get_if<int64_t>(&step.key);
      if (index == nullptr || *index < in.next) return false;
      for (; in.next < *index; ++in.next) pickle_.op("N");
      ++in.next;
      return true;
    }
    if (!in.keys.emplace(step.is_attribute, step.key, step.tuple_key).second ||
        (in.is_at_attributes && !step.is_attribute))
      return false;
    if (step.is_attribute && !in.is_at_attributes) {
      pickle_.op("u}(");
      in.is_at_attributes = true;
    }
    if (!step.tuple_key) {
      add_value(pickle_, step.key);
      return true;
    }
    pickle_.op("(");
    for (const Value& part : *step.tuple_key) add_value(pickle_, part);
    pickle_.op("t");
    return true;
  }

  PickleWriter& pickle_;
  std::vector<Open> open_;
  std::vector<NestStep> at_;
  bool is_begun_ = false;
  std::map<int64_t, uint32_t> remembered_;  // containers, by their numbers
  uint32_t next_number_ = 0;
};

// The storages of a file, in the order of their keys: one for each tensor, or for those that share one.
class WrittenStorages {
 public:
  PickledTensor add(const StoredTensor& tensor) {
    PickledTensor view = place((*tensor.data)->meta, tensor);
    view.requires_grad = tensor.requires_grad;
    view.is_parameter = tensor.is_parameter;
    return view;
  }

  std::vector<OperandPtr> all;

 private:
  PickledTensor place(const TensorMeta& meta, const StoredTensor& tensor) {
    if (!tensor.shared) {
      all.push_back(*tensor.data);
      return with_own_storage(meta, all.size() - 1);
    }
    const auto [known, is_new] = shared_.try_emplace(tensor.shared->which, all.size());
    if (is_new) all.push_back(tensor.shared->data);
    return {.shape = meta.shape,
            .key = known->second,
            .stored = all[known->second]->meta,
            .offset = tensor.shared->offset,
            .strides = tensor.shared->strides};
  }

  std::map<int64_t, size_t> shared_;
};

Result<std::string> make_pickle(const FileWriter& out, std::span<const StoredTensor> tensors,
                                std::span<const StoredValue> values, WrittenStorages& storages) {
  PickleWriter pickle;
  NestWriter nests(pickle);
  constexpr size_t kMostBytes = std::numeric_limits<uint32_t>::max();
  const auto move_to = [&](const Nest& nest, const std::string& what) -> Result<void> {
    if (what.size() <= kMostBytes && nests.move_to(nest.steps)) return {};
    return fail(ErrorKind::bad_argument, "{}: two tensors have the name \"{}\"", out.name(), printable(what));
  };
  size_t value = 0;
  const auto add_values_before = [&](int64_t order) -> Result<void> {
    for (; value < values.size() && (!values[value].nest || values[value].nest->order < order); ++value) {
      const StoredValue& each = values[value];
      if (!each.nest) continue;
      ASSAY_TRY_DO(move_to(*each.nest, each.name));
      nests.add(each);
    }
    return {};
  };
  for (const StoredTensor& stored : tensors) {
    if (!stored.data) return tl::unexpected<Error>(stored.data.error());
    const TensorMeta& meta = (*stored.data)->meta;
    const auto type = torch_type(meta.dtype);
    if (!type)
      return fail(ErrorKind::unsupported,
                  "{}: torch has no type for {} (tensor \"{}\"); cast it, or write another format",
                  out.name(), name(meta.dtype), printable(stored.name));
    ASSAY_TRY_DO(add_values_before(stored.nest.order));
    ASSAY_TRY_DO(move_to(stored.nest, stored.name));
    add_tensor(pickle, storages.add(stored), *type);
  }
  ASSAY_TRY_DO(add_values_before(std::numeric_limits<int64_t>::max()));
  nests.finish();
  return pickle.text();
}

}  // namespace

Result<void> write_nested_pt(FileWriter& out, std::span<const StoredTensor> tensors,
                             std::span<const StoredValue> values) {
  WrittenStorages storages;
  ASSAY_TRY(const std::string pickle, make_pickle(out, tensors, values, storages));
  ZipWriter zip(out);
  ASSAY_TRY_DO(zip.add("archive/data.pkl", as_bytes(pickle)));
  ASSAY_TRY_DO(zip.add("archive/byteorder", as_bytes(std::string_view("little"))));
  for (size_t i = 0; i < storages.all.size(); ++i) {
    const Operand& storage = *storages.all[i];
    ASSAY_TRY_DO(zip.begin(fmt::format("archive/data/{}", i), storage.meta.byte_size()));
    ASSAY_TRY_DO(append_elements(zip, storage));
    ASSAY_TRY_DO(zip.end());
  }
  ASSAY_TRY_DO(zip.add("archive/version", as_bytes(std::string_view("3\n"))));
  return zip.finish();
}

Result<void> write_pt(FileWriter& out, std::span<const StoredTensor> tensors) {
  std::vector<StoredTensor> flat(tensors.begin(), tensors.end());
  const bool is_bare = flat.size() == 1 && flat[0].name.empty();
  for (StoredTensor& tensor : flat) {
    tensor.nest = {};
    if (!is_bare) tensor.nest.steps.push_back({NestStep::In::dict, false, tensor.name});
  }
  return write_nested_pt(out, flat, {});
}

}  // namespace assay
