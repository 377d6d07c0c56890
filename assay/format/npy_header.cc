#include "assay/format/npy_header.h"

#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/gather.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

namespace assay {
namespace {

struct Descr {
  std::string_view code;
  DType dtype;
};
// Without the byte order.
constexpr Descr kDescrs[] = {
    {"f8", DType::f64},    {"f4", DType::f32}, {"f2", DType::f16},   {"i8", DType::i64},
    {"i4", DType::i32},    {"i2", DType::i16}, {"i1", DType::i8},    {"u8", DType::u64},
    {"u4", DType::u32},    {"u2", DType::u16}, {"u1", DType::u8},    {"b1", DType::boolean},
    {"?", DType::boolean}, {"c8", DType::c64}, {"c16", DType::c128},
};

// The three fields of the dictionary, as text and numbers.
struct Fields {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<int64_t>> shape;
};

// Reads a Python dictionary literal of exactly these three fields; numpy.lib.format demands the same.
class DictParser {
 public:
  DictParser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<Fields> parse() {
    Fields fields;
    if (!take('{')) return wrong("a '{'");
    while (!take('}')) {
      ASSAY_TRY(const std::string key, string());
      if (!take(':')) return wrong("a ':'");
      ASSAY_TRY_DO(field(key, fields));
      if (take(',')) continue;
      if (!take('}')) return wrong("a ',' or '}'");
      break;
    }
    skip_space();
    if (at_ != text_.size()) return wrong("the end of the header");
    return fields;
  }

 private:
  Result<void> field(const std::string& key, Fields& fields) {
    if (key == "descr" && !fields.descr) {
      if (peek() == '[')
        return fail(ErrorKind::unsupported,
                    "{}: holds structured records; save the fields as arrays of their own", name_);
      if (peek() == '(')
        return fail(ErrorKind::unsupported, "{}: holds sub-arrays as elements; save a plain array", name_);
      ASSAY_TRY(fields.descr, string());
    } else if (key == "fortran_order" && !fields.fortran_order) {
      const bool yes = take_word("True");
      if (!yes && !take_word("False")) return wrong("True or False");
      fields.fortran_order = yes;
    } else if (key == "shape" && !fields.shape) {
      ASSAY_TRY(fields.shape, tuple());
    } else {
      return fail(ErrorKind::bad_format, "{}: header has a field '{}' that is unknown or there twice", name_,
                  printable(key));
    }
    return {};
  }

  Result<std::string> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return wrong("a quoted text");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return wrong("a closing quote");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    if (inside.find('\\') != std::string_view::npos) return wrong("a text without escapes");
    at_ = end + 1;
    return std::string(inside);
  }

  Result<std::vector<int64_t>> tuple() {
    std::vector<int64_t> dims;
    if (!take('(')) return wrong("a '('");
    while (!take(')')) {
      skip_space();
      const size_t begin = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      const std::string_view digits = text_.substr(begin, at_ - begin);
      const auto dim = parse_int(digits);
      if (!dim || (digits.size() > 1 && digits.front() == '0')) {
        at_ = begin;
        return wrong("a dimension that fits 63 bits");
      }
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // NumPy under Python 2 wrote (3L, 4L)
      dims.push_back(*dim);
      if (dims.size() > kMaxDims)
        return fail(ErrorKind::bad_format, "{}: has more than {} dimensions", name_, kMaxDims);
      if (take(',')) continue;
      if (dims.size() == 1) return wrong("a ',' (a tuple of one is written (6,))");
      if (!take(')')) return wrong("a ',' or ')'");
      break;
    }
    return dims;
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  tl::unexpected<Error> wrong(std::string_view expected) const {
    return fail(ErrorKind::bad_format, "{}: header has \"{}\" at character {} where {} is expected", name_,
                printable(text_.substr(std::min(at_, text_.size()), 20)), at_, expected);
  }

  std::string_view text_;
  std::string_view name_;
  size_t at_ = 0;
};

std::string_view without_byte_order(std::string_view descr) {
  if (!descr.empty() && std::string_view("<>|=").find(descr.front()) != std::string_view::npos)
    descr.remove_prefix(1);
  return descr;
}

// ml_dtypes saves bfloat16 and the 8-bit floats as raw bytes ('<V2', '|V1', some versions '|f1'): only the
// user knows which.
Result<DType> dtype_of(const std::string& descr, std::optional<DType> void_dtype, std::string_view name) {
  const std::string_view code = without_byte_order(descr);
  if (!code.starts_with('V') && code != "f1") return dtype_from_numpy(descr, name);
  if (void_dtype && code.substr(1) == std::to_string(size_of(*void_dtype))) return *void_dtype;
  return fail(
      ErrorKind::unsupported,
      "{}: elements are '{}', bytes without a meaning (how ml_dtypes saves bfloat16 and 8-bit floats); say "
      "which type of {} bytes it is, e.g. --dtype bf16",
      name, printable(descr), printable(code.substr(1)));
}

Result<NpyHeader> header_from(const Fields& fields, int64_t size, std::optional<DType> void_dtype,
                              std::string_view name) {
  if (!fields.descr || !fields.fortran_order || !fields.shape)
    return fail(ErrorKind::bad_format, "{}: header lacks one of 'descr', 'fortran_order' and 'shape'", name);
  NpyHeader header;
  ASSAY_TRY(header.meta.dtype, dtype_of(*fields.descr, void_dtype, name));
  header.meta.shape.dims = *fields.shape;
  header.big_endian = fields.descr->starts_with('>');
  header.fortran_order = *fields.fortran_order;
  header.size = size;
  return header;
}

struct HeaderText {
  std::string text;  // the dictionary
  int64_t end = 0;   // where the data begins
};

Result<HeaderText> read_header_text(const ReadBytes& read, int64_t total, int64_t memory,
                                    std::string_view name) {
  std::byte head[12];
  const bool has_head = total >= 10;
  if (has_head) ASSAY_TRY_DO(read(0, std::span(head).first(10)));
  if (!has_head || !as_text(head).starts_with(kNpyMagic))
    return fail(ErrorKind::bad_format,
                "{}: does not begin as a .npy file ({} bytes; \\x93NUMPY, a version and a header expected)",
                name, total);
  const int major = static_cast<int>(head[6]), minor = static_cast<int>(head[7]);
  if (major < 1 || major > 3 || minor != 0)
    return fail(ErrorKind::unsupported, "{}: is .npy version {}.{}; 1.0, 2.0 and 3.0 are known", name, major,
                minor);
  const int64_t prefix = major == 1 ? 10 : 12;
  if (total < prefix)
    return fail(ErrorKind::bad_format, "{}: {} bytes is too short for .npy version {}.0", name, total, major);
  int64_t length = load_le<uint16_t>(std::span(head).subspan(8));
  if (major > 1) {
    ASSAY_TRY_DO(read(8, std::span(head).first(4)));
    length = load_le<uint32_t>(head);
  }
  if (length > total - prefix)
    return fail(ErrorKind::bad_format, "{}: header of {} bytes runs past the end ({} bytes in all)", name,
                length, total);
  if (length > memory)
    return fail(ErrorKind::limit, "{}: a header of {} bytes exceeds the limit of {}", name, length, memory);
  std::string text(static_cast<size_t>(length), '\0');
  ASSAY_TRY_DO(read(prefix, std::as_writable_bytes(std::span(text))));
  return HeaderText{std::move(text), prefix + length};
}

}  // namespace

Result<DType> dtype_from_numpy(std::string_view descr, std::string_view name) {
  const std::string_view code = without_byte_order(descr);
  for (const Descr& known : kDescrs)
    if (known.code == code) return known.dtype;
  const auto refuse = [&](std::string_view what) {
    return fail(ErrorKind::unsupported, "{}: elements are '{}', {}", name, printable(descr), what);
  };
  switch (code.empty() ? '\0' : code.front()) {
    case 'O':
      return refuse("Python objects (a pickle); nothing in it is executed");
    case 'S':
    case 'U':
    case 'a':
      return refuse("text, not numbers");
    case 'M':
    case 'm':
      return refuse("dates or durations; view them as int64 to compare");
    case 'V':
      return refuse("bytes without a meaning");
    default:
      break;
  }
  for (const std::string_view long_double : {"f12", "f16", "c24", "c32"})
    if (code == long_double)
      return refuse("a long double, whose bits depend on the machine; save as float64 or complex128");
  return fail(ErrorKind::bad_format, "{}: element type '{}' is unknown", name, printable(descr));
}

Result<NpyStart> read_npy_start(const ReadBytes& read, int64_t total, int64_t memory, std::string_view name) {
  ASSAY_TRY(const HeaderText header, read_header_text(read, total, memory, name));
  ASSAY_TRY(Fields fields, DictParser(header.text, name).parse());
  return NpyStart{std::move(fields.descr).value_or(""), header.end};
}

Result<NpyHeader> read_npy_header(const ReadBytes& read, int64_t total, const FormatOptions& options,
                                  std::string_view name) {
  ASSAY_TRY(const HeaderText header_text, read_header_text(read, total, options.memory, name));
  ASSAY_TRY(const Fields fields, DictParser(header_text.text, name).parse());
  ASSAY_TRY(NpyHeader header, header_from(fields, header_text.end, options.raw_dtype, name));

  const auto count = checked_product(header.meta.shape.dims);
  const auto bytes = count ? checked_multiply(*count, size_of(header.meta.dtype)) : std::nullopt;
  if (!bytes || *bytes > total - header.size)
    return fail(ErrorKind::bad_format,
                "{}: has {} bytes of data, but {}{} needs {} (truncated, or still being written)", name,
                total - header.size, assay::name(header.meta.dtype), header.meta.shape.text(),
                bytes ? std::to_string(*bytes) : "more than 2^63");
  return header;
}

bool is_turned(const NpyHeader& header) {
  const auto& dims = header.meta.shape.dims;
  const bool one_run = std::count_if(dims.begin(), dims.end(), [](int64_t d) { return d != 1; }) < 2;
  return header.fortran_order && !one_run && header.meta.shape.count() > 0;
}

Result<OperandPtr> tensor_from_npy(OperandPtr data, const NpyHeader& header) {
  if (header.big_endian) data = byte_swapped(std::move(data));
  if (!is_turned(header)) return data;
  const auto& dims = header.meta.shape.dims;
  std::vector<int64_t> strides;
  int64_t stride = 1;
  for (const int64_t dim : dims) {
    strides.push_back(stride);
    stride *= dim;
  }
  return strided(std::move(data), header.meta.shape, strides, 0);
}

}  // namespace assay
