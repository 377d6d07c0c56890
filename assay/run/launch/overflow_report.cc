#include "assay/run/launch/overflow_report.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace assay {
namespace {

constexpr std::string_view kRecord = "Overflow detected! Operator name: ";
constexpr int64_t kLargest = int64_t{64} << 20;

bool is_report(std::string_view name) {
  return name.ends_with(".txt") &&
         (name.starts_with("msit_overflow_res_") || name.starts_with("ait_overflow_res_"));
}

}  // namespace

std::vector<OverflowReport> read_overflow_reports(const fs::path& folder, const timespec& since) {
  std::vector<OverflowReport> reports;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    struct stat status {};
    if (!is_report(at->path().filename().native()) || ::stat(at->path().c_str(), &status) != 0 ||
        std::pair(status.st_mtim.tv_sec, status.st_mtim.tv_nsec) < std::pair(since.tv_sec, since.tv_nsec))
      continue;
    const auto file = File::open(at->path());
    if (!file || (*file)->size() > kLargest) continue;
    std::string text(static_cast<size_t>((*file)->size()), '\0');
    if (!(*file)->read(0, std::as_writable_bytes(std::span(text)))) continue;
    OverflowReport report;
    report.file = at->path();
    report.is_old_form = !text.empty() && text.find('\n') == std::string::npos;
    for (const std::string_view line : split(text, '\n'))
      if (line.starts_with(kRecord)) report.operators.emplace_back(trim(line.substr(kRecord.size())));
    if (!report.operators.empty()) reports.push_back(std::move(report));
  }
  std::ranges::sort(reports, {}, [](const OverflowReport& report) { return report.file.native(); });
  return reports;
}

std::string text_of(const std::vector<OverflowReport>& reports) {
  std::string out;
  for (const OverflowReport& report : reports) {
    const size_t count = report.operators.size();
    out += report.is_old_form
               ? fmt::format(
                     "last overflow: {} (those before it were written over, and left its end behind "
                     "where they were longer)\n",
                     printable(report.operators.front()))
               : fmt::format("first overflow: {}{}\n", printable(report.operators.front()),
                             count == 1 ? "" : fmt::format(", and {} more behind it", count - 1));
    out += fmt::format("  {}\n", display(report.file));
  }
  return out;
}

}  // namespace assay
