#include "assay/format/atb_bin_alias.h"

#include "assay/base/text.h"
#include "assay/format/stats_json.h"

#include <algorithm>
#include <vector>

namespace assay {
namespace {

// Folders that one id may stand for; real dumps have one, or two where a kernel shares the number.
constexpr size_t kMaxCandidates = 64;

struct Alias {
  std::vector<std::string_view> ids;
  std::string_view file_name;
};

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_plain_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '-';
  };
  return std::all_of(name.begin(), name.end(), allowed) && name.ends_with(".bin") &&
         name.find("..") == name.npos;
}

bool is_output(std::string_view file_name) { return to_lower(file_name).starts_with("outtensor"); }

Result<Alias> parse_alias(const File& file, std::string_view text) {
  Alias alias{{}, text};
  for (;;) {
    const size_t end = alias.file_name.find('_');
    const std::string_view id = alias.file_name.substr(0, end);
    if (end == std::string_view::npos || !is_number(id)) break;
    alias.ids.push_back(id);
    alias.file_name.remove_prefix(end + 1);
  }
  const bool tensor = is_output(alias.file_name) || to_lower(alias.file_name).starts_with("intensor");
  if (!tensor || !is_plain_name(alias.file_name))
    return fail(ErrorKind::bad_format, "{}: data={} does not name a tensor file such as 1_0_outtensor0.bin",
                file.name(), printable(text.substr(0, 80)));
  return alias;
}

bool is_op_folder(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const size_t underscore = name.find('_');
  return underscore != std::string::npos && underscore + 1 < name.size() &&
         is_number(std::string_view(name).substr(0, underscore));
}

// The folder of the operator that wrote the file: the one above before/ or after/.
fs::path op_folder_of(const fs::path& file) {
  const fs::path folder = file.parent_path();
  const fs::path name = folder.filename();
  return name == "before" || name == "after" ? folder.parent_path() : folder;
}

std::vector<fs::path> children_with_id(const std::vector<fs::path>& folders, std::string_view id) {
  std::vector<fs::path> found;
  const std::string prefix = std::string(id) + "_";
  for (const fs::path& folder : folders) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      const bool is_folder = it->is_directory(ignored) && !it->is_symlink(ignored);
      if (is_folder && it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
      if (found.size() > kMaxCandidates) return found;
    }
  }
  return found;
}

// Itself, or what is left of it after compaction.
bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored) || fs::exists(statistics_path(file), ignored);
}

}  // namespace

Result<fs::path> find_alias_target(const File& file, std::string_view alias) {
  ASSAY_TRY(const Alias wanted, parse_alias(file, alias));
  const fs::path own_path = fs::absolute(file.path()).lexically_normal();
  const fs::path own_op = op_folder_of(own_path);
  const fs::path side = is_output(wanted.file_name) ? "after" : "before";
  if (wanted.ids.empty()) {  // a kernel that was filtered out: the operator above it has the file
    const fs::path above = own_op.parent_path() / side / wanted.file_name;
    if (is_op_folder(own_op) && is_op_folder(own_op.parent_path()) && is_there(above)) return above;
    return fail(ErrorKind::not_found,
                "{}: holds no data; it refers to {} of the operator above, which is not there", file.name(),
                wanted.file_name);
  }
  fs::path round = own_op;
  while (is_op_folder(round)) round = round.parent_path();
  std::vector<fs::path> folders{round};
  for (const std::string_view id : wanted.ids) folders = children_with_id(folders, id);
  std::vector<fs::path> targets;
  for (const fs::path& folder : folders)
    if (fs::path target = folder / side / wanted.file_name; is_there(target))
      targets.push_back(std::move(target));
  if (targets.empty())
    return fail(ErrorKind::not_found, "{}: holds no data; it refers to {}, which is not below {}",
                file.name(), printable(alias), display(round));
  if (targets.size() > 1)
    return fail(ErrorKind::bad_format, "{}: holds no data; it refers to {}, which could be {} or {}",
                file.name(), printable(alias), display(targets[0]), display(targets[1]));
  return targets[0];
}

}  // namespace assay
