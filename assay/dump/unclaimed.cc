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

// Files of other programs: no text, and no tensors either.
bool is_of_another_program(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kSuffixes = {".xlsx", ".db", ".lock", ".model"};
  return has_suffix(name, kSuffixes);
}

bool is_named_as_text(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kSuffixes = {
      ".txt", ".md", ".json", ".jsonl", ".csv", ".log", ".yaml", ".yml", ".html", ".py", ".sh", ".pbtxt"};
  return has_suffix(name, kSuffixes);
}

// What no text has, in whatever encoding; logs have bells and colours in them.
bool is_binary(std::string_view start) {
  constexpr std::string_view kLittleEndian = "\xff\xfe", kBigEndian = "\xfe\xff";  // marks of UTF-16
  if (start.starts_with(kLittleEndian) || start.starts_with(kBigEndian)) return false;
  return std::ranges::any_of(start, [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code < '\a' || (code > '\r' && code < ' ' && code != 0x1B) || code == 0x7F;
  });
}

}  // namespace

bool is_plainly_text(std::string_view name) { return is_named_as_text(name) || is_of_another_program(name); }

bool is_dump_table(std::string_view name) {
  constexpr std::string_view kTables[] = {"dump.json", "debug.json", "statistic.csv", "statistics.csv"};
  return std::ranges::find(kTables, name) != std::end(kTables);
}

bool may_hold_tensors(const File& file) {
  const std::string name = file.path().filename().native();
  if (is_of_another_program(name)) return false;
  std::vector<std::byte> start(kTextLookBytes);
  const auto got = file.read_some(0, start);
  if (!got) return !is_named_as_text(name);
  const std::string_view text = as_text(Bytes(start.data(), static_cast<size_t>(*got)));
  if (is_named_as_text(name)) return is_binary(text);
  return is_never_text(name) || !begins_as_text(text);
}

Unclaimed unclaimed_kind(const fs::path& path) {
  const std::string name = path.filename().native();
  if (is_dump_table(name)) return Unclaimed::table;
  if (find_format_by_suffix(path) != nullptr || parse_ge_file(name)) return Unclaimed::tensors;
  if (is_graph(name) || is_of_another_program(name) || name.starts_with('.')) return Unclaimed::other;
  const auto file = File::open(path);
  if (!file) return is_named_as_text(name) ? Unclaimed::other : Unclaimed::unknown;
  if (is_named_as_text(name) && !may_hold_tensors(**file)) return Unclaimed::other;
  if ((*file)->size() == 0) return Unclaimed::other;
  const auto format = recognise_content(**file);
  if (format && *format != nullptr) return Unclaimed::tensors;
  return may_hold_tensors(**file) ? Unclaimed::unknown : Unclaimed::other;
}

}  // namespace assay
