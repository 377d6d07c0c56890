#include "assay/dump/unclaimed.h"

#include "assay/base/text.h"
#include "assay/dump/torchair_names.h"
#include "assay/format/format.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace assay {
namespace {

// How much of a file of unknown kind is looked at.
constexpr size_t kTextLookBytes = size_t{64} << 10;

bool has_suffix(std::string_view name, std::span<const std::string_view> suffixes) {
  const std::string lower = to_lower(name);
  return std::ranges::any_of(suffixes, [&](std::string_view s) { return lower.ends_with(s); });
}

// Bytes that are no text even where they look like some, and graphs with weights in them.
bool is_never_text(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kSuffixes = {
      ".raw", ".dat", ".data", ".f16", ".f32", ".bf16", ".ckpt", ".params", ".tensor", ".onnx"};
  return has_suffix(name, kSuffixes);
}

// Graphs lie beside the dumps of their runs.
bool is_graph(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kSuffixes = {".onnx", ".pb", ".om", ".air", ".mindir"};
  return has_suffix(name, kSuffixes);
}

}  // namespace

bool is_plainly_text(std::string_view name) {
  static constexpr std::array<std::string_view, 17> kSuffixes = {
      ".txt",  ".md", ".json", ".jsonl", ".csv", ".log",   ".yaml", ".yml",  ".xlsx",
      ".html", ".py", ".sh",   ".onnx",  ".db",  ".pbtxt", ".lock", ".model"};
  return has_suffix(name, kSuffixes) && !is_never_text(name);
}

bool is_dump_table(std::string_view name) {
  constexpr std::string_view kTables[] = {"dump.json", "debug.json", "statistic.csv", "statistics.csv"};
  return std::ranges::find(kTables, name) != std::end(kTables);
}

bool may_hold_tensors(const File& file) {
  std::vector<std::byte> start(kTextLookBytes);
  const auto got = file.read_some(0, start);
  return !got || is_never_text(file.path().native()) ||
         !begins_as_text(as_text(Bytes(start.data(), static_cast<size_t>(*got))));
}

Unclaimed unclaimed_kind(const fs::path& path) {
  const std::string name = path.filename().native();
  if (is_dump_table(name)) return Unclaimed::table;
  if (find_format_by_suffix(path) != nullptr || parse_ge_file(name)) return Unclaimed::tensors;
  if (is_graph(name) || is_plainly_text(name) || name.starts_with('.')) return Unclaimed::other;
  const auto file = File::open(path);
  if (!file) return Unclaimed::unknown;
  if ((*file)->size() == 0) return Unclaimed::other;
  const auto format = recognise_content(**file);
  if (format && *format != nullptr) return Unclaimed::tensors;
  return may_hold_tensors(**file) ? Unclaimed::unknown : Unclaimed::other;
}

}  // namespace assay
