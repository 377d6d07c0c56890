// Where a walk through the objects of a .pt pickle stands.
#pragma once

#include "assay/format/format.h"
#include "assay/format/pickle.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

// A part of a container on the way to the current value: its elements, or its pairs. Objects have several
// parts (arguments, elements, attributes), which lie on the stack one above another.
struct PtLevel {
  PtLevel() = default;
  PtLevel(PtLevel&&) = default;  // not to be copied: `items` may show `own`
  PtLevel& operator=(PtLevel&&) = default;

  enum class Form : uint8_t { elements, pairs, one };  // one: a single value whose name is `label`
  PickleRef container = 0;
  std::span<const PickleRef> items;
  Form form = Form::elements;
  std::string_view label = {};      // before the index or key: "args."
  std::vector<PickleRef> own = {};  // what `items` shows, where it had to be put together
  size_t next = 0;
  size_t path_size = 0;        // length of the path to the container
  bool is_attributes = false;  // what BUILD handed over
  bool is_root = false;        // nothing stands before its names
  bool is_last = false;        // the part of its container that is left last
  // What was there when it was entered: tensors that were found, and rows.
  int64_t found_before = 0;
  size_t rows_before = 0;
  int64_t circles_before = 0;
};

// A tuple of numbers and texts as a key.
std::optional<std::vector<Value>> tuple_of_plain(const PickleGraph& graph, const PickleValue& value);

// The way to the value at hand. An object of a class that we do not know is a dict of its parts. Nothing for
// what stands in a key, or is kept with a tensor: no container holds it.
std::optional<std::vector<NestStep>> steps_to(const PickleGraph& graph, std::span<const PtLevel> levels);

// The container as one without elements; nothing for what is none.
std::optional<NestStep::In> container_kind(const PickleGraph& graph, PickleRef ref);

bool is_empty_container(const PickleGraph& graph, PickleRef ref);

// Whether its kind is one of these; bytes may be a str of Python 2.
bool may_be_plain(const PickleValue& value);

// A number, a text, True or None; nothing for what is more.
std::optional<Value> plain_value(const PickleValue& value);

}  // namespace assay
