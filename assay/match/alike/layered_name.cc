#include "assay/match/alike/layered_name.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace assay {
namespace {

// Where the numbers of a word begin.
std::vector<size_t> numbers_in(std::string_view word) {
  std::vector<size_t> found;
  for (size_t i = 0; i < word.size(); ++i) {
    const bool is_digit = word[i] >= '0' && word[i] <= '9';
    const bool goes_on = i > 0 && word[i - 1] >= '0' && word[i - 1] <= '9';
    if (is_digit && !goes_on) found.push_back(i);
  }
  return found;
}

// "x34f7e": its digits are no numbers, unlike those of "layer0conv1".
bool is_hash(std::string_view word, const std::vector<size_t>& numbers) {
  return numbers.size() > 1 &&
         word.find_first_not_of("0123456789abcdefABCDEF", numbers[0]) == std::string_view::npos;
}

}  // namespace

Layered::Layered(const NameForm& form) : rest(form.plain) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t number = 0;  // which of the form's
  for (size_t begin = 0; begin < rest.size();) {
    const size_t end = std::min(rest.find_first_of("._/-:", begin), rest.size());
    const std::string_view word = std::string_view(rest).substr(begin, end - begin);
    const std::vector<size_t> numbers = numbers_in(word);
    if (!numbers.empty() && !is_hash(word, numbers) && number < form.numbers.size()) {
      const size_t at = begin + numbers[0];
      size_t last = at;
      while (last < end && is_digit(rest[last])) ++last;
      layer = form.numbers[number];
      rest.replace(at, last - at, "#");
      return;
    }
    number += numbers.size();
    begin = end + 1;
  }
}

std::string Layered::at(int64_t number) const {
  const size_t place = rest.find('#');
  return rest.substr(0, place) + std::to_string(number) + rest.substr(place + 1);
}

}  // namespace assay
