#include "probe/config_members.h"

#include "assay/base/text.h"

#include <algorithm>
#include <span>

namespace assay::probe {
namespace {

constexpr size_t kLongestShown = 60;

struct Member {
  std::string_view key, meaning;
  bool (*is_understood)(const Json&);
};

bool is_text(const Json& value) { return value.kind == Json::Kind::string; }

bool is_switch(const Json& value) {
  return (value.kind == Json::Kind::boolean || is_text(value)) &&
         (value.text == "true" || value.text == "false");
}

bool is_switch_or_nothing(const Json& value) {
  return is_switch({value.kind, to_lower(value.text)}) || (is_text(value) && value.text.empty());
}

bool is_task(const Json& value) {
  return is_text(value) && (value.text == "tensor" || value.text == "statistics" || value.text == "all");
}

bool is_rounds(const Json& value) {
  if (!is_text(value)) return false;
  if (value.text.empty() || value.text == "all" || value.text == "none") return true;
  const auto parts = split(value.text, ',');
  return parts.size() % 2 == 0 && std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
           return parse_int(part).has_value();
         });
}

bool is_list(const Json& value) { return is_text(value) || value.kind == Json::Kind::number; }

bool is_level(const Json& value) {
  const auto level = is_list(value) ? parse_int(value.text) : std::nullopt;
  return level && *level >= 0 && *level <= 2;
}

constexpr std::string_view kSwitch = "neither true nor false",
                           kRounds = "no pairs of rounds, such as \"0,0\" or \"3,5,7,7\"", kList = "no text";
constexpr Member kThree[] = {
    {"dump_enable", kSwitch, is_switch}, {"task", "none of tensor, statistics, all", is_task},
    {"exec_range", kRounds, is_rounds},  {"ids", kList, is_list},
    {"op_name", kList, is_text},         {"save_child", kSwitch, is_switch},
    {"device", kList, is_list},          {"filter_level", "none of 0, 1, 2", is_level}};
constexpr Member kTwo[] = {{"dump_enable", kSwitch, is_switch},
                           {"er", kRounds, is_rounds},
                           {"ids", kList, is_list},
                           {"child", kSwitch, is_switch_or_nothing},
                           {"device", kList, is_list}};

}  // namespace

std::vector<std::string> odd_members(const Json& config, bool is_generation_three) {
  const auto known = is_generation_three ? std::span<const Member>(kThree) : std::span<const Member>(kTwo);
  std::vector<std::string> out;
  for (const auto& [key, value] : config.members) {
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const Member& each) { return each.key == key; });
    if (found == known.end())
      out.push_back(key.substr(0, kLongestShown) + " is no setting");
    else if (!found->is_understood(value))
      out.push_back(key + " is " + compact_text(value).substr(0, kLongestShown) + ", " +
                    std::string(found->meaning));
  }
  return out;
}

}  // namespace assay::probe
