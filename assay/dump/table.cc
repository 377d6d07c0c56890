#include "assay/base/letters.h"
#include "assay/base/text.h"
#include "assay/dump/atb.h"
#include "assay/dump/folder.h"
#include "assay/dump/layout.h"
#include "assay/dump/logits.h"
#include "assay/dump/ms_kernel.h"
#include "assay/dump/msprobe.h"
#include "assay/dump/single.h"
#include "assay/dump/torch_hook.h"
#include "assay/dump/torchair.h"
#include "assay/format/held_files.h"

#include <algorithm>

namespace assay {
namespace {

constexpr int kSureEnough = 50;

// As a glob, and as the very name: one with brackets is no pattern.
bool matches(const std::string& glob, std::string_view name) {
  const auto fits = [&](std::string_view text) { return text == glob || glob_match(glob, text); };
  const size_t slash = name.rfind('/');
  return fits(name) || (slash != std::string_view::npos && fits(name.substr(slash + 1)));
}

// For patterns that fit nothing so far.
void note_meant(const std::vector<std::string>& globs, std::string_view name,
                const std::vector<std::atomic<bool>>& used, std::vector<std::string>& meant,
                std::mutex& mutex) {
  for (size_t i = 0; i < globs.size(); ++i) {
    if (used[i].load(std::memory_order_relaxed)) continue;
    const std::scoped_lock lock(mutex);
    if (meant[i].empty()) meant[i] = pattern_meant(globs[i], name);
  }
}

bool matches_any(const std::vector<std::string>& globs, std::string_view name,
                 std::vector<std::atomic<bool>>* used) {
  bool found = false;
  for (size_t i = 0; i < globs.size(); ++i) {
    const bool is_asked = used != nullptr && !(*used)[i].load(std::memory_order_relaxed);
    if ((found && !is_asked) || !matches(globs[i], name)) continue;
    found = true;
    if (is_asked) (*used)[i] = true;
  }
  return found;
}

bool is_held(const fs::path& root, const OpenOptions& options) {
  return options.format.held != nullptr && options.format.held->find(root) != nullptr;
}

std::string known_names() {
  std::string names;
  for (const Layout* layout : layouts()) {
    if (!names.empty()) names += ", ";
    names += layout->name;
  }
  return names;
}

// exists() alone would call a folder that we may not look into "not there".
Result<void> check_exists(const fs::path& root) {
  std::error_code error;
  const fs::file_status status = fs::status(root, error);
  if (fs::exists(status)) return {};
  if (status.type() != fs::file_type::not_found)
    return fail(ErrorKind::io, "{}: cannot be read: {}", display(root), error.message());
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(root, ignored)))
    return fail(ErrorKind::not_found, "{}: is a symbolic link to a place that does not exist", display(root));
  return fail(ErrorKind::not_found, "{}: no such file or folder", display(root));
}

Result<const Layout*> choose_layout(const fs::path& root, const OpenOptions& options) {
  if (options.given != nullptr) return options.given;
  const std::string_view forced = options.layout;
  if (!forced.empty()) {
    for (const Layout* layout : layouts())
      if (layout->name == forced) return layout;
    return fail(ErrorKind::bad_argument, "--layout {}: no such layout; there are {}", printable(forced),
                known_names());
  }
  const Layout* best = nullptr;
  int best_score = 0;
  bool tie = false;
  std::string tried;
  for (const Layout* layout : layouts()) {
    const int score = layout->recognise(root);
    tried += fmt::format("{}{} {}", tried.empty() ? "" : ", ", layout->name, score);
    tie = score == best_score ? true : score > best_score ? false : tie;
    if (score > best_score) {
      best = layout;
      best_score = score;
    }
  }
  if (best_score < kSureEnough)
    return fail(ErrorKind::bad_format,
                "{}: no layout is sure of it (scores of 100: {}); pass --layout to choose one", display(root),
                tried);
  if (tie)
    return fail(ErrorKind::bad_format,
                "{}: could be more than one layout (scores of 100: {}); pass --layout to choose one",
                display(root), tried);
  return best;
}

}  // namespace

std::span<const Layout* const> layouts() {
  static const Layout* const kTable[] = {&single_layout,    &folder_layout,      &msprobe_layout,
                                         &ms_kernel_layout, &atb_layout,         &torch_hook_layout,
                                         &logits_layout,    &torchair_ge_layout, &torchair_fx_layout};
  return kTable;
}

Result<Dump> open_dump(const fs::path& root, const OpenOptions& options) {
  if (is_held(root, options)) {
    ASSAY_TRY(Survey survey, single_layout.survey(root, options));
    return Dump{&single_layout, root, std::move(survey.frames), std::move(survey.warnings)};
  }
  ASSAY_TRY_DO(check_exists(root));
  ASSAY_TRY(const Layout* const layout, choose_layout(root, options));
  ASSAY_TRY(Survey survey, layout->survey(root, options));
  return Dump{layout, root, std::move(survey.frames), std::move(survey.warnings)};
}

bool selected(std::string_view name, const OpenOptions& options) {
  PatternsUsed* const used = options.used.get();
  // Both are asked: a name that is not chosen may still be what --skip means.
  const bool is_chosen =
      options.only.empty() || matches_any(options.only, name, used != nullptr ? &used->only : nullptr);
  const bool is_skipped = matches_any(options.skip, name, used != nullptr ? &used->skip : nullptr);
  if (used != nullptr) {
    note_meant(options.only, name, used->only, used->only_meant, used->mutex);
    note_meant(options.skip, name, used->skip, used->skip_meant, used->mutex);
  }
  return !is_skipped && is_chosen;
}

namespace {

// A word of the name that is `typed` but for a letter or two; empty: none.
std::string_view near_word(std::string_view typed, std::string_view name) {
  constexpr size_t kShortest = 4, kLettersForEachSlip = 4;
  constexpr std::string_view kJoints = "./:";
  const size_t most = typed.size() / kLettersForEachSlip;
  for (size_t begin = 0; typed.size() >= kShortest && begin < name.size();) {
    const std::string_view word = name.substr(begin, name.find_first_of(kJoints, begin) - begin);
    const size_t longer = std::max(word.size(), typed.size()), shorter = std::min(word.size(), typed.size());
    if (longer - shorter <= most && letters_apart(typed, word) <= most) return word;
    begin += word.size() + 1;
  }
  return {};
}

}  // namespace

std::string pattern_meant(std::string_view pattern, std::string_view name) {
  if (glob_match(to_lower(pattern), to_lower(name))) return std::string(name);
  constexpr size_t kTelling = 2;  // fewer letters are part of many names
  const size_t begin = pattern.find_first_not_of('*'), end = pattern.find_last_not_of('*');
  if (begin == std::string_view::npos || end - begin + 1 < kTelling) return {};
  const std::string_view core = pattern.substr(begin, end - begin + 1);
  std::string part = fmt::format("*{}*", core);
  if (glob_match(part, name)) return part;
  const std::string_view word = near_word(core, name);
  if (word.empty()) return {};
  return fmt::format("{}{}{}", pattern.substr(0, begin), word, pattern.substr(end + 1));
}

}  // namespace assay
