#include "assay/dump/logits.h"

#include "assay/base/text.h"
#include "assay/dump/items.h"
#include "assay/format/stats_json.h"
#include "assay/model/logits.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace assay {
namespace {

constexpr std::array<std::string_view, 5> kLanguages = {"cpp", "go", "java", "js", "python"};

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// As Python prints the number; nothing where it would not read one.
std::optional<std::string> decimal(std::string_view text) {
  text = trim(text);
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (!is_digits(text)) return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
  return is_negative && text != "0" ? "-" + std::string(text) : std::string(text);
}

bool number_less(std::string_view a, std::string_view b) {
  const bool a_negative = a.starts_with('-'), b_negative = b.starts_with('-');
  if (a_negative != b_negative) return a_negative;
  if (a_negative) return number_less(b.substr(1), a.substr(1));
  return std::tuple(a.size(), a) < std::tuple(b.size(), b);
}

// One file, ready to be sorted.
struct LogitsFile {
  fs::path path;
  std::string file_name;
  int64_t size = 0;
  std::string trouble;  // of its name
  LogitsName name;
};

// Numbers first, then languages, then names that say nothing.
bool comes_before(const LogitsFile& a, const LogitsFile& b) {
  const auto group = [](const LogitsFile& file) {
    return !file.trouble.empty() ? 2 : file.name.language.empty() ? 0 : 1;
  };
  if (group(a) != group(b)) return group(a) < group(b);
  if (a.name.language != b.name.language) return a.name.language < b.name.language;
  const std::string a_key = decimal(a.name.key).value_or(""), b_key = decimal(b.name.key).value_or("");
  if (a_key != b_key) return number_less(a_key, b_key);
  if (a.name.token != b.name.token) return number_less(a.name.token, b.name.token);
  return natural_less(a.file_name, b.file_name);
}

// "x.pth" also of "x.pth.stats.json", which stands in its place.
std::string dumped_name(const fs::path& path) {
  const std::string name = path.filename().native();
  return std::string(name_before_compaction(name).value_or(name));
}

Result<std::vector<LogitsFile>> list_files(const fs::path& root) {
  std::vector<LogitsFile> files;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    LogitsFile file;
    file.file_name = dumped_name(it->path());
    if (!file.file_name.ends_with(".pth") && !file.file_name.ends_with(".pt")) continue;
    file.path = root / file.file_name;  // reading it falls back to the statistics in its place
    std::error_code ignored;
    if (file.path.filename() != it->path().filename() && fs::exists(file.path, ignored)) continue;
    file.size = static_cast<int64_t>(fs::file_size(it->path(), ignored));
    if (ignored) file.size = 0;
    if (auto name = parse_logits_name(file.file_name))
      file.name = std::move(*name);
    else
      file.trouble = "parse_error:" + name.error().message;
    files.push_back(std::move(file));
  }
  if (error) return fail(ErrorKind::io, "{}: the folder cannot be read: {}", display(root), error.message());
  std::sort(files.begin(), files.end(), comes_before);
  return files;
}

void add_node(Frame& frame, LogitsFile& file) {
  TensorDraft draft;
  draft.has_data = file.trouble.empty();
  draft.trouble = std::move(file.trouble);
  if (draft.has_data) {
    const std::string& language = file.name.language;
    draft.facts = {
        {std::string(kLogitsKey), language.empty() ? file.name.key : language + "/" + file.name.key},
        {std::string(kLogitsToken), file.name.token}};
  }
  Item item = make_item(frame, file.file_name, static_cast<int32_t>(frame.files.size()), 0, std::move(draft));
  // A file of logits holds one tensor and nothing else; a row for the first of several would hide the rest.
  Stated& stated = frame.stated.emplace_back();
  stated.data_name = item.name;
  item.stated = &stated;
  frame.files.push_back(data_file(std::move(file.path), file.size));
  Node node;
  node.name = item.name;
  node.order = std::ssize(frame.nodes);
  node.items.push_back(item);
  frame.nodes.push_back(std::move(node));
}

Result<Survey> survey_logits(const fs::path& root, const OpenOptions&) {
  std::error_code ignored;
  if (!fs::is_directory(root, ignored))
    return fail(ErrorKind::bad_argument, "{}: is not a folder", display(root));
  return Survey{{FrameInfo{At{}, {root}}}};
}

Result<Frame> index_logits(const FrameInfo& info, const OpenOptions& options) {
  ASSAY_TRY(std::vector<LogitsFile> files, list_files(info.paths.at(0)));
  Frame frame;
  frame.at = info.at;
  for (LogitsFile& file : files)
    if (selected(file.file_name, options)) add_node(frame, file);
  return frame;
}

// Only where every file says whose logits it holds: names that say nothing are no reason to leave a plain
// folder.
int recognise_logits(const fs::path& root) {
  constexpr int kMoreThanAFolder = 60;
  bool any = false;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    const std::string name = dumped_name(it->path());
    const bool is_tensor = name.ends_with(".pth") || name.ends_with(".pt");
    if (!is_tensor || !name.starts_with("logits_") || !parse_logits_name(name)) return 0;
    any = true;
  }
  return any && !error ? kMoreThanAFolder : 0;
}

}  // namespace

Result<LogitsName> parse_logits_name(std::string_view file_name) {
  const std::string_view stem = file_name.substr(0, file_name.rfind('.'));
  const std::vector<std::string_view> parts = split(stem, '_');
  LogitsName name;
  for (const std::string_view part : parts)
    if (std::find(kLanguages.begin(), kLanguages.end(), part) != kLanguages.end()) name.language = part;
  if (!name.language.empty()) {
    std::vector<std::string_view> numbers;  // the last one first
    for (auto part = parts.rbegin(); part != parts.rend() && numbers.size() < 2; ++part)
      if (is_digits(*part)) numbers.push_back(*part);
    if (numbers.size() < 2) return fail(ErrorKind::bad_format, "missing_digits_after_{}", name.language);
    name.key = numbers[1];
    name.token = decimal(numbers[0]).value_or("0");
    return name;
  }
  if (parts.size() < 2) return fail(ErrorKind::bad_format, "invalid logits file name");
  const std::string_view key = parts[parts.size() - 2], token = parts.back();
  if (!decimal(key) || !decimal(token))
    return fail(ErrorKind::bad_format, "invalid_format_{}_{}", printable(key), printable(token));
  name.key = *decimal(key);
  name.token = *decimal(token);
  return name;
}

const Layout logits_layout = {"logits", recognise_logits, survey_logits, index_logits, false, true};

}  // namespace assay
