// Turns a line of text into a tensor file, so that case tests need no binaries.
//
//   mkdump FILE [NAME=]DTYPE[SHAPE] VALUES [; NAME=DTYPE[SHAPE] VALUES]…
//
//   mkdump a.npy f32[2,3] 1 2 3 4 nan -inf        as many values as there are elements (two each for complex
//   ones) mkdump m.npz 'w=f16[2] 1 2 ; b=i64[] 3'       several tensors; the suffix chooses the format
//
// VALUES may also be a generator, followed by changes:
//   arange [START [STEP]]   START, START + STEP, … (0 and 1)
//   full VALUE              the same value everywhere; `nan`, `inf`, `-inf` alone mean the same
//   random SEED             uniform in [-1, 1), the same numbers for the same seed on every machine
//   … noise SEED SCALE      each element times 1 + SCALE · u, u uniform in [-1, 1)
//   … set INDEX=VALUE       one component changed
//   fortran …               before the values: a .npy in column-major order
// A value that starts with 0x gives the bits of the element rather than its value.
#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/format/format.h"
#include "assay/tensor/dense.h"

#include <charconv>
#include <cstdio>
#include <cstring>

namespace assay {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

struct Made {
  StoredTensor tensor;
  bool fortran = false;
};

// splitmix64: a few lines that give the same numbers everywhere, which the distributions of <random> do not
// promise.
class Random {
 public:
  explicit Random(int64_t seed) : state_(static_cast<uint64_t>(seed)) {}
  double next() {  // uniform in [-1, 1)
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-52 - 1;
  }

 private:
  uint64_t state_;
};

class Words {
 public:
  explicit Words(std::string_view text) {
    for (const std::string_view word : split(text, ' '))
      if (!word.empty()) words_.push_back(word);
  }
  bool done() const { return at_ == words_.size(); }
  std::string_view peek() const { return done() ? std::string_view() : words_[at_]; }
  std::string_view take() { return done() ? std::string_view() : words_[at_++]; }
  bool take_if(std::string_view word) {
    if (peek() != word) return false;
    ++at_;
    return true;
  }
  size_t left() const { return words_.size() - at_; }

 private:
  std::vector<std::string_view> words_;
  size_t at_ = 0;
};

Result<double> number(std::string_view word) {
  const auto value = parse_double(word);
  if (!value) return fail(ErrorKind::bad_argument, "'{}' is not a number", word);
  return *value;
}

Result<int64_t> whole_number(std::string_view word) {
  const auto value = parse_int(word);
  if (!value) return fail(ErrorKind::bad_argument, "'{}' is not a whole number", word);
  return *value;
}

bool is_special(std::string_view word) { return word == "nan" || word == "inf" || word == "-inf"; }

// Elements of one tensor while they are made. 64-bit integers and bit patterns do not pass through f64.
class Elements {
 public:
  Elements(DType dtype, int64_t count)
      : dtype_(component(dtype)),
        count_(count * components(dtype)),
        bytes_(static_cast<size_t>(count_ * size_of(dtype_))) {}

  int64_t count() const { return count_; }
  void put(int64_t index, double value) { from_f64(dtype_, &value, 1, place(index)); }

  Result<void> put_word(int64_t index, std::string_view word) {
    if (index < 0 || index >= count_)
      return fail(ErrorKind::bad_argument, "element {} of {} does not exist", index, count_);
    uint64_t bits = 0;
    if (word.starts_with("0x")) {
      if (std::from_chars(word.data() + 2, word.data() + word.size(), bits, 16).ptr !=
          word.data() + word.size())
        return fail(ErrorKind::bad_argument, "'{}' is not a bit pattern", word);
    } else if (const auto integer = parse_int(word); integer && size_of(dtype_) == 8 && !is_real(dtype_)) {
      bits = static_cast<uint64_t>(*integer);
    } else {
      ASSAY_TRY(const double value, number(word));
      put(index, value);
      return {};
    }
    std::memcpy(place(index), &bits, static_cast<size_t>(size_of(dtype_)));
    return {};
  }

  void add_noise(int64_t seed, double scale) {
    Random random(seed);
    for (int64_t i = 0; i < count_; ++i) {
      double value = 0;
      to_f64(dtype_, place(i), 1, &value);
      put(i, value * (1 + scale * random.next()));
    }
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::byte* place(int64_t index) { return bytes_.data() + index * size_of(dtype_); }
  DType dtype_;
  int64_t count_;
  std::vector<std::byte> bytes_;
};

Result<void> fill(Elements& elements, Words& words) {
  const int64_t count = elements.count();
  if (words.take_if("arange")) {
    double start = 0, step = 1;
    if (const auto given = parse_double(words.peek())) start = *given, words.take();
    if (const auto given = parse_double(words.peek())) step = *given, words.take();
    for (int64_t i = 0; i < count; ++i) elements.put(i, start + step * static_cast<double>(i));
  } else if (words.take_if("random")) {
    ASSAY_TRY(const int64_t seed, whole_number(words.take()));
    Random random(seed);
    for (int64_t i = 0; i < count; ++i) elements.put(i, random.next());
  } else if (words.take_if("full") || (count > 1 && words.left() == 1 && is_special(words.peek()))) {
    const std::string_view value = words.take();
    for (int64_t i = 0; i < count; ++i) ASSAY_TRY_DO(elements.put_word(i, value));
  } else {
    for (int64_t i = 0; i < count; ++i) {
      if (words.done()) return fail(ErrorKind::bad_argument, "{} values given, {} needed", i, count);
      ASSAY_TRY_DO(elements.put_word(i, words.take()));
    }
  }
  return {};
}

Result<void> change(Elements& elements, Words& words) {
  while (!words.done()) {
    if (words.take_if("noise")) {
      ASSAY_TRY(const int64_t seed, whole_number(words.take()));
      ASSAY_TRY(const double scale, number(words.take()));
      elements.add_noise(seed, scale);
    } else if (words.take_if("set")) {
      const std::string_view pair = words.take();
      const size_t equals = pair.find('=');
      if (equals == pair.npos) return fail(ErrorKind::bad_argument, "'set {}' has no '='", pair);
      ASSAY_TRY(const int64_t index, whole_number(pair.substr(0, equals)));
      ASSAY_TRY_DO(elements.put_word(index, pair.substr(equals + 1)));
    } else {
      return fail(ErrorKind::bad_argument, "'{}' is one value too many, or not a word mkdump knows",
                  words.peek());
    }
  }
  return {};
}

// "f32[2,3]"
Result<TensorMeta> parse_meta(std::string_view text) {
  const size_t open = text.find('[');
  const auto dtype = find_dtype(text.substr(0, open));
  if (open == text.npos || !text.ends_with(']') || !dtype)
    return fail(ErrorKind::bad_argument, "'{}' is not a dtype and a shape such as f32[2,3]", text);
  TensorMeta meta{*dtype, {}};
  const std::string_view dims = text.substr(open + 1, text.size() - open - 2);
  if (!dims.empty())
    for (const std::string_view dim : split(dims, ',')) {
      ASSAY_TRY(const int64_t extent, whole_number(trim(dim)));
      meta.shape.dims.push_back(extent);
    }
  const auto count = checked_product(meta.shape.dims);
  if (!count || *count > kMostBytes / size_of(*dtype))
    return fail(ErrorKind::bad_argument, "'{}' is larger than {} bytes", text, kMostBytes);
  return meta;
}

Result<Made> make_tensor(std::string_view text) {
  Words words(text);
  std::string_view head = words.take();
  Made made{{.name = "", .data = OperandPtr(), .meta = {}, .stats = {}, .facts = {}}};
  if (const size_t equals = head.find('='); equals != head.npos) {
    made.tensor.name = head.substr(0, equals);
    head.remove_prefix(equals + 1);
  }
  ASSAY_TRY(const TensorMeta meta, parse_meta(head));
  made.fortran = words.take_if("fortran");
  Elements elements(meta.dtype, meta.shape.count());
  ASSAY_TRY_DO(fill(elements, words));
  ASSAY_TRY_DO(change(elements, words));
  made.tensor.meta = meta;
  made.tensor.data = dense_in_memory(elements.take(), meta);
  return made;
}

// Our writer knows row-major order only; this makes the other kind for the reader.
Result<void> write_fortran_npy(FileWriter& out, const Operand& tensor) {
  const auto& [dtype, shape] = tensor.meta;
  const DTypeInfo& about = info(dtype);
  static constexpr std::string_view kLetters = "fiubc";  // in the order of DTypeKind
  std::string dims;
  for (const int64_t d : shape.dims) dims += fmt::format("{},", d);
  std::string header =
      fmt::format("{{'descr': '{}{}{}', 'fortran_order': True, 'shape': ({}), }}",
                  about.size == 1 ? '|' : '<', kLetters[static_cast<size_t>(about.kind)], about.size, dims);
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  ASSAY_TRY_DO(out.append(std::string_view("\x93NUMPY\x01\x00", 8)));
  const auto length = static_cast<uint16_t>(header.size());
  ASSAY_TRY_DO(out.append(std::as_bytes(std::span(&length, 1))));
  ASSAY_TRY_DO(out.append(header));

  ASSAY_TRY(const std::vector<std::byte> rows, read_whole(tensor, kMostBytes));
  std::vector<int64_t> at(shape.dims.size());
  for (int64_t written = 0; written < shape.count(); ++written) {
    int64_t index = 0;
    for (size_t d = 0; d < at.size(); ++d) index = index * shape.dims[d] + at[d];
    ASSAY_TRY_DO(out.append(
        Bytes(rows).subspan(static_cast<size_t>(index * about.size), static_cast<size_t>(about.size))));
    for (size_t d = 0; d < at.size() && ++at[d] == shape.dims[d]; ++d) at[d] = 0;
  }
  return {};
}

// The elements alone, one tensor after another.
Result<void> write_raw(FileWriter& out, std::span<const StoredTensor> tensors) {
  for (const StoredTensor& tensor : tensors) {
    ASSAY_TRY(const std::vector<std::byte> elements, read_whole(**tensor.data, kMostBytes));
    ASSAY_TRY_DO(out.append(elements));
  }
  return {};
}

Result<void> make_file(const fs::path& path, std::string_view text) {
  std::vector<StoredTensor> tensors;
  bool fortran = false;
  for (const std::string_view part : split(text, ';')) {
    ASSAY_TRY(Made made, make_tensor(part));
    fortran |= made.fortran;
    tensors.push_back(std::move(made.tensor));
  }
  const Format* const format = find_format_by_suffix(path);
  const bool raw = path.extension() == ".raw";
  if (!raw && (format == nullptr || format->write == nullptr))
    return fail(ErrorKind::bad_argument, "no format is written under this suffix");
  if (fortran && (raw || format->name != "npy" || tensors.size() != 1))
    return fail(ErrorKind::bad_argument, "only .npy has an order to choose");
  if (path.has_parent_path()) ASSAY_TRY_DO(make_folder(path.parent_path()));
  ASSAY_TRY(FileWriter out, FileWriter::create(path, IfExists::replace));
  ASSAY_TRY_DO(raw       ? write_raw(out, tensors)
               : fortran ? write_fortran_npy(out, **tensors[0].data)
                         : format->write(out, tensors));
  ASSAY_TRY(const fs::path published, out.publish());
  return {};
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: mkdump FILE [NAME=]DTYPE[SHAPE] VALUES [; NAME=DTYPE[SHAPE] VALUES]...\n", stderr);
    return 2;
  }
  std::string text;
  for (int i = 2; i < argc; ++i) text += fmt::format("{} ", argv[i]);
  const auto made = assay::make_file(argv[1], text);
  if (made) return 0;
  fmt::print(stderr, "mkdump: {}: {}\n", argv[1], made.error().message);
  return 2;
}
