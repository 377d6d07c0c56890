#include "assay/match/alike/name_form.h"

#include "assay/base/text.h"
#include "assay/match/keyed/name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

namespace assay {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Wrappers put these anywhere into a name; the last three stand in that of a pickled module.
constexpr std::array<std::string_view, 9> kWrappers = {"module",
                                                       "_orig_mod",
                                                       "_fsdp_wrapped_module",
                                                       "_checkpoint_wrapped_module",
                                                       "_forward_module",
                                                       "base_layer",
                                                       "_modules",
                                                       "_parameters",
                                                       "_buffers"};
// … and these in front of it.
constexpr std::array<std::string_view, 9> kRoots = {"model",          "transformer",      "root",
                                                    "language_model", "base_model",       "gpt",
                                                    "state_dict",     "model_state_dict", "net"};
// Words before a number that is a rank.
constexpr std::array<std::string_view, 11> kRankWords = {
    "rank", "mp_rank", "tp_rank", "tp", "mp", "ep_rank", "ep", "device", "shard", "worker", "part"};

bool is_separator(char c) { return c == '.' || c == '/' || c == '\\'; }

template <class Visit>
void for_each_word(std::string_view path, Visit&& visit) {
  size_t begin = 0;
  for (size_t i = 0; i <= path.size(); ++i)
    if (i == path.size() || is_separator(path[i])) {
      if (i > begin) visit(path.substr(begin, i - begin));
      begin = i + 1;
    }
}

int64_t number_in(std::string_view digits) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  constexpr int64_t kLargest = 1'000'000'000'000'000;  // so that sums of a few fit
  return error == std::errc() && end == digits.data() + digits.size() && number <= kLargest ? number : -1;
}

// "rank_3", "mp_rank_03", "tp-1": the rank; -1 for any other word.
int64_t rank_in(std::string_view word) {
  size_t digits = word.size();
  while (digits > 0 && is_digit(word[digits - 1])) --digits;
  if (digits == word.size() || digits == 0) return -1;
  std::string before = to_lower(word.substr(0, digits));
  while (!before.empty() && (before.back() == '_' || before.back() == '-')) before.pop_back();
  if (std::ranges::find(kRankWords, before) == kRankWords.end()) return -1;
  return number_in(word.substr(digits));
}

// "model", "rank", "0", "part", "1" of "model-rank-0-part-1"; "rank", "0" of "rank0".
std::vector<std::string_view> tokens_of(std::string_view word) {
  std::vector<std::string_view> tokens;
  const auto kind = [](char c) { return is_digit(c) ? 1 : c == '_' || c == '-' ? 0 : 2; };
  for (size_t begin = 0; begin < word.size();) {
    size_t end = begin;
    while (end < word.size() && kind(word[end]) == kind(word[begin])) ++end;
    if (kind(word[begin]) != 0) tokens.push_back(word.substr(begin, end - begin));
    begin = end;
  }
  return tokens;
}

// A folder or file of a checkpoint in shards: "mp_rank_01_003" (of tensors and of the pipeline),
// "tp_rank_01_pp_rank_003", "model_world_size_4_rank_1", "model-rank-0-part-1" (the parts of a rank are files
// of other tensors), "layer_03-model_01-model_states" (a layer, and a rank), and
// "zero_pp_rank_3_mp_rank_01_optim_states", whose first number is that of a part of flat data.
void read_shard_word(std::string_view word, NameForm& form) {
  constexpr int64_t kMostParts = 100'000;
  const std::string lower = to_lower(word);
  std::string before;
  int64_t part = -1, rank = -1;
  bool follows_rank = false, follows_layer = false;
  for (const std::string_view token : tokens_of(lower)) {
    const int64_t number = is_digit(token[0]) ? number_in(token) : -1;
    if (number < 0) {
      before += (before.empty() ? "" : "_") + std::string(token);
      continue;
    }
    const auto is_after = [&](std::string_view words) {
      return before == words || before.ends_with("_" + std::string(words));
    };
    if (before == "zero_pp_rank" || before == "zero_dp_rank" || is_after("dp_rank"))
      part = number;
    else if (before == "pp" || is_after("pp_rank") || (before.empty() && follows_rank))
      form.stage = form.stage < 0 ? number : form.stage;
    else if (is_after("rank") || std::ranges::find(kRankWords, before) != kRankWords.end() ||
             (before == "model" && follows_layer))
      rank = rank < 0 ? number : rank;
    if (before == "layer" && lower.starts_with("layer") && lower.find("-model_") != std::string::npos)
      form.layer_of_file = number;
    follows_rank = before == "mp_rank";
    follows_layer = before == "layer";
    before.clear();
  }
  if (part >= 0 && part < kMostParts && rank < kMostParts)
    rank = std::max<int64_t>(rank, 0) * kMostParts + part;
  if (form.rank < 0) form.rank = rank;
}

// Of the path of a file, what tells of ranks.
void read_path(std::string_view path, NameForm& form) {
  std::string_view last;
  for_each_word(path, [&](std::string_view word) {
    if (const int64_t rank = rank_in(word); rank >= 0 && form.rank < 0) form.rank = rank;
    // As Meta writes them: "consolidated.01.pth".
    if (last == "consolidated" && std::ranges::all_of(word, is_digit) && form.rank < 0)
      form.rank = number_in(word);
    read_shard_word(word, form);
    last = word;
  });
}

// plain with every number as '#', and the numbers.
void find_pattern(NameForm& form) {
  form.pattern.clear();
  form.pattern.reserve(form.plain.size());
  form.numbers.clear();
  for (size_t i = 0; i < form.plain.size();) {
    if (!is_digit(form.plain[i])) {
      form.pattern += form.plain[i++];
      continue;
    }
    size_t end = i;
    while (end < form.plain.size() && is_digit(form.plain[end])) ++end;
    form.pattern += '#';
    form.numbers.push_back(number_in(std::string_view(form.plain).substr(i, end - i)));
    i = end;
  }
}

}  // namespace

bool is_flat_name(std::string_view word) {
  return word == "_flat_param" || word == "flat_param" || word == "flat_param_0";
}

std::vector<std::string_view> words_of(std::string_view plain) {
  std::vector<std::string_view> words;
  const auto kind = [](char c) {
    return is_digit(c) ? 1 : c == '.' || c == '_' || c == '-' || c == ':' ? 0 : 2;
  };
  size_t begin = 0;
  for (size_t i = 1; i <= plain.size(); ++i)
    if (i == plain.size() || kind(plain[i]) != kind(plain[begin])) {
      if (kind(plain[begin]) != 0) words.push_back(plain.substr(begin, i - begin));
      begin = i;
    }
  return words;
}

// Names of one file come one after another: what its path tells is read once.
void FormReader::look_at_file(std::string_view file) {
  if (file == file_ && has_file_) return;
  has_file_ = true;
  file_ = file;
  const size_t suffix = suffix_length(file);
  holds_names_ = suffix > 0 && to_lower(file.substr(file.size() - suffix)) != ".npz";
  stem_ = file.substr(0, file.size() - suffix);
  of_file_ = {};
  read_path(stem_, of_file_);
  if (of_file_.rank < 0) read_path(given_as_, of_file_);
}

NameForm FormReader::form_of(std::string_view item_name) {
  // A checkpoint names its parameters in full; in which of its files one lies says nothing. A short name is
  // one in its file.
  const size_t colon = item_name.find(':');
  if (colon != std::string_view::npos) {
    look_at_file(item_name.substr(0, colon));
    const std::string_view in_file = item_name.substr(colon + 1);
    if (holds_names_ && (std::ranges::any_of(in_file, is_separator) || is_flat_name(in_file)))
      return in_path(of_file_, in_file);
  }
  const std::string stem = stem_of(item_name);
  // A colon in the name of the file.
  if (const size_t first = stem.find(':'); first != std::string::npos && stem != item_name) {
    const std::string_view rest = std::string_view(stem).substr(first + 1);
    const std::string of_npz = to_lower(stem.substr(0, first)) + ".npz";
    if (std::ranges::any_of(rest, is_separator) && !to_lower(item_name).starts_with(of_npz)) {
      NameForm of_file;
      read_path(std::string_view(stem).substr(0, first), of_file);
      if (of_file.rank < 0) read_path(given_as_, of_file);
      return in_path(of_file, rest);
    }
  }
  if (!of_nothing_) read_path(given_as_, of_nothing_.emplace());
  return in_path(*of_nothing_, stem);
}

NameForm FormReader::in_path(const NameForm& of_file, std::string_view tensor) {
  NameForm form;
  form.rank = of_file.rank;
  form.stage = of_file.stage;
  form.layer_of_file = of_file.layer_of_file;
  std::vector<std::string_view>& words = words_;
  words.clear();
  const std::string layer = form.layer_of_file >= 0 ? std::to_string(form.layer_of_file) : std::string();
  if (form.layer_of_file >= 0) words = {"layers", layer};
  for_each_word(tensor, [&](std::string_view word) {
    const int64_t rank = rank_in(word);
    if (rank >= 0 && form.rank < 0)
      form.rank = rank;
    else if (std::ranges::find(kWrappers, word) == kWrappers.end())
      words.push_back(word);
  });
  size_t first = 0;
  while (first + 1 < words.size() && std::ranges::find(kRoots, words[first]) != kRoots.end()) ++first;
  form.plain.reserve(tensor.size());
  for (size_t i = first; i < words.size(); ++i) {
    if (i > first) form.plain += '.';
    form.plain += words[i];
  }
  find_pattern(form);
  return form;
}

NameForm form_of(std::string_view item_name, std::string_view given_as) {
  return FormReader(given_as).form_of(item_name);
}

int64_t rank_of(std::string_view item_name) { return form_of(item_name).rank; }

namespace {

// "layers.3." of the names of a file that holds one layer.
size_t layer_prefix(const NameForm& form) {
  return std::string_view("layers.").size() + std::to_string(form.layer_of_file).size() + 1;
}

// Embedding and head have files of their own, which are numbered with those of the layers. Layers are what
// most files hold, and what shares names with it.
void number_layer_files(std::vector<NameForm>& forms) {
  using Names = std::set<std::string_view>;
  std::map<int64_t, Names> files;
  for (const NameForm& form : forms)
    if (form.layer_of_file >= 0)
      files[form.layer_of_file].insert(std::string_view(form.plain).substr(layer_prefix(form)));
  if (files.empty()) return;
  std::map<Names, size_t> alike;
  for (const auto& [number, names] : files) ++alike[names];
  const Names& layer = std::ranges::max_element(alike, {}, [](const auto& each) {
                         return std::pair(each.second, each.first.size());
                       })->first;
  std::set<int64_t> layers;
  for (const auto& [number, names] : files)
    if (std::ranges::any_of(names, [&](std::string_view name) { return layer.contains(name); }))
      layers.insert(number);
  const int64_t first = *layers.begin();
  if (first == 0) return;
  for (NameForm& form : forms) {
    if (form.layer_of_file < 0) continue;
    std::string rest = form.plain.substr(layer_prefix(form));
    form.plain = layers.contains(form.layer_of_file)
                     ? fmt::format("layers.{}.{}", form.layer_of_file - first, rest)
                     : std::move(rest);
    find_pattern(form);
  }
}

void number_through_stages(std::vector<NameForm>& forms) {
  // The first number of a name is that of its layer.
  struct Layers {
    int64_t first = INT64_MAX, last = -1;
  };
  std::map<int64_t, Layers> stages;
  for (const NameForm& form : forms)
    if (form.stage >= 0 && !form.numbers.empty()) {
      Layers& layers = stages[form.stage];
      layers.first = std::min(layers.first, form.numbers[0]);
      layers.last = std::max(layers.last, form.numbers[0]);
    }
  if (stages.size() < 2) return;
  constexpr int64_t kMostLayers = 1'000'000;
  for (const auto& [stage, layers] : stages)
    if (layers.first != 0 || layers.last > kMostLayers) return;  // they are numbered through already
  std::map<int64_t, int64_t> before;
  int64_t count = 0;
  for (const auto& [stage, layers] : stages) {
    before[stage] = count;
    count += layers.last + 1;
  }
  for (NameForm& form : forms) {
    if (form.stage < 0 || form.numbers.empty() || before[form.stage] == 0) continue;
    const size_t at = form.pattern.find('#');
    size_t end = at;
    while (end < form.plain.size() && is_digit(form.plain[end])) ++end;
    form.plain.replace(at, end - at, std::to_string(form.numbers[0] + before[form.stage]));
    find_pattern(form);
  }
}

}  // namespace

void number_through(std::vector<NameForm>& forms) {
  number_layer_files(forms);
  number_through_stages(forms);
}

std::string other_ranks_note(int64_t of_mine, int64_t of_golden) {
  return fmt::format("rank {} of mine against rank {} of golden", of_mine, of_golden);
}

std::string difference_of(std::string_view mine, std::string_view golden) {
  const std::string_view longer = mine.size() > golden.size() ? mine : golden;
  const std::string_view shorter = mine.size() > golden.size() ? golden : mine;
  if (longer.ends_with(shorter))
    return fmt::format("the prefix '{}'", longer.substr(0, longer.size() - shorter.size()));
  return "prefixes, files and separators";
}

double likeness(std::string_view a, std::string_view b) {
  std::vector<std::string_view> x = words_of(a), y = words_of(b);
  // Of endless names the last words tell them apart.
  constexpr ptrdiff_t kMostWords = 128;
  for (auto* const words : {&x, &y})
    if (std::ssize(*words) > kMostWords) words->erase(words->begin(), words->end() - kMostWords);
  if (x.empty() || y.empty()) return a == b ? 1 : 0;
  // The longest common row of words; numbers count for more, since a layer is never another one.
  std::vector<double> row(y.size() + 1), above(y.size() + 1);
  const auto weight = [](std::string_view word) { return is_digit(word[0]) ? 2.0 : 1.0; };
  for (const std::string_view word : x) {
    std::swap(row, above);
    for (size_t j = 0; j < y.size(); ++j)
      row[j + 1] = word == y[j] ? above[j] + weight(word) : std::max(row[j], above[j + 1]);
  }
  double total = 0;
  for (const auto* words : {&x, &y})
    for (const std::string_view word : *words) total += weight(word);
  return 2 * row.back() / total;
}

}  // namespace assay
