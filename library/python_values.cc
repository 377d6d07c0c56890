#include "library/python_values.h"

#include "library/python_values_parts.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace assay::library {

namespace {

constexpr int kMostNested = 400;

std::string blanks_of(int depth) { return "\t" + std::string(static_cast<size_t>(depth) + 1, ' '); }

// As Python's json writes it, where every character is a printable one of ASCII.
bool append_quoted(std::string& out, const char* text, int64_t size) {
  out += '"';
  for (int64_t i = 0; i < size; ++i) {
    const char c = text[i];
    if (c < ' ' || c > '~') return false;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
  return true;
}

// 0, or why it was not written (errno).
int write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written == 0 ? EIO : errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

PythonValues::PythonValues(const PyApi& api, ValuesOptions options)
    : api_(api), options_(std::move(options)), names_(new Names) {
  const auto name = [&](const char* text) { return api_.intern(text); };
  *names_ = {name("shape"),  name("stride"),  name("dtype"),         name("layout"),
             name("is_cpu"), name("is_cuda"), name("requires_grad"), name("data_ptr"),
             name("is_neg"), name("item"),    name("contiguous"),    name("get_device")};
  for (const auto& [object, dtype] : options_.dtypes) dtypes_.emplace(object, dtype);
}

PythonValues::~PythonValues() = default;

std::optional<int64_t> PythonValues::whole_of(PyObject* value, PyObject* attribute, bool is_call) const {
  Owned got(api_, api_.get_attr(value, attribute));
  if (!got) return std::nullopt;
  int overflow = 0;
  if (!is_call) return api_.whole(got.get(), &overflow);
  const Owned answer(api_, api_.call(got.get(), nullptr));
  if (!answer) return std::nullopt;
  return api_.whole(answer.get(), &overflow);
}

int PythonValues::truth_of(PyObject* value, PyObject* attribute, bool is_call) const {
  const Owned got(api_, api_.get_attr(value, attribute));
  if (!got) return -1;
  if (!is_call) return got.get() == api_.true_ ? 1 : 0;
  const Owned answer(api_, api_.call(got.get(), nullptr));
  if (!answer) return -1;
  return answer.get() == api_.true_ ? 1 : 0;
}

bool PythonValues::walk(Walk& walk, PyObject* value, int depth, int left) const {
  if (value == api_.none) {
    walk.text += "null";
    return true;
  }
  const Owned type(api_, api_.type_of(value));
  if (type.get() == options_.tensor || type.get() == options_.parameter)
    return walk_tensor(walk, value, depth);
  const char* kind = nullptr;
  std::string number;
  if (type.get() == api_.type_of_bool) {
    kind = "bool";
    number = value == api_.true_ ? "true" : "false";
  } else if (type.get() == api_.type_of_int) {
    kind = "int";
    int overflow = 0;
    const int64_t whole = api_.whole(value, &overflow);
    if (overflow != 0) return false;
    number = std::to_string(whole);
  } else if (type.get() == api_.type_of_float) {
    kind = "float";
    append_real(number, api_.real(value));
  } else if (type.get() == api_.type_of_str) {
    kind = "str";
    int64_t size = 0;
    const char* const text = api_.utf8_of(value, &size);
    if (text == nullptr) {
      api_.forget_trouble();
      return false;
    }
    if (!append_quoted(number, text, size)) return false;
  }
  if (kind != nullptr) {
    const std::string blanks = blanks_of(depth);
    walk.text += '{' + blanks + "\"type\": \"" + kind + "\"," + blanks + "\"value\": " + number;
    walk.text.append(blanks, 0, blanks.size() - 1);
    walk.text += '}';
    return true;
  }
  if (left == 0) {
    walk.text += "null";
    return true;
  }
  if (type.get() == api_.type_of_tuple) return walk_list(walk, value, true, depth, left);
  if (type.get() == api_.type_of_list) return walk_list(walk, value, false, depth, left);
  if (type.get() == api_.type_of_dict) return walk_dict(walk, value, depth, left);
  return false;
}

bool PythonValues::walk_list(Walk& walk, PyObject* value, bool is_tuple, int depth, int left) const {
  const int64_t size = is_tuple ? api_.tuple_size(value) : api_.list_size(value);
  if (size == 0) {
    walk.text += "[]";
    return true;
  }
  const std::string blanks = blanks_of(depth);
  const size_t place = walk.place.size();
  walk.text += '[';
  for (int64_t i = 0; i < size; ++i) {
    PyObject* const each = is_tuple ? api_.tuple_item(value, i) : api_.list_item(value, i);
    if (each == nullptr) return false;
    walk.text += i > 0 ? "," : "";
    walk.text += blanks;
    walk.place += '.' + std::to_string(i);
    if (!this->walk(walk, each, depth + 1, left - 1)) return false;
    walk.place.resize(place);
  }
  walk.text.append(blanks, 0, blanks.size() - 1);
  walk.text += ']';
  return true;
}

bool PythonValues::walk_dict(Walk& walk, PyObject* value, int depth, int left) const {
  const std::string blanks = blanks_of(depth);
  const size_t place = walk.place.size();
  bool begun = false;
  int64_t at = 0;
  PyObject *key = nullptr, *each = nullptr;
  walk.text += '{';
  while (api_.dict_next(value, &at, &key, &each) != 0) {
    const Owned type(api_, api_.type_of(key));
    int64_t size = 0;
    const char* const text = type.get() == api_.type_of_str ? api_.utf8_of(key, &size) : nullptr;
    if (text == nullptr) {
      api_.forget_trouble();
      return false;
    }
    const std::string_view name(text, static_cast<size_t>(size));
    if (name == "device" || name == "dtype" || name == "output_dtype") return false;
    walk.text += begun ? "," : "";
    walk.text += blanks;
    if (!append_quoted(walk.text, text, size)) return false;
    walk.text += ": ";
    walk.place += '.';
    walk.place += name;
    if (!this->walk(walk, each, depth + 1, left - 1)) return false;
    walk.place.resize(place);
    begun = true;
  }
  if (begun) walk.text.append(blanks, 0, blanks.size() - 1);
  walk.text += '}';
  return true;
}

// Shape, strides, address. False: not one that is read here.
bool PythonValues::take_layout(Tensor& tensor) const {
  const Owned shape(api_, api_.get_attr(tensor.object, names_->shape));
  if (!shape) return false;
  const int64_t dims = api_.tuple_size(shape.get());
  tensor.count = 1;
  for (int64_t i = 0; i < dims; ++i) {
    int overflow = 0;
    const int64_t size = api_.whole(api_.tuple_item(shape.get(), i), &overflow);
    if (size < 0) return false;  // symbolic
    tensor.shape.push_back(size);
    tensor.count *= size;
  }
  if (tensor.count == 0) return true;
  const Owned ask(api_, api_.get_attr(tensor.object, names_->stride));
  const Owned strides(api_, ask ? api_.call(ask.get(), nullptr) : nullptr);
  if (!strides) return false;
  int64_t dense = 1;
  tensor.strides.resize(static_cast<size_t>(dims));
  for (int64_t i = dims; i-- > 0;) {
    int overflow = 0;
    const auto place = static_cast<size_t>(i);
    tensor.strides[place] = api_.whole(api_.tuple_item(strides.get(), i), &overflow);
    if (tensor.shape[place] != 1 && tensor.strides[place] != dense) tensor.is_dense = false;
    dense *= tensor.shape[place];
  }
  const Owned ask_address(api_, api_.get_attr(tensor.object, names_->data_ptr));
  const Owned address(api_, ask_address ? api_.call(ask_address.get(), nullptr) : nullptr);
  if (!address) return false;
  tensor.address = api_.address(address.get());
  return tensor.address != 0;
}

bool PythonValues::walk_tensor(Walk& walk, PyObject* value, int depth) const {
  Tensor tensor;
  tensor.object = value;
  const Owned dtype(api_, api_.get_attr(value, names_->dtype));
  const auto known = dtype ? dtypes_.find(dtype.get()) : dtypes_.end();
  if (known == dtypes_.end()) return false;
  tensor.dtype = known->second;
  const Owned layout(api_, api_.get_attr(value, names_->layout));
  if (layout.get() != options_.strided) return false;
  const bool is_on_host = truth_of(value, names_->is_cpu, false) == 1;
  if (!is_on_host) {
    if (cuda_ == nullptr || truth_of(value, names_->is_cuda, false) != 1) return false;
    tensor.is_on_device = true;
  }
  if (is_small_float(tensor.dtype) ||
      tensor.dtype == DType::f64)  // the imaginary part of a conjugate is such a view
    if (truth_of(value, names_->is_neg, true) != 0) return false;
  if (!take_layout(tensor)) return false;
  if (tensor.is_on_device && tensor.count > 0) {
    const auto device = whole_of(value, names_->get_device, true);
    if (!device) return false;
    tensor.device = *device;
  }
  if (options_.summary == ASSAY_SUMMARY_XOR && tensor.shape.empty()) return false;  // its value is told

  const std::string blanks = blanks_of(depth);
  walk.text += '{' + blanks + "\"type\": \"torch.Tensor\"," + blanks + "\"dtype\": \"torch.";
  walk.text += info(tensor.dtype).long_name;
  walk.text += "\"," + blanks + "\"shape\": [";
  for (size_t i = 0; i < tensor.shape.size(); ++i)
    walk.text += (i > 0 ? "," : "") + blanks + ' ' + std::to_string(tensor.shape[i]);
  walk.text += (tensor.shape.empty() ? "]," : blanks + "],") + blanks;
  const size_t number = walk.tensors.size();
  const bool has_numbers = options_.summary != ASSAY_SUMMARY_NONE;
  if (has_numbers)
    walk.holes.push_back({walk.text.size(), number, depth, options_.summary == ASSAY_SUMMARY_XOR});
  const int requires_grad = truth_of(value, names_->requires_grad, false);
  if (requires_grad < 0) return false;
  walk.text += requires_grad == 1 ? "\"requires_grad\": true" : "\"requires_grad\": false";
  if (walk.save != api_.none && tensor.count > 0) {
    const Owned place(api_, api_.text(walk.place.data(), static_cast<int64_t>(walk.place.size())));
    const Owned file(api_, api_.call(walk.save, value, place.get(), nullptr));
    if (!file) {
      walk.failed = true;
      return false;
    }
    if (file.get() != api_.none) {
      int64_t size = 0;
      const char* const text = api_.utf8_of(file.get(), &size);
      if (text == nullptr) return false;
      walk.text += ',' + blanks + "\"data_name\": ";
      if (!append_quoted(walk.text, text, size)) return false;
    }
  }
  if (has_numbers && options_.summary == ASSAY_SUMMARY_MD5) {
    walk.text += ',' + blanks + "\"md5\": ";
    walk.holes.push_back({walk.text.size(), number, depth, true});
  }
  walk.text.append(blanks, 0, blanks.size() - 1);
  walk.text += '}';
  api_.inc_ref(value);
  walk.kept.emplace_back(api_, value);
  walk.tensors.push_back(std::move(tensor));
  return true;
}

void PythonValues::append_field(std::string& out, const Tensor& tensor, int field) const {
  if (tensor.count == 0) {
    out += field == kCrcField ? "\"00000000\"" : "null";
    return;
  }
  if (tensor.is_on_device) {
    out += kMark;
    out += std::to_string(tensor.slot) + ' ' + std::to_string(field) + ' ' +
           std::to_string(static_cast<int>(tensor.dtype)) + ' ' + std::to_string(tensor.count) + ' ' +
           (tensor.shape.empty() ? '1' : '0');
    out += kMark;
    return;
  }
  append_known(out, {tensor.dtype, tensor.shape.empty(), options_.has_sums}, tensor.numbers, tensor.crc32,
               tensor.xor64, field);
}

PyObject* PythonValues::unknown() const {
  api_.forget_trouble();
  api_.inc_ref(api_.none);
  return api_.none;
}

PyObject* PythonValues::text_of(PyObject* value, int depth, PyObject* save) {
  Walk walk;
  walk.save = save;
  const bool is_known = this->walk(walk, value, depth, kMostNested);
  if (walk.failed) return nullptr;
  if (!is_known || !measure_all(walk)) return unknown();
  std::string out;
  out.reserve(walk.text.size() + walk.holes.size() * 160);
  append_filled(out, walk, 0, walk.text.size());
  return api_.text(out.data(), static_cast<int64_t>(out.size()));
}

PyObject* PythonValues::write_line(PyObject* head, PyObject* begun, PyObject* value, int depth, int file) {
  Walk walk;
  walk.save = api_.none;
  if (!this->walk(walk, value, depth, kMostNested)) return unknown();
  for (const Tensor& tensor : walk.tensors)
    if (tensor.is_on_device) return unknown();
  int64_t head_size = 0, begun_size = 0;
  const char* const head_text = api_.utf8_of(head, &head_size);
  const char* const begun_text = begun == api_.none ? "" : api_.utf8_of(begun, &begun_size);
  const std::string opening = '{' + blanks_of(depth), closing = blanks_of(depth - 1) + '}';
  if (head_text == nullptr || begun_text == nullptr ||
      std::memchr(begun_text, kMark, begun_size) != nullptr || !walk.text.starts_with(opening) ||
      !measure_all(walk))
    return unknown();
  std::string line(head_text, static_cast<size_t>(head_size));
  line.reserve(line.size() + static_cast<size_t>(begun_size) + walk.text.size() + walk.holes.size() * 160);
  line += opening;
  line.append(begun_text, static_cast<size_t>(begun_size));
  if (begun_size > 0) line.append(",").append(opening, 1);
  append_filled(line, walk, opening.size(), walk.text.size() - closing.size());
  line.append(closing).append("}\n");

  void* const state = api_.unlock();
  const int trouble = write_whole(file, line);
  api_.lock(state);
  return api_.new_whole(trouble);
}

// The text of the walk from `from` to `to`, with the numbers in it.
void PythonValues::append_filled(std::string& out, const Walk& walk, size_t from, size_t to) const {
  constexpr const char* kNames[] = {"\"Max\": ", "\"Min\": ", "\"Mean\": ", "\"Norm\": "};
  for (const Walk::Hole& hole : walk.holes) {
    const Tensor& tensor = walk.tensors[hole.tensor];
    out.append(walk.text, from, hole.at - from);
    from = hole.at;
    const std::string blanks = blanks_of(hole.depth);
    if (hole.is_checksum && options_.summary == ASSAY_SUMMARY_MD5) {
      append_field(out, tensor, kCrcField);
    } else if (hole.is_checksum) {
      out += "\"md5\": ";
      append_field(out, tensor, kXorField);
      out += ',' + blanks;
    } else {
      for (int field = 0; field < 4; ++field) {
        out += kNames[field];
        append_field(out, tensor, field);
        out += ',' + blanks;
      }
    }
  }
  out.append(walk.text, from, to - from);
}

}  // namespace assay::library
