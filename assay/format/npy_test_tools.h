// For the tests of .npy, .npz and .pt: files made from bytes, tensors read into numbers.
#pragma once

#include "assay/format/format.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace assay::testing_tools {

inline fs::path data_file(std::string_view name) { return fs::path(ASSAY_TEST_DATA) / name; }

inline std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// A file with these bytes that lives as long as this object.
class TempFile {
 public:
  explicit TempFile(std::string_view bytes, std::string_view name = "made.bin") {
    static int counter = 0;
    path_ = fs::temp_directory_path() / fmt::format("assay_{}_{}_{}", ::getpid(), counter++, name);
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  ~TempFile() { fs::remove(path_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

inline Result<TensorSet> open_with(const Format& format, const fs::path& path,
                                   const FormatOptions& options = {}) {
  ASSAY_TRY(const auto file, File::open(path));
  return format.open(file, options);
}

// All components as numbers; complex ones as pairs.
inline Result<std::vector<double>> numbers(const Operand& operand) {
  ASSAY_TRY(const auto bytes, read_whole(operand, int64_t{1} << 30));
  const DType part = component(operand.meta.dtype);
  const int64_t count = operand.meta.shape.count() * components(operand.meta.dtype);
  std::vector<double> out(static_cast<size_t>(count));
  to_f64(part, bytes.data(), count, out.data());
  return out;
}

inline std::vector<double> numbers_of(const Result<TensorSet>& set, std::string_view name) {
  if (!set) {
    ADD_FAILURE() << set.error().message;
    return {};
  }
  for (const StoredTensor& tensor : set->tensors) {
    if (tensor.name != name) continue;
    if (!tensor.data) {
      ADD_FAILURE() << tensor.data.error().message;
      return {};
    }
    const auto out = numbers(**tensor.data);
    if (!out) ADD_FAILURE() << out.error().message;
    return out.value_or(std::vector<double>{});
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

inline const StoredTensor* find_tensor(const TensorSet& set, std::string_view name) {
  for (const StoredTensor& tensor : set.tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

// Opens the file cut at every length; whatever opens is read. Nothing may crash, and every message names the
// file.
inline void expect_survives_truncation(const Format& format, const std::string& bytes) {
  for (size_t length = 0; length < bytes.size(); ++length) {
    const TempFile cut(std::string_view(bytes).substr(0, length), "cut");
    const auto set = open_with(format, cut.path());
    if (!set) {
      EXPECT_NE(set.error().message.find("cut"), std::string::npos) << length << ": " << set.error().message;
      continue;
    }
    for (const StoredTensor& tensor : set->tensors)
      if (tensor.data) static_cast<void>(numbers(**tensor.data));
  }
}

// Flips bits all over the file, one byte at a time. Nothing may crash.
inline void expect_survives_damage(const Format& format, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size(); ++at)
    for (const int mask : {0x01, 0x80, 0xFF}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      const TempFile file(damaged, "damaged");
      const auto set = open_with(format, file.path());
      if (!set) continue;
      for (const StoredTensor& tensor : set->tensors)
        if (tensor.data && (*tensor.data)->meta.byte_size() < (1 << 20))
          static_cast<void>(numbers(**tensor.data));
    }
}

// Writes the tensors to a file of the format, and answers its bytes.
inline std::string written(const Format& format, std::span<const StoredTensor> tensors) {
  const fs::path path = fs::temp_directory_path() / fmt::format("assay_{}_written", ::getpid());
  {
    auto out = FileWriter::create(path, IfExists::replace);
    if (!out) {
      ADD_FAILURE() << out.error().message;
      return {};
    }
    const auto done = format.write(*out, tensors);
    if (!done) {
      ADD_FAILURE() << done.error().message;
      return {};
    }
    EXPECT_TRUE(out->publish());
  }
  std::string bytes = slurp(path);
  fs::remove(path);
  return bytes;
}

}  // namespace assay::testing_tools
