// What the tests of formats share.
#pragma once

#include "assay/format/format.h"

#include <unistd.h>

#include <fstream>

namespace assay::testing {

// A folder of its own for each test, gone at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (fs::temp_directory_path() / "assay_format_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() { fs::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const fs::path& path() const { return path_; }
  fs::path put(const fs::path& name, std::string_view content) const {
    const fs::path path = path_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

 private:
  fs::path path_;
};

inline std::string file_content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Result<TensorSet> open_as(const Format& format, const fs::path& path,
                                 const FormatOptions& options = {}) {
  ASSAY_TRY(const auto file, File::open(path));
  return format.open(file, options);
}

inline Result<fs::path> write_as(const Format& format, const fs::path& path,
                                 std::span<const StoredTensor> tensors) {
  ASSAY_TRY(FileWriter out, FileWriter::create(path, IfExists::replace));
  ASSAY_TRY_DO(format.write(out, tensors));
  return out.publish();
}

// All elements as f64 (components, for complex).
inline std::vector<double> values_in(const StoredTensor& tensor) {
  const auto bytes = read_whole(*tensor.data.value(), 1 << 24).value();
  const DType dtype = tensor.data.value()->meta.dtype;
  std::vector<double> values(bytes.size() / static_cast<size_t>(size_of(component(dtype))));
  to_f64(dtype, bytes.data(), std::ssize(values), values.data());
  return values;
}

}  // namespace assay::testing
