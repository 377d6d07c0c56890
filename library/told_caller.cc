#include "library/told_caller.h"

#include <fmt/format.h>

namespace assay::library {

void ToldCaller::tell(int kind, std::string_view text) {
  if (sink_ == nullptr) return;
  if (text.ends_with('\n') && kind != ASSAY_REPORT) text.remove_suffix(1);
  const std::string ended(text);  // with a zero
  const std::lock_guard lock(guard_);
  if (is_cancelled()) return;
  if (sink_(user_, kind, ended.c_str(), static_cast<int64_t>(ended.size())) != 0) cancel();
}

void ToldCaller::write_output(std::string_view text) { tell(ASSAY_REPORT, text); }
void ToldCaller::write_message(std::string_view text) { tell(ASSAY_MESSAGE, text); }
void ToldCaller::write_summary(std::string_view json) { tell(ASSAY_SUMMARY, json); }

void ToldCaller::note_progress(std::string_view what, int64_t done, int64_t total) {
  tell(ASSAY_PROGRESS, fmt::format(R"({{"what": "{}", "done": {}, "total": {}}})", what, done, total));
}

void ToldCaller::write_rows(std::string_view lines) {
  while (!lines.empty()) {
    const size_t end = lines.find('\n');
    tell(ASSAY_ROW, lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
}

}  // namespace assay::library
