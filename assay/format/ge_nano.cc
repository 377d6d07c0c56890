// The header that Nano devices write in place of a DumpData message: numbers and tag-length-value lists.
#include "assay/format/ge_header.h"

namespace assay {
namespace {

// Reads from the front; after the first read past the end everything is zero and ok() is false.
class Cursor {
 public:
  explicit Cursor(Bytes bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    const Bytes part = take(sizeof(T));
    return part.size() == sizeof(T) ? load_le<T>(part) : T{};
  }
  Bytes take(uint64_t count) {
    if (count > bytes_.size()) {
      ok_ = false;
      bytes_ = {};
      return {};
    }
    const Bytes part = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return part;
  }
  bool ok() const { return ok_; }
  bool done() const { return bytes_.empty(); }

 private:
  Bytes bytes_;
  bool ok_ = true;
};

enum Tag : uint32_t { kShape = 0, kOriginalShape = 1, kOriginalName = 2, kInputs = 4, kOutputs = 5 };

std::vector<uint64_t> dims_of(Bytes bytes) {
  std::vector<uint64_t> dims;
  for (; bytes.size() >= sizeof(uint64_t); bytes = bytes.subspan(sizeof(uint64_t)))
    dims.push_back(load_le<uint64_t>(bytes));
  return dims;
}

bool read_details(Bytes list, GeTensor& tensor, bool& has_more) {
  uint32_t seen = 0;  // a bit for each tag
  for (Cursor cursor(list); !cursor.done();) {
    const auto tag = cursor.get<uint32_t>();
    const Bytes value = cursor.take(cursor.get<uint32_t>());
    if (!cursor.ok()) return false;
    if (tag == kShape) tensor.shape = dims_of(value);
    if (tag == kOriginalShape) tensor.original_shape = dims_of(value);
    if (tag == kOriginalName) tensor.origin.name = as_text(value);
    has_more |= tag > kOriginalName || (seen >> tag & 1) != 0;
    has_more |= tag <= kOriginalShape && value.size() % sizeof(uint64_t) != 0;
    if (tag <= kOriginalName) seen |= uint32_t{1} << tag;
  }
  return true;
}

bool read_tensors(Bytes list, bool outputs, std::vector<GeTensor>& tensors, bool& has_more) {
  Cursor cursor(list);
  const auto count = cursor.get<uint32_t>();
  for (uint32_t i = 0; i < count; ++i) {
    GeTensor tensor;
    tensor.data_type = cursor.get<int32_t>();
    tensor.format = cursor.get<int32_t>();
    cursor.get<int32_t>();  // address type
    if (outputs) {
      tensor.origin.output_index = cursor.get<uint32_t>();
      tensor.origin.data_type = cursor.get<int32_t>();
      tensor.origin.format = cursor.get<int32_t>();
    }
    cursor.take(2 * sizeof(uint64_t));  // address, offset
    tensor.size = cursor.get<uint64_t>();
    const Bytes details = cursor.take(cursor.get<uint32_t>());
    if (!cursor.ok() || !read_details(details, tensor, has_more))
      return false;  // ends also where `count` lies
    tensors.push_back(std::move(tensor));
  }
  has_more |= !cursor.done();
  return cursor.ok();
}

}  // namespace

Result<GeHeader> read_nano_header(Bytes bytes, const std::string& file) {
  GeHeader header;
  header.nano = true;
  Cursor cursor(bytes);
  cursor.get<uint32_t>();  // the magic number
  header.version = fmt::format("{}", cursor.get<uint32_t>());
  bool ok = cursor.ok();
  while (ok && !cursor.done()) {
    const auto tag = cursor.get<uint32_t>();
    const Bytes value = cursor.take(cursor.get<uint32_t>());
    ok = cursor.ok();
    if (ok && tag == kInputs) ok = read_tensors(value, false, header.inputs, header.has_more);
    if (ok && tag == kOutputs) ok = read_tensors(value, true, header.outputs, header.has_more);
    header.has_more |= tag != kInputs && tag != kOutputs;
  }
  if (!ok)
    return fail(ErrorKind::bad_format, "{}: its Nano header of {} bytes ends in the middle of an entry", file,
                bytes.size());
  return header;
}

}  // namespace assay
