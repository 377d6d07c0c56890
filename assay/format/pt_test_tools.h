// Archives of pickle code, for the tests of what is read of them.
#pragma once

#include "assay/format/npy_test_tools.h"
#include "assay/format/pt.h"
#include "assay/support/zip_test_tools.h"
#include "assay/support/zip_writer.h"

#include <gmock/gmock.h>

namespace assay::testing_tools {

using namespace std::string_literals;

// By content, as the table would: the zip container, or the older one.
inline Result<TensorSet> open_data(std::string_view name, const FormatOptions& options = {}) {
  const fs::path path = data_file("pt") / name;
  const std::string bytes = slurp(path);
  const Bytes head = as_bytes(std::string_view(bytes).substr(0, 512));
  const bool zip = pt_format.sniff(head, std::ssize(bytes));
  EXPECT_NE(zip, pt_legacy_format.sniff(head, std::ssize(bytes))) << name;
  return open_with(zip ? pt_format : pt_legacy_format, path, options);
}

inline std::string error_of(const Result<TensorSet>& set) { return set ? "opened" : set.error().message; }
inline std::string error_of(const Result<TensorSet>& set, std::string_view name) {
  if (!set) return set.error().message;
  const StoredTensor* const tensor = find_tensor(*set, name);
  if (tensor == nullptr) return "missing";
  return tensor->data ? "readable" : tensor->data.error().message;
}

// An archive with this pickle and one storage of 24 bytes.
inline std::string archive(std::string_view pickle, std::string_view byteorder = "little") {
  const TempFile place("", "made.pt");
  auto out = FileWriter::create(place.path(), IfExists::replace);
  EXPECT_TRUE(out);
  ZipWriter zip(*out);
  EXPECT_TRUE(zip.add("made/data.pkl", as_bytes(pickle)));
  EXPECT_TRUE(zip.add("made/byteorder", as_bytes(byteorder)));
  const float six[] = {0, 1, 2, 3, 4, 5};
  EXPECT_TRUE(zip.add("made/data/0", std::as_bytes(std::span(six))));
  EXPECT_TRUE(zip.finish());
  EXPECT_TRUE(out->publish());
  return slurp(place.path());
}

inline Result<TensorSet> open_pickle(std::string_view pickle, const FormatOptions& options = {}) {
  const TempFile file(archive(pickle), "made.pt");
  return open_with(pt_format, file.path(), options);
}

// _rebuild_tensor_v2 of the storage of six floats. The numbers are pickle code: "K\x02" is 2.
inline std::string tensor(std::string_view offset, std::string_view size, std::string_view stride,
                          std::string_view storage = "FloatStorage", std::string_view count = "K\x06") {
  return fmt::format(
      "ctorch._utils\n_rebuild_tensor_v2\n((S'storage'\nctorch\n{}\nS'0'\nS'cpu'\n{}tQ{}({}t({}t\x89NtR",
      storage, count, offset, size, stride);
}
inline std::string zero() { return "K\0"s; }

}  // namespace assay::testing_tools
