#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/dump/items.h"
#include "assay/dump/msprobe_parts.h"
#include "assay/dump/python_values.h"
#include "assay/model/fact_keys.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

constexpr int kMostNested = 400;  // as the original
constexpr size_t kMostItems = 100'000;

struct Section {
  std::string_view key, suffix;
  Direction state;
};
// In the order in which the original walks them.
constexpr std::array<Section, 5> kSections = {{
    {"input_args", ".input", Direction::input},
    {"input_kwargs", ".input", Direction::input},
    {"input", ".input", Direction::input},
    {"output", ".output", Direction::output},
    {"parameters", ".parameters", Direction::parameter},
}};

// Row order within an entry: parameters stand before outputs, their gradients behind all.
int rank_of(Direction state) {
  switch (state) {
    case Direction::parameter:
      return 1;
    case Direction::output:
      return 2;
    case Direction::parameter_gradient:
      return 3;
    default:
      return 0;
  }
}

std::string_view last_token(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// The last token, or the last but one: "….parameters_grad" and "….parameters_grad.0".
bool is_parameter_gradient(std::string_view name) {
  constexpr std::string_view kWord = "parameters_grad";
  if (last_token(name) == kWord) return true;
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && last_token(name.substr(0, dot)) == kWord;
}

bool has_token(std::string_view name, std::string_view token) {
  const auto tokens = split(name, '.');
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

int64_t occurrences(std::string_view text, std::string_view word) {
  int64_t count = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size()))
    ++count;
  return count;
}

// In a list, or in the text of a number: JSON has no complex ones ("(nan+1j)"). A bare number shows it by
// itself.
Nonfinite nonfinite_within(const JsonTape& tape, size_t value, std::string_view type) {
  Nonfinite counts{.nans = 0, .infs = 0};
  const bool is_number = type.find("float") != std::string_view::npos || type.find("complex") != type.npos;
  if (tape.is_text(value) && is_number) {
    const std::string text = to_lower(tape.text(value));
    counts.nans = occurrences(text, "nan");
    counts.infs = occurrences(text, "inf");
  } else if (tape.kind(value) == JsonKind::array) {
    for (size_t place = value; place < tape.next(value); ++place)
      if (tape.kind(place) == JsonKind::real && !std::isfinite(tape.real(place)))
        ++(std::isnan(tape.real(place)) ? counts.nans : counts.infs);
  }
  return counts;
}

std::string crc_text(std::string_view text) {
  const auto crc = ::crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  return fmt::format("{:08x}", crc);
}

bool is_group_member(std::string_view name) {
  return name == "src" || name == "dst" || name == "group_src" || name == "group_dst";
}

}  // namespace

MsprobeEntries::MsprobeEntries(Frame& frame, const OpenOptions& options, fs::path data_folder)
    : frame_(frame), options_(options), data_folder_(std::move(data_folder)) {}

void MsprobeEntries::add(std::string_view name, const JsonTape& entry) {
  found_.clear();
  const std::string_view entry_name = kept(name);
  path_ = entry_name;
  keeps_index_ = true;
  if (entry.too_deep()) {
    state_ = Direction::none;
    add_trouble(fmt::format("the entry is nested more than {} deep", kMostNested));
  }
  if (last_token(entry_name) == "debug") {
    state_ = Direction::none;
    walk(entry, 0, 0);
  } else if (is_parameter_gradient(entry_name)) {
    state_ = Direction::parameter_gradient;
    keeps_index_ = !has_token(entry_name, "parameters_grad");
    walk(entry, 0, 0);
  } else if (entry.kind(0) != JsonKind::object) {
    state_ = Direction::none;
    add_trouble("the entry is not a JSON object");
  } else {
    std::array<size_t, kSections.size()> places = {};
    for (size_t at = entry.first(0); !entry.is_end(at); at = entry.next(at + 1)) {
      const auto section = std::ranges::find(kSections, entry.text(at), &Section::key);
      if (section != kSections.end())
        places[static_cast<size_t>(section - kSections.begin())] = at + 1;
      else if (entry.kind(at + 1) == JsonKind::array || entry.kind(at + 1) == JsonKind::object)
        note_unknown(fmt::format("{}.{}", entry_name, entry.text(at)));
    }
    for (size_t i = 0; i < kSections.size(); ++i) {
      const Section& section = kSections[i];
      const size_t place = places[i];
      if (place == 0) continue;
      path_.resize(entry_name.size());
      path_ += section.suffix;
      state_ = section.state;
      walk(entry, place, 0);
    }
  }
  const auto before = [](const Item& a, const Item& b) {
    return rank_of(a.port.direction) < rank_of(b.port.direction);
  };
  if (!std::is_sorted(found_.begin(), found_.end(), before))
    std::stable_sort(found_.begin(), found_.end(), before);
  Node node;
  node.name = entry_name;
  node.order = std::ssize(frame_.nodes);
  node.items.assign(found_.begin(), found_.end());
  frame_.nodes.push_back(std::move(node));
}

void MsprobeEntries::note_unknown(std::string_view part) {
  if (unknown_++ == 0) first_unknown_ = printable(part);
}

void MsprobeEntries::finish() {
  if (unknown_ > 0)
    frame_.warnings.push_back(
        left_out(fmt::format("{}: {} parts of entries are not known and are not read, the first {}",
                             display(data_folder_.parent_path()), unknown_, first_unknown_),
                 unknown_));
  const std::vector<std::string> repeated = merge_repeated();
  if (repeated.empty()) return;
  frame_.warnings.push_back(
      left_out(fmt::format("{}: {} entries stand there twice; the later one counts: {}",
                           display(data_folder_.parent_path()), repeated.size(), some_names(repeated)),
               std::ssize(repeated)));
}

// As in Python: the place of the first, the content of the last. All at once, since sorting hashes takes a
// tenth of the time of a hash table that grows entry by entry.
std::vector<std::string> MsprobeEntries::merge_repeated() {
  struct Hashed {
    uint64_t hash;
    size_t node;
  };
  std::vector<Node>& nodes = frame_.nodes;
  std::vector<Hashed> hashed;
  hashed.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    hashed.push_back({std::hash<std::string_view>()(nodes[i].name), i});
  std::sort(hashed.begin(), hashed.end(), [&](const Hashed& a, const Hashed& b) {
    if (a.hash != b.hash) return a.hash < b.hash;
    const int names = nodes[a.node].name.compare(nodes[b.node].name);
    return names != 0 ? names < 0 : a.node < b.node;
  });
  std::vector<size_t> superseded;
  const auto is_same = [&](const Hashed& a, const Hashed& b) {
    return a.hash == b.hash && nodes[a.node].name == nodes[b.node].name;
  };
  for (auto first = hashed.begin(); first != hashed.end();) {
    auto last = first + 1;
    for (; last != hashed.end() && is_same(*first, *last); ++last) superseded.push_back(last->node);
    if (last - first > 1) std::swap(nodes[first->node], nodes[(last - 1)->node]);
    first = last;
  }
  if (superseded.empty()) return {};
  std::sort(superseded.begin(), superseded.end());
  std::vector<std::string> names;
  for (const size_t node : superseded) names.emplace_back(nodes[node].name);
  std::vector<Node> remaining;
  remaining.reserve(nodes.size() - superseded.size());
  auto skip = superseded.begin();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (skip != superseded.end() && *skip == i) {
      ++skip;
      continue;
    }
    nodes[i].order = std::ssize(remaining);
    remaining.push_back(std::move(nodes[i]));
  }
  nodes = std::move(remaining);
  return names;
}

// Recursion is bounded by kMostNested.
void MsprobeEntries::walk(const JsonTape& tape, size_t place, int depth) {
  if (tape.kind(place) == JsonKind::null) return add_none();
  if (is_bare(tape, place)) return note_unknown(path_);
  if (is_falsy(tape, place)) return;
  if (depth > kMostNested) return add_trouble(fmt::format("nested more than {} deep", kMostNested));
  const size_t length = path_.size();
  if (tape.kind(place) == JsonKind::array) {
    int64_t index = 0;
    for (size_t at = tape.first(place); !tape.is_end(at); at = tape.next(at), ++index) {
      if (keeps_index_) {
        const fmt::format_int digits(index);
        path_.append(1, '.').append(digits.data(), digits.size());
      }
      walk(tape, at, depth + 1);
      path_.resize(length);
    }
  } else if (tape.kind(place) == JsonKind::object) {
    const size_t kind = tape.find(place, "class_type");
    if (kind != 0 && !options_.few_kinds_of_arguments && tape.is_text(kind, "torch.distributed.P2POp"))
      return add_peer_operation(tape, place);
    if (const size_t type = tape.find(place, "type"); type != 0 && tape.is_text(type))
      return add_leaf(tape, place);
    for (size_t at = tape.first(place); !tape.is_end(at); at = tape.next(at + 1)) {
      path_ += '.';
      path_ += tape.text(at);
      if (!keeps_index_ || tape.text(at) != "parameters_grad") {
        walk(tape, at + 1, depth + 1);
      } else {
        keeps_index_ = false;
        walk(tape, at + 1, depth + 1);
        keeps_index_ = true;
      }
      path_.resize(length);
    }
  }
}

void MsprobeEntries::add_none() {
  Stated stated;
  stated.dtype = stated.shape = "None";
  stated.given = Given::nothing;
  add_item(std::move(stated), nullptr);
}

void MsprobeEntries::add_trouble(std::string_view why) {
  add_item(Stated{}, nullptr);
  if (!found_.empty()) found_.back().trouble = frame_.strings.keep(fmt::format("{}: {}", path_, why));
}

void MsprobeEntries::add_peer_operation(const JsonTape& tape, size_t place) {
  const size_t tensor = tape.find(place, "tensor");
  const size_t before = found_.size();
  if (tensor != 0 && tape.kind(tensor) == JsonKind::object)
    add_leaf(tape, tensor);
  else
    add_none();
  if (found_.size() == before) return;
  std::vector<Fact> facts;
  for (const std::string_view key : {"op", "peer", "tag", "group_id"})
    if (const size_t value = tape.find(place, key); value != 0)
      facts.push_back({std::string(key), python_str(tape, value)});
  found_.back().facts = &frame_.facts.emplace_back(std::move(facts));
}

void MsprobeEntries::add_leaf(const JsonTape& tape, size_t place) {
  Stated stated;
  size_t dtype = 0, shape = 0, value = 0;
  std::string_view type;
  bool has_checksum = false;  // or null in the place of one, where a device could not compute it
  for (size_t key = tape.first(place); !tape.is_end(key); key = tape.next(key + 1)) {
    const std::string_view word = tape.text(key);
    const size_t at = key + 1;
    has_checksum |= word == "md5";
    if (word == "type")
      type = tape.text(at);
    else if (word == "dtype")
      dtype = is_falsy(tape, at) ? 0 : at;
    else if (word == "shape")
      shape = at;
    else if (word == "Max")
      stated.max = scalar(tape, at);
    else if (word == "Min")
      stated.min = scalar(tape, at);
    else if (word == "Mean")
      stated.mean = scalar(tape, at);
    else if (word == "Norm")
      stated.norm = scalar(tape, at);
    else if (word == "requires_grad")
      stated.requires_grad = tape.kind(at) == JsonKind::null ? "" : interned(tape, at);
    else if (word == "md5" && tape.kind(at) != JsonKind::null)  // a 0-d tensor may stand for itself, a number
      stated.checksum = tape.is_text(at) ? frame_.strings.keep(tape.text(at)) : interned(tape, at);
    else if (word == "data_name" && tape.is_text(at))
      named_files_.insert(stated.data_name = kept(tape.text(at)));
    else if (word == "value")
      value = at;
  }
  const TensorMeta* meta = nullptr;
  if (dtype != 0) {
    saw_checksum_ |= has_checksum;
    const Described& described = describe(tape, dtype, shape);
    stated.dtype = described.dtype;
    stated.shape = described.shape;
    meta = described.meta;
  } else {
    describe_without_dtype(tape, place, type, stated);
    if (!type.ends_with("Tensor"))
      stated.given = is_described(tape, place) ? Given::argument : Given::nothing;
    const Nonfinite numbers = value == 0 ? Nonfinite{} : nonfinite_within(tape, value, type);
    if (numbers.nans > 0 || numbers.infs > 0) stated.nonfinite = &frame_.nonfinite.emplace_back(numbers);
  }
  // The original gives everything a checksum, of its text where there is no other; only scalars need it here.
  if (stated.checksum.empty() && dtype == 0)
    stated.checksum = interned(crc_text(value == 0 ? std::string() : python_str(tape, value)));
  std::vector<Fact> facts;
  if (stated.given == Given::nothing || type == kDeviceType) facts.push_back({"type", std::string(type)});
  if (const size_t format = dtype == 0 ? tape.find(place, "format") : 0; format != 0 && tape.is_text(format))
    facts.push_back({"format", std::string(tape.text(format))});
  add_item(std::move(stated), meta, std::move(facts));
}

// Whether the dump says what an argument is, beside its type.
bool MsprobeEntries::is_described(const JsonTape& tape, size_t place) {
  return tape.find(place, "value") != 0 || tape.find(place, "group_ranks") != 0;
}

// Arguments that are no tensors: their value stands for all four statistics.
void MsprobeEntries::describe_without_dtype(const JsonTape& tape, size_t place, std::string_view type,
                                            Stated& stated) {
  const size_t value = tape.find(place, "value");
  const auto all_four = [&](const Scalar& scalar) {
    stated.max = stated.min = stated.mean = stated.norm = scalar;
  };
  stated.dtype = interned(type);
  stated.shape = "[]";
  if (type == "torch.Size") {
    stated.shape = value == 0 ? std::string_view("None") : interned(tape, value);
  } else if (type == "slice") {
    stated.shape = interned(numpy_shape(tape, value));
  } else if (options_.few_kinds_of_arguments) {
    stated.dtype = python_class(tape, value);
    all_four(value == 0 ? Scalar() : scalar(tape, value));
  } else if (type == "ellipsis") {
    all_four(value == 0 ? Scalar() : scalar(tape, value));
  } else if (is_group_member(last_token(path_))) {
    const std::string_view text = value == 0 ? std::string_view("None") : interned(tape, value);
    all_four(text);
    stated.checksum = text;
  } else if (type == "torch.ProcessGroup") {
    const size_t ranks = tape.find(place, "group_ranks");
    const std::string_view text = ranks == 0 ? std::string_view("None") : interned(tape, ranks);
    all_four(text);
    stated.checksum = text;
  } else {
    stated.dtype = python_class(tape, value);
    all_four(value == 0 ? Scalar() : scalar(tape, value));
  }
}

void MsprobeEntries::add_item(Stated stated, const TensorMeta* meta, std::vector<Fact> facts) {
  if (found_.size() > kMostItems) return;
  const bool is_last =
      found_.size() == kMostItems;  // the rows of an entry are judged together, so held together
  Item item;
  item.name = path_;
  const bool by_data = names_by_data_ && !stated.data_name.empty();
  if (by_data) item.name = stated.data_name.substr(0, stated.data_name.rfind('.'));
  if (!selected(item.name, options_)) return;
  if (!by_data) item.name = kept(path_);
  item.port.direction = state_;
  if (const auto index = parse_int(last_token(item.name)); index && *index >= 0 && *index <= INT32_MAX)
    item.port.index = static_cast<int>(*index);
  item.meta = meta;
  if (options_.data && !stated.data_name.empty()) item.data = data_file(stated.data_name, item.trouble);
  item.stated = &frame_.stated.emplace_back(stated);
  if (!facts.empty()) item.facts = &frame_.facts.emplace_back(std::move(facts));
  if (is_last)
    item.trouble = frame_.strings.keep(
        fmt::format("{}: the entry has more than {} values; the rest is left out", path_, kMostItems));
  found_.push_back(item);
}

// A name that leads out of the folder is refused: a dump says what it says, but it does not choose what we
// open.
std::optional<TensorRef> MsprobeEntries::data_file(std::string_view data_name, std::string_view& trouble) {
  const fs::path relative(data_name);
  bool escapes = data_name == ".." || data_name == ".";
  if (data_name.find('/') != std::string_view::npos) {
    escapes = relative.is_absolute();
    for (const fs::path& part : relative) escapes |= part == "..";
  }
  if (escapes) {
    trouble = frame_.strings.keep(
        fmt::format("data_name '{}' leads out of {}; it is not opened", data_name, display(data_folder_)));
    return std::nullopt;
  }
  frame_.files.push_back(assay::data_file(data_folder_ / relative, 0));
  return TensorRef{static_cast<int32_t>(frame_.files.size() - 1), 0};
}

Scalar MsprobeEntries::scalar(const JsonTape& tape, size_t place) {
  switch (tape.kind(place)) {
    case JsonKind::null:
      return {};
    case JsonKind::boolean:
      return tape.boolean(place);
    case JsonKind::integer:
      return tape.integer(place);
    case JsonKind::real:
      return tape.real(place);
    case JsonKind::text:
      return raw(tape.text(place));
    case JsonKind::big:
      return Scalar::big(raw(tape.text(place)));
    default:
      return raw(python_str(tape, place));
  }
}

// A value is repeated as it stands; every output makes of it what it can show.
std::string_view MsprobeEntries::raw(std::string_view text) {
  return is_plain(text) ? interned(text) : frame_.strings.keep(text);
}

std::string_view MsprobeEntries::kept(std::string_view text) {
  return frame_.strings.keep(is_plain(text) ? text : std::string_view(scratch_ = printable(text)));
}

std::string_view MsprobeEntries::interned(std::string_view text) {
  const auto found = interned_.find(text);
  if (found != interned_.end()) return found->second;
  // Under its own bytes too, where they are not what is kept: the next one finds it.
  const std::string_view same = kept(text);
  if (same != text) interned_.emplace(frame_.strings.keep(text), same);
  return interned_.try_emplace(same, same).first->second;
}

std::string_view MsprobeEntries::interned(const JsonTape& tape, size_t place) {
  return tape.is_text(place) ? interned(tape.text(place)) : interned(python_str(tape, place));
}

const MsprobeEntries::Described& MsprobeEntries::describe(const JsonTape& tape, size_t dtype, size_t shape) {
  bool is_shape = shape != 0 && tape.kind(shape) == JsonKind::array && tape.is_text(dtype);
  dims_.clear();
  if (is_shape)
    for (size_t at = tape.first(shape); !tape.is_end(at) && is_shape; at = tape.next(at)) {
      is_shape = tape.kind(at) == JsonKind::integer;
      dims_.push_back(is_shape ? tape.integer(at) : 0);
    }
  uint64_t hash = is_shape ? std::hash<std::string_view>()(tape.text(dtype)) : 0;
  for (const int64_t dim : dims_) hash = (hash ^ static_cast<uint64_t>(dim)) * 0x9E3779B97F4A7C15u;
  if (is_shape)
    for (auto [at, end] = described_.equal_range(hash); at != end; ++at)
      if (at->second.dims == dims_ && at->second.dtype == tape.text(dtype)) return at->second;
  Described made;
  made.dtype = interned(tape, dtype);
  made.shape = shape == 0 ? std::string_view("None") : interned(tape, shape);
  made.dims = dims_;
  const auto type = find_dtype(made.dtype);
  const auto count = checked_product(dims_);
  const bool is_valid = is_shape && type && count && *count <= INT64_MAX / 16 &&
                        std::none_of(dims_.begin(), dims_.end(), [](int64_t dim) { return dim < 0; });
  if (is_valid) made.meta = &frame_.metas.emplace_back(TensorMeta{*type, Shape{dims_}});
  return described_.emplace(hash, std::move(made))->second;
}

}  // namespace assay
