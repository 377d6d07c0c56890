#include "assay/format/atb_bin_header.h"

#include "assay/base/checked.h"
#include "assay/base/decimals.h"
#include "assay/base/text.h"

#include <algorithm>
#include <set>

namespace assay {
namespace {

// Real headers have some 150 bytes; what is longer without an end is not one.
constexpr int64_t kMaxHeader = int64_t{64} << 10;
constexpr int64_t kWidestElement = 16;

// Statistics are numbers, or what the writer says instead: "N/A", "(1.0,2.0)".
Value stated(std::string_view text) {
  if (const auto number = parse_double(text)) return *number;
  return std::string(text);
}

class HeaderParser {
 public:
  explicit HeaderParser(const File& file) : file_(file) {}

  Result<AtbHeader> parse(std::string_view text) {
    bool ended = false;
    while (!ended) {
      const size_t line_end = text.find('\n', at_);
      const bool whole = line_end != std::string_view::npos;
      const std::string_view line = text.substr(at_, whole ? line_end - at_ : line_end);
      if (!whole && line != "$End=1") break;  // a line that was cut off says nothing reliable
      const size_t next = whole ? line_end + 1 : text.size();
      ASSAY_TRY(ended, take(line));
      at_ = next;
    }
    if (!ended) ASSAY_TRY_DO(accept_without_end(text));
    header_.size = static_cast<int64_t>(at_);
    if (header_.stats) header_.stats->decimals = printed_decimals(statistics_);
    if (!has_dims_) warn("has no dims line and is taken as one element");
    if (!has_dtype_) warn("has no dtype line and is taken as float");
    return std::move(header_);
  }

 private:
  void warn(std::string_view what) { header_.warnings.push_back(fmt::format("{}: {}", file_.name(), what)); }

  // True at the end of the header.
  Result<bool> take(std::string_view line) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return fail(ErrorKind::bad_format, "{}: byte {} of the header: '{}' is not of the form name=value",
                  file_.name(), at_, printable(line.substr(0, 60)));
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    header_.has_more |= !keys_.emplace(key).second;  // the last one counts
    if (key == "$End") {
      header_.has_more |= trim(value) != "1";
      return true;
    }
    if (key == "$Version") {
      header_.has_more |= trim(value) != "1.0";
    } else if (key == "$Object.Count") {
      ASSAY_TRY(header_.count, number(key, value));
    } else if (key == "$Object.Length") {
      ASSAY_TRY(header_.length, number(key, value));
    } else if (key == "$Object.data") {
      ASSAY_TRY(header_.data_offset, number(key, value.substr(0, value.find(','))));
      const size_t comma = value.find(',');
      if (comma != std::string_view::npos) header_.data_length = parse_int(trim(value.substr(comma + 1)));
      header_.has_more |= comma != std::string_view::npos && !header_.data_length;
      if (header_.data_offset < 0)
        return fail(ErrorKind::bad_format, "{}: $Object.data={} lies before the data", file_.name(),
                    printable(value));
    } else if (key == "format") {
      ASSAY_TRY(header_.format_code, number(key, value));
    } else if (key == "dtype") {
      ASSAY_TRY(header_.dtype_code, number(key, value));
      has_dtype_ = true;
    } else if (key == "dims") {
      ASSAY_TRY_DO(take_dims(value));
      has_dims_ = true;
    } else if (key == "data") {
      header_.alias = value;
    } else {
      take_statistic(key, value);  // other attributes are somebody else's
    }
    return false;
  }

  Result<int64_t> number(std::string_view key, std::string_view value) const {
    if (const auto parsed = parse_int(trim(value))) return *parsed;
    return fail(ErrorKind::bad_format, "{}: {}={} in the header is not a number", file_.name(), key,
                printable(value.substr(0, 60)));
  }

  Result<void> take_dims(std::string_view value) {
    header_.shape.dims.clear();
    if (trim(value).empty()) return {};
    for (const std::string_view part : split(value, ',')) {
      ASSAY_TRY(const int64_t dim, number("dims", part));
      header_.shape.dims.push_back(dim);
    }
    const auto count = checked_product(header_.shape.dims);
    if (!count || !checked_multiply(*count, kWidestElement))
      return fail(ErrorKind::bad_format, "{}: dims={} has a negative dimension or is too large", file_.name(),
                  printable(value.substr(0, 60)));
    return {};
  }

  void take_statistic(std::string_view key, std::string_view value) {
    static constexpr std::pair<std::string_view, Value Stats::*> kFields[] = {
        {"max", &Stats::max}, {"min", &Stats::min}, {"mean", &Stats::mean}, {"l2norm", &Stats::norm}};
    for (const auto& [name, field] : kFields)
      if (key == name) {
        if (!header_.stats) header_.stats.emplace();
        (*header_.stats).*field = stated(value);
        statistics_.push_back(trim(value));
        return;
      }
    header_.has_more = true;
  }

  // The tools use statistics of a file that lost its end; anything else is broken.
  Result<void> accept_without_end(std::string_view text) {
    if (header_.stats) {
      warn("ends without a $End line; the statistics before it are used");
      at_ = text.size();
      return {};
    }
    if (std::ssize(text) < file_.size())
      return fail(ErrorKind::bad_format, "{}: no $End line in the first {} bytes", file_.name(), text.size());
    return fail(ErrorKind::bad_format,
                "{}: the header ends at byte {} without a $End line (truncated, or still being written)",
                file_.name(), text.size());
  }

  const File& file_;
  AtbHeader header_;
  std::set<std::string, std::less<>> keys_;
  std::vector<std::string_view> statistics_;  // as they stand in the header
  size_t at_ = 0;
  bool has_dims_ = false, has_dtype_ = false;
};

bool is_text(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace

Result<AtbHeader> read_atb_header(const File& file) {
  std::vector<std::byte> head(static_cast<size_t>(std::min(file.size(), kMaxHeader)));
  ASSAY_TRY_DO(file.read(0, head));
  return HeaderParser(file).parse(as_text(head));
}

bool looks_like_atb_header(std::string_view head) {
  if (head.starts_with("$Version=")) return true;
  bool known = false;
  while (!head.empty()) {
    const size_t end = head.find('\n');
    const std::string_view line = head.substr(0, end);
    if (line.starts_with("$End=")) return known;
    if (!is_text(line) || (line.find('=') == std::string_view::npos && end != std::string_view::npos))
      return false;
    known |= line.starts_with("dims=") || line.starts_with("dtype=") || line.starts_with("$Object.");
    if (end == std::string_view::npos) break;
    head.remove_prefix(end + 1);
  }
  return known;
}

}  // namespace assay
