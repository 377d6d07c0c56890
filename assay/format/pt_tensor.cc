#include "assay/format/pt_tensor.h"

#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/format/npy_header.h"
#include "assay/format/pickle_text.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <limits>

namespace assay {
namespace {

using Kind = PickleValue::Kind;

constexpr int64_t kElementsPerByte = 1032;  // deflate's best, for elements of one byte
constexpr int64_t kElementsOfViews = int64_t{1} << 30;

template <class... Args>
tl::unexpected<Error> bad(fmt::format_string<Args...> text, Args&&... args) {
  return fail(ErrorKind::bad_format, text, std::forward<Args>(args)...);
}

bool is_string(const PickleValue& value) { return value.kind == Kind::text || value.kind == Kind::bytes; }

bool is_contiguous(const Shape& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t i = shape.dims.size(); i-- > 0;) {
    if (shape.dims[i] != 1 && strides[i] != expected) return false;
    expected *= shape.dims[i];
  }
  return true;
}

// An attribute of an object whose state is a dict, or a dict of its slots behind another; 0: it has none.
PickleRef attribute_of(const PickleGraph& graph, PickleRef state, std::string_view name) {
  const PickleValue* attributes = &graph[state];
  if (attributes->kind == Kind::tuple && attributes->items.size() == 2)
    attributes = &graph[attributes->items[1]];
  if (attributes->kind != Kind::dict) return 0;
  for (size_t i = 0; i + 1 < attributes->items.size(); i += 2)
    if (const PickleValue& key = graph[attributes->items[i]]; is_string(key) && key.text == name)
      return attributes->items[i + 1];
  return 0;
}

// Of a tensor that ranks share: what this one holds, a tensor in the state of the subclass. 0: it is none.
PickleRef share_of_rank(const PickleGraph& graph, const std::vector<PickleRef>& from_type) {
  if (from_type.size() < 4) return 0;
  const std::string_view type = graph[from_type[1]].text;
  PickleRef share = 0;
  if (type == "torch.distributed.tensor.DTensor" || type == "torch.distributed._tensor.api.DTensor" ||
      type == "torch.distributed._tensor.DTensor") {
    share = attribute_of(graph, from_type[3], "_local_tensor");
  } else if (type.starts_with("torch.distributed._shard.sharded_tensor.") &&
             type.ends_with(".ShardedTensor")) {
    const PickleValue& state = graph[from_type[3]];
    if (state.kind != Kind::tuple || state.items.empty()) return 0;
    const PickleValue& shards = graph[state.items[0]];
    if (shards.kind != Kind::list || shards.items.size() != 1) return 0;
    const PickleValue& shard = graph[shards.items[0]];
    if (shard.kind == Kind::call) share = attribute_of(graph, shard.state, "tensor");
  }
  return graph[share].kind == Kind::call ? share : 0;
}

}  // namespace

int64_t most_elements(const File& file, const FormatOptions& options) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  if (options.trusted) return kNoLimit;
  const auto held = checked_multiply(file.size(), kElementsPerByte);
  return held ? checked_add(*held, kElementsOfViews).value_or(kNoLimit) : kNoLimit;
}

std::optional<PtStorageId> storage_id(const PickleGraph& graph, const PickleValue& persistent) {
  if (persistent.kind != Kind::persistent) return std::nullopt;
  const PickleValue& id = graph[persistent.items[0]];
  if (id.kind != Kind::tuple || id.items.size() < 5) return std::nullopt;
  const auto item = [&](size_t i) -> const PickleValue& { return graph[id.items[i]]; };
  if (!is_string(item(0)) || item(0).text != "storage" || item(1).kind != Kind::global || !is_string(item(2)))
    return std::nullopt;
  const PtStorageClass* const storage_class = find_pt_storage_class(item(1).text);
  if (storage_class == nullptr || item(4).kind != Kind::integer || item(4).integer < 0) return std::nullopt;
  // Nothing else is in such an id, so that nothing is passed over with it.
  constexpr size_t kLongestPlace = 64;
  if (!is_string(item(3)) || item(3).text.size() > kLongestPlace || id.items.size() > 6) return std::nullopt;
  PtStorageId out{.key = item(2).text,
                  .dtype = storage_class->dtype,
                  .element_size = storage_class->element_size,
                  .count = item(4).integer};
  if (id.items.size() > 5 && item(5).kind != Kind::none) {
    if (item(5).kind != Kind::tuple || item(5).items.size() != 3) return std::nullopt;
    const PickleValue &key = graph[item(5).items[0]], &offset = graph[item(5).items[1]],
                      &size = graph[item(5).items[2]];
    if (!is_string(key) || offset.kind != Kind::integer || offset.integer < 0 || size.kind != Kind::integer)
      return std::nullopt;
    out.view_offset = offset.integer;
  }
  return out;
}

PtName meaning_of(const PickleGraph& graph, const PickleValue& call) {
  const PickleValue& callable = graph[call.items[0]];
  return callable.kind == Kind::global ? find_pt_name(callable.text) : PtName{};
}

std::optional<std::vector<int64_t>> PtTensorMaker::integers(PickleRef tuple) const {
  const PickleValue* value = &graph_[tuple];
  if (value->kind == Kind::call && graph_[value->items[0]].text == "torch.Size" &&
      graph_[value->items[1]].items.size() == 1)
    value = &graph_[graph_[value->items[1]].items[0]];
  if ((value->kind != Kind::tuple && value->kind != Kind::list) || value->items.size() > kMaxDims)
    return std::nullopt;
  std::vector<int64_t> numbers;
  for (const PickleRef ref : value->items) {
    if (graph_[ref].kind != Kind::integer) return std::nullopt;
    numbers.push_back(graph_[ref].integer);
  }
  return numbers;
}

PtChain PtTensorMaker::chain(PickleRef call) const {
  const auto link = [&](PickleRef ref) {
    return PtLink{meaning_of(graph_, graph_[ref]), &graph_[graph_[ref].items[1]], ref};
  };
  PtChain out{{link(call)}, std::nullopt};
  const auto end = [&](std::string_view why) {
    out.trouble = Error{ErrorKind::bad_format, std::string(why)};
    return std::move(out);
  };
  // Ends: arguments are values made earlier than the call, so each step goes to a smaller reference.
  for (;;) {
    const PtMeaning meaning = out.links.back().name.meaning;
    const std::vector<PickleRef>& arguments = out.links.back().arguments->items;
    if (meaning == PtMeaning::wrapper) {
      if (arguments.empty() || graph_[arguments[0]].kind != Kind::call)
        return end("wraps something that is not a tensor");
      out.links.push_back(link(arguments[0]));
    } else if (meaning == PtMeaning::from_type) {
      if (arguments.size() < 3 || graph_[arguments[2]].kind != Kind::tuple)
        return end("is rebuilt from too few arguments");
      if (graph_[arguments[0]].kind != Kind::global) return end("is rebuilt by something without a name");
      const PickleRef share = share_of_rank(graph_, arguments);
      if (share != 0 && share < out.links.back().call) {
        out.links.push_back(link(share));
        out.links.back().is_share = true;
        continue;
      }
      out.links.push_back({find_pt_name(graph_[arguments[0]].text), &graph_[arguments[2]], 0});
    } else {
      return out;
    }
  }
}

Result<OperandPtr> PtTensorMaker::make(PickleRef call) const {
  const PtChain chain = this->chain(call);
  if (chain.trouble) return tl::unexpected<Error>(*chain.trouble);
  const auto& [name, arguments, from, is_share] = chain.links.back();
  switch (name.meaning) {
    case PtMeaning::tensor:
      return from_storage(*arguments, false);
    case PtMeaning::typed_tensor:
      return from_storage(*arguments, true);
    case PtMeaning::array:
      return array(graph_[from].state);
    case PtMeaning::buffer_array:
      return buffer_array(*arguments);
    case PtMeaning::scalar:
      return scalar(*arguments);
    case PtMeaning::unreadable:
      return fail(ErrorKind::unsupported, "is {}", name.reason);
    case PtMeaning::refused:
      return fail(ErrorKind::unsupported, "refused: pickle wants to import {}; nothing is executed",
                  printable(name.name));
    default:
      return bad("is made of {}, which is not a tensor", name.name);
  }
}

Result<PtPlacement> PtTensorMaker::place_in_storage(const PickleValue& arguments, bool typed) const {
  const auto& items = arguments.items;
  if (items.size() < (typed ? 7U : 4U)) return bad("is rebuilt from {} arguments, too few", items.size());
  const auto id = storage_id(graph_, graph_[items[0]]);
  if (!id) return bad("has no storage that we know");
  // torch 2 saves x.conj() and x.neg() as their storage and a flag behind the other arguments.
  const size_t flags = typed ? 7 : 6;
  if (items.size() > flags && graph_[items[flags]].kind == Kind::dict)
    for (const PickleRef ref : graph_[items[flags]].items)
      if (is_string(graph_[ref]) && (graph_[ref].text == "conj" || graph_[ref].text == "neg"))
        return fail(ErrorKind::unsupported, "is a view with its {} bit set; save it with .resolve_{}()",
                    graph_[ref].text == "conj" ? "conjugate" : "negative", graph_[ref].text);
  std::optional<DType> dtype = id->dtype;
  if (typed) {
    dtype = find_torch_dtype(graph_[items[6]].text);
    if (!dtype)
      return fail(ErrorKind::unsupported, "has type {}, which is not supported",
                  printable(graph_[items[6]].text));
  }
  if (!dtype) return fail(ErrorKind::unsupported, "has a storage without an element type that we know");
  auto shape = integers(items[2]);
  auto strides = integers(items[3]);
  const PickleValue& offset = graph_[items[1]];
  if (!shape || !strides || shape->size() != strides->size() || offset.kind != Kind::integer)
    return bad("has a shape, strides or an offset that are not {} numbers", kMaxDims);
  return PtPlacement{*id, *dtype, Shape{std::move(*shape)}, std::move(*strides), offset.integer};
}

Result<OperandPtr> PtTensorMaker::from_storage(const PickleValue& arguments, bool typed) const {
  ASSAY_TRY(PtPlacement at, place_in_storage(arguments, typed));
  return view(at.id, at.dtype, std::move(at.shape), std::move(at.strides), at.offset);
}

std::optional<PtPlacement> PtTensorMaker::placement(PickleRef call) const {
  const PtChain chain = this->chain(call);
  const PtLink& last = chain.links.back();
  if (last.name.meaning != PtMeaning::tensor && last.name.meaning != PtMeaning::typed_tensor)
    return std::nullopt;
  auto at = place_in_storage(*last.arguments, last.name.meaning == PtMeaning::typed_tensor);
  if (!at) return std::nullopt;
  at->offset += at->id.view_offset;
  return std::move(*at);
}

bool PtTensorMaker::wants_gradient(PickleRef call) const {
  for (const PtLink& link : chain(call).links) {
    const bool is_tensor =
        link.name.meaning == PtMeaning::tensor || link.name.meaning == PtMeaning::typed_tensor;
    const bool is_parameter = link.name.name.starts_with("torch._utils._rebuild_parameter");
    if (!is_tensor && link.name.meaning != PtMeaning::wrapper) continue;
    const size_t place = is_tensor ? 4 : is_parameter ? 1 : 3;
    const std::vector<PickleRef>& arguments = link.arguments->items;
    if (place < arguments.size() && graph_[arguments[place]].kind == Kind::boolean)
      return graph_[arguments[place]].integer != 0;
  }
  return false;
}

Result<OperandPtr> PtTensorMaker::view(const PtStorageId& id, DType dtype, Shape shape,
                                       std::vector<int64_t> strides, int64_t offset) const {
  const int64_t size = size_of(dtype);
  ASSAY_TRY(const int64_t bytes, storages_.byte_size(id.key));
  const auto claimed = checked_multiply(id.count, id.element_size);
  if (!claimed || *claimed > bytes)
    return bad("wants {} elements of {} bytes from storage {}, which has {} bytes", id.count, id.element_size,
               printable(id.key), bytes);
  const auto base = checked_multiply(id.view_offset, size);
  if (!base || *base > bytes)
    return bad("is a view from element {} of a storage of {} bytes", id.view_offset, bytes);
  const int64_t available = (bytes - *base) / size;  // elements

  const auto count = checked_product(shape.dims);
  const auto total = count ? checked_multiply(*count, size) : std::nullopt;
  if (!total) return bad("has shape {}, which is impossible", shape.text());
  std::optional<int64_t> last = offset;
  for (size_t i = 0; i < shape.dims.size() && *count > 0 && last; ++i) {
    const auto reach = strides[i] >= 0 ? checked_multiply(shape.dims[i] - 1, strides[i]) : std::nullopt;
    last = reach ? checked_add(*last, *reach) : std::nullopt;
  }
  if (offset < 0 || !last || (*count > 0 && *last >= available) || offset > available)
    return bad("of shape {} with strides {} from element {} leaves its storage of {} elements", shape.text(),
               Shape{strides}.text(), offset, available);
  if (*count > storages_.most_elements() - elements_)
    return fail(
        ErrorKind::limit,
        "of shape {} repeats a storage of {} elements; with it the tensors of the file would have more "
        "than the {} elements that a file of its size holds honestly; pass --trusted if this one does",
        shape.text(), available, storages_.most_elements());
  elements_ += *count;
  coverage_.add(id.key, *base + offset * size, *base + (offset + gapless_reach(shape, strides)) * size);
  if (*count == 0 || is_contiguous(shape, strides))
    return storages_.dense(id.key, *base + (*count == 0 ? 0 : offset * size), {dtype, std::move(shape)},
                           ReadOrder::forwards);
  // Only the part that the view touches, so that its elements need not be held apart from the rest of the
  // storage.
  ASSAY_TRY(OperandPtr touched, storages_.dense(id.key, *base + offset * size,
                                                {dtype, Shape{{*last - offset + 1}}}, ReadOrder::any));
  return strided(std::move(touched), std::move(shape), strides, 0);
}

Result<OperandPtr> PtTensorMaker::whole_storage(const PtStorageId& id) const {
  const auto bytes = checked_multiply(id.count, id.element_size);
  if (!bytes) return bad("is a storage of {} elements, which is impossible", id.count);
  return view(id, id.dtype.value_or(DType::u8), Shape{{id.dtype ? id.count : *bytes}}, {1}, 0);
}

// ----- arrays of numpy: bytes inside the pickle

std::optional<std::string> PtTensorMaker::bytes_of(PickleRef data) const {
  const PickleValue& value = graph_[data];
  if (value.kind == Kind::bytes) return value.text;
  // Protocol 2 writes bytes as _codecs.encode(text, 'latin1').
  if (value.kind != Kind::call) return std::nullopt;
  const std::string_view maker = graph_[value.items[0]].text;
  const PickleValue& arguments = graph_[value.items[1]];
  if (arguments.items.empty() && (maker == "builtins.bytes" || maker == "__builtin__.bytes")) return "";
  if (maker != "_codecs.encode") return std::nullopt;
  if (arguments.items.size() != 2 || graph_[arguments.items[0]].kind != Kind::text) return std::nullopt;
  return to_latin1(graph_[arguments.items[0]].text);
}

// numpy.dtype('f4', …) with its byte order in the state: (3, '<', …).
std::optional<std::string> PtTensorMaker::numpy_dtype(PickleRef dtype) const {
  const PickleValue& call = graph_[dtype];
  if (call.kind != Kind::call || graph_[call.items[0]].text != "numpy.dtype") return std::nullopt;
  const PickleValue& arguments = graph_[call.items[1]];
  if (arguments.items.empty() || !is_string(graph_[arguments.items[0]])) return std::nullopt;
  const std::string& code = graph_[arguments.items[0]].text;
  // Names, fields and metadata behind that are those of other types than numbers.
  const PickleValue& state = graph_[call.state];
  const auto holds_more = [&](const std::vector<PickleRef>& items, size_t from) {
    return std::any_of(items.begin() + static_cast<std::ptrdiff_t>(std::min(from, items.size())), items.end(),
                       [&](PickleRef ref) {
                         const Kind kind = graph_[ref].kind;
                         return kind != Kind::none && kind != Kind::integer && kind != Kind::boolean;
                       });
  };
  const bool is_number = std::string_view("VOMm").find(code.substr(0, 1)) == std::string_view::npos;
  if (is_number && (holds_more(arguments.items, 1) || holds_more(state.items, 2))) return std::nullopt;
  if (state.kind != Kind::tuple || state.items.size() < 2 || !is_string(graph_[state.items[1]])) return code;
  return graph_[state.items[1]].text + code;
}

Result<OperandPtr> PtTensorMaker::from_bytes(PickleRef data, PickleRef dtype,
                                             std::optional<std::vector<int64_t>> dims,
                                             bool fortran_order) const {
  const auto descr = numpy_dtype(dtype);
  if (!descr || !dims) return bad("is a numpy array with a dtype or shape that we do not know");
  ASSAY_TRY(const DType type, dtype_from_numpy(*descr, "numpy array"));
  const auto bytes = bytes_of(data);
  if (!bytes) return bad("is a numpy array without its bytes");
  budget_ -= std::ssize(*bytes);
  if (budget_ < 0)
    return fail(ErrorKind::limit, "is one of too many numpy arrays for the memory limit; raise --memory");
  NpyHeader header;
  header.meta = {type, Shape{std::move(*dims)}};
  header.big_endian = descr->starts_with('>');
  header.fortran_order = fortran_order;
  const auto count = checked_product(header.meta.shape.dims);
  const auto needed = count ? checked_multiply(*count, size_of(type)) : std::nullopt;
  if (needed != std::ssize(*bytes))
    return bad("is a numpy array {}{} with {} bytes", assay::name(type), header.meta.shape.text(),
               bytes->size());
  const Bytes view = as_bytes(*bytes);
  return tensor_from_npy(dense_in_memory(std::vector<std::byte>(view.begin(), view.end()), header.meta),
                         header);
}

// _reconstruct(ndarray, (0,), b'b') with the state (1, shape, dtype, is_fortran, bytes).
Result<OperandPtr> PtTensorMaker::array(PickleRef state) const {
  const auto& items = graph_[state].items;
  if (graph_[state].kind != Kind::tuple || items.size() != 5) return bad("is a numpy array without a state");
  return from_bytes(items[4], items[2], integers(items[1]), graph_[items[3]].integer != 0);
}

Result<OperandPtr> PtTensorMaker::buffer_array(const PickleValue& arguments) const {
  const auto& items = arguments.items;
  if (items.size() != 4) return bad("is a numpy array from {} arguments", items.size());
  return from_bytes(items[0], items[1], integers(items[2]), graph_[items[3]].text == "F");
}

Result<OperandPtr> PtTensorMaker::scalar(const PickleValue& arguments) const {
  const auto& items = arguments.items;
  if (items.size() != 2) return bad("is a numpy scalar from {} arguments", items.size());
  return from_bytes(items[1], items[0], std::vector<int64_t>(), false);
}

bool PtTensorMaker::is_number(PickleRef scalar) const {
  const std::vector<PickleRef>& arguments = graph_[graph_[scalar].items[1]].items;
  const auto descr = arguments.empty() ? std::nullopt : numpy_dtype(arguments[0]);
  if (!descr) return true;  // making it says what is wrong
  const size_t code = descr->find_first_not_of("<>|=");
  return code == std::string::npos ||
         std::string_view("USaMm").find((*descr)[code]) == std::string_view::npos;
}

PickleRef data_of_array(const PickleGraph& graph, const PtLink& link) {
  const std::vector<PickleRef>& arguments = link.arguments->items;
  switch (link.name.meaning) {
    case PtMeaning::array: {
      const PickleValue& state = graph[link.call == 0 ? 0 : graph[link.call].state];
      return state.kind == Kind::tuple && state.items.size() == 5 ? state.items[4] : 0;
    }
    case PtMeaning::buffer_array:
      return arguments.size() == 4 ? arguments[0] : 0;
    case PtMeaning::scalar:
      return arguments.size() == 2 ? arguments[1] : 0;
    default:
      return 0;
  }
}

}  // namespace assay
