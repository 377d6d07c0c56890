#include "assay/dump/items.h"

#include "assay/base/text.h"
#include "assay/dump/unclaimed.h"
#include "assay/format/min_max.h"
#include "assay/format/open_files.h"
#include "assay/model/scalar_of.h"
#include "assay/support/json_tape.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace assay {

FileEntry data_file(fs::path path, int64_t size) {
  FileEntry file{std::move(path), size};
  static_assert(kMinMaxNpy.size() == kMinMaxNpz.size());
  if (is_min_max_name(file.path.native())) file.letters_for_extremes = kMinMaxNpy.size();
  return file;
}

std::vector<TensorDraft> draft_tensors(const fs::path& path, TensorSet set, const OpenOptions& options) {
  std::vector<TensorDraft> drafts;
  drafts.reserve(set.tensors.size());
  for (StoredTensor& tensor : set.tensors) {
    TensorDraft& draft = drafts.emplace_back();
    draft.name = std::move(tensor.name);
    draft.meta = std::move(tensor.meta);
    draft.stats = std::move(tensor.stats);
    draft.facts = std::move(tensor.facts);
    if (!tensor.data && tensor.data.error().kind == ErrorKind::not_found && draft.meta) {
      // A description, perhaps with statistics, whose data was never written: nothing is wrong with the file.
      draft.facts.push_back(Fact{"no_data", tensor.data.error().message});
    } else if (!tensor.data) {
      draft.trouble = tensor.data.error().message;
    } else if (*tensor.data != nullptr) {
      draft.has_data = true;
      draft.meta = (*tensor.data)->meta;
    }
  }
  if (options.open_files != nullptr) options.open_files->keep(path, std::move(set));
  return drafts;
}

namespace {

Scalar keep(Frame& frame, const Value& value) {
  const Scalar borrowed = scalar_of(value);
  if (const auto text = borrowed.text()) return frame.strings.keep(std::string(*text));
  if (const auto digits = borrowed.digits()) return Scalar::big(frame.strings.keep(std::string(*digits)));
  return borrowed;
}

Stated keep(Frame& frame, const Stats& stats) {
  Stated stated;
  stated.max = keep(frame, stats.max);
  stated.min = keep(frame, stats.min);
  stated.mean = keep(frame, stats.mean);
  stated.norm = keep(frame, stats.norm);
  stated.checksum = frame.strings.keep(stats.checksum);
  stated.decimals = stats.decimals;
  if (stats.nonfinite != Nonfinite{}) stated.nonfinite = &frame.nonfinite.emplace_back(stats.nonfinite);
  return stated;
}

}  // namespace

Item make_item(Frame& frame, std::string name, int32_t file, int32_t slot, TensorDraft draft) {
  Item item;
  // Names come from file systems and files; from here on they are text that any report can print.
  item.name = frame.strings.keep(printable(name));
  if (draft.meta) item.meta = &frame.metas.emplace_back(std::move(*draft.meta));
  if (draft.has_data) item.data = TensorRef{file, slot};
  if (draft.stats) item.stated = &frame.stated.emplace_back(keep(frame, *draft.stats));
  if (!draft.facts.empty()) item.facts = &frame.facts.emplace_back(std::move(draft.facts));
  if (!draft.trouble.empty()) item.trouble = frame.strings.keep(std::move(draft.trouble));
  return item;
}

namespace {

// Quoted, so that the text '1.10' is not the number 1.1; what would end the quotes is escaped, so that texts
// that differ look different.
std::string as_python(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    std::string escaped;
    for (const char letter : *text) {
      if (letter == '\'' || letter == '\\') escaped += '\\';
      escaped += letter;
    }
    return fmt::format("'{}'", printable(escaped));
  }
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  std::string text = "None";
  if (const auto* real = std::get_if<double>(&value)) append_python_float(text = "", *real);
  return text;
}

std::string container_text(const StoredValue& stored) {
  using In = NestStep::In;
  const In in = stored.maker.empty() ? *stored.container : In::list;
  const bool is_dict = in == In::dict || in == In::ordered_dict;
  std::string text(is_dict ? "{" : in == In::tuple ? "(" : "[");
  for (const Value& value : stored.values) text += (text.size() == 1 ? "" : ", ") + as_python(value);
  if (in == In::tuple && stored.values.size() == 1) text += ',';
  text += is_dict ? '}' : in == In::tuple ? ')' : ']';
  return stored.maker.empty() ? text : fmt::format("{}({})", stored.maker, text);
}

Nonfinite count_nonfinite(std::span<const Value> values) {
  Nonfinite counts{.nans = 0, .infs = 0};
  for (const Value& value : values)
    if (const auto* real = std::get_if<double>(&value); real != nullptr && !std::isfinite(*real))
      ++(std::isnan(*real) ? counts.nans : counts.infs);
  return counts;
}

}  // namespace

std::vector<ValueDraft> draft_values(std::span<const StoredValue> values) {
  std::vector<ValueDraft> drafts;
  for (const StoredValue& stored : values) {
    if (stored.form != StoredValue::Form::plain) {
      drafts.push_back({stored.name, stored.text});
      continue;
    }
    const Nonfinite numbers = count_nonfinite(stored.values);
    if (stored.container) {
      drafts.push_back({stored.name, container_text(stored), numbers});
      continue;
    }
    const Value& only = stored.values.front();
    const bool is_number = numbers.nans + numbers.infs == 0 && !std::holds_alternative<std::string>(only) &&
                           !std::holds_alternative<std::monostate>(only);
    drafts.push_back({stored.name, is_number ? only : Value(as_python(only)), numbers});
  }
  return drafts;
}

Item make_value_item(Frame& frame, const std::string& name, const ValueDraft& draft) {
  Item item;
  item.name = frame.strings.keep(printable(name));
  const Scalar kept = keep(frame, draft.value);
  Stated stated;
  stated.max = stated.min = stated.mean = stated.norm = kept;
  stated.given = Given::beside;
  if (draft.numbers.nans > 0 || draft.numbers.infs > 0)
    stated.nonfinite = &frame.nonfinite.emplace_back(draft.numbers);
  item.stated = &frame.stated.emplace_back(stated);
  return item;
}

std::string some_names(const std::vector<std::string>& names, size_t shown) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < shown; ++i) out += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > shown) out += ", …";
  return out;
}

void note_unknown_files(const fs::path& folder, const std::vector<std::string>& names, Remarks& warnings) {
  if (names.empty()) return;
  warnings.push_back(left_out(
      fmt::format("{}: {} skipped: {}", display(folder),
                  names.size() == 1 ? "1 file of no format that is known was"
                                    : fmt::format("{} files of no format that is known were", names.size()),
                  some_names(names)),
      std::ssize(names)));
}

void note_misfits(const fs::path& folder, const std::vector<std::string>& names, Remarks& warnings) {
  std::vector<std::string> tensors, unknown;
  for (const std::string& name : names) {
    const Unclaimed kind = unclaimed_kind(folder / name);
    if (kind == Unclaimed::tensors) tensors.push_back(name);
    if (kind == Unclaimed::unknown) unknown.push_back(name);
  }
  note_unknown_files(folder, unknown, warnings);
  if (tensors.empty()) return;
  warnings.push_back(left_out(
      fmt::format(
          "{}: {} skipped: {}", display(folder),
          tensors.size() == 1
              ? "1 tensor file is not named as those of this dump are;"
              : fmt::format("{} tensor files are not named as those of this dump are;", tensors.size()),
          some_names(tensors)),
      std::ssize(tensors)));
}

void note_strays(const fs::path& root, const std::vector<std::string>& files, Remarks& warnings) {
  std::vector<std::string> tensors, unknown;
  std::set<std::string> folders;
  for (const std::string& file : files) {
    const Unclaimed kind = unclaimed_kind(root / file);
    if (kind == Unclaimed::unknown) unknown.push_back(file);
    if (kind != Unclaimed::tensors && kind != Unclaimed::table) continue;
    tensors.push_back(file);
    folders.insert(file.substr(0, file.rfind('/') + 1));
  }
  note_unknown_files(root, unknown, warnings);
  if (tensors.empty()) return;
  const std::string where = folders.size() == 1 ? "" : fmt::format(" in {} folders", folders.size());
  warnings.push_back(left_out(
      fmt::format("{}: {} where this dump has none; skipped: {}", display(root),
                  tensors.size() == 1 ? "1 file of tensors lies"
                                      : fmt::format("{} files of tensors{} lie", tensors.size(), where),
                  some_names(tensors)),
      std::ssize(tensors)));
}

void note_empty_folders(const fs::path& root, const std::vector<std::string>& folders, Remarks& warnings) {
  if (folders.empty()) return;
  warnings.push_back(
      left_out(fmt::format("{}: {} empty: there is nothing to compare: {}", display(root),
                           folders.size() == 1
                               ? "1 folder of a rank, step or token is"
                               : fmt::format("{} folders of ranks, steps or tokens are", folders.size()),
                           some_names(folders)),
               std::ssize(folders)));
}

}  // namespace assay
