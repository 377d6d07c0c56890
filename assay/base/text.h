// Small text functions with no domain in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// What could steer a terminal, break a line, mislead or hide appears as \xNN: docs/reports.md, "Names".
std::string printable(std::string_view text);
// The same of names that must stay apart: one that holds the text of an escape is no name that holds the
// byte. Not for text that is printable already.
std::string printable_name(std::string_view raw);
// Whether the first bytes of a file are text: UTF-8 without control characters but tabs and ends of lines.
// The last character may be cut off.
bool begins_as_text(std::string_view start);
bool is_plain(std::string_view text);  // printable ASCII: printable() would change nothing

// -1, 0, 1: numbers inside the names compare by value, so "layer2" comes before "layer10".
int natural_compare(std::string_view a, std::string_view b);
inline bool natural_less(std::string_view a, std::string_view b) { return natural_compare(a, b) < 0; }

// Shell pattern over the whole text: * (also across /), ?, [abc], [!a-z]. Linear in time, whatever the
// pattern.
bool glob_match(std::string_view pattern, std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);  // ASCII only

// The whole text as a number, or nothing.
std::optional<int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);  // also inf, nan

// The number that is printed with so many digits behind the point.
double rounded(double value, int decimals);

// "64Ki", "2GB", "512M", "1.5GiB" → bytes (powers of 1024 for K M G T with or without i/B).
std::optional<int64_t> parse_size(std::string_view text);
std::string format_size(int64_t bytes);  // "1.5 GiB"

}  // namespace assay
