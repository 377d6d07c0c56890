#include "assay/format/ge_dump.h"

#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/format/ge_header.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/storage.h"

#include <array>
#include <limits>

namespace assay {
namespace {

constexpr size_t kMostDimensions = 64;

struct ElementType {
  std::string_view name;
  std::optional<DType> dtype;  // empty: not numbers
};

// By the number in the file. Dual and quantised types are compared as the integers they are stored as.
constexpr std::array<ElementType, 41> kTypes = {{{"UNDEFINED", DType::i8},
                                                 {"FLOAT", DType::f32},
                                                 {"FLOAT16", DType::f16},
                                                 {"INT8", DType::i8},
                                                 {"UINT8", DType::u8},
                                                 {"INT16", DType::i16},
                                                 {"UINT16", DType::u16},
                                                 {"INT32", DType::i32},
                                                 {"INT64", DType::i64},
                                                 {"UINT32", DType::u32},
                                                 {"UINT64", DType::u64},
                                                 {"BOOL", DType::boolean},
                                                 {"DOUBLE", DType::f64},
                                                 {"STRING", std::nullopt},
                                                 {"DUAL_SUB_INT8", DType::i8},
                                                 {"DUAL_SUB_UINT8", DType::u8},
                                                 {"COMPLEX64", DType::c64},
                                                 {"COMPLEX128", DType::c128},
                                                 {"QINT8", DType::i8},
                                                 {"QINT16", DType::i16},
                                                 {"QINT32", DType::i32},
                                                 {"QUINT8", DType::u8},
                                                 {"QUINT16", DType::u16},
                                                 {"RESOURCE", DType::i64},
                                                 {"STRING_REF", std::nullopt},
                                                 {"DUAL", std::nullopt},
                                                 {"VARIANT", std::nullopt},
                                                 {"BF16", DType::bf16},
                                                 {"INT4", DType::i4},
                                                 {"UINT1", DType::u1},
                                                 {"INT2", DType::i2},
                                                 {"UINT2", DType::u2},
                                                 {"COMPLEX32", DType::c32},
                                                 {"HIFLOAT8", DType::hif8},
                                                 {"FLOAT8_E5M2", DType::f8e5m2},
                                                 {"FLOAT8_E4M3FN", DType::f8e4m3fn},
                                                 {"FLOAT8_E8M0", DType::f8e8m0},
                                                 {"FLOAT6_E3M2", DType::f6e3m2},
                                                 {"FLOAT6_E2M3", DType::f6e2m3},
                                                 {"FLOAT4_E2M1", DType::f4e2m1},
                                                 {"FLOAT4_E1M2", DType::f4e1m2}}};

std::optional<DType> nano_dtype(int code) {
  switch (code) {
    case 0:
      return DType::f32;
    case 1:
      return DType::f16;
    case 2:
      return DType::i8;
    case 3:
      return DType::i32;
    case 4:
      return DType::u8;
    case 6:
      return DType::i16;
    case 7:
      return DType::u16;
    case 8:
      return DType::u32;
    case 9:
      return DType::i64;
    case 10:
      return DType::u64;
    case 11:
      return DType::f64;
    case 12:
      return DType::boolean;
    case 16:
      return DType::c64;
    case 17:
      return DType::c128;
    case 23:
      return DType::i64;
    case 27:
      return DType::bf16;
    case 30:
      return DType::u1;
    default:
      return std::nullopt;
  }
}

// A tensor of the header, and where it is.
struct Entry {
  const std::shared_ptr<const File>& file;
  const GeHeader& header;
  GeTensor& tensor;
  std::string name;    // "output.0"
  int64_t offset = 0;  // in the file
  int64_t memory = 0;  // the most that elements inside the message may take
  std::string where() const { return fmt::format("{}: {}", file->name(), name); }
};

Result<DType> dtype_of(const Entry& entry) {
  const int code = entry.tensor.data_type;
  const bool known = code >= 0 && code < static_cast<int>(kTypes.size());
  const auto dtype = entry.header.nano ? nano_dtype(code)
                     : known           ? kTypes[static_cast<size_t>(code)].dtype
                                       : std::nullopt;
  if (dtype) return *dtype;
  if (known && !entry.header.nano)
    return fail(ErrorKind::unsupported, "{}: its elements are of type {}, which are not numbers",
                entry.where(), kTypes[static_cast<size_t>(code)].name);
  return fail(ErrorKind::unsupported, "{}: its data type {} is not known", entry.where(), code);
}

// Dimensions beyond int64 appear as the largest number, which no file can hold.
Shape shape_of(const std::vector<uint64_t>& dims) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  Shape shape;
  for (const uint64_t d : dims) shape.dims.push_back(static_cast<int64_t>(std::min(d, kMost)));
  return shape;
}

bool is_untyped(const Entry& entry) { return entry.tensor.data_type == 0 && !entry.header.nano; }

// Why the payload of a tensor cannot be read, if it cannot.
Result<void> check_present(const Entry& entry) {
  const auto size = static_cast<int64_t>(entry.tensor.size);
  if (entry.header.data_inside || entry.offset + size <= entry.file->size()) return {};
  return fail(ErrorKind::bad_format, "{}: the file ends at byte {}, {} bytes from byte {} on are wanted",
              entry.where(), entry.file->size(), size, entry.offset);
}

Result<void> check_rank(const Entry& entry, const std::optional<std::vector<uint64_t>>& dims) {
  if (!dims || dims->size() <= kMostDimensions) return {};
  return fail(ErrorKind::bad_format, "{}: a shape of {} dimensions, at most {} are possible", entry.where(),
              dims->size(), kMostDimensions);
}

// The shape in storage, which the bytes are enough for.
Result<TensorMeta> stored_meta(const Entry& entry) {
  ASSAY_TRY(const DType dtype, dtype_of(entry));
  ASSAY_TRY_DO(check_rank(entry, entry.tensor.shape));
  ASSAY_TRY_DO(check_rank(entry, entry.tensor.original_shape));
  const auto size = static_cast<int64_t>(entry.tensor.size);
  if (is_untyped(entry)) return TensorMeta{DType::i8, Shape{{size}}};
  const int64_t bits = info(dtype).storage_bits;
  if (!entry.tensor.shape) {
    ASSAY_TRY_DO(check_present(entry));  // so that the next product fits
    return TensorMeta{dtype, Shape{{size * 8 / bits}}};
  }
  TensorMeta meta{dtype, shape_of(*entry.tensor.shape)};
  const auto count = checked_product(meta.shape.dims);
  const auto needed_bits = count ? checked_multiply(*count, bits) : std::nullopt;
  if (!needed_bits || *needed_bits / 8 + (*needed_bits % 8 != 0) > size)
    return fail(ErrorKind::bad_format, "{}: {} bytes are too few for {} {}", entry.where(), size, name(dtype),
                meta.shape.text());
  return meta;
}

Result<OperandPtr> stored_elements(const Entry& entry, const TensorMeta& meta) {
  const bool packed = info(meta.dtype).storage_bits < 8;
  if (!entry.header.data_inside) {
    ASSAY_TRY_DO(check_present(entry));
    return packed ? packed_in_file(entry.file, entry.offset, meta)
                  : dense_in_file(entry.file, entry.offset, meta);
  }
  if (meta.byte_size() > entry.memory)
    return fail(ErrorKind::limit,
                "{}: {} bytes of elements inside the message, at most {} are held in memory", entry.where(),
                meta.byte_size(), entry.memory);
  const Bytes data = as_bytes(entry.tensor.data);
  std::vector<std::byte> bytes(data.begin(), data.end());
  if (packed) {
    bytes.assign(static_cast<size_t>(meta.byte_size()), std::byte{});
    unpack(meta.dtype, data.data(), meta.shape.count(), bytes.data());
  }
  return dense_in_memory(std::move(bytes), meta);
}

// Turns the storage format into the original shape.
Result<OperandPtr> plain_tensor(const Entry& entry, const TensorMeta& meta, Remarks& warnings) {
  ASSAY_TRY(OperandPtr stored, stored_elements(entry, meta));
  const auto format = static_cast<StorageFormat>(entry.tensor.format);
  const auto& stated = entry.tensor.original_shape;
  const Shape original = stated && !stated->empty() && !is_untyped(entry) ? shape_of(*stated) : meta.shape;
  auto plain = to_plain(stored, format, original, entry.tensor.groups);
  if (plain) return plain;
  // Nothing is to be converted, only the name of the shape is wrong (graphs of dynamic shape state -1 here).
  if (is_plain(format)) {
    warnings.push_back(fmt::format("{}: {}; taken as stored", entry.where(), plain.error().message));
    return stored;
  }
  return fail(plain.error().kind, "{}: {}", entry.where(), plain.error().message);
}

std::vector<Fact> facts_of(const Entry& entry, const std::optional<TensorMeta>& stored) {
  const GeHeader& header = entry.header;
  std::vector<Fact> facts = {{"op_name", printable(header.op_name)},
                             {"storage_format", label(static_cast<StorageFormat>(entry.tensor.format))}};
  if (stored) facts.push_back({"storage_shape", stored->shape.text()});
  facts.push_back({"dump_time", static_cast<int64_t>(header.dump_time)});
  if (!header.other_sizes.empty())
    facts.push_back({"buffers_and_spaces", static_cast<int64_t>(header.other_sizes.size())});
  for (const auto& [name, value] : header.attributes)
    facts.push_back({"attribute " + printable(name), printable(value)});
  if (const GeOrigin& origin = entry.tensor.origin; origin != GeOrigin{}) {
    facts.push_back({"original_op", printable(origin.name)});
    facts.push_back({"original_output_index", static_cast<int64_t>(origin.output_index)});
    facts.push_back({"original_data_type", int64_t{origin.data_type}});
    facts.push_back({"original_format", int64_t{origin.format}});
  }
  if (!entry.tensor.ranges.empty()) {
    std::string ranges;
    for (const auto& [start, end] : entry.tensor.ranges)
      ranges += fmt::format("{}{}:{}", ranges.empty() ? "" : ", ", start, end);
    facts.push_back({"dim_range", std::move(ranges)});
  }
  return facts;
}

// What facts alone say. Numbers of an operator without a name are what the engine writes where there is none.
void note_descriptions(const Entry& entry, TensorSet& set) {
  const auto note = [&](std::string what) {
    set.beside.push_back({.what = std::move(what), .in_facts = true});
  };
  if (!entry.tensor.origin.name.empty()) note(fmt::format("the original operator of {}", entry.name));
  if (!entry.tensor.ranges.empty()) note(fmt::format("ranges of the dimensions of {}", entry.name));
  // Its bytes stand for elements of a type that only a reader of the data can find out.
  if (is_untyped(entry)) set.beside.push_back({fmt::format("{} in elements of no stated type", entry.name)});
}

// Bytes and bits of the tensor that are none of its elements: a device pads its buffers, and formats such as
// NZ their rows. Zeros there are nothing.
void note_padding(const Entry& entry, TensorSet& set) {
  const StoredTensor& tensor = set.tensors.back();
  if (!tensor.data) return;
  const TensorMeta& meta = (*tensor.data)->meta;
  const int64_t rest = static_cast<int64_t>(entry.tensor.size) - packed_size(meta.dtype, meta.shape.count());
  const int64_t count = meta.shape.count(), spare = spare_bits(meta.dtype, count);
  if (rest == 0 && spare == 0) return;
  Beside padding{rest > 0 ? fmt::format("{} bytes around {}", rest, entry.name)
                          : fmt::format("{} bits behind {}", spare, entry.name)};
  if (entry.header.data_inside) {
    const Bytes data = as_bytes(entry.tensor.data);
    const auto group = static_cast<size_t>(packed_size(meta.dtype, count - count % kPackedGroup));
    if (rest == 0 && !are_spare_bits_set(meta.dtype, data.data() + group, count)) return;
  } else {
    padding.offset = entry.offset;
    padding.bytes = static_cast<int64_t>(entry.tensor.size);
    padding.slot = std::ssize(set.tensors) - 1;
  }
  set.beside.push_back(std::move(padding));
}

void add_tensor(const Entry& entry, TensorSet& set) {
  const Result<TensorMeta> stored = stored_meta(entry);
  StoredTensor tensor{.name = entry.name, .data = OperandPtr{}, .meta = {}, .stats = {}, .facts = {}};
  if (stored) {
    tensor.data = plain_tensor(entry, *stored, set.warnings);
    tensor.meta = tensor.data ? (*tensor.data)->meta : *stored;
    tensor.facts = facts_of(entry, *stored);
  } else {
    tensor.data = tl::unexpected<Error>(stored.error());
    tensor.facts = facts_of(entry, std::nullopt);
  }
  set.tensors.push_back(std::move(tensor));
  note_padding(entry, set);
  note_descriptions(entry, set);
  if (!entry.header.data_inside && !entry.tensor.data.empty())
    set.beside.push_back(
        {fmt::format("{} bytes for {} inside the message", entry.tensor.data.size(), entry.name)});
}

// `offset`: where the payload begins.
Result<TensorSet> open_header(const std::shared_ptr<const File>& file, GeHeader header, int64_t offset,
                              int64_t memory) {
  TensorSet set;
  const auto add_all = [&](std::vector<GeTensor>& tensors, std::string_view direction) -> Result<void> {
    for (size_t i = 0; i < tensors.size(); ++i) {
      GeTensor& tensor = tensors[i];
      if (header.data_inside) tensor.size = tensor.data.size();
      const auto end = tensor.size <= std::numeric_limits<int64_t>::max()
                           ? checked_add(offset, static_cast<int64_t>(tensor.size))
                           : std::nullopt;
      if (!end)
        return fail(ErrorKind::bad_format, "{}: {}.{} states an impossible size of {} bytes", file->name(),
                    direction, i, tensor.size);
      add_tensor({file, header, tensor, fmt::format("{}.{}", direction, i), offset, memory}, set);
      tensor.data = {};
      if (!header.data_inside) offset = *end;
    }
    return {};
  };
  ASSAY_TRY_DO(add_all(header.inputs, "input"));
  ASSAY_TRY_DO(add_all(header.outputs, "output"));
  if (header.has_more) set.beside.push_back({"fields of its header that are not known"});
  if (!header.attributes.empty())
    set.beside.push_back({.what = "attributes of its operator", .in_facts = true});
  if (header.data_inside) {
    set.extent = file->size();
    return set;
  }
  const bool has_all_tensors = offset <= file->size();
  for (size_t i = 0; i < header.other_sizes.size(); ++i) {
    const uint64_t size = header.other_sizes[i];
    const auto end = size <= std::numeric_limits<int64_t>::max()
                         ? checked_add(offset, static_cast<int64_t>(size))
                         : std::nullopt;
    if (!end)
      return fail(ErrorKind::bad_format, "{}: a buffer or space states an impossible size of {} bytes",
                  file->name(), size);
    const bool is_buffer = i < header.buffers;
    const TensorMeta meta{DType::u8, Shape{{static_cast<int64_t>(size)}}};
    if (*end <= file->size())
      set.others.push_back(
          {.name = fmt::format("{}.{}", is_buffer ? "buffer" : "space", is_buffer ? i : i - header.buffers),
           .data = dense_in_file(file, offset, meta),
           .meta = meta,
           .stats = {},
           .facts = {}});
    offset = *end;
  }
  set.extent = offset;
  if (set.extent < file->size())
    set.warnings.push_back(left_out(fmt::format("{}: {} bytes follow the tensors and are ignored",
                                                file->name(), file->size() - set.extent)));
  if (set.extent > file->size()) {
    // A tensor that was cut off says so itself; of a buffer behind them nothing else does.
    std::string cut = fmt::format("{}: ends at byte {}; its header describes {} bytes", file->name(),
                                  file->size(), set.extent);
    set.warnings.push_back(has_all_tensors ? unreadable(std::move(cut)) : Remark(std::move(cut)));
  }
  if (set.tensors.empty()) set.warnings.push_back(fmt::format("{}: holds no tensor", file->name()));
  return set;
}

Result<std::vector<std::byte>> read_part(const File& file, int64_t offset, int64_t size, int64_t memory) {
  if (size > memory)
    return fail(ErrorKind::limit, "{}: a header of {} bytes; at most {} are read", file.name(), size, memory);
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  ASSAY_TRY_DO(file.read(offset, bytes));
  return bytes;
}

Result<TensorSet> open_ge_dump(const std::shared_ptr<const File>& file, const FormatOptions& options) {
  const int64_t size = file->size();
  if (size < 8)
    return fail(ErrorKind::bad_format, "{}: {} bytes are too few for a GE dump", file->name(), size);
  std::byte first[8];
  ASSAY_TRY_DO(file->read(0, first));
  const auto length = load_le<uint64_t>(first);

  std::optional<Error> trouble;
  if (length <= static_cast<uint64_t>(size - 8)) {
    ASSAY_TRY(const auto bytes, read_part(*file, 8, static_cast<int64_t>(length), options.memory));
    const bool nano = bytes.size() >= 4 && load_le<uint32_t>(bytes) == kNanoMagic;
    auto header =
        nano ? read_nano_header(bytes, file->name()) : read_dump_data(bytes, options.memory, file->name());
    if (header)
      return open_header(file, std::move(*header), 8 + static_cast<int64_t>(length), options.memory);
    if (nano || header.error().kind == ErrorKind::limit) return tl::unexpected<Error>(header.error());
    trouble = header.error();
  }
  // The older layout: the whole file is the message.
  std::byte head[kSniffBytes];
  ASSAY_TRY(const int64_t got, file->read_some(0, head));
  if (looks_like_dump_data(Bytes(head, static_cast<size_t>(got)), size, true)) {
    ASSAY_TRY(auto bytes, read_part(*file, 0, size, options.memory));
    ASSAY_TRY(GeHeader header, read_dump_data(bytes, options.memory, file->name()));
    bytes = {};  // the header holds the elements now
    header.data_inside = true;
    return open_header(file, std::move(header), 0, options.memory);
  }
  if (trouble) return tl::unexpected<Error>(*trouble);
  return fail(ErrorKind::bad_format, "{}: its header should be {} bytes long, but only {} follow",
              file->name(), length, size - 8);
}

bool sniff_ge_dump(Bytes head, int64_t file_size) {
  if (head.size() > 8) {
    const auto length = load_le<uint64_t>(head);
    const Bytes message = head.subspan(8);
    if (length > 0 && length <= static_cast<uint64_t>(file_size - 8)) {
      if (length >= 8 && message.size() >= 4 && load_le<uint32_t>(message) == kNanoMagic) return true;
      const auto there = std::min(message.size(), static_cast<size_t>(length));
      if (looks_like_dump_data(message.first(there), static_cast<int64_t>(length), false)) return true;
    }
  }
  return looks_like_dump_data(head, file_size, true);
}

}  // namespace

const Format ge_dump_format{.name = "ge_dump",
                            .suffixes = {},
                            .one_tensor = false,
                            .sniff = sniff_ge_dump,
                            .open = open_ge_dump,
                            .write = nullptr};

}  // namespace assay
