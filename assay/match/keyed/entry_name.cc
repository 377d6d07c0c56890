#include "assay/match/keyed/entry_name.h"

#include <algorithm>

namespace assay {
namespace {

bool is_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_direction(std::string_view word) {
  return word == "forward" || word == "backward" || word == "parameters_grad";
}

}  // namespace

std::optional<Call> find_call(std::string_view entry) {
  const size_t second = entry.rfind('.');
  if (second == std::string_view::npos || second == 0) return std::nullopt;
  const size_t first = entry.rfind('.', second - 1);
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view a = entry.substr(first + 1, second - first - 1), b = entry.substr(second + 1);
  if (is_number(a) && is_direction(b)) return Call{first, first + 1, second, b == "backward"};
  if (is_direction(a) && is_number(b)) return Call{first, second + 1, entry.size(), a == "backward"};
  return std::nullopt;
}

void strip_call(std::string_view entry, std::string& out) {
  out.assign(entry);
  if (const auto call = find_call(entry))
    out.erase(call->number_begin - 1, call->number_end - call->number_begin + 1);
}

SplitKey split_key(std::string_view key, std::string_view own) {
  const auto ends_word = [&](size_t at) { return at == key.size() || key[at] == '.'; };
  if (!own.empty() && key.starts_with(own) && ends_word(own.size()))
    return {key.substr(0, own.size()), key.substr(own.size())};
  if (const auto call = find_call(own)) {
    const std::string_view tail = own.substr(call->begin);
    for (size_t at = key.find(tail); at != std::string_view::npos; at = key.find(tail, at + 1))
      if (ends_word(at + tail.size())) return {key.substr(0, at + tail.size()), key.substr(at + tail.size())};
  }
  return {{}, key};
}

std::string_view first_words(std::string_view name, int count) {
  size_t end = name.find('.');
  while (end != std::string_view::npos && --count > 0) end = name.find('.', end + 1);
  return name.substr(0, end);
}

}  // namespace assay
