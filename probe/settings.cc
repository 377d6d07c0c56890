#include "probe/settings.h"

#include "assay/base/system_message.h"
#include "assay/base/text.h"
#include "probe/config_members.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <filesystem>

namespace assay::probe {
namespace {

std::vector<std::string> tokens(std::string_view text) {
  std::vector<std::string> out;
  if (text.empty()) return out;
  for (const std::string_view part : split(text, ',')) out.emplace_back(part);
  return out;
}

std::string text_of(const Environment& environment, const char* name) {
  const char* const value = environment.get(name);
  return value == nullptr ? "" : value;
}

// "layer|tensor"; of the last builds of generation two, all that matters where nothing is said.
bool has_type(const Environment& environment, std::string_view type) {
  const char* const value = environment.get("ATB_DUMP_TYPE");
  if (value == nullptr) return type == "layer" || type == "model" || type == "tensor";
  const auto parts = split(value, '|');
  return std::find(parts.begin(), parts.end(), type) != parts.end();
}

std::string remark_on(const char* name, const std::string& value, const std::string& instead) {
  return std::string(name) + " is '" + value + "': " + instead;
}

// The original takes the default, too, and says so in a log that few ever see.
void note_numbers(const Environment& environment, std::vector<std::string>& out) {
  constexpr const char* kNumbers[] = {"ATB_SAVE_CHILD",       "ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER",
                                      "ATB_SAVE_TENSOR_TIME", "ATB_SAVE_TENSOR_PART",
                                      "ATB_SAVE_TILING",      "ATB_SAVE_TENSOR_STATISTICS",
                                      "ATB_SAVE_TENSOR",      "ATB_SAVE_SYMLINK"};
  for (const char* const name : kNumbers) {
    const char* const value = environment.get(name);
    if (value != nullptr && !parse_int(value)) out.push_back(remark_on(name, value, "no number"));
  }
}

void note_lists(const Environment& environment, std::vector<std::string>& out) {
  constexpr std::string_view kTypes[] = {"model",  "layer",         "op",   "kernel",
                                         "tensor", "cpu_profiling", "onnx", "stats"};
  const std::string types = text_of(environment, "ATB_DUMP_TYPE");
  for (const std::string_view type : split(types, '|'))
    if (!type.empty() && std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes))
      out.push_back(remark_on("ATB_DUMP_TYPE", std::string(type), "no type"));
  const std::string rounds = text_of(environment, "ATB_SAVE_TENSOR_RANGE");
  if (rounds.empty() || rounds == "all" || rounds == "none") return;
  const auto parts = split(rounds, ',');
  if (parts.size() % 2 != 0)
    out.push_back(
        remark_on("ATB_SAVE_TENSOR_RANGE", rounds, "the last one has no partner, and means nothing"));
  for (const std::string_view part : parts)
    if (!parse_int(part))
      out.push_back(remark_on("ATB_SAVE_TENSOR_RANGE", rounds, std::string(part) + " counts as 0"));
}

Generation generation_of(const Environment& environment) {
  const std::string asked = text_of(environment, "ASSAY_ATB_GENERATION");
  if (asked == "1a") return Generation::one_a;
  if (asked == "1b") return Generation::one_b;
  if (asked == "1c") return Generation::one_c;
  if (asked == "2") return Generation::two;
  if (asked == "3") return Generation::three;
  // The launcher of generation two always sets these; the scripts of three set a configuration and nothing
  // else.
  for (const char* name :
       {"ATB_DUMP_TYPE", "ATB_SAVE_TENSOR", "ATB_SAVE_TENSOR_RANGE", "ATB_CHECK_TYPE", "ATB_TIMESTAMP"})
    if (environment.get(name) != nullptr) return Generation::two;
  return environment.get("ATB_DUMP_CONFIG") != nullptr ? Generation::three : Generation::two;
}

std::string root_name(Generation generation, const std::string& timestamp) {
  const auto stamped = [&](const std::string& name) {
    return timestamp.empty() ? name : name + "_" + timestamp;
  };
  switch (generation) {
    case Generation::one_a:
      return "";
    case Generation::one_b:
      return "ait_dump";
    case Generation::one_c:
      return stamped("ait_dump");
    case Generation::two:
      return stamped("msit_dump");
    case Generation::three:
      break;
  }
  return "atb_dump_data";
}

std::string absolute(const std::string& path) {
  std::error_code error;
  std::string whole = std::filesystem::absolute(path, error).lexically_normal().string();
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return error ? path : whole;
}

// The text behind the first '_' of "0_LinearOperation".
std::string_view type_of(std::string_view segment) {
  const size_t line = segment.find('_');
  return line == std::string_view::npos ? std::string_view{} : segment.substr(line + 1);
}

// The text in lower letters; what it may begin with is taken as it is.
bool begins_with_any(std::string_view text, std::span<const std::string> begins) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::any_of(begins.begin(), begins.end(), [&](const std::string& begin) {
    return begin.size() <= text.size() && std::equal(begin.begin(), begin.end(), text.begin(),
                                                     [&](char b, char t) { return b == lower(t); });
  });
}

// "2_1", without memory of its own: this is asked for every operator. Ids that are longer than any model's
// are cut.
class IdText {
 public:
  void add(std::string_view id) {
    if (size_ > 0) put("_");
    put(id);
  }
  void add(int64_t id) {
    char digits[24];
    add({digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, id).ptr - digits)});
  }
  std::string_view text() const { return {text_, size_}; }

 private:
  void put(std::string_view more) {
    const size_t n = std::min(more.size(), sizeof text_ - size_);
    std::copy_n(more.begin(), n, text_ + size_);
    size_ += n;
  }
  char text_[240];
  size_t size_ = 0;
};

// What makes a configuration file one that is not to be trusted; empty: nothing.
std::string fault_of(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "is no plain file";
  if (status.st_uid != ::geteuid() && ::geteuid() != 0) return "belongs to somebody else";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "may be written by others (chmod go-w)";
  if (status.st_size < 1) return "is empty";
  if (status.st_size > (int64_t{1} << 30)) return "is larger than 1 GiB";
  return {};
}

std::optional<std::string> read_config(const std::string& path, std::string& trouble) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) {
    trouble = errno == ELOOP ? "is a link" : system_message(errno);
    return std::nullopt;
  }
  struct stat status {};
  if (::fstat(file, &status) != 0) trouble = system_message(errno);
  if (trouble.empty()) trouble = fault_of(status);
  std::string text;
  if (trouble.empty()) {
    char piece[4096];
    ssize_t got = 0;
    while ((got = ::read(file, piece, sizeof piece)) > 0) text.append(piece, static_cast<size_t>(got));
    if (got < 0) trouble = system_message(errno);
  }
  ::close(file);
  if (!trouble.empty()) return std::nullopt;
  return text;
}

bool has_text(const Json& value) {
  return value.kind == Json::Kind::string || value.kind == Json::Kind::number ||
         value.kind == Json::Kind::boolean;
}

// "true" and true, "1,3" and nothing. Of several of one name the last one counts, as in the original.
std::string member_text(const Json& config, std::string_view key, std::string otherwise) {
  for (auto member = config.members.rbegin(); member != config.members.rend(); ++member)
    if (member->first == key) return has_text(member->second) ? member->second.text : otherwise;
  return otherwise;
}

void take_tasks(const std::string& task, Settings& out) {
  out.has_files = task == "tensor" || task == "all";
  out.has_statistics = task == "statistics" || task == "all";
  out.writes_table = out.has_files || out.has_statistics;
  out.saves_tensors = out.writes_table;
}

}  // namespace

int number_or(const char* text, int otherwise) {
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  if (end == text || errno == ERANGE || value > INT_MAX || value < INT_MIN) return otherwise;
  return static_cast<int>(value);
}

bool Rounds::has(int64_t round) const {
  if (all) return true;
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const auto& range) { return range.first <= round && round <= range.second; });
}

Rounds parse_rounds(std::string_view text) {
  if (text == "all") return {true, {}};
  if (text.empty() || text == "none") return {};
  Rounds out;
  const auto parts = tokens(text);
  for (size_t i = 0; i + 1 < parts.size(); i += 2)
    out.ranges.emplace_back(number_or(parts[i].c_str(), 0), number_or(parts[i + 1].c_str(), 0));
  return out;
}

bool is_listed(std::string_view ids, std::span<const std::string> listed, bool with_children) {
  return std::any_of(listed.begin(), listed.end(), [&](const std::string& each) {
    if (ids == each) return true;
    return with_children && ids.size() > each.size() && ids.starts_with(each) && ids[each.size()] == '_';
  });
}

bool Settings::saves(std::span<const int64_t> op, std::string_view op_type) const {
  if (!saves_tensors && !scans && !has_file) return false;
  if (has_file || scans || (ids.empty() && ops.empty()))
    return true;  // a file may say something else tomorrow
  IdText joined;
  for (const int64_t id : op) joined.add(id);
  return is_listed(joined.text(), ids, with_children) || begins_with_any(op_type, ops);
}

bool Settings::saves_in(std::string_view folder) const {
  if (!has_file) return true;
  if (!saves_tensors) return false;
  const auto depth = 1 + std::count(folder.begin(), folder.end(), '/');
  if (depth < 3) return false;
  if (ids.empty() && ops.empty()) return with_children || depth == 3;
  IdText joined;
  bool is_named = false;
  const bool any_part = generation == Generation::three && with_children;
  for (int64_t i = 0; i < depth; ++i) {
    const std::string_view part = folder.substr(0, folder.find('/'));
    folder.remove_prefix(std::min(part.size() + 1, folder.size()));
    if (i < 2) continue;
    joined.add(part.substr(0, part.find('_')));
    is_named |= (any_part || i + 1 == depth) && begins_with_any(type_of(part), ops);
  }
  return is_named || is_listed(joined.text(), ids, with_children);
}

bool Settings::has_device(std::string_view path) const {
  if (devices.empty()) return true;
  return std::find(devices.begin(), devices.end(), path.substr(0, path.find('_'))) != devices.end();
}

Settings settings_from(const Environment& environment) {
  const auto number = [&](const char* name, int otherwise) {
    return number_or(environment.get(name), otherwise);
  };
  Settings out;
  out.generation = generation_of(environment);
  constexpr std::string_view kGenerations[] = {"", "1a", "1b", "1c", "2", "3"};
  const std::string asked = text_of(environment, "ASSAY_ATB_GENERATION");
  if (std::find(std::begin(kGenerations), std::end(kGenerations), asked) == std::end(kGenerations))
    out.not_understood.push_back(remark_on("ASSAY_ATB_GENERATION", asked, "there are 1a, 1b, 1c, 2 and 3"));
  const std::string folder = text_of(environment, "ATB_OUTPUT_DIR");
  const std::string name = root_name(out.generation, text_of(environment, "ATB_TIMESTAMP"));
  out.output_dir = absolute(folder.empty() ? "." : folder);
  out.root = name.empty() ? out.output_dir : out.output_dir + "/" + name;
  out.shown_root = (folder.empty() ? "./" : folder.ends_with('/') ? folder : folder + "/") + name;
  if (out.generation == Generation::three) {
    out.is_active = environment.get("ATB_DUMP_CONFIG") != nullptr;
    out.graphs = out.models = out.is_active;
    out.saves_tensors = false;  // until the file says so
    return out;
  }
  for (const char* variable : {"ATB_DUMP_TYPE", "ATB_SAVE_TENSOR", "ATB_SAVE_TENSOR_RANGE", "ATB_CHECK_TYPE",
                               "ATB_TIMESTAMP", "ATB_DUMP_CONFIG", "ATB_OUTPUT_DIR"})
    out.is_active |= environment.get(variable) != nullptr;
  if (!out.is_active) return out;
  note_numbers(environment, out.not_understood);
  note_lists(environment, out.not_understood);
  out.saves_tensors = has_type(environment, "tensor");
  out.models = has_type(environment, "model");
  out.graphs = out.models || has_type(environment, "layer");
  out.operation_tables = has_type(environment, "op");
  out.kernel_tables = has_type(environment, "kernel");
  out.times = has_type(environment, "cpu_profiling");
  out.onnx = has_type(environment, "onnx");
  const std::string list = text_of(environment, "ATB_DUMP_SUB_PROC_INFO_SAVE_PATH");
  if (out.onnx && !list.empty()) out.onnx_list = absolute(list) + "/subprocess_info.txt";
  out.rounds = parse_rounds(text_of(environment, "ATB_SAVE_TENSOR_RANGE"));
  out.ids = tokens(text_of(environment, "ATB_SAVE_TENSOR_IDS"));
  out.ops = tokens(text_of(environment, "ATB_SAVE_TENSOR_RUNNER"));
  out.devices = tokens(text_of(environment, "ATB_DEVICE_ID"));
  out.with_children = number("ATB_SAVE_CHILD", 1) != 0;
  out.only_in_before_out_after = number("ATB_SAVE_TENSOR_IN_BEFORE_OUT_AFTER", 1) == 1;
  const int time = number("ATB_SAVE_TENSOR_TIME", 1);
  out.before = time == 0 || time == 2 || out.only_in_before_out_after;
  out.after = time == 1 || time == 2 || out.only_in_before_out_after;
  const int part = number("ATB_SAVE_TENSOR_PART", 2);
  out.inputs = part == 0 || part == 2;
  out.outputs = part == 1 || part == 2;
  out.tiling = number("ATB_SAVE_TILING", 0) != 0;
  out.has_statistics = number("ATB_SAVE_TENSOR_STATISTICS", 0) == 1;
  out.content = out.has_statistics                  ? Content::statistics
                : number("ATB_SAVE_TENSOR", 1) == 1 ? Content::data
                                                    : Content::description;
  out.links = number("ATB_SAVE_SYMLINK", 0) == 1;
  out.overflow = text_of(environment, "ATB_CHECK_TYPE").find('1') != std::string::npos;
  out.overflow_stop = text_of(environment, "ATB_EXIT") == "1";
  out.scans = out.overflow && environment.get("ATB_DUMP_TYPE") == nullptr;
  if (out.scans) out.saves_tensors = out.models = out.graphs = false;
  return out;
}

Settings with_file(const Settings& base, const std::string& path, std::string& trouble) {
  Settings out = base;
  out.has_file = true;
  out.saves_tensors = false;
  out.not_understood.clear();
  const auto text = read_config(path, trouble);
  if (!text) return out;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of editors on Windows; the original reads on
  const bool has_mark = text->starts_with(kByteOrderMark);
  const auto config = parse_json(std::string_view(*text).substr(has_mark ? kByteOrderMark.size() : 0));
  if (!config || config->kind != Json::Kind::object) {
    trouble = "is no JSON object";
    return out;
  }
  const auto member = [&](std::string_view key, std::string otherwise) {
    return member_text(*config, key, std::move(otherwise));
  };
  out.not_understood = odd_members(*config, out.generation == Generation::three);
  const bool is_enabled = member("dump_enable", "false") == "true";
  if (config->find("dump_enable") == nullptr) trouble = "has no dump_enable, which is to be true";
  if (out.generation != Generation::three) {
    out.rounds = parse_rounds(member("er", "0,0"));
    out.ids = tokens(member("ids", ""));
    const std::string child = to_lower(member("child", ""));
    out.with_children = child.empty() || child == "true";
    out.devices = tokens(member("device", ""));
    out.saves_tensors = is_enabled;
    return out;
  }
  out.rounds = parse_rounds(member("exec_range", "0,0"));
  out.ids = tokens(member("ids", ""));
  out.ops = tokens(to_lower(member("op_name", "")));
  out.with_children = member("save_child", "false") == "true";
  out.devices = tokens(member("device", ""));
  out.filter_level = number_or(member("filter_level", "1").c_str(), 1);
  take_tasks(member("task", "tensor"), out);
  out.saves_tensors = out.saves_tensors && is_enabled;
  return out;
}

}  // namespace assay::probe
