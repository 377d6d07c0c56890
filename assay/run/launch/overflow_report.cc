#include "assay/run/launch/overflow_report.h"

#include "assay/base/text.h"
#include "assay/run/launch/read_text.h"

#include <fmt/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <utility>

namespace assay {
namespace {

constexpr std::string_view kRecord = "Overflow detected! Operator name: ";

bool is_report(std::string_view name) {
  return name.ends_with(".txt") &&
         (name.starts_with("msit_overflow_res_") || name.starts_with("ait_overflow_res_"));
}

// Reads in pieces: a program that overflows in every step writes a line each time.
class ReportReader {
  static constexpr size_t kPiece = 1 << 20, kLongestLine = 4096;

 public:
  explicit ReportReader(OverflowReport& report) : report_(report) {}

  Result<void> read(const File& file) {
    std::string piece(kPiece, '\0');
    for (int64_t at = 0;;) {
      ASSAY_TRY(const int64_t got, file.read_some(at, std::as_writable_bytes(std::span(piece))));
      if (got == 0) break;
      take(std::string_view(piece).substr(0, static_cast<size_t>(got)));
      at += got;
    }
    report_.is_old_form = !line_.empty() && lines_ == 0;
    if (!line_.empty()) end_line();
    if (lines_ > 0 && report_.count == 0) report_.trouble = "holds no line of an overflow check";
    return {};
  }

 private:
  void take(std::string_view piece) {
    for (size_t at = 0; at < piece.size();) {
      const size_t end = std::min(piece.find('\n', at), piece.size());
      const std::string_view part = piece.substr(at, end - at);
      line_ += part.substr(0, kLongestLine - std::min(kLongestLine, line_.size()));
      if (end < piece.size()) end_line();
      at = end + 1;
    }
  }
  void end_line() {
    ++lines_;
    if (line_.starts_with(kRecord) && report_.count++ == 0)
      report_.first = trim(std::string_view(line_).substr(kRecord.size()));
    line_.clear();
  }

  OverflowReport& report_;
  std::string line_;
  int64_t lines_ = 0;
};

}  // namespace

std::vector<OverflowReport> read_overflow_reports(const fs::path& folder, const timespec& since) {
  std::vector<OverflowReport> reports;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    struct stat status {};
    const auto is_new = [&] {
      return std::pair(status.st_mtim.tv_sec, status.st_mtim.tv_nsec) >=
             std::pair(since.tv_sec, since.tv_nsec);
    };
    if (!is_report(at->path().filename().native())) continue;
    const bool is_new_file = ::stat(at->path().c_str(), &status) == 0 && is_new();
    const bool is_new_name = ::lstat(at->path().c_str(), &status) == 0 && is_new();
    if (!is_new_file && !is_new_name) continue;
    OverflowReport report;
    report.file = at->path();
    const auto file = File::open(at->path());
    const Result<void> done =
        file ? ReportReader(report).read(**file) : Result<void>(tl::unexpected<Error>(file.error()));
    if (!done) {
      report.trouble = done.error().message;
      if (const std::string named = display(report.file) + ": "; report.trouble.starts_with(named))
        report.trouble.erase(0, named.size());  // it is said before it
    }
    if (report.count > 0 || !report.trouble.empty()) reports.push_back(std::move(report));
  }
  if (error) {
    OverflowReport unknown;
    unknown.file = folder;
    unknown.trouble = error.message();
    reports.push_back(std::move(unknown));
  }
  std::ranges::sort(reports, {}, [](const OverflowReport& report) { return report.file.native(); });
  return reports;
}

SpoiltInputs read_spoilt_inputs(const fs::path& asked) {
  SpoiltInputs out;
  std::map<std::string, int64_t, std::less<>> of_process;  // "outside PROCESS COUNT PATH": the last counts
  const auto text = read_text(asked);
  if (!text) return out;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split(line, ' ');
    const auto count = words.size() > 3 && words[0] == "outside" ? parse_int(words[2]) : std::nullopt;
    if (!count) continue;
    if (out.first.empty()) out.first = line.substr(static_cast<size_t>(words[3].data() - line.data()));
    of_process[std::string(words[1])] = *count;
  }
  for (const auto& [process, count] : of_process) out.count += count;
  return out;
}

std::string text_of(const std::vector<OverflowReport>& reports) {
  std::string out;
  for (const OverflowReport& report : reports) {
    if (report.count == 0) {
      out += fmt::format("{}: {}: whether anything overflowed is not known\n", display(report.file),
                         printable(report.trouble));
      continue;
    }
    out +=
        report.is_old_form
            ? fmt::format(
                  "last overflow: {} (those before it were written over, and left its end behind "
                  "where they were longer)\n",
                  printable(report.first))
            : fmt::format("first overflow: {}{}\n", printable(report.first),
                          report.count == 1 ? "" : fmt::format(", and {} more behind it", report.count - 1));
    out += fmt::format("  {}\n", display(report.file));
  }
  return out;
}

}  // namespace assay
