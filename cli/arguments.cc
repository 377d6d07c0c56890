#include "assay/base/checked.h"
#include "assay/base/text.h"
#include "assay/dump/walk.h"
#include "assay/run/resources.h"
#include "cli/commands.h"

#include <algorithm>

namespace assay::cli {

int exit_code(Answer answer) {
  switch (answer) {
    case Answer::pass:
      return 0;
    case Answer::fail:
      return 1;
    case Answer::not_compared:
    case Answer::error:
      break;
  }
  return 2;
}

Result<DType> parse_dtype(std::string_view text) {
  const auto dtype = find_dtype(text);
  if (!dtype)
    return fail(ErrorKind::bad_argument,
                "--dtype: there is no element type '{}'; try f32, bf16, f16, i8, f8e4m3fn", printable(text));
  return *dtype;
}

Result<Shape> parse_shape(std::string_view text) {
  std::string_view inner = trim(text);
  if (inner.size() >= 2 &&
      ((inner.front() == '[' && inner.back() == ']') || (inner.front() == '(' && inner.back() == ')')))
    inner = trim(inner.substr(1, inner.size() - 2));
  Shape shape;
  if (!inner.empty())
    for (const std::string_view part : split(inner, ',')) {
      const auto number = parse_int(trim(part));
      if (!number || *number < 0)
        return fail(ErrorKind::bad_argument, "--shape: '{}' is not a shape; write it as 2,3",
                    printable(text));
      shape.dims.push_back(*number);
    }
  if (!checked_product(shape.dims))
    return fail(ErrorKind::bad_argument, "--shape: '{}' has too many elements", printable(text));
  return shape;
}

Result<void> describe_raw(std::string_view dtype, std::string_view shape, std::string_view offset,
                          FormatOptions& options) {
  if (!dtype.empty()) {
    ASSAY_TRY(options.raw_dtype, parse_dtype(dtype));
  }
  if (!offset.empty()) {
    const auto bytes = parse_size(offset);
    if (!bytes || *bytes < 0)
      return fail(ErrorKind::bad_argument, "--offset: '{}' is no number of bytes", printable(offset));
    if (dtype.empty())
      return fail(ErrorKind::bad_argument, "--offset is for raw files and needs --dtype beside it");
    options.raw_offset = *bytes;
  }
  if (shape.empty()) return {};
  if (dtype.empty())
    return fail(ErrorKind::bad_argument, "--shape is for raw files and needs --dtype beside it");
  ASSAY_TRY(options.raw_shape, parse_shape(shape));
  return {};
}

namespace {

// Whether a file is raw bytes to us, or says at least not all of its type (.npy with elements of no type).
bool may_be_raw(const fs::path& path, const FormatOptions& options) {
  const auto file = File::open(path);
  if (!file) return true;  // which is told where it is opened
  const auto format = recognise_file(**file);
  if (!format || *format == nullptr) return true;
  FormatOptions without = options;
  without.raw_dtype.reset();
  without.raw_shape.reset();
  const auto set = (*format)->open(*file, without);
  return !set || std::ranges::any_of(set->tensors, [](const StoredTensor& each) { return !each.data; });
}

}  // namespace

Result<void> check_raw_is_meant(std::span<const fs::path> paths, std::string_view flag,
                                const FormatOptions& options) {
  if (!options.raw_dtype) return {};
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      if (may_be_raw(path, options)) return {};
      continue;
    }
    const auto walk = walk_folder(path);
    if (!walk) return {};
    for (const FoundFile& file : walk->files)
      if (may_be_raw(path_of(path, file), options)) return {};
  }
  return fail(ErrorKind::bad_argument,
              "{}: is for files of raw bytes, and all of these say their types themselves; leave it out",
              flag);
}

Result<int64_t> parse_memory(std::string_view text) {
  const auto bytes = parse_size(text);
  if (!bytes || *bytes <= 0)
    return fail(ErrorKind::bad_argument, "--memory: '{}' is not a size; write it as 512MiB or 2GB",
                printable(text));
  return *bytes;
}

Result<void> limit_files(std::string_view memory, int threads, bool trusted, FormatOptions& options) {
  int64_t budget = 0;
  if (!memory.empty()) {
    ASSAY_TRY(budget, parse_memory(memory));
  }
  limit_files(options, budget, threads, trusted);
  return {};
}

std::vector<std::string> split_list(const std::vector<std::string>& given) {
  std::vector<std::string> parts;
  for (const std::string& text : given)
    for (const std::string_view part : split(text, ','))
      if (!trim(part).empty()) parts.emplace_back(trim(part));
  return parts;
}

Result<std::vector<std::string>> parse_patterns(std::string_view flag,
                                                const std::vector<std::string>& given) {
  std::vector<std::string> patterns = split_list(given);
  if (patterns.empty() && !given.empty())
    return fail(ErrorKind::bad_argument, "{}: is empty; name a pattern, or leave the flag out", flag);
  for (std::string& pattern : patterns) {
    // "--skip= --dry-run" of a script whose variable is empty: the parser takes the next word for the value.
    if (pattern.starts_with("--"))
      return fail(ErrorKind::bad_argument, "{}: '{}' is a flag, not a pattern; is a value missing before it?",
                  flag, printable(pattern));
    if (pattern.starts_with("./")) pattern.erase(0, 2);  // folders as shells complete them
    while (pattern.size() > 1 && pattern.ends_with('/')) pattern.pop_back();
  }
  return patterns;
}

}  // namespace assay::cli
