#include "assay/report/terminal_table.h"

#include "assay/base/result.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>

namespace assay {
namespace {

constexpr int kFlexibleMinimum = 12;

// Bytes of the longest run from the front (or from the back, with reverse iterators) that takes at most
// `width` columns.
template <class It>
size_t fitting_bytes(It first, It last, int width) {
  size_t bytes = 0;
  for (; first != last && first->width <= width; ++first) {
    width -= first->width;
    bytes += first->size;
  }
  return bytes;
}

// Words of names end at these: at the first ones, so that q_proj stays whole, where names are made of several
// such.
constexpr std::string_view kSeparators = "./:] ", kAllSeparators = "./_:-] ";

std::string_view separators_of(const std::vector<std::string>& names) {
  constexpr std::ptrdiff_t kSeveral = 3;
  const auto has_parts = [&](const std::string& name) {
    const auto ends_word = [](char c) { return kSeparators.find(c) != std::string_view::npos; };
    return std::ranges::count_if(name, ends_word) >= kSeveral;
  };
  return std::ranges::all_of(names, has_parts) ? kSeparators : kAllSeparators;
}

// The words of a name, each with the separator behind it.
std::vector<std::string_view> words_of(std::string_view name, std::string_view separators) {
  std::vector<std::string_view> words;
  while (!name.empty()) {
    const size_t end = name.find_first_of(separators);
    words.push_back(name.substr(0, end == std::string_view::npos ? end : end + 1));
    name.remove_prefix(words.back().size());
  }
  return words;
}

bool is_numbered(std::string_view word) { return word.find_first_of("0123456789") == 0; }

// From `least` columns on, so many that names that differ still do when they are shortened; `most` at most.
int granted_to_tell_apart(const std::vector<std::string>& names, int least, int most) {
  const size_t all = std::set<std::string>(names.begin(), names.end()).size();
  const auto told_apart = [&](int width) {
    std::set<std::string> shorter;
    for (const std::string& name : names) shorter.insert(shorten_middle(name, width));
    return shorter.size();
  };
  int width = least;
  while (width < most && told_apart(width) < all) ++width;
  return width;
}

struct Laid {
  TerminalColumn column;
  int width;
};

int total(const std::vector<Laid>& columns) {
  int sum = -kGap;
  for (const Laid& laid : columns) sum += laid.width + kGap;
  return sum;
}

void append_cell(std::string& out, const Laid& laid, const std::string& text, std::string_view colour,
                 bool last) {
  const std::string cell = shorten_middle(text, laid.width);
  const auto padding = static_cast<size_t>(laid.width - display_width(cell));
  if (laid.column.right_aligned) out.append(padding, ' ');
  out += colour;
  out += cell;
  if (!colour.empty()) out += kResetColour;
  if (last) return;
  if (!laid.column.right_aligned) out.append(padding, ' ');
  out.append(kGap, ' ');
}

}  // namespace

int column_width(const TerminalColumn& column) {
  int width = display_width(column.title);
  for (const std::string& cell : column.cells) width = std::max(width, display_width(cell));
  return width;
}

void leave_out_common_words(std::vector<std::string>& names, NumberWords number_words) {
  std::vector<std::vector<std::string_view>> all;
  const std::string_view separators = separators_of(names);
  for (const std::string& name : names) all.push_back(words_of(name, separators));
  // Names of other lengths are lined up by their ends.
  const auto shortest = std::ranges::min_element(all, {}, &std::vector<std::string_view>::size)->size();
  const auto is_common = [&](auto word_at) {
    return std::ranges::all_of(all, [&](const auto& words) { return word_at(words) == word_at(all[0]); });
  };
  size_t front = 0, back = 0;  // words that all names begin and end with
  const bool is_even = std::ranges::all_of(all, [&](const auto& words) { return words.size() == shortest; });
  const auto from_front = [&](size_t i) { return [i](const auto& words) { return words[i]; }; };
  const auto from_back = [&](size_t i) {
    return [i](const auto& words) { return words[words.size() - 1 - i]; };
  };
  while (front < shortest && is_common(from_front(front))) ++front;
  while (front + back < shortest && is_common(from_back(back))) ++back;
  if (front == shortest) return;                                           // one name is all that they share
  if (front + back == shortest && !is_even) --(front > 0 ? front : back);  // something of the shortest stays
  std::vector<std::string> shorter;
  for (const auto& words : all) {
    std::string name;
    bool is_left_out = false;
    for (size_t i = 0; i < words.size(); ++i) {
      const auto is_common_at = [&](size_t at) {
        return at < front || at + back >= words.size() || (is_even && is_common(from_front(at)));
      };
      const bool leads_a_number = number_words == NumberWords::kept && i + 1 < words.size() &&
                                  is_numbered(words[i + 1]) && !is_numbered(words[i]) && !is_common_at(i + 1);
      const bool is_same = is_common_at(i);
      if (!is_same || leads_a_number)
        name += words[i];
      else if (!is_left_out)
        name += "…";
      is_left_out = is_same && !leads_a_number;
    }
    shorter.push_back(std::move(name));
  }
  names = std::move(shorter);
}

std::string shorten_middle(std::string_view text, int width) {
  ASSAY_CHECK(width >= 1);
  const std::vector<ShownCharacter> all = characters(text);
  int needed = 0;
  for (const ShownCharacter& c : all) needed += c.width;
  if (needed <= width) return std::string(text);
  const int front = (width - 1) / 2, back = width - 1 - front;  // the end of a name tells more than its start
  const size_t head = fitting_bytes(all.begin(), all.end(), front);
  const size_t tail = fitting_bytes(all.rbegin(), all.rend(), back);
  return std::string(text.substr(0, head)) + "…" + std::string(text.substr(text.size() - tail));
}

std::string terminal_table(std::vector<TerminalColumn> columns, int width) {
  std::vector<Laid> laid;
  for (TerminalColumn& column : columns) {
    const int wanted = std::max(column_width(column), 1);
    laid.push_back({std::move(column), wanted});
  }
  const auto flexible = [&] {
    return std::find_if(laid.begin(), laid.end(), [](const Laid& l) { return l.column.flexible; });
  };
  ASSAY_CHECK(flexible() != laid.end());
  const int granted = std::max(kFlexibleMinimum, width / 3);
  const std::vector<std::string> in_full = flexible()->column.cells;
  bool are_shorter = false;
  if (total(laid) > width && flexible()->width > granted) {
    leave_out_common_words(flexible()->column.cells);
    flexible()->width = column_width(flexible()->column);
    are_shorter = true;
  }
  int wanted = flexible()->width;
  const std::vector<std::string>& names = flexible()->column.cells;
  // What is left of them tells rows apart: a layer is worth more than one more metric.
  flexible()->width = std::min(
      wanted,
      std::max(3 * width / 5, granted_to_tell_apart(names, granted, std::min(wanted, 2 * width / 3))));
  while (total(laid) > width) {
    const auto last =
        std::find_if(laid.rbegin(), laid.rend(), [](const Laid& l) { return l.column.optional; });
    if (last == laid.rend()) break;
    laid.erase(std::next(last).base());
  }
  flexible()->width = std::clamp(flexible()->width + width - total(laid), 1, wanted);
  if (are_shorter && flexible()->width < wanted) {
    flexible()->column.cells = in_full;
    leave_out_common_words(flexible()->column.cells, NumberWords::left_out);
    wanted = column_width(flexible()->column);
    flexible()->width = std::clamp(flexible()->width, 1, wanted);
  }

  std::string out;
  for (size_t i = 0; i < laid.size(); ++i)
    append_cell(out, laid[i], laid[i].column.title, "", i + 1 == laid.size());
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
  for (size_t row = 0; row < laid.front().column.cells.size(); ++row) {
    for (size_t i = 0; i < laid.size(); ++i) {
      const TerminalColumn& column = laid[i].column;
      const std::string_view colour = column.colours.empty() ? std::string_view() : column.colours[row];
      append_cell(out, laid[i], column.cells[row], colour, i + 1 == laid.size());
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

}  // namespace assay
